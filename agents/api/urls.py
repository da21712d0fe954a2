"""The paths about language models and imported tasks. No trailing slashes (contract-rest-api 1)."""

from django.urls import path

from agents.api import exchanges, external_tasks

urlpatterns = [
    path("executions/<str:execution_id>/exchanges", exchanges.ExecutionExchanges.as_view()),
    path("executions/<str:execution_id>/usage", exchanges.ExecutionUsage.as_view()),
    path("exchanges/<str:exchange_id>", exchanges.ExchangeDetail.as_view()),
    path("external-tasks", external_tasks.ExternalTaskList.as_view()),
    path("external-tasks/<str:task_id>", external_tasks.ExternalTaskDetail.as_view()),
]
