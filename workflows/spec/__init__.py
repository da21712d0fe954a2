"""The spec language: what a workflow may say, and whether it says it right.

Shapes live in ``schema``, bounds in ``limits``, durations, references and expressions in modules of those names,
and every rule that needs more than one field at once in ``validator``. Nothing here touches the database.
"""
