"""``/workflows`` and ``/workflows/{id}``: create, list, read, change, delete (contract-rest-api 2.1 to 2.3)."""

from functools import partial
from typing import ClassVar

from django.db.models import F
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import (
    CanvasBody,
    CanvasJudgement,
    NewWorkflow,
    VersionAnswer,
    VersionInList,
    WorkflowAnswer,
    WorkflowChange,
    WorkflowPage,
)
from canvas.api.bodies import (
    VERSION,
    WORKFLOW,
    object_of,
    own_workflow_in,
    version_body,
    workflow_body,
    workflow_id_in,
    workflow_with_validation,
)
from canvas.api.refusals import answered, refused_field
from canvas.catalogue import current_catalogue
from canvas.changes import read_changes
from canvas.fixing.finding import rows_with_fixes
from canvas.problems import report_of
from canvas.saving import compile_for, create_workflow, delete_workflow, update_workflow
from canvas.sealing import seal_canvas
from workflows.access import actor_of, customer_of, role_required
from workflows.api.documentation import IF_MATCH, documented
from workflows.api.requests import Ordering, Page, Query, checked, not_found, paged, selected
from workflows.models import Role, Workflow, WorkflowStatus, WorkflowVersion

_saves = partial(
    documented,
    answers={200: WorkflowAnswer},
    body=WorkflowChange,
    headers=[IF_MATCH],
    refusals=[404, 409, 422],
    tag="workflows",
)
_IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="ETags of the versions that are known already"
)
_READ_OR_EDIT = role_required(Role.EDITOR, read=Role.VIEWER)


class ListQuery(Page):
    """Query of the list; ``name`` is a part of it, in any case."""

    lookups: ClassVar = {"status": "status", "name": "name__icontains", "createdBy": "created_by"}
    status = serializers.ChoiceField(choices=WorkflowStatus.choices, required=False)
    name = serializers.CharField(required=False, max_length=128)
    createdBy = serializers.CharField(required=False, max_length=254)  # noqa: N815 - a key of the API
    ordering = Ordering({"updatedAt": "updated_at", "createdAt": "created_at", "name": "name"}, default="-updatedAt")


class WorkflowList(APIView):
    """``GET`` and ``POST /workflows``."""

    permission_classes = (_READ_OR_EDIT,)

    @documented("listWorkflows", {200: WorkflowPage}, query=[ListQuery], tag="workflows")
    def get(self, request: Request) -> Response:
        """Answer ``{workflows, total, page, limit}``, filtered and ordered as the query says."""
        query = checked(ListQuery, request.query_params)
        rows = selected(ListQuery, query, Workflow.objects.filter(customer=customer_of(request)))
        page, limit = query["page"], query["limit"]
        found = rows[(page - 1) * limit : page * limit]
        bodies = [workflow_body(workflow) for workflow in found]
        return Response({"workflows": bodies, "total": rows.count(), "page": page, "limit": limit})

    @documented("createWorkflow", {201: WorkflowAnswer}, body=NewWorkflow, refusals=[422], tag="workflows")
    def post(self, request: Request) -> Response:
        """Create a workflow at version 1; a draft keeps its errors, an active one must have none (422)."""
        with answered():
            changes = read_changes(object_of(request))
            version = create_workflow(customer_of(request), changes, by=actor_of(request))
        return _answer(version, status.HTTP_201_CREATED)


class WorkflowDetail(APIView):
    """``GET``, ``PUT``, ``PATCH`` and ``DELETE /workflows/{id}``."""

    permission_classes = (_READ_OR_EDIT,)

    @documented(
        "readWorkflow", {200: WorkflowAnswer, 304: None}, headers=[_IF_NONE_MATCH], refusals=[404], tag="workflows"
    )
    def get(self, request: Request, workflow_id: str) -> Response:
        """Answer the workflow with its newest canvas and what is wrong with it; the version is its ``ETag``.

        With ``If-None-Match`` (ETags) the answer is 304, without a body, while one of them is the newest.
        """
        checked(Query, request.query_params)
        if known := request.headers.get("If-None-Match"):
            own = Workflow.objects.filter(pk=workflow_id_in(workflow_id), customer=customer_of(request))
            current = own.values_list("version", flat=True).first()
            if current is not None and f'"{current}"' in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
                return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": f'"{current}"'})
        versions = WorkflowVersion.objects.select_related("workflow").defer("nodes", "edges")
        version = versions.filter(
            workflow=workflow_id_in(workflow_id),
            workflow__customer=customer_of(request),
            version=F("workflow__version"),
        ).first()
        if version is None:
            raise not_found(WORKFLOW)
        return _answer(version, status.HTTP_200_OK)

    @_saves("saveWorkflow")
    def put(self, request: Request, workflow_id: str) -> Response:
        """Save what the body gives as the next version; what it leaves out stays.

        With ``version`` in the body or ``If-Match`` (an ETag) the save is refused with 409 if that is not current.
        """
        pk = workflow_id_in(workflow_id)
        fields = object_of(request)
        expected = _expected_version(request, fields.get("version"))
        with answered():
            version = update_workflow(
                pk, customer_of(request), read_changes(fields), expected_version=expected, by=actor_of(request)
            )
        return _answer(version, status.HTTP_200_OK)

    @_saves("changeWorkflow")
    def patch(self, request: Request, workflow_id: str) -> Response:
        """As ``PUT``, which takes a part of the workflow already."""
        return self.put(request, workflow_id)

    @documented("deleteWorkflow", {204: None}, headers=[IF_MATCH], refusals=[404, 409], tag="workflows")
    def delete(self, request: Request, workflow_id: str) -> Response:
        """Delete the workflow with its versions; its executions stay. 409 if ``If-Match`` is not the current ETag."""
        pk = workflow_id_in(workflow_id)
        expected = _expected_version(request, None)
        with answered():
            delete_workflow(pk, customer_of(request), expected_version=expected)
        return Response(status=status.HTTP_204_NO_CONTENT)


class WorkflowValidation(APIView):
    """``POST /workflows/validate``: judge a canvas without saving it."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("validateWorkflow", {200: CanvasJudgement}, body=CanvasBody, tag="workflows")
    def post(self, request: Request) -> Response:
        """Take ``{nodes, edges, name?, status?}``; answer ``{valid, errors, warnings, spec}``.

        Judged as an active workflow, unless ``status`` is ``draft``. ``spec`` is null where there are errors. A problem
        that can be mended without further thought has a ``fix``.
        """
        fields = object_of(request)
        with answered():
            wanted = read_changes({key: fields.get(key) for key in ("name", "status")})
        # Judged as it would be kept: what is answered here holds no secret either.
        nodes, edges, sealed = seal_canvas(fields.get("nodes", []), fields.get("edges", []), None)
        compiled = compile_for(customer_of(request), wanted.name or "canvas", nodes, edges)
        rows = rows_with_fixes(nodes, edges, compiled, current_catalogue()) + [problem.as_row() for problem in sealed]
        report = report_of(rows, wanted.status or WorkflowStatus.ACTIVE)
        return Response(report | {"spec": compiled.document if report["valid"] else None})


class VersionList(APIView):
    """``GET /workflows/{id}/versions``: a bare array, the newest first; the total is in ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listVersions", {200: VersionInList(many=True)}, query=[Page], refusals=[404], tag="workflows")
    def get(self, request: Request, workflow_id: str) -> Response:
        """Answer a page of versions, without their canvases."""
        page = checked(Page, request.query_params)
        pk = own_workflow_in(workflow_id, customer_of(request))
        rows = WorkflowVersion.objects.filter(workflow=pk).order_by("-version").defer("nodes", "edges")
        versions, response = paged(page, rows)
        response.data = [version_body(version, with_canvas=False) for version in versions]
        return response


class VersionDetail(APIView):
    """``GET /workflows/{id}/versions/{version}``: one save with its canvas and the spec it compiled to."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readVersion", {200: VersionAnswer}, refusals=[404], tag="workflows")
    def get(self, request: Request, workflow_id: str, version: int) -> Response:
        """Answer the version."""
        checked(Query, request.query_params)
        found = (
            WorkflowVersion.objects.select_related("spec")
            .filter(workflow=workflow_id_in(workflow_id), workflow__customer=customer_of(request), version=version)
            .first()
        )
        if found is None:
            own_workflow_in(workflow_id, customer_of(request))
            raise not_found(VERSION)
        return Response(version_body(found, with_canvas=True))


def _answer(version: WorkflowVersion, code: int) -> Response:
    body = workflow_with_validation(version.workflow, version)
    return Response(body, status=code, headers={"ETag": f'"{version.version}"'})


def _expected_version(request: Request, in_body: object) -> int | None:
    """Return the version that the request says it changes; raises ``ParseError`` for what is no version."""
    header = request.headers.get("If-Match", "*").strip()
    if in_body is not None and (not isinstance(in_body, int) or isinstance(in_body, bool)):
        raise refused_field("version", "expected a whole number, the version that the change was made on")
    if header == "*":
        return in_body
    text = header.removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 9:
        raise ParseError('If-Match: expected the ETag of the workflow, such as "3"')
    if in_body is not None and in_body != int(text):
        raise ParseError("If-Match and version name different versions; send one of them")
    return int(text)
