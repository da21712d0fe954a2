"""App configuration of agents: registers its activities and its admin."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who does the work."""

    name = "agents"
