"""What workflows ask language models: one question, or many. Importing the modules registers the activities."""

from importlib import import_module

MODULES = ("inference", "batch_inference")


def load() -> None:
    """Register the activities; may be called any number of times."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
