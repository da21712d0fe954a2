"""``/schedules``: workflows that start by the calendar (contract-rest-api 2.9)."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import Access, access_of, customer_of, role_required
from workflows.api import schedule_acts
from workflows.api.answers import ExecutionAnswer
from workflows.api.documentation import IDEMPOTENCY_KEY, IF_MATCH, documented
from workflows.api.requests import Ordering, Page, Query, Reason, Strict, checked, idempotency_key, paged, selected
from workflows.api.schedule_bodies import (
    STATUSES,
    BackfillAnswer,
    BackfillBody,
    PreviewAnswer,
    PreviewBody,
    RunAnswer,
    ScheduleAnswer,
    ScheduleInList,
    SchedulePart,
    full_body,
)
from workflows.models import Overlap, Role, RunOutcome, RunTrigger, Schedule, ScheduleRun
from workflows.schedules.firing import database_now

# Whoever makes a schedule lets workflows run: that is what operators may.
_READ_OR_OPERATE = role_required(Role.OPERATOR, read=Role.VIEWER)
_TAG = "schedules"


class ListQuery(Page):
    """Query of the list."""

    lookups: ClassVar = {
        "workflowId": "workflow",
        "name": "name",
        "overlapPolicy": "overlap",
        "createdBy": "created_by",
    }
    status = serializers.ChoiceField(choices=STATUSES, required=False)
    workflowId = serializers.UUIDField(required=False)  # noqa: N815 - the key of the contract
    name = serializers.CharField(required=False, max_length=128)
    overlapPolicy = serializers.ChoiceField(choices=Overlap.choices, required=False)  # noqa: N815
    createdBy = serializers.CharField(required=False, max_length=254)  # noqa: N815
    ordering = Ordering({"name": "name", "nextRunAt": "due_at", "createdAt": "created_at"}, default="name")


class HistoryQuery(Page):
    """Query of the history; ``dueAfter`` counts in, ``dueBefore`` does not."""

    lookups: ClassVar = {
        "outcome": "outcome",
        "trigger": "trigger",
        "dueAfter": "due_at__gte",
        "dueBefore": "due_at__lt",
    }
    outcome = serializers.ChoiceField(choices=RunOutcome.choices, required=False)
    trigger = serializers.ChoiceField(choices=RunTrigger.choices, required=False)
    dueAfter = serializers.DateTimeField(required=False)  # noqa: N815
    dueBefore = serializers.DateTimeField(required=False)  # noqa: N815
    ordering = Ordering({"dueAt": "due_at"}, default="-dueAt")


def in_status(rows: QuerySet[Schedule], wanted: str | None) -> QuerySet[Schedule]:
    """Return those of ``rows`` that are ``active``, ``paused`` or ``ended``; all for None."""
    match wanted:
        case "paused":
            return rows.filter(paused_at__isnull=False)
        case "active":
            return rows.filter(paused_at=None, due_at__isnull=False)
        case "ended":
            return rows.filter(paused_at=None, due_at=None)
        case _:
            return rows


class ScheduleList(APIView):
    """``GET`` and ``POST /schedules``."""

    permission_classes = (_READ_OR_OPERATE,)

    @documented("listSchedules", {200: ScheduleInList(many=True)}, query=[ListQuery], tag=_TAG)
    def get(self, request: Request) -> Response:
        """Answer a page of schedules, a bare array; the total is in ``X-Total-Count``."""
        query = checked(ListQuery, request.query_params)
        rows = selected(ListQuery, query, Schedule.objects.filter(customer=customer_of(request)))
        schedules, response = paged(query, in_status(rows, query.get("status")))
        response.data = schedule_acts.list_bodies(schedules)
        return response

    @documented(
        "createSchedule",
        {200: ScheduleAnswer, 201: ScheduleAnswer},
        body=SchedulePart,
        headers=[IDEMPOTENCY_KEY],
        refusals=[409, 422],
        tag=_TAG,
    )
    def post(self, request: Request) -> Response:
        """Make a schedule of a workflow (``workflowId``) or a ``spec``.

        With a CronWorkflowSpec as ``spec`` nothing else is needed; what the body says besides wins. With
        ``Idempotency-Key`` a repeated request answers 200 with the schedule of the first, and 409 if it asks for
        something else.
        """
        body, is_new = schedule_acts.create_once(access_of(request), request.data, idempotency_key(request))
        return _answer(body, _code(is_new))


class SchedulePreview(APIView):
    """``POST /schedules/preview``: what cron text means, before it is saved."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("previewSchedule", {200: PreviewAnswer}, body=PreviewBody, tag=_TAG)
    def post(self, request: Request) -> Response:
        """Take ``{schedule, timezone?, startAt?, endAt?}``; answer its reading and next five runs, or what is wrong."""
        return Response(schedule_acts.preview(request.data))


class ScheduleDetail(APIView):
    """``GET``, ``PUT``, ``PATCH`` and ``DELETE /schedules/{id}``."""

    permission_classes = (_READ_OR_OPERATE,)

    @documented("readSchedule", {200: ScheduleAnswer}, refusals=[404], tag=_TAG)
    def get(self, request: Request, schedule_id: str) -> Response:
        """Answer the schedule with its reading and next five runs; the version is its ``ETag``."""
        checked(Query, request.query_params)
        schedule = schedule_acts.own_schedule(customer_of(request), schedule_id)
        return _answer(full_body(schedule, database_now()), status.HTTP_200_OK)

    @documented(
        "replaceSchedule",
        {200: ScheduleAnswer},
        body=SchedulePart,
        headers=[IF_MATCH],
        refusals=[404, 409, 422],
        tag=_TAG,
    )
    def put(self, request: Request, schedule_id: str) -> Response:
        """Give the schedule these settings; what is left out gets its default. 409 if ``If-Match`` is not its ETag."""
        access, expected = access_of(request), _expected_version(request)
        return _answer(schedule_acts.replace(access, schedule_id, request.data, expected), status.HTTP_200_OK)

    @documented(
        "changeSchedule",
        {200: ScheduleAnswer},
        body=SchedulePart,
        headers=[IF_MATCH],
        refusals=[404, 409, 422],
        tag=_TAG,
    )
    def patch(self, request: Request, schedule_id: str) -> Response:
        """Change what the body names; the rest stays. 409 if ``If-Match`` is not its ETag."""
        access, expected = access_of(request), _expected_version(request)
        return _answer(schedule_acts.change(access, schedule_id, request.data, expected), status.HTTP_200_OK)

    @documented("deleteSchedule", {204: None}, headers=[IF_MATCH], refusals=[404, 409], tag=_TAG)
    def delete(self, request: Request, schedule_id: str) -> Response:
        """Delete the schedule with its history; its executions stay."""
        schedule_acts.delete(access_of(request), schedule_id, _expected_version(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class _ReasonedAct(APIView):
    permission_classes = (role_required(Role.OPERATOR),)
    act: Callable[[Access, str, Any], dict[str, Any]]

    def post(self, request: Request, schedule_id: str) -> Response:
        """Take ``{reason?}``; asking twice is asking once."""
        body = type(self).act(access_of(request), schedule_id, request.data)
        return _answer(body, status.HTTP_200_OK)


def _asks(operation_id: str) -> Callable[[type[APIView]], type[APIView]]:
    said = documented(operation_id, {200: ScheduleAnswer}, body=Reason, refusals=[404], tag=_TAG)
    return extend_schema_view(post=said)


@_asks("pauseSchedule")
class PauseSchedule(_ReasonedAct):
    """``POST /schedules/{id}/pause``: nothing starts by the clock until it is resumed."""

    act = staticmethod(schedule_acts.pause)


@_asks("resumeSchedule")
class ResumeSchedule(_ReasonedAct):
    """``POST /schedules/{id}/resume``: goes on with the next run to come."""

    act = staticmethod(schedule_acts.resume)


class TriggerSchedule(APIView):
    """``POST /schedules/{id}/trigger``: start it now."""

    permission_classes = (role_required(Role.OPERATOR),)

    @documented(
        "triggerSchedule",
        {200: ExecutionAnswer, 201: ExecutionAnswer},
        body=Strict,
        headers=[IDEMPOTENCY_KEY],
        refusals=[404, 409],
        tag=_TAG,
    )
    def post(self, request: Request, schedule_id: str) -> Response:
        """Start an execution, whatever else runs and also while it is paused; counts towards no limit.

        With ``Idempotency-Key`` a repeated request answers 200 with the execution of the first.
        """
        schedule_acts.own_schedule(customer_of(request), schedule_id)
        checked(Strict, request.data)
        body, is_new = schedule_acts.trigger_once(access_of(request), schedule_id, idempotency_key(request))
        return Response(body, status=_code(is_new))


class BackfillSchedule(APIView):
    """``POST /schedules/{id}/backfill``: run a range of the past."""

    permission_classes = (role_required(Role.OPERATOR),)

    @documented(
        "backfillSchedule",
        {202: BackfillAnswer},
        body=BackfillBody,
        headers=[IDEMPOTENCY_KEY],
        refusals=[404, 409],
        tag=_TAG,
    )
    def post(self, request: Request, schedule_id: str) -> Response:
        """Queue a run for each instant from ``start`` to before ``end``; a thousand at most.

        They start one after the other, the oldest first, or at once where runs may overlap. Instants that ran are left
        out; with ``Idempotency-Key`` a repeated request gets the answer of the first.
        """
        body = schedule_acts.backfill(access_of(request), schedule_id, request.data, idempotency_key(request))
        return Response(body, status=status.HTTP_202_ACCEPTED)


class ScheduleExecutions(APIView):
    """``GET /schedules/{id}/executions``: the history."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listScheduleRuns", {200: RunAnswer(many=True)}, query=[HistoryQuery], refusals=[404], tag=_TAG)
    def get(self, request: Request, schedule_id: str) -> Response:
        """Answer a page of due instants with what became of each, the newest first; ``X-Total-Count`` has the total."""
        schedule = schedule_acts.own_schedule(customer_of(request), schedule_id)
        query = checked(HistoryQuery, request.query_params)
        rows = selected(HistoryQuery, query, ScheduleRun.objects.filter(schedule=schedule))
        runs, response = paged(query, rows)
        response.data = schedule_acts.history_bodies(runs)
        return response


def _code(is_new: bool) -> int:
    return status.HTTP_201_CREATED if is_new else status.HTTP_200_OK


def _answer(body: dict[str, Any], code: int) -> Response:
    return Response(body, status=code, headers={"ETag": f'"{body["version"]}"'})


def _expected_version(request: Request) -> int | None:
    """Return the version that ``If-Match`` names, None without one; raises ``ParseError`` for what is no ETag."""
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return None
    version = header.removeprefix("W/").strip('"')
    if not version.isdecimal() or len(version) > 9:
        raise ParseError('If-Match: expected the ETag of the schedule, such as "3"')
    return int(version)
