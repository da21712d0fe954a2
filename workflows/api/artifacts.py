"""``/executions/{id}/artifacts``: the files an execution keeps, large outputs and reports among them."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import customer_of, role_required
from workflows.api.answers import ArtifactAnswer
from workflows.api.documentation import documented
from workflows.api.executions import own_execution_in
from workflows.api.requests import Page, Query, checked, not_found, paged_list
from workflows.api.streaming import AnyType, JsonRefusals, download
from workflows.api.timestamps import rfc3339
from workflows.artifact_files import ArtifactFile, files_of, open_file
from workflows.models import Role

ARTIFACT = "Artifact"


def artifact_body(file: ArtifactFile) -> dict[str, Any]:
    """Return a file as JSON; ``href`` is where its content is."""
    return {
        "name": file.name,
        "bytes": file.bytes,
        "contentType": file.content_type,
        "modifiedAt": rfc3339(file.modified_at),
        "href": file.href,
    }


class ArtifactList(APIView):
    """``GET /executions/{id}/artifacts``: a bare array, by name; the total is in the header ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listArtifacts", {200: ArtifactAnswer(many=True)}, query=[Page], refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer a page of what the execution keeps: ``outputs/`` are large outputs, the others activities wrote."""
        page = checked(Page, request.query_params)
        files, response = paged_list(page, files_of(own_execution_in(execution_id, customer_of(request))))
        response.data = [artifact_body(file) for file in files]
        return response


class ArtifactContent(JsonRefusals):
    """``GET /executions/{id}/artifacts/{name}``: the file itself, as a download."""

    permission_classes = (role_required(Role.VIEWER),)
    renderer_classes = (AnyType,)

    @documented("readArtifact", {(200, "*/*"): OpenApiTypes.BINARY}, refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str, name: str) -> HttpResponseBase:
        """Stream the file with the type that its name says; ``name`` is that of the list."""
        checked(Query, request.query_params)
        pk = own_execution_in(execution_id, customer_of(request))
        try:
            return download(*open_file(pk, name))
        except FileNotFoundError:
            raise not_found(ARTIFACT) from None
