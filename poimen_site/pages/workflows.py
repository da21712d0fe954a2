"""``/ui/workflows``: what there is to run, the page of one workflow with its form to start it, and its canvas."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Subquery
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from canvas.nodes import REMARKS
from canvas.problems import is_blocking
from poimen_site.pages.visitor import Visitor, draw, own_or_404, page
from workflows.api.executions import executions_of
from workflows.models import Execution, Role, Workflow, WorkflowStatus, WorkflowVersion

PAGE = 25
RUNS_SHOWN = 10
VERSIONS_SHOWN = 10
_NO_STEPS = ("start", "end", *REMARKS)
_INPUT = re.compile(r"workflow\.input\.([A-Za-z_][A-Za-z0-9_]{0,63})")


@page
def workflow_list(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw the list, last changed first, by ``q`` (part of the name) and ``status``."""
    wanted = {key: request.GET.get(key, "").strip() for key in ("q", "status")}
    newest = Execution.objects.filter(workflow=OuterRef("pk")).order_by("-created_at")
    rows = Workflow.objects.filter(customer=visitor.customer).defer("nodes", "edges").order_by("-updated_at", "pk")
    if wanted["q"]:
        rows = rows.filter(name__icontains=wanted["q"])
    if wanted["status"] in WorkflowStatus.values:
        rows = rows.filter(status=wanted["status"])
    pages = Paginator(
        rows.annotate(
            last_status=Subquery(newest.values("status")[:1]),
            last_at=Subquery(newest.values("created_at")[:1]),
            last_id=Subquery(newest.values("pk")[:1]),
        ),
        PAGE,
    )
    shown = pages.get_page(request.GET.get("page"))
    context = {
        "shown": shown,
        "pages": pages,
        "wanted": wanted,
        "is_filtered": any(wanted.values()),
        "may_save": visitor.may(Role.EDITOR),
        "choices": WorkflowStatus.choices,
    }
    return draw(request, visitor, "ui/workflows.html", context)


@page
def workflow_page(request: HttpRequest, visitor: Visitor, workflow_id: str) -> HttpResponseBase:
    """Draw a workflow: its steps, what is wrong with it, its last runs and versions, and how to start it."""
    workflow = _own(visitor, workflow_id)
    version = WorkflowVersion.objects.filter(workflow=workflow, version=workflow.version).first()
    problems = version.problems if version else []
    blocking = [row for row in problems if is_blocking(row, WorkflowStatus.ACTIVE)]
    asked = [row["parameter"] for row in blocking if row["code"] == "missing-parameter" and "parameter" in row]
    runs = executions_of(visitor.customer).filter(workflow=workflow)
    outcomes = Execution.objects.filter(workflow=workflow).values_list("status").annotate(Count("pk"))
    context = {
        "workflow": workflow,
        "steps": _steps(workflow.nodes),
        "problems": problems,
        "blocking": blocking,
        "inputs": json.dumps(dict.fromkeys(asked, "") | inputs_of(workflow.nodes, workflow.edges), indent=2),
        "runs": runs[:RUNS_SHOWN],
        "outcomes": dict(outcomes),
        "versions": WorkflowVersion.objects.filter(workflow=workflow).defer("nodes", "edges")[:VERSIONS_SHOWN],
        "may_edit": visitor.may(Role.EDITOR),
        "may_start": visitor.may_operate and workflow.status != WorkflowStatus.ARCHIVED,
    }
    return draw(request, visitor, "ui/workflow.html", context)


@page
def canvas_page(request: HttpRequest, visitor: Visitor, workflow_id: str) -> HttpResponseBase:
    """Draw the page of the canvas editor, which asks REST for the rest; who may not edit sees the canvas as it is."""
    workflow = _own(visitor, workflow_id)
    context = {
        "workflow": workflow,
        "may_edit": visitor.may(Role.EDITOR),
        "may_run": visitor.may_operate and workflow.status != WorkflowStatus.ARCHIVED,
    }
    return draw(request, visitor, "ui/canvas.html", context)


def inputs_of(nodes: Sequence[Any], edges: Sequence[Any]) -> dict[str, Any]:
    """Return the inputs that a canvas declares at its start with their values, and "" for those it reads anywhere."""
    declared: dict[str, Any] = {}
    for node in nodes:
        data = node.get("data") if isinstance(node, dict) and node.get("type") == "start" else None
        config = data.get("config") if isinstance(data, dict) else None
        declared |= config if isinstance(config, dict) else {}
    read = _INPUT.findall(json.dumps([nodes, edges], ensure_ascii=False))
    return declared | {name: "" for name in read if name not in declared}


def _steps(nodes: Iterable[Any]) -> list[dict[str, str]]:
    """The nodes from left to right, without the ends and remarks: name, type and what does the work."""
    drawn = [node for node in nodes if isinstance(node, dict) and node.get("type") not in _NO_STEPS]

    def place(node: dict[str, Any]) -> tuple[float, float]:
        position = node.get("position")
        at = position if isinstance(position, dict) else {}
        x, y = at.get("x"), at.get("y")
        return (float(x) if isinstance(x, int | float) else 0.0, float(y) if isinstance(y, int | float) else 0.0)

    steps = []
    for node in sorted(drawn, key=place):
        drawn_data = node.get("data")
        data: dict[str, Any] = drawn_data if isinstance(drawn_data, dict) else {}
        name = str(node.get("id", ""))
        steps.append(
            {
                "name": name,
                "label": str(data.get("label") or name),
                "does": str(data.get("activity") or node.get("type", "")),
            }
        )
    return steps


def _own(visitor: Visitor, workflow_id: str) -> Workflow:
    try:
        workflow = Workflow.objects.filter(pk=UUID(workflow_id)).first()
    except ValueError:
        workflow = None
    if workflow is None:
        raise Http404("Workflow not found")
    own_or_404(visitor, workflow.customer_id, "Workflow")
    return workflow
