"""What an execution said, in pages that a tailing reader can follow without a gap."""

from itertools import takewhile
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, BooleanField, ExpressionWrapper, Func, Q, QuerySet
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from workflows.access import customer_of, role_required
from workflows.activities.context import LEVELS, LogLevel
from workflows.api.answers import LogPage
from workflows.api.documentation import documented
from workflows.api.executions import own_execution_in
from workflows.api.requests import Limit, Query, checked
from workflows.api.streaming import JsonRefusals
from workflows.live.lines import OLDEST_RUNNING, Cursor, Entry, log_body
from workflows.models import LogEntry, Role

DEFAULT_LINES = 1000
MAX_LINES = 10_000
_COLUMNS = ("tx", "id", "branch_id", "node_id", "level", "event", "message", "fields", "logged_at")

_IS_SETTLED = ExpressionWrapper(
    Q(tx__lt=Func(template=OLDEST_RUNNING, output_field=BigIntegerField())), output_field=BooleanField()
)


def lines_after(
    execution_id: UUID, after: Cursor | None, limit: int, *, level: LogLevel = "info"
) -> tuple[list[Entry], bool]:
    """Return up to ``limit`` lines after a place, in (tx, id) order, and whether more are there already (one query).

    A line shows only once no running transaction could still write one before it, so following never skips. Lines that
    are withheld for that are more, too: whoever asks until there is no more has everything that was said.
    """
    rows = _at(level, LogEntry.objects.filter(execution_id=execution_id))
    if after is not None:
        rows = rows.filter(Q(tx__gt=after.tx) | Q(pk__gt=after.id), tx__gte=after.tx)
    # Plain tuples: making a model of each line takes longer than all the rest of a page.
    found = rows.order_by("tx", "id").annotate(is_settled=_IS_SETTLED).values_list(*_COLUMNS, "is_settled", named=True)
    entries = list(found[: limit + 1])
    settled = list(takewhile(attrgetter("is_settled"), entries[:limit]))
    return settled, len(entries) > len(settled)


def _at(level: LogLevel, rows: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
    return rows if level == "debug" else rows.filter(level__in=LEVELS[LEVELS.index(level) :])


@extend_schema_field({"type": "string", "pattern": "^[0-9]{1,18}-[0-9]{1,18}$"})
class _Place(serializers.Field[Cursor, str, str, Any]):
    def to_internal_value(self, data: str) -> Cursor:
        try:
            return Cursor.parse(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class LogQuery(Query):
    """``after`` is a cursor of an earlier answer; ``level`` the least level to show."""

    after = _Place(required=False, default=None)
    limit = Limit(most=MAX_LINES, default=DEFAULT_LINES)
    level = serializers.ChoiceField(choices=LEVELS, default="info")
    format = serializers.ChoiceField(choices=["json", "text"], required=False)


ANSWERS: dict[Any, Any] = {(200, "application/json"): LogPage, (200, "text/plain"): OpenApiTypes.STR}


class PlainText(BaseRenderer):
    """What ``?format=text`` or ``Accept: text/plain`` choose: all lines as text. Renders nothing, since it streams."""

    media_type = "text/plain"
    format = "text"


class ExecutionLogs(JsonRefusals):
    """``GET /executions/{id}/logs``: ``{logs, next, more}``; ask again with ``after=next`` to follow."""

    permission_classes = (role_required(Role.VIEWER),)
    renderer_classes = (JSONRenderer, PlainText)

    @documented("readLogs", ANSWERS, query=[LogQuery], refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str) -> HttpResponseBase:
        """Answer a page, every line with its cursor; as text everything after ``after``, whatever ``limit`` says."""
        query = checked(LogQuery, request.query_params)
        pk = own_execution_in(execution_id, customer_of(request))
        after: Cursor | None = query["after"]
        if request.accepted_renderer.format == PlainText.format:
            from workflows.live.text import log_as_text  # which reads with what is above

            return StreamingHttpResponse(
                log_as_text(pk, after, query["level"]),
                content_type="text/plain; charset=utf-8",
                headers={"Content-Disposition": f'attachment; filename="{pk}.log"'},
            )
        entries, more = lines_after(pk, after, query["limit"], level=query["level"])
        lines = [log_body(entry) for entry in entries]
        return Response({"logs": lines, "next": lines[-1]["cursor"] if lines else after and str(after), "more": more})
