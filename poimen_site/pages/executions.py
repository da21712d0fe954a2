"""``/ui/executions``: the list with its filters, and the page of one run."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from poimen_site.pages.exchanges import exchanges_of, usage_of_run
from poimen_site.pages.figures import FAILED, OPEN
from poimen_site.pages.from_cache import makers_of
from poimen_site.pages.gates import open_gates
from poimen_site.pages.places import places_of
from poimen_site.pages.timeline import attempts_before, attempts_inside, timeline_of
from poimen_site.pages.visitor import Visitor, draw, own_or_404, page
from workflows import secrets
from workflows.api.executions import current_states_of, executions_of
from workflows.api.states import cursors_of, run_body
from workflows.api.streaming import download
from workflows.artifact_files import kept_in, open_file
from workflows.live.text import log_as_text
from workflows.models import Execution, ExecutionStatus, StateRun, Workflow
from workflows.models.execution import TERMINAL
from workflows.reruns import states_to_rerun_from

PAGE = 25
GROUPS = {"open": OPEN, "failures": FAILED}
CHOICES = [("open", "open (any)"), ("failures", "failed (any)"), *ExecutionStatus.choices]
GATES_SHOWN = 20
CHILDREN_SHOWN = FILES_SHOWN = 50
WORKFLOWS_OFFERED = 200


@page
def execution_list(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw the list: newest first, by ``status``, ``workflow``, ``q`` (name, id or who started it) and ``page``."""
    wanted = {key: request.GET.get(key, "").strip() for key in ("status", "workflow", "q")}
    rows, problem = _filtered(executions_of(visitor.customer), wanted)
    pages = Paginator(rows, PAGE)
    shown = pages.get_page(request.GET.get("page"))
    executions = list(shown.object_list)
    states = current_states_of([execution for execution in executions if execution.status not in TERMINAL])
    used = {key: value for key, value in wanted.items() if value}
    workflows = Workflow.objects.filter(customer=visitor.customer).order_by("name").values_list("pk", "name")
    context = {
        "rows": [(execution, states.get(execution.pk, [])) for execution in executions],
        "shown": shown,
        "pages": pages,
        "wanted": wanted,
        "problem": problem,
        "is_filtered": bool(used),
        "query": urlencode(used) + "&" if used else "",
        "choices": CHOICES,
        "workflows": [(str(pk), name) for pk, name in workflows[:WORKFLOWS_OFFERED]],
    }
    return draw(request, visitor, "ui/executions.html", context)


def _filtered(rows: QuerySet[Execution], wanted: dict[str, str]) -> tuple[QuerySet[Execution], str]:
    """The rows that were asked for, and what of the question could not be understood."""
    problem = ""
    if status := wanted["status"]:
        if status in GROUPS:
            rows = rows.filter(status__in=GROUPS[status])
        elif status in ExecutionStatus.values:
            rows = rows.filter(status=status)
        else:
            problem = f"There is no status {status!r}; all are shown."
    if workflow := wanted["workflow"]:
        key = uuid_or_none(workflow)
        rows = rows.none() if key is None else rows.filter(workflow=key)
        problem = problem if key else f"{workflow!r} is no workflow's id."
    if text := wanted["q"]:
        key = uuid_or_none(text)
        rows = rows.filter(pk=key) if key else rows.filter(name__icontains=text) | rows.filter(created_by=text)
    return rows, problem


@page
def execution_page(request: HttpRequest, visitor: Visitor, execution_id: str) -> HttpResponseBase:
    """Draw a run: what it does, its states, its people and relatives. Its log comes through ``log.js``."""
    execution = own_execution(visitor, execution_id)
    is_over = execution.status in TERMINAL
    timeline = timeline_of(execution)
    relatives = executions_of(visitor.customer)
    context: dict[str, Any] = {
        "execution": execution,
        "is_over": is_over,
        "timeline": timeline,
        "rerun_from": states_to_rerun_from(execution) if visitor.may_operate else [],
        "gates": [] if is_over else open_gates(visitor, most=GATES_SHOWN, execution=execution.pk),
        "signals": [] if is_over else _awaited_signals(execution),
        "children": relatives.filter(parent=execution.pk).order_by("created_at", "pk")[:CHILDREN_SHOWN],
        "continued_as": relatives.filter(continued_from=execution.pk).first(),
        "reruns": relatives.filter(rerun_of=execution.pk).order_by("created_at")[:CHILDREN_SHOWN],
        "usage": usage_of_run(execution),
        "inputs": secrets.mask(execution.inputs),
        "output": secrets.mask(execution.output),
        "error": secrets.mask(execution.error),
        "may_pause": not is_over and execution.pause_requested_at is None and execution.cancel_requested_at is None,
        "may_resume": not is_over and execution.pause_requested_at is not None,
        "may_cancel": not is_over and execution.cancel_requested_at is None,
    }
    return draw(request, visitor, "ui/execution.html", context)


@page
def run_details(request: HttpRequest, visitor: Visitor, execution_id: str, run_id: int) -> HttpResponseBase:
    """Draw input, output and error of one attempt: a fragment that opens inside the timeline."""
    execution = own_execution(visitor, execution_id)
    run = StateRun.objects.select_related("branch").filter(execution=execution.pk, pk=run_id).first()
    if run is None:
        raise Http404("Attempt not found")
    files = list(kept_in(run.output))[:FILES_SHOWN]
    visits = StateRun.objects.filter(execution=execution.pk, branch=run.branch_id, state=run.state)
    maker = makers_of(execution, visits).get(run.pk, "")
    given = {"run": run_body(run), "row": run, "files": files, "exchanges": exchanges_of(run), "maker": maker}
    return draw(request, visitor, "ui/run_details.html", given)


@page
def attempts(request: HttpRequest, visitor: Visitor, execution_id: str) -> HttpResponseBase:
    """Draw a page of attempts for the timeline: those ``before`` a number, or those ``inside`` a Map ``from`` one."""
    execution = own_execution(visitor, execution_id)
    inside, start, before = request.GET.get("inside", ""), _number(request, "from"), _number(request, "before")
    if inside:
        rows, following = attempts_inside(execution, inside, start)
        given = {"rows": rows, "inside": inside, "next": following}
    else:
        rows, first = attempts_before(execution, before)
        given = {"rows": rows, "first": first}
    return draw(request, visitor, "ui/attempts.html", {"execution": execution, **given})


@page
def places(request: HttpRequest, visitor: Visitor, execution_id: str) -> HttpResponseBase:
    """Answer ``{id: [short, whole]}``: where the branches ``of`` (ids, separated by commas) are."""
    execution = own_execution(visitor, execution_id)
    wanted = [key for text in request.GET.get("of", "").split(",") if (key := uuid_or_none(text))]
    found = places_of(execution.pk, wanted)
    return JsonResponse({str(pk): [place.short, place.whole] for pk, place in found.items()})


@page
def artifact(request: HttpRequest, visitor: Visitor, execution_id: str, name: str) -> HttpResponseBase:
    """Download a file that the execution keeps."""
    execution = own_execution(visitor, execution_id)
    try:
        return download(*open_file(execution.pk, name))
    except FileNotFoundError:
        raise Http404("Artifact not found") from None


@page
def log_file(request: HttpRequest, visitor: Visitor, execution_id: str) -> HttpResponseBase:
    """Stream the whole log as plain text, a line each."""
    execution = own_execution(visitor, execution_id)
    response = StreamingHttpResponse(log_as_text(execution.pk, None, "debug"), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="execution-{execution.pk}.log"'
    response["Cache-Control"] = "no-store"
    return response


def own_execution(visitor: Visitor, execution_id: str) -> Execution:
    """Return the execution with its spec, workflow and relatives; raises 404 for those of other customers."""
    key = uuid_or_none(execution_id)
    rows = Execution.objects.select_related("spec", "workflow", "workflow_version", "parent", "rerun_of")
    execution = rows.filter(pk=key).first() if key else None
    if execution is None:
        raise Http404("Execution not found")
    own_or_404(visitor, execution.customer_id, "Execution")
    return execution


def _awaited_signals(execution: Execution) -> list[tuple[str, str]]:
    """``(signal, state)`` of the branches that wait for one somebody may send; approvals are decided by vote."""
    rows = cursors_of(execution.pk).filter(wait_signal__gt="").exclude(wait_signal__startswith="approval:")
    return [(branch.wait_signal, branch.state) for branch in rows[:GATES_SHOWN]]


def _number(request: HttpRequest, name: str) -> int:
    """A place in a list; 0 for anything that is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def uuid_or_none(text: str) -> UUID | None:
    """Return the id in a text, None for text that is none."""
    try:
        return UUID(text)
    except ValueError:
        return None
