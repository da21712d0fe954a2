"""Fixes of problems that need no thought: changes to a canvas that a person accepts with one press.

Each is a label and a JSON Patch (RFC 6902) on ``{nodes, edges}`` as they were sent. Nothing is changed here.
"""
