"""What a Task can do: the registry of activities, the context they get, and the built-in ones (one file each).

An activity is a plain function ``(input, context) -> output``; whatever has a side effect is one.
"""


def load_builtin() -> None:
    """Import the modules of the built-in activities; importing registers them."""
    from workflows.activities import echo  # noqa: F401
