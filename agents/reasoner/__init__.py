"""Proposes connections between the nodes of a canvas, with a model. What becomes of them the canvas decides.

Source: contract-canvas 7.
"""
