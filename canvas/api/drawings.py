"""``POST /workflows/draw``: a spec as a canvas, laid out, to go on from by drawing. Nothing is saved."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import CanvasDrawing, SpecToDraw
from canvas.api.bodies import object_of
from canvas.drawing import draw_spec
from workflows.access import role_required
from workflows.api.documentation import documented
from workflows.api.requests import Unprocessable, explained
from workflows.models import Role
from workflows.spec.validator import validate_spec


class SpecDrawing(APIView):
    """``POST /workflows/draw``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("drawSpec", {200: CanvasDrawing}, body=SpecToDraw, refusals=[422], tag="workflows")
    def post(self, request: Request) -> Response:
        """Take ``{spec}``; answer ``{nodes, edges, leftOut}``, or 422 with the problems of a spec that is not valid."""
        document = object_of(request).get("spec")
        # Activities that are not here are drawn all the same: the canvas says of each node what it lacks.
        report = validate_spec(document)
        if not report.valid or not isinstance(document, dict):
            problems = [problem.as_json() for problem in report.errors]
            raise explained(Unprocessable(), "The spec is not valid.", problems)
        return Response(draw_spec(document).as_json())
