"""App configuration of agents: registers its activities."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who does the work."""

    name = "agents"

    def ready(self) -> None:
        """Register the activities, what is to be forgotten in time, and what the audit trail tells of."""
        from agents import activities
        from agents.importing import activity as importing  # noqa: F401 - registers ImportTasksActivity
        from agents.llm import retention as llm_retention
        from agents.models import Budget, Price, PromptVersion
        from agents.router import activity  # noqa: F401 - registers LLMRouterActivity
        from workflows.audit.administration import Told, tell_of
        from workflows.engine import retention

        activities.load()
        if llm_retention.forget not in retention.forgetting:
            retention.forgetting.append(llm_retention.forget)
        tell_of(
            Price,
            Told(
                "llm_price",
                ("model", "kind", "amount", "currency", "effective_from"),
                lambda row: {"price": str(row)},
                lambda row: None,
            ),
        )
        tell_of(
            Budget,
            Told(
                "llm_budget",
                ("period", "unit", "soft_limit", "hard_limit", "is_active", "workflow_id"),
                lambda row: {"budget": str(row)},
                lambda row: row.customer_id,
            ),
        )
        tell_of(
            PromptVersion,
            Told("prompt", ("note",), lambda row: {"prompt": row.name, "number": row.number}, lambda row: None),
        )
