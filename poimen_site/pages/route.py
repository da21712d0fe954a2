"""``/ui/route``: what a sentence becomes, to be looked at before anything is saved or run.

Owns the picture of the steps. The page changes nothing: its buttons send what is shown to the REST API.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from agents.router.routing import MAX_MESSAGE, MessageRefused, Route
from canvas.drawing import COLUMN, ROW, Drawing
from poimen_site.pages.visitor import Visitor, draw, page
from poimen_site.routing.drawn import route_and_draw
from workflows.models import Role
from workflows.schedules.cron import next_runs, parse_cron
from workflows.schedules.readings import reading_of

ANSWER = "answer."  # before the name of a question's parameter, in the page's address
MOST_ANSWERS = 20
RUNS_SHOWN = 5
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 140, 46, 172, 78
_BEND = 60
# What is wider than a card may be on most screens becomes smaller, down to this share; wider still is for scrolling.
_ROOM = 1100
_MOST_SHRUNK = 1600
_LETTERS = 18


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the picture, in its pixels."""

    kind: str
    x: int
    y: int
    label: str
    does: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge of the picture; ``condition`` is said where the mouse rests."""

    path: str
    condition: str


@page
def route_page(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw the review of ``message`` with the answers given, or the empty box."""
    message = str(request.GET.get("message", "")).strip()
    given = {key: str(value).strip() for key, value in list(request.GET.items())[: MOST_ANSWERS + 1]}
    answers = {key.removeprefix(ANSWER): value for key, value in given.items() if key.startswith(ANSWER) and value}
    context: dict[str, Any] = {
        "message": message,
        "most": MAX_MESSAGE,
        "may_save": visitor.may(Role.EDITOR),
        "may_run": visitor.may_operate,
    }
    if not message or not visitor.may(Role.EDITOR):
        return draw(request, visitor, "ui/route.html", context)
    try:
        # A link on somebody else's page must not spend what a model costs.
        is_foreign = request.headers.get("Sec-Fetch-Site") == "cross-site"
        drawn = route_and_draw(message, visitor.customer, answers, offline=is_foreign)
    except MessageRefused as refused:
        return draw(request, visitor, "ui/route.html", context | {"problem": str(refused)}, status=400)
    routed = drawn.route
    context |= {
        "routed": routed,
        "answers": {key: value for key, value in answers.items() if all(q.parameter != key for q in routed.questions)},
    }
    if routed.document is not None and drawn.drawing is not None:
        context |= picture(drawn.drawing)
        context |= {
            "left_out": drawn.drawing.left_out,
            "steps": [state for state in routed.document["states"] if state["type"] == "Task"],
            "inputs": {name: _said(value) for name, value in routed.document.get("input", {}).items()},
            "document": json.dumps(routed.document, indent=2, ensure_ascii=False),
            "workflow": json.dumps(_workflow(routed, drawn.drawing, message), ensure_ascii=False),
            "schedule": _schedule(routed),
        }
    return draw(request, visitor, "ui/route.html", context)


def picture(drawing: Drawing) -> dict[str, Any]:
    """Return ``boxes``, ``lines``, ``width`` and ``height`` of a drawing, and whether it ``shrinks`` or ``scrolls``."""
    places = {}
    boxes = []
    for node in drawing.nodes:
        x = node["position"]["x"] // COLUMN * _ACROSS + 2
        y = node["position"]["y"] // ROW * _DOWN + 2
        places[node["id"]] = (x, y)
        does = str(node["data"].get("activity") or node["data"].get("stateType") or "")
        boxes.append(Box(node["type"], x, y, _short(str(node["data"]["label"])), _short(does.removesuffix("Activity"))))
    lines: list[Line] = []
    bent = False
    for edge in drawing.edges:
        (left, top), (right, low) = places[edge["source"]], places[edge["target"]]
        begin, end = (left + _WIDTH, top + _HEIGHT // 2), (right - 5, low + _HEIGHT // 2)
        bend = _BEND if right - left > _ACROSS else 0  # over what stands between
        path = (
            f"M{begin[0]} {begin[1]} C{begin[0] + 20} {begin[1] + bend} {end[0] - 20} {end[1] + bend} {end[0]} {end[1]}"
        )
        data = edge.get("data", {})
        condition = data.get("condition", "").removeprefix("{%").removesuffix("%}").strip()
        lines.append(Line(path, f"{edge['source']} fails" if data.get("on_error") else condition))
        bent = bent or bool(bend)
    width = max(x for x, _ in places.values()) + _WIDTH + 4
    height = max(y for _, y in places.values()) + _HEIGHT + 4
    size = {"width": width, "height": height + (_BEND // 2 if bent else 0)}
    fitting = {"shrinks": _ROOM < width <= _MOST_SHRUNK, "scrolls": width > _MOST_SHRUNK}
    return {"boxes": boxes, "lines": lines, **size, **fitting}


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def _workflow(routed: Route, drawing: Drawing, message: str) -> dict[str, Any]:
    return {"name": routed.name, "description": message, "nodes": drawing.nodes, "edges": drawing.edges}


def _schedule(routed: Route) -> Mapping[str, Any] | None:
    """Return what a schedule means: ``cron``, ``reading`` and the next ``runs`` with their local time."""
    if routed.cron_spec is None:
        return None
    text, zone = routed.cron_spec["schedule"], routed.cron_spec["timezone"]
    cron = parse_cron(text)
    runs = next_runs(cron, zone, after=datetime.now(UTC), most=RUNS_SHOWN)
    local = [(run, run.astimezone(ZoneInfo(zone)).strftime("%a %d %b %Y, %H:%M")) for run in runs]
    return {"cron": text, "zone": zone, "reading": reading_of(cron, zone), "runs": local}
