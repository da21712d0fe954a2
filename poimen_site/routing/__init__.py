"""A sentence becomes a workflow to look at, with its drawing: where the router and the canvas meet."""
