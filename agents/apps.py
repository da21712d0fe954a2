"""App configuration of agents: registers its activities."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who does the work."""

    name = "agents"

    def ready(self) -> None:
        """Register the activities."""
        from agents import activities

        activities.load()
