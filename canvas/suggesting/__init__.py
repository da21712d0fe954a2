"""Suggested connections: found by matching fields, or proposed by somebody else, and in either case reviewed here.

Nothing that is suggested is kept anywhere: what a person accepts is drawn as any other edge. Source: contract-canvas 7.
"""
