"""``/workflows/{id}/relations/...``: how the meaning of edges changed; keys in snake_case (contract-rest-api 2.8)."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import RelationHistory
from canvas.api.bodies import own_workflow_in
from canvas.relations import history_of
from workflows.access import customer_of, role_required
from workflows.api.documentation import documented
from workflows.api.requests import Query, checked
from workflows.models import Role


class RelationVersions(APIView):
    """``GET /workflows/{id}/relations/{edge_id}/versions``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listRelationVersions", {200: RelationHistory}, refusals=[404], tag="workflows")
    def get(self, request: Request, workflow_id: str, edge_id: str) -> Response:
        """Answer every change of the edge's meaning, oldest first; an edge that never was has an empty list."""
        checked(Query, request.query_params)
        customer = customer_of(request)
        versions = history_of(customer, own_workflow_in(workflow_id, customer), edge_id)
        body = {"workflow_id": workflow_id, "edge_id": edge_id, "versions": versions, "total_count": len(versions)}
        return Response(body)
