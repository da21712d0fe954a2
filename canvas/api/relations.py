"""``/workflows/{id}/relations/...``: how the meaning of edges changed; keys in snake_case (contract-rest-api 2.8)."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.bodies import workflow_id_in
from canvas.relations import history_of
from workflows.access import customer_of, role_required
from workflows.models import Role


class RelationVersions(APIView):
    """``GET /workflows/{id}/relations/{edge_id}/versions``."""

    permission_classes = (role_required(Role.VIEWER),)

    def get(self, request: Request, workflow_id: str, edge_id: str) -> Response:
        """Answer every change of the edge's meaning, oldest first; unknown ids have an empty list."""
        try:
            pk = workflow_id_in(workflow_id)
        except NotFound:
            pk = None
        versions = history_of(customer_of(request), pk, edge_id)
        body = {"workflow_id": workflow_id, "edge_id": edge_id, "versions": versions, "total_count": len(versions)}
        return Response(body)
