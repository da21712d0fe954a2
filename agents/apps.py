"""App configuration of agents: registers its activities."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who does the work."""

    name = "agents"

    def ready(self) -> None:
        """Register the activities, and what is to be forgotten in time."""
        from agents import activities
        from agents.importing import activity as importing  # noqa: F401 - registers ImportTasksActivity
        from agents.llm import retention as llm_retention
        from agents.router import activity  # noqa: F401 - registers LLMRouterActivity
        from workflows.engine import retention

        activities.load()
        if llm_retention.forget not in retention.forgetting:
            retention.forgetting.append(llm_retention.forget)
