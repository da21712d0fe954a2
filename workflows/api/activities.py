"""``GET /activities``: what a Task can do, with typed inputs and outputs (contract-activities 0)."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import role_required
from workflows.activities.knowledge_base import knowledge_base
from workflows.api.answers import KnowledgeBase
from workflows.api.documentation import documented
from workflows.api.requests import Query, checked
from workflows.models import Role


class ActivityList(APIView):
    """The knowledge base: ``{version, activities[], metadata}``; the same for every customer."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listActivities", {200: KnowledgeBase}, tag="activities")
    def get(self, request: Request) -> Response:
        """Answer the document that is generated from the registry."""
        checked(Query, request.query_params)
        return Response(knowledge_base())
