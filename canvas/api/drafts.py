"""``/workflows/{id}/draft``: what the person who asks has drawn and not saved yet.

Refuses keys that act for nobody: a draft belongs to a person, and nobody else is shown it.
"""

from uuid import UUID

from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import DraftAnswer, DraftBody, DraftReceipt
from canvas.api.bodies import draft_body, object_of, own_workflow_in, workflow_id_in
from canvas.api.refusals import answered, refused_field
from canvas.changes import read_changes
from canvas.drafts import DraftTooLarge, draft_of, drop_draft, keep_draft
from canvas.models import Draft
from workflows.access import customer_of, role_required
from workflows.api.documentation import documented
from workflows.api.requests import Query, checked
from workflows.models import Role

_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag of the draft that is written over or dropped"
)
_IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="`*`: keep the draft only if there is none yet"
)


class TooLarge(APIException):
    """413: the draft is larger than drafts may be."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class WorkflowDraft(APIView):
    """``GET``, ``PUT`` and ``DELETE /workflows/{id}/draft``."""

    permission_classes = (role_required(Role.EDITOR),)

    @documented("readDraft", {200: DraftAnswer, 204: None}, refusals=[404], tag="workflows")
    def get(self, request: Request, workflow_id: str) -> Response:
        """Answer your draft of the workflow; its revision is its ``ETag``. 204 without a body if there is none."""
        checked(Query, request.query_params)
        customer = customer_of(request)
        pk = own_workflow_in(workflow_id, customer)
        draft = draft_of(pk, customer, _person(request))
        if draft is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return _answer(draft, with_canvas=True)

    @documented(
        "keepDraft",
        {200: DraftReceipt},
        body=DraftBody,
        headers=[_IF_MATCH, _IF_NONE_MATCH],
        refusals=[404, 409],
        tag="workflows",
    )
    def put(self, request: Request, workflow_id: str) -> Response:
        """Keep the body as your draft of the workflow, with secrets sealed as in a save; it makes no version.

        With ``If-Match`` it is refused with 409 if the draft was written elsewhere meanwhile.
        """
        pk, person = workflow_id_in(workflow_id), _person(request)
        fields = object_of(request)
        base = fields.get("baseVersion")
        if not isinstance(base, int) or isinstance(base, bool):
            raise refused_field("baseVersion", "expected a whole number, the version that the draft was made on")
        if_none = request.headers.get("If-None-Match", "").strip()
        if if_none not in ("", "*"):
            raise ParseError("If-None-Match: expected *")
        with answered():
            try:
                draft = keep_draft(
                    pk,
                    customer_of(request),
                    person,
                    base_version=base,
                    canvas=read_changes(fields),
                    expected=_expected_revision(request),
                    must_be_new=if_none == "*",
                )
            except DraftTooLarge as refused:
                raise TooLarge(f"{refused}.") from None
        return _answer(draft, with_canvas=False)

    @documented("dropDraft", {204: None}, headers=[_IF_MATCH], refusals=[404, 409], tag="workflows")
    def delete(self, request: Request, workflow_id: str) -> Response:
        """Drop your draft of the workflow, if there is one."""
        customer = customer_of(request)
        pk = own_workflow_in(workflow_id, customer)
        with answered():
            drop_draft(pk, customer, _person(request), expected=_expected_revision(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _answer(draft: Draft, *, with_canvas: bool) -> Response:
    return Response(draft_body(draft, with_canvas=with_canvas), headers={"ETag": f'"{draft.revision}"'})


def _person(request: Request) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied("a draft belongs to a person; this key acts for nobody")
    return request.user


def _expected_revision(request: Request) -> UUID | None:
    """Return the revision that the request writes over, None for any; raises ``ParseError`` for what is none."""
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return None
    try:
        return UUID(header.removeprefix("W/").strip('"'))
    except ValueError:
        raise ParseError("If-Match: expected the ETag of the draft") from None
