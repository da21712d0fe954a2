"""``/ui/schedules``: what starts by the calendar, one schedule with its history, and the form to make or change one."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from poimen_site.pages.visitor import Visitor, draw, own_or_404, page
from workflows import secrets
from workflows.api.schedule_acts import history_bodies
from workflows.api.schedule_bodies import STATUSES, last_runs_of, reading, status_of
from workflows.api.schedules import in_status
from workflows.models import Execution, Overlap, RunOutcome, Schedule, ScheduleRun, Workflow, WorkflowStatus
from workflows.schedules.firing import database_now
from workflows.schedules.timing import coming_runs
from workflows.schedules.zones import zone_names, zone_of
from workflows.spec.durations import format_duration

PAGE = 25
HISTORY = 20
RUNS_AHEAD = 5
WORKFLOWS_OFFERED = 500
_LOCAL = "%a %d %b %Y %H:%M:%S %Z"


@page
def schedule_list(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw the list, by name, by ``q`` (part of the name) and ``status``."""
    wanted = {key: request.GET.get(key, "").strip() for key in ("q", "status")}
    rows = Schedule.objects.filter(customer=visitor.customer).select_related("workflow").order_by("name", "pk")
    if wanted["q"]:
        rows = rows.filter(name__icontains=wanted["q"])
    pages = Paginator(in_status(rows, wanted["status"]), PAGE)
    shown = pages.get_page(request.GET.get("page"))
    schedules = list(shown.object_list)
    last = last_runs_of([schedule.pk for schedule in schedules])
    used = {key: value for key, value in wanted.items() if value}
    context = {
        "rows": [_row(schedule, last.get(schedule.pk)) for schedule in schedules],
        "shown": shown,
        "pages": pages,
        "wanted": wanted,
        "is_filtered": bool(used),
        "query": urlencode(used) + "&" if used else "",
        "choices": STATUSES,
    }
    return draw(request, visitor, "ui/schedules.html", context)


@page
def schedule_page(request: HttpRequest, visitor: Visitor, schedule_id: str) -> HttpResponseBase:
    """Draw a schedule: its reading, the next runs in its zone and in the visitor's, its rules and its history."""
    schedule = _own(visitor, schedule_id)
    now, zone = database_now(), zone_of(schedule.zone)
    pages = Paginator(ScheduleRun.objects.filter(schedule=schedule).order_by("-due_at"), HISTORY)
    shown = pages.get_page(request.GET.get("page"))
    runs = list(shown.object_list)
    context = {
        **_row(schedule, last_runs_of([schedule.pk]).get(schedule.pk)),
        "coming": [(due, due.astimezone(zone).strftime(_LOCAL)) for due in coming_runs(schedule, now, RUNS_AHEAD)],
        "history": list(zip(runs, history_bodies(runs), strict=True)),
        "outcomes": RunOutcome,
        "shown": shown,
        "pages": pages,
        "query": "",
        "catch_up": format_duration(schedule.catch_up) if schedule.catch_up else "",
        "jitter": format_duration(schedule.jitter) if schedule.jitter else "",
        "inputs": secrets.mask(schedule.inputs),
        "spec": secrets.mask(schedule.spec.document) if schedule.spec is not None else None,
        "open": Execution.objects.filter(schedule=schedule, ended_at=None).count(),
        "queued": ScheduleRun.objects.filter(schedule=schedule, outcome=RunOutcome.QUEUED).count(),
        "backfill_end": now.astimezone(UTC).strftime("%Y-%m-%dT%H:00:00Z"),
    }
    return draw(request, visitor, "ui/schedule.html", context)


@page
def new_schedule(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw the empty form; ``workflow`` in the address chooses one, ``schedule`` and ``timezone`` say when."""
    chosen = request.GET.get("workflow", "")
    cron, zone = (request.GET.get(key, "").strip()[:128] for key in ("schedule", "timezone"))
    start = {"cron": cron or "30 7 * * MON-FRI", "zone": zone or "UTC", "overlap": Overlap.SKIP.value, "priority": 0}
    return _form(request, visitor, start, workflow=chosen)


@page
def edit_schedule(request: HttpRequest, visitor: Visitor, schedule_id: str) -> HttpResponseBase:
    """Draw the form with the settings of a schedule; a spec stays as it is unless another is given."""
    schedule = _own(visitor, schedule_id)
    settings = {
        "name": schedule.name,
        "description": schedule.description,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "overlap": schedule.overlap,
        "catch_up": format_duration(schedule.catch_up) if schedule.catch_up else "",
        "jitter": format_duration(schedule.jitter) if schedule.jitter else "",
        "max_runs": schedule.max_runs,
        "starts_at": _text(schedule.starts_at),
        "ends_at": _text(schedule.ends_at),
        "priority": schedule.priority,
        "version": schedule.workflow_version,
        "inputs": json.dumps(schedule.inputs, indent=2, ensure_ascii=False) if schedule.inputs else "",
    }
    return _form(request, visitor, settings, workflow=str(schedule.workflow_id or ""), schedule=schedule)


def _form(
    request: HttpRequest, visitor: Visitor, settings: dict[str, Any], *, workflow: str, schedule: Schedule | None = None
) -> HttpResponseBase:
    workflows = Workflow.objects.filter(customer=visitor.customer).exclude(status=WorkflowStatus.ARCHIVED)
    context = {
        "settings": settings,
        "schedule": schedule,
        "workflow": workflow,
        "workflows": [
            (str(pk), name) for pk, name in workflows.order_by("name").values_list("pk", "name")[:WORKFLOWS_OFFERED]
        ],
        "zones": zone_names(),
        "policies": Overlap.choices,
    }
    code = 200 if visitor.may_operate else 403
    return draw(request, visitor, "ui/schedule_form.html", context, status=code)


def _row(schedule: Schedule, last: dict[str, Any] | None) -> dict[str, Any]:
    return {"schedule": schedule, "status": status_of(schedule), "reading": reading(schedule), "last": last}


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _own(visitor: Visitor, schedule_id: str) -> Schedule:
    try:
        schedule = Schedule.objects.select_related("workflow", "spec").filter(pk=UUID(schedule_id)).first()
    except ValueError:
        schedule = None
    if schedule is None:
        raise Http404("Schedule not found")
    own_or_404(visitor, schedule.customer_id, "Schedule")
    return schedule
