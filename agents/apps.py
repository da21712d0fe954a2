"""App configuration of agents."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who does the work."""

    name = "agents"
