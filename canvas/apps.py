"""App configuration of canvas: registers its activities."""

from django.apps import AppConfig


class CanvasConfig(AppConfig):
    """What people draw."""

    name = "canvas"

    def ready(self) -> None:
        """Register the activities."""
        from canvas import activities  # noqa: F401 - registers two of them
