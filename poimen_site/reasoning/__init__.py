"""Suggested connections for a canvas: where the reasoner and the canvas meet. Nothing is saved here."""
