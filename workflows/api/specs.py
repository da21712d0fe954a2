"""``/specs``: judge and run specs that a program sends whole (contract-rest-api 2.9)."""

from typing import Any

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import access_of, customer_of, role_required
from workflows.api.answers import ExecutionAnswer, SpecJudgement
from workflows.api.documentation import IDEMPOTENCY_KEY, documented
from workflows.api.executions import execution_body
from workflows.api.requests import (
    MAX_PRIORITY,
    Conflict,
    JsonObject,
    JsonValue,
    Strict,
    Unprocessable,
    WholeNumber,
    checked,
    explained,
    idempotency_key,
)
from workflows.errors import LimitExceeded
from workflows.models import Role
from workflows.sent_specs import SpecNotValid, judge_spec, start_spec
from workflows.spec.report import counted
from workflows.submission import IdempotencyConflict


class SpecBody(Strict):
    """A spec to judge; whatever stands there gets its judgement."""

    spec = JsonValue(allow_null=True)


class SpecStart(Strict):
    """A spec to run."""

    spec = JsonObject()
    inputs = JsonObject(required=False, allow_null=True, default=None)
    priority = WholeNumber(min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY, default=0)


class SpecValidation(APIView):
    """``POST /specs/validate``: judge a spec without running it."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("validateSpec", {200: SpecJudgement}, body=SpecBody, tag="specs")
    def post(self, request: Request) -> Response:
        """Take ``{spec}``; answer ``{valid, errors, warnings, problems}``: 200 for invalid ones too.

        A spec with the key ``schedule`` is judged as a CronWorkflowSpec; the answer then has its reading and next runs.
        """
        body = checked(SpecBody, request.data)
        return Response(judge_spec(body["spec"], customer_of(request)).as_json())


class SpecExecution(APIView):
    """``POST /specs/execute``: run a spec."""

    permission_classes = (role_required(Role.OPERATOR),)

    @documented(
        "executeSpec",
        {200: ExecutionAnswer, 201: ExecutionAnswer},
        body=SpecStart,
        headers=[IDEMPOTENCY_KEY],
        refusals=[409, 422],
        tag="specs",
    )
    def post(self, request: Request) -> Response:
        """Start ``{spec, inputs?, priority?}``: 201 with the execution, 422 with the problems of the spec.

        With ``Idempotency-Key`` a repeated request answers 200 with the execution of the first, and 409 if it asks
        for something else.
        """
        body, key = checked(SpecStart, request.data), idempotency_key(request)
        access = access_of(request)
        try:
            execution, is_new = start_spec(
                body["spec"],
                access.customer,
                inputs=body["inputs"] or {},
                priority=body["priority"],
                idempotency_key=key,
                by=access.actor,
            )
        except SpecNotValid as refused:
            raise as_unprocessable(refused) from None
        except IdempotencyConflict as conflict:
            raise Conflict(f"{conflict}.") from None
        except LimitExceeded as refused:
            raise serializers.ValidationError({"inputs": [refused.message]}) from None
        return Response(execution_body(execution), status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


def as_unprocessable(refused: SpecNotValid) -> Unprocessable:
    """Return the 422 whose ``details`` lists the problems, errors first."""
    problems: list[Any] = [problem.as_json() for problem in refused.report.problems]
    error = f"the spec has {counted(len(refused.report.errors), 'error')}"
    return explained(Unprocessable(), error, problems)
