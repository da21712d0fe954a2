"""``/executions/{id}/exchanges``, ``/exchanges/{id}`` and ``/executions/{id}/usage``: what models were asked, and cost.

Secrets are masked in the rows already; amounts are texts, so that nothing of them is lost.
"""

from decimal import Decimal
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.llm.spending import usage_of
from agents.models import Exchange, ExchangeStatus
from workflows.access import customer_of, role_required
from workflows.api.answers import Shape, moment, text
from workflows.api.documentation import documented
from workflows.api.executions import own_execution_in
from workflows.api.requests import Page, Query, checked, id_in_path, not_found, paged
from workflows.api.timestamps import rfc3339
from workflows.models import Role

EXCHANGE = "Exchange"
STATUSES = ExchangeStatus.choices


class ExchangeInList(Shape):
    """An exchange without its texts. ``cost`` is null where the model has no price."""

    id = serializers.UUIDField()
    executionId = serializers.UUIDField(allow_null=True)  # noqa: N815
    state = text()
    visit = serializers.IntegerField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    call = serializers.IntegerField()
    purpose = text()
    alias = text()
    model = text()
    status = serializers.ChoiceField(choices=STATUSES)
    error = text(allow_null=True)
    finishReason = text()  # noqa: N815
    promptTokens = serializers.IntegerField()  # noqa: N815
    completionTokens = serializers.IntegerField()  # noqa: N815
    estimated = serializers.BooleanField()
    cost = text(allow_null=True)
    currency = text()
    startedAt = moment()  # noqa: N815
    endedAt = moment(allow_null=True)  # noqa: N815
    durationMs = serializers.IntegerField(allow_null=True)  # noqa: N815


class ExchangeAnswer(ExchangeInList):
    """An exchange with what was sent and what came back, masked."""

    promptName = text()  # noqa: N815
    promptVersion = serializers.UUIDField(allow_null=True)  # noqa: N815
    request = serializers.JSONField(allow_null=True)
    answer = serializers.JSONField(allow_null=True)


class UsageAnswer(Shape):
    """Calls, tokens and cost of one model, in one state, in one currency."""

    state = text()
    model = text()
    calls = serializers.IntegerField()
    promptTokens = serializers.IntegerField()  # noqa: N815
    completionTokens = serializers.IntegerField()  # noqa: N815
    cost = text(allow_null=True)
    currency = text()
    unpricedCalls = serializers.IntegerField()  # noqa: N815


class ExchangeQuery(Page):
    """Those of a ``state``, or with a ``status``."""

    state = serializers.CharField(required=False, max_length=128)
    status = serializers.ChoiceField(choices=STATUSES, required=False)


def amount_text(amount: Decimal | None) -> str | None:
    """Return an amount without needless zeros."""
    return None if amount is None else f"{amount.normalize():f}"


def exchange_body(row: Exchange) -> dict[str, Any]:
    """Return an exchange as a list shows it."""
    lasted = (row.ended_at - row.started_at).total_seconds() if row.ended_at else None
    return {
        "id": str(row.pk),
        "executionId": str(row.execution) if row.execution else None,
        "state": row.state,
        "visit": row.visit,
        "attempt": row.attempt,
        "call": row.call,
        "purpose": row.purpose,
        "alias": row.alias,
        "model": row.model,
        "status": row.status,
        "error": f"{row.error_name}: {row.error}" if row.error_name else None,
        "finishReason": row.finish_reason,
        "promptTokens": row.prompt_tokens,
        "completionTokens": row.completion_tokens,
        "estimated": row.usage_is_estimated,
        "cost": amount_text(row.cost),
        "currency": row.currency,
        "startedAt": rfc3339(row.started_at),
        "endedAt": row.ended_at and rfc3339(row.ended_at),
        "durationMs": None if lasted is None else round(lasted * 1000),
    }


class ExecutionExchanges(APIView):
    """``GET /executions/{id}/exchanges``: a bare array, oldest first; the total is in ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented(
        "listExchanges", {200: ExchangeInList(many=True)}, query=[ExchangeQuery], refusals=[404], tag="language models"
    )
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer a page of what language models were asked by the execution."""
        query = checked(ExchangeQuery, request.query_params)
        customer = customer_of(request)
        rows = Exchange.objects.filter(execution=own_execution_in(execution_id, customer), customer=customer)
        rows = rows.filter(**{name: query[name] for name in ("state", "status") if name in query})
        page, response = paged(query, rows.defer("request", "answer").order_by("started_at", "pk"))
        response.data = [exchange_body(row) for row in page]
        return response


class ExchangeDetail(APIView):
    """``GET /exchanges/{id}``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readExchange", {200: ExchangeAnswer}, refusals=[404], tag="language models")
    def get(self, request: Request, exchange_id: str) -> Response:
        """Answer one exchange, with what was sent and what came back."""
        checked(Query, request.query_params)
        pk = id_in_path(exchange_id, EXCHANGE)
        row = Exchange.objects.filter(pk=pk, customer=customer_of(request)).first()
        if row is None:
            raise not_found(EXCHANGE)
        version = str(row.prompt_version_id) if row.prompt_version_id else None
        texts = {"promptName": row.prompt_name, "promptVersion": version, "request": row.request, "answer": row.answer}
        return Response(exchange_body(row) | texts)


class ExecutionUsage(APIView):
    """``GET /executions/{id}/usage``: what its calls of language models used and cost, by state and model."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readUsage", {200: UsageAnswer(many=True)}, refusals=[404], tag="language models")
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer a line for each state and model; retries count, since they are paid for."""
        checked(Query, request.query_params)
        customer = customer_of(request)
        rows = Exchange.objects.filter(execution=own_execution_in(execution_id, customer), customer=customer)
        return Response(
            [
                {
                    "state": line["state"],
                    "model": line["model"],
                    "calls": line["calls"],
                    "promptTokens": line["prompt"],
                    "completionTokens": line["completion"],
                    "cost": amount_text(line["amount"]),
                    "currency": line["currency"],
                    "unpricedCalls": line["unpriced"],
                }
                for line in usage_of(rows, "state", "model")
            ]
        )
