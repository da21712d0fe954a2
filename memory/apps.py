"""App configuration of memory: registers its activities."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """What is remembered."""

    name = "memory"

    def ready(self) -> None:
        """Register the activities."""
        from memory import retrieve_memory  # noqa: F401 - registers RetrieveMemoryActivity
