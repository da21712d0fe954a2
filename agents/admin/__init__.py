"""The admin of language models: what was asked and answered, what it costs and may cost, and the prompts.

Exchanges are read only. Prices, budgets and prompts are for superusers to write: they are about everybody's money.
"""

from agents.admin import budgets, exchanges, external_tasks, prompts

__all__ = ["budgets", "exchanges", "external_tasks", "prompts"]
