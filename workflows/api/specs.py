"""``/specs``: judge and run specs that a program sends whole (contract-rest-api 2.9)."""

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import access_of, customer_of, role_required
from workflows.api import acts
from workflows.api.answers import ExecutionAnswer, SpecJudgement
from workflows.api.documentation import IDEMPOTENCY_KEY, documented
from workflows.api.requests import JsonValue, Strict, checked, idempotency_key
from workflows.models import Role
from workflows.sent_specs import judge_spec


class SpecBody(Strict):
    """A spec to judge; whatever stands there gets its judgement."""

    spec = JsonValue(allow_null=True)


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
        body=acts.SpecStart,
        headers=[IDEMPOTENCY_KEY],
        refusals=[409, 422],
        tag="specs",
    )
    def post(self, request: Request) -> Response:
        """Start ``{spec, inputs?, priority?}``: 201 with the execution, 422 with the problems of the spec.

        With ``Idempotency-Key`` a repeated request answers 200 with the execution of the first, and 409 if it asks
        for something else.
        """
        body, is_new = acts.run_spec(access_of(request), request.data, idempotency_key(request))
        return Response(body, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)
