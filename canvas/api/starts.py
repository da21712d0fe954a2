"""``/workflows/{id}/execute`` and ``/workflows/{id}/executions`` (contract-rest-api 2.4, 2.6)."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import StartBody
from canvas.api.bodies import object_of, own_workflow_in, workflow_id_in
from canvas.api.refusals import answered, refused_field
from canvas.json_values import first_fault
from canvas.starting import start_workflow
from workflows.access import Access, access_of, customer_of, role_required
from workflows.api.answers import ExecutionAnswer, ExecutionInList
from workflows.api.documentation import IDEMPOTENCY_KEY, documented
from workflows.api.executions import execution_body, executions_of, list_bodies
from workflows.api.requests import MAX_PRIORITY, Ordering, Page, checked, idempotency_key, paged, selected
from workflows.models import ExecutionStatus, Role


class Execute(APIView):
    """``POST /workflows/{id}/execute``."""

    permission_classes = (role_required(Role.OPERATOR),)

    @documented(
        "executeWorkflow",
        {200: ExecutionAnswer, 201: ExecutionAnswer},
        body=StartBody,
        headers=[IDEMPOTENCY_KEY],
        refusals=[404, 409, 422],
        tag="workflows",
    )
    def post(self, request: Request, workflow_id: str) -> Response:
        """Start the newest version with ``{inputs?, priority?}``; a body is not needed.

        201 with the execution; 422 with the problems of a canvas that cannot run. With ``Idempotency-Key`` a repeated
        request answers 200 with the execution of the first, and 409 if it asks for something else.
        """
        body, is_new = run_workflow(
            access_of(request), workflow_id_in(workflow_id), object_of(request), idempotency_key(request)
        )
        return Response(body, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


def run_workflow(access: Access, pk: UUID, sent: Mapping[str, Any], key: str | None) -> tuple[dict[str, Any], bool]:
    """Start the newest version with ``{inputs?, priority?}``; returns the execution and whether it is new.

    As REST and the command line do it. Raises the errors of the API, see :class:`Execute`.
    """
    inputs, priority = _start_request(sent)
    with answered():
        execution, is_new = start_workflow(
            pk, access.customer, inputs=inputs, priority=priority, idempotency_key=key, by=access.actor
        )
    return execution_body(execution), is_new


class ListQuery(Page):
    """Query of the list."""

    lookups: ClassVar = {"status": "status"}
    status = serializers.ChoiceField(choices=ExecutionStatus.choices, required=False)
    ordering = Ordering({"createdAt": "created_at", "completedAt": "ended_at"}, default="-createdAt")


class WorkflowExecutions(APIView):
    """``GET /workflows/{id}/executions``: a bare array, the newest first; the total is in ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented(
        "listWorkflowExecutions",
        {200: ExecutionInList(many=True)},
        query=[ListQuery],
        refusals=[404],
        tag="workflows",
    )
    def get(self, request: Request, workflow_id: str) -> Response:
        """Answer a page (``page``, ``limit``), filtered by ``status`` if given; 404 for an unknown workflow."""
        customer = customer_of(request)
        pk = own_workflow_in(workflow_id, customer)
        query = checked(ListQuery, request.query_params)
        rows = selected(ListQuery, query, executions_of(customer).filter(workflow=pk))
        executions, response = paged(query, rows)
        response.data = list_bodies(executions)
        return response


def _start_request(fields: Any) -> tuple[dict[str, Any], int]:
    unknown = sorted(set(fields) - {"inputs", "priority"})
    if unknown:
        raise refused_field(unknown[0], "unknown key; known are inputs and priority")
    inputs, priority = fields.get("inputs"), fields.get("priority")
    if inputs is not None and not isinstance(inputs, dict):
        raise refused_field("inputs", "expected an object")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise refused_field("priority", "expected a whole number")
    if abs(priority or 0) > MAX_PRIORITY:
        raise refused_field("priority", f"expected a number from -{MAX_PRIORITY} to {MAX_PRIORITY}")
    if fault := first_fault(inputs, path="inputs"):
        where, _, what = fault.partition(" ")
        raise refused_field(where, what)
    return inputs or {}, priority or 0
