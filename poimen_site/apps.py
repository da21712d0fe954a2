"""App configuration of the site: what joins two apps registers here."""

from django.apps import AppConfig


class PoimenSiteConfig(AppConfig):
    """The wiring."""

    name = "poimen_site"

    def ready(self) -> None:
        """Register the activity in which the canvas and the models meet."""
        from poimen_site.reasoning import activity  # noqa: F401 - registers CanvasReasonerActivity
