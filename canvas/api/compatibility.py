"""``POST /workflows/compatibility``: whether connections carry what their targets need (contract-canvas 6.3)."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import CanvasCompatibility, ConnectionsBody
from canvas.api.bodies import object_of
from canvas.api.refusals import answered
from canvas.catalogue import current_catalogue
from canvas.changes import InvalidField, read_changes
from canvas.compatibility import check_canvas
from canvas.validation import MAX_EDGES, MAX_NODES
from workflows.access import role_required
from workflows.api.documentation import documented
from workflows.models import Role


class Compatibility(APIView):
    """``POST /workflows/compatibility``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("checkCompatibility", {200: CanvasCompatibility}, body=ConnectionsBody, tag="workflows")
    def post(self, request: Request) -> Response:
        """Take ``{nodes, edges}``; answer which connections lack a field that is required, or give it another type."""
        fields = object_of(request)
        with answered():
            wanted = read_changes({key: fields.get(key) for key in ("nodes", "edges")})
            nodes, edges = wanted.nodes or [], wanted.edges or []
            for name, sent, most in (("nodes", nodes, MAX_NODES), ("edges", edges, MAX_EDGES)):
                if len(sent) > most:
                    raise InvalidField(name, f"at most {most:,}, not {len(sent):,}")
        return Response(check_canvas(nodes, edges, current_catalogue()).as_json())
