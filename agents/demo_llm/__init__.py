"""A small OpenAI-compatible server that needs no model: for trying Poimen, and for its tests.

Its answers are made by rules, are always the same, and say so. It can misbehave on request, as real servers do.
"""
