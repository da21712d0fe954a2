"""App configuration of workflows: registers the built-in activities."""

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """What runs."""

    name = "workflows"

    def ready(self) -> None:
        """Register the built-in activities."""
        from workflows import activities, plugins
        from workflows.activities.registry import registry
        from workflows.audit import administration

        activities.load_builtin()
        registry.refuse_by(plugins.refusal)
        administration.listen()
