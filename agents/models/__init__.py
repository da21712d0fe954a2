"""The rows behind the work with language models; one file per noun."""

from agents.models.budget import Budget, BudgetPeriod
from agents.models.exchange import Exchange, ExchangeStatus
from agents.models.external_task import ExternalTask, TaskSource, TaskStatus
from agents.models.model_trait import ModelTrait
from agents.models.price import Price, PriceKind
from agents.models.prompt import PromptVersion
from agents.models.usage import UsageTally

__all__ = [
    "Budget",
    "BudgetPeriod",
    "Exchange",
    "ExchangeStatus",
    "ExternalTask",
    "ModelTrait",
    "Price",
    "PriceKind",
    "PromptVersion",
    "TaskSource",
    "TaskStatus",
    "UsageTally",
]
