"""A sentence becomes a workflow: which activities, in which order, with which values, how often (contract-router 1).

Nothing here runs anything: what comes out is a spec to look at, or questions. Values come from the sentence alone.
"""
