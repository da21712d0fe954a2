"""``GET /executions/{id}/states``: what each state did, attempt by attempt, and where the branches stand now."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import secrets
from workflows.access import customer_of, role_required
from workflows.api.answers import StatesPage
from workflows.api.documentation import documented
from workflows.api.executions import AT_A_STATE, own_execution_in
from workflows.api.requests import Limit, Query, checked
from workflows.api.timestamps import rfc3339
from workflows.artifact_files import linked
from workflows.models import Branch, Process, Role, StateRun

MAX_RUNS = 1000


class StatesQuery(Query):
    """``after``: the ``next`` of an earlier answer; ``state``: of that one only; ``values``: with input and output."""

    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)
    limit = Limit(most=MAX_RUNS, default=MAX_RUNS)
    state = serializers.CharField(required=False, max_length=128)
    values = serializers.BooleanField(default=True)


def run_body(run: StateRun, *, values: bool = True) -> dict[str, Any]:
    """Return an ended attempt as JSON; its branch must be loaded. Secrets are masked.

    Without ``values`` its input and output are null: whoever draws a thousand attempts needs their times only.
    """
    body: dict[str, Any] = {
        "id": run.pk,
        "state": run.state,
        "type": run.type,
        "activity": run.activity or None,
        "branch": _place(run.branch),
        "visit": run.visit,
        "attempt": run.attempt,
        "status": run.status,
        "input": secrets.mask(run.input) if values else None,
        "output": linked(secrets.mask(run.output)) if values else None,
        "startedAt": rfc3339(run.started_at),
        "startedMs": _milliseconds(run.started_at),
        "endedAt": rfc3339(run.ended_at),
        "durationMs": round((run.ended_at - run.started_at).total_seconds() * 1000),
        "worker": run.worker,
        "reused": run.reused,
    }
    if run.error is not None:
        body["error"] = secrets.mask(run.error)
    if run.next_state:
        body["next"] = run.next_state
    return body


def cursor_body(branch: Branch) -> dict[str, Any]:
    """Return where a branch of :func:`cursors_of` stands now as JSON, who drives it, and what it waits for."""
    body: dict[str, Any] = {
        "state": branch.state,
        "activity": branch.activity or None,
        "branch": _place(branch),
        "visit": branch.visit,
        "attempt": branch.attempt,
        "status": branch.status,
        "since": branch.state_entered_at and rfc3339(branch.state_entered_at),
        "sinceMs": branch.state_entered_at and _milliseconds(branch.state_entered_at),
    }
    optional = {
        "worker": getattr(branch, "worker", None),
        "waitingFor": branch.waiting_for,
        "signal": branch.wait_signal,
        "wakeAt": branch.wake_at and rfc3339(branch.wake_at),
    }
    return body | {key: value for key, value in optional.items() if value}


def cursors_of(execution: UUID) -> QuerySet[Branch]:
    """Return the branches that stand at a state, outermost first, with the ``worker`` that holds each (one query)."""
    holder = Process.objects.filter(pk=OuterRef("lease_owner")).values(
        name=Concat("host", Value(":"), Cast("pid", CharField()), output_field=CharField())
    )
    rows = Branch.objects.filter(execution=execution, status__in=AT_A_STATE).annotate(worker=Subquery(holder))
    return rows.order_by("depth", "index", "pk")


def _milliseconds(moment: datetime) -> int:
    """Since 1970: durations that are drawn need more than the seconds of RFC 3339."""
    return int(moment.timestamp() * 1000)


def _place(branch: Branch) -> dict[str, Any]:
    place: dict[str, Any] = {"id": str(branch.pk), "name": branch.name or "root", "path": branch.body}
    if branch.body.endswith("*"):
        place["index"] = branch.index
    return place


class ExecutionStates(APIView):
    """``{states, running, next}``: ended attempts, oldest first, a page at a time; and the cursors of the branches."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readStates", {200: StatesPage}, query=[StatesQuery], refusals=[404], tag="executions")
    def get(self, request: Request, execution_id: str) -> Response:
        """Answer a page; ``next`` is null on the last."""
        query = checked(StatesQuery, request.query_params)
        pk = own_execution_in(execution_id, customer_of(request))
        # Adding 0 keeps PostgreSQL from walking the primary key of everybody's history to find this one's rows.
        runs = StateRun.objects.filter(execution=pk, pk__gt=query["after"]).alias(place=F("id") + 0).order_by("place")
        cursors = cursors_of(pk)
        if "state" in query:
            runs, cursors = runs.filter(state=query["state"]), cursors.filter(state=query["state"])
        if not query["values"]:
            runs = runs.defer("input", "output")
        # What a branch holds is not told here, and may be large.
        runs = runs.select_related("branch").defer("branch__variables", "branch__item", "branch__previous")
        page = list(runs[: query["limit"] + 1])
        more = len(page) > query["limit"]
        page = page[: query["limit"]]
        return Response(
            {
                "states": [run_body(run, values=query["values"]) for run in page],
                "running": [cursor_body(branch) for branch in cursors[:MAX_RUNS]],
                "next": page[-1].pk if more else None,
            }
        )
