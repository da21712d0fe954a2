"""``POST /route``: a sentence in, a spec and its drawing out, for review (contract-rest-api 2.9)."""

from typing import Any

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.router.routing import MAX_MESSAGE, MessageRefused
from canvas.api.answers import CanvasObject
from canvas.api.refusals import answered
from poimen_site.routing.drawn import route_and_draw, save_draft
from workflows.access import Access, access_of, role_required
from workflows.api.answers import text
from workflows.api.documentation import documented
from workflows.api.requests import JsonValue, Strict, Text, checked
from workflows.engine.json_text import dumps
from workflows.models import Role

MAX_CONTEXT_BYTES = 16 * 1024
Shape = serializers.Serializer[Any]


class _Context(JsonValue):
    """Text, or an object of values by name."""

    def to_internal_value(self, data: Any) -> Any:
        """Return ``data``; raises ``ValidationError`` for other types, and for more than 16 KiB."""
        if data is not None and not isinstance(data, str | dict):
            raise serializers.ValidationError("expected text, or an object of values by name")
        value = super().to_internal_value(data)
        if len(dumps(value)) > MAX_CONTEXT_BYTES:
            raise serializers.ValidationError(f"at most {MAX_CONTEXT_BYTES // 1024} KiB")
        return value


class _Flag(serializers.BooleanField):
    """True or false; text that looks like it is neither."""

    def to_internal_value(self, data: Any) -> bool:
        """Return ``data``; raises ``ValidationError`` for anything else."""
        if not isinstance(data, bool):
            raise serializers.ValidationError("expected true or false")
        return data


class RouteBody(Strict):
    """What should happen, in a sentence."""

    message = Text(max_length=MAX_MESSAGE, help_text="What should happen, and how often")
    dryRun = _Flag(required=False, default=False, help_text="Answer only, without saving a draft")  # noqa: N815

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``context``, which serializers have a meaning of their own for."""
        told = "More text, or values by name: the answer to a question is {parameter: answer}"
        context = _Context(required=False, allow_null=True, default=None, help_text=told)
        return {**super().get_fields(), "context": context}


class RouteNote(Shape):
    """Why something is as it is."""

    subject = text(help_text="A state, or schedule, errors and the like")
    text = text()


class RouteQuestion(Shape):
    """What has to be known first."""

    parameter = text(help_text="Answer it as context: {parameter: answer}")
    text = text()
    options = serializers.ListField(child=serializers.CharField(), required=False)


class RouteCanvas(Shape):
    """The drawing of the spec."""

    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject())
    leftOut = serializers.ListField(  # noqa: N815
        child=serializers.CharField(), help_text="What is in the spec and not in the drawing"
    )


class RouteAnswer(Shape):
    """One of ``spec`` and ``cronSpec``, or neither where there are ``questions``."""

    isCron = serializers.BooleanField()  # noqa: N815
    spec = serializers.DictField(required=False)
    cronSpec = serializers.DictField(required=False)  # noqa: N815
    canvas = RouteCanvas(required=False)
    explanation = RouteNote(many=True)
    questions = RouteQuestion(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
    reason = text(required=False, help_text="Why no model was asked, or its answer not taken")
    workflowId = serializers.UUIDField(required=False, help_text="The draft that was saved")  # noqa: N815

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which serializers have a meaning of their own for."""
        return {**super().get_fields(), "source": serializers.ChoiceField(choices=["llm", "fallback"])}


class RouteView(APIView):
    """``POST /route``."""

    permission_classes = (role_required(Role.EDITOR),)

    @documented("routeMessage", {200: RouteAnswer, 201: RouteAnswer}, body=RouteBody, tag="route")
    def post(self, request: Request) -> Response:
        """Turn ``message`` into a spec and its drawing. Nothing runs.

        Without ``dryRun`` the drawing is saved as a new workflow, a draft, and the answer is 201 with its
        ``workflowId``. Open questions, a dry run: 200, and nothing is saved.
        """
        body, is_saved = routed(access_of(request), request.data)
        return Response(body, status=status.HTTP_201_CREATED if is_saved else status.HTTP_200_OK)


def routed(access: Access, sent: Any, *, offline: bool = False) -> tuple[dict[str, Any], bool]:
    """Route ``{message, context?, dryRun?}``; returns the answer and whether a draft was saved.

    As REST and the command line do it; ``offline`` asks no model. Raises the errors of the API.
    """
    body = checked(RouteBody, sent)
    try:
        drawn = route_and_draw(body["message"], access.customer, body["context"], offline=offline)
    except MessageRefused as refused:
        raise serializers.ValidationError({refused.field: [str(refused)]}) from None
    if body["dryRun"] or drawn.drawing is None:
        return drawn.as_json(), False
    with answered():
        version = save_draft(drawn, body["message"], access.customer, by=access.actor)
    return drawn.as_json() | {"workflowId": str(version.workflow_id)}, True
