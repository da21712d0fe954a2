"""The paths about language models. No trailing slashes (contract-rest-api 1)."""

from django.urls import path

from agents.api import exchanges

urlpatterns = [
    path("executions/<str:execution_id>/exchanges", exchanges.ExecutionExchanges.as_view()),
    path("executions/<str:execution_id>/usage", exchanges.ExecutionUsage.as_view()),
    path("exchanges/<str:exchange_id>", exchanges.ExchangeDetail.as_view()),
]
