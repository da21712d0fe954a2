"""The pages people use: home, workflows, executions. They read; whatever changes something goes through REST."""
