"""``/executions``: list, read, ask for cancel, pause, resume, a signal or a rerun (contract-rest-api 2.4-2.6)."""

from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import control
from workflows.access import access_of, customer_of, role_required
from workflows.activities.context import LEVELS
from workflows.api import acts
from workflows.api.answers import ExecutionAnswer, ExecutionInList, RerunChoices, SignalTaken
from workflows.api.documentation import IDEMPOTENCY_KEY, documented
from workflows.api.execution_reading import read_execution
from workflows.api.executions import executions_of, list_bodies
from workflows.api.logs import DEFAULT_LINES, MAX_LINES
from workflows.api.requests import (
    EXECUTION,
    Ordering,
    Page,
    Query,
    Reason,
    checked,
    id_in_path,
    idempotency_key,
    not_found,
    paged,
    selected,
)
from workflows.models import Execution, ExecutionStatus, Role


class ListFilter(Page):
    """Query of the list; ``createdAfter`` counts in, ``createdBefore`` does not."""

    lookups: ClassVar = {
        "status": "status",
        "workflowId": "workflow",
        "name": "name",
        "createdBy": "created_by",
        "parentId": "parent",
        "scheduleId": "schedule",
        "createdAfter": "created_at__gte",
        "createdBefore": "created_at__lt",
    }
    status = serializers.ChoiceField(choices=ExecutionStatus.choices, required=False)
    workflowId = serializers.UUIDField(required=False)  # noqa: N815 - the key of the contract
    name = serializers.CharField(required=False, max_length=128)
    createdBy = serializers.CharField(required=False, max_length=254)  # noqa: N815
    parentId = serializers.UUIDField(required=False)  # noqa: N815
    scheduleId = serializers.UUIDField(required=False)  # noqa: N815
    createdAfter = serializers.DateTimeField(required=False)  # noqa: N815
    createdBefore = serializers.DateTimeField(required=False)  # noqa: N815
    ordering = Ordering(
        {"createdAt": "created_at", "completedAt": "ended_at", "name": "name", "priority": "priority"},
        default="-createdAt",
    )


class ReadOptions(Query):
    """Query of one execution: how many log lines, from which level up."""

    logs = serializers.IntegerField(min_value=0, max_value=MAX_LINES, default=DEFAULT_LINES)
    level = serializers.ChoiceField(choices=LEVELS, default="info")


class ExecutionList(APIView):
    """``GET /executions``: newest first, a bare array; the total is in the header ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listExecutions", {200: ExecutionInList(many=True)}, query=[ListFilter], tag="executions")
    def get(self, request: Request) -> Response:
        """Answer a page, filtered and ordered as the query says."""
        wanted = checked(ListFilter, request.query_params)
        rows = selected(ListFilter, wanted, executions_of(customer_of(request)))
        executions, response = paged(wanted, rows)
        response.data = list_bodies(executions)
        return response


class ExecutionDetail(APIView):
    """``GET /executions/{id}``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readExecution", {200: ExecutionAnswer}, query=[ReadOptions], refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer the execution with its outputs, once it has ended, and its newest log lines."""
        options = checked(ReadOptions, request.query_params)
        pk, customer = id_in_path(execution_id, EXECUTION), customer_of(request).pk
        try:
            return Response(read_execution(customer, pk, lines=options["logs"], level=options["level"]))
        except Execution.DoesNotExist:
            raise not_found(EXECUTION) from None


class _Action(APIView):
    """A request to a running execution; 404 if it is not the customer's, 409 if it cannot be done now."""

    permission_classes = (role_required(Role.OPERATOR),)


def asks(operation_id: str, code: int) -> Callable[[type[APIView]], type[APIView]]:
    """Say what an endpoint takes that asks something of an execution."""
    body, refusals = Reason, (404, 409)
    said = documented(operation_id, {code: ExecutionAnswer}, body=body, refusals=refusals, tag="executions")
    return extend_schema_view(post=said)


class _ReasonedAction(_Action):
    request_it: Callable[..., Execution]
    code: int = status.HTTP_202_ACCEPTED

    def post(self, request: Request, execution_id: str) -> Response:
        """Take ``{reason?}`` and ask for it; asking twice is asking once."""
        body = acts.ask(type(self).request_it, access_of(request), execution_id, request.data)
        return Response(body, status=self.code)


@asks("cancelExecution", 202)
class CancelExecution(_ReasonedAction):
    """``POST /executions/{id}/cancel``: 202; what runs is asked to stop, the rest ends at once."""

    request_it = staticmethod(control.request_cancel)


@asks("pauseExecution", 202)
class PauseExecution(_ReasonedAction):
    """``POST /executions/{id}/pause``: 202; each branch stops at its next state boundary."""

    request_it = staticmethod(control.request_pause)


@asks("resumeExecution", 200)
class ResumeExecution(_ReasonedAction):
    """``POST /executions/{id}/resume``: 200; goes on where the pause stopped."""

    request_it = staticmethod(control.request_resume)
    code = status.HTTP_200_OK


class SignalExecution(_Action):
    """``POST /executions/{id}/signal``: 202 with ``{id, name, new}``."""

    @documented("signalExecution", {202: SignalTaken}, body=acts.SignalBody, refusals=[404, 409], tag="executions")
    def post(self, request: Request, execution_id: str) -> Response:
        """Take ``{name, payload?, dedupeKey?}`` and deliver it to the branch that waits, or will wait, for it."""
        body = acts.send_signal(access_of(request), execution_id, request.data)
        return Response(body, status=status.HTTP_202_ACCEPTED)


class RerunExecution(_Action):
    """``/executions/{id}/rerun``: GET tells from where it can run again, POST answers 201 with the new execution."""

    @documented("readRerunChoices", {200: RerunChoices}, refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer the states that ``fromState`` may name: those that ran, in branches too, outside Maps."""
        checked(Query, request.query_params)
        return Response(acts.rerun_choices(access_of(request), execution_id))

    @documented(
        "rerunExecution",
        {200: ExecutionAnswer, 201: ExecutionAnswer},
        body=acts.RerunBody,
        headers=[IDEMPOTENCY_KEY],
        refusals=[404, 409],
        tag="executions",
    )
    def post(self, request: Request, execution_id: str) -> Response:
        """Take ``{fromState?}`` and start a new execution that reuses what ran before that state.

        Of a Parallel around it, the branches that went well and do not depend on its branch are reused too; the others
        run again.

        With ``Idempotency-Key`` a repeated request answers 200 with the execution of the first.
        """
        body, is_new = acts.rerun(access_of(request), execution_id, request.data, idempotency_key(request))
        return Response(body, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)
