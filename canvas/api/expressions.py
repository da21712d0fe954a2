"""``/expressions/evaluate``: a condition or an expression tried on sample data, before a run depends on it."""

import json
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.trying import NotEvaluated, try_expression
from workflows.access import role_required
from workflows.api.answers import Shape, text
from workflows.api.documentation import documented
from workflows.api.requests import JsonObject, Strict, Text, Unprocessable, checked, explained
from workflows.models import Role
from workflows.spec import limits

MAX_DATA = 4 * limits.MAX_INLINE_OUTPUT_BYTES


class ExpressionBody(Strict):
    """What is tried, on what. ``source`` makes it the condition of an edge out of that node."""

    expression = Text(max_length=limits.MAX_EXPRESSION_CHARS, trim_whitespace=False)
    data = JsonObject(required=False, default=dict)  # type: ignore[assignment]
    source = Text(required=False, allow_blank=True, default="", max_length=128)  # type: ignore[assignment]
    labels = serializers.DictField(child=Text(max_length=limits.MAX_NAME_LENGTH), required=False, default=dict)

    def validate_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Refuse more than a try is for."""
        size = len(json.dumps(data, ensure_ascii=False))
        if size > MAX_DATA:
            raise ValidationError(f"takes {size} characters; at most {MAX_DATA} may be sent to try an expression on")
        return data


class ExpressionAnswer(Shape):
    """``value`` is null for what is not there; ``holds``: an edge with this condition would be taken."""

    value = serializers.JSONField(allow_null=True)
    holds = serializers.BooleanField()
    jsonata = text(help_text="What was evaluated")


class Evaluation(APIView):
    """``POST /expressions/evaluate``."""

    permission_classes = (role_required(Role.EDITOR),)

    @documented(
        "evaluateExpression", {200: ExpressionAnswer}, body=ExpressionBody, refusals=[413, 422], tag="workflows"
    )
    def post(self, request: Request) -> Response:
        """Evaluate ``{expression, data?, source?, labels?}`` under the bounds of a run; nothing is kept.

        ``data`` is what the expression reads: ``{"<node id>": {"output": ...}, "workflow": {"input": ...}}``. 422 with
        ``details: {message, position}`` for an expression that cannot be read or fails; ``position`` counts its
        characters from 0, and is null where that is not known.
        """
        sent = checked(ExpressionBody, request.data)
        try:
            tried = try_expression(sent["expression"], sent["data"], sent["source"], sent["labels"])
        except NotEvaluated as failure:
            details = {"message": str(failure), "position": failure.position}
            raise explained(Unprocessable(), f"{failure}.", details) from None
        return Response({"value": tried.value, "holds": tried.holds, "jsonata": tried.jsonata})
