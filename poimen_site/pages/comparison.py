"""``/ui/executions/{id}/compare``: two runs of one workflow, state by state, with what differs marked.

Owns the judgement of what differs. Refuses to hold more states than people read, and outputs of other customers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from poimen_site.pages.executions import own_execution, uuid_or_none
from poimen_site.pages.visitor import Visitor, draw, page
from workflows import secrets
from workflows.api.executions import executions_of
from workflows.artifact_files import linked
from workflows.engine.artifacts import KEY
from workflows.models import Execution, StateRun

RUNS_OFFERED = 50
STATES_SHOWN = 500
KEYS_NAMED = 12
SLOWER = 0.2  # of the longer time: smaller differences are noise
NOISE = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True)
class Stay:
    """What a run did at one state: all its visits, items and attempts. ``output`` is that of the newest."""

    status: str
    items: int
    attempts: int
    failed: int
    took: timedelta
    output: Any
    error: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One state in both runs; None where it did not run. ``changed`` names what differs: status, output, ..."""

    state: str
    label: str
    one: Stay | None
    other: Stay | None
    changed: tuple[str, ...]
    keys: tuple[str, ...]
    longer: timedelta
    share: tuple[int, int]

    @property
    def is_slower(self) -> bool:
        """Whether the first run took longer here by more than noise."""
        return self.longer > NOISE and "duration" in self.changed

    @property
    def is_faster(self) -> bool:
        """Whether the first run took less time here by more than noise."""
        return -self.longer > NOISE and "duration" in self.changed


@page
def compare_page(request: HttpRequest, visitor: Visitor, execution_id: str) -> HttpResponseBase:
    """Draw the run beside the one ``with`` that id, else beside the one before it."""
    execution = own_execution(visitor, execution_id)
    others = list(_of_the_same(visitor, execution)[:RUNS_OFFERED])
    wanted = request.GET.get("with", "")
    if wanted:
        key = uuid_or_none(wanted)
        other = _of_the_same(visitor, execution).filter(pk=key).first() if key else None
        if other is None:
            raise Http404("There is no such run of this workflow")
    else:
        other = next((run for run in others if run.created_at < execution.created_at), others[0] if others else None)
    rows = [] if other is None else compared(execution, other)
    context = {
        "execution": execution,
        "other": other,
        "others": others,
        "rows": rows,
        "differing": sum(bool(row.changed) for row in rows),
        "inputs": (secrets.mask(execution.inputs), secrets.mask(other.inputs) if other else None),
        "input_keys": _keys(execution.inputs, other.inputs) if other else (),
    }
    return draw(request, visitor, "ui/compare.html", context)


def compared(execution: Execution, other: Execution) -> list[Compared]:
    """Return every state that ran in either, in the order in which they first ran (four queries)."""
    first, second = _stays(execution), _stays(other)
    labels = _labels(execution)
    longest = max((stay.took for stay in (*first.values(), *second.values())), default=timedelta(0))
    rows = []
    for state in list(dict.fromkeys((*first, *second)))[:STATES_SHOWN]:
        one, two = first.get(state), second.get(state)
        keys = _keys(one.output, two.output) if one and two else ()
        rows.append(
            Compared(
                state=state,
                label=labels.get(state, state),
                one=one,
                other=two,
                changed=tuple(_changes(one, two)),
                keys=keys,
                longer=(one.took - two.took) if one and two else timedelta(0),
                share=(_share(one, longest), _share(two, longest)),
            )
        )
    return rows


def _of_the_same(visitor: Visitor, execution: Execution) -> QuerySet[Execution]:
    """Other runs of its workflow, or of its spec where it has none, newest first."""
    same = Q(workflow=execution.workflow_id) if execution.workflow_id else Q(workflow=None, spec=execution.spec_id)
    return executions_of(visitor.customer).filter(same).exclude(pk=execution.pk)


def _stays(execution: Execution) -> dict[str, Stay]:
    runs = StateRun.objects.filter(execution=execution.pk)
    found = list(
        runs.values("state")
        .annotate(
            newest=Max("pk"),
            began=Min("started_at"),
            ended=Max("ended_at"),
            worked=Sum(F("ended_at") - F("started_at")),
            attempts=Count("pk"),
            lines=Count("branch", distinct=True),
            items=Count("pk", filter=Q(attempt=1)),
            failed=Count("pk", filter=~Q(status="success")),
        )
        .order_by("began")[: STATES_SHOWN + 1]
    )
    newest = StateRun.objects.filter(pk__in=[row["newest"] for row in found]).only("status", "output", "error")
    last = {run.pk: run for run in newest}
    stays = {}
    for row in found:
        run = last[row["newest"]]
        error: dict[str, Any] = secrets.mask(run.error) or {}
        stays[row["state"]] = Stay(
            status=run.status,
            items=row["items"],
            attempts=row["attempts"],
            failed=row["failed"],
            took=row["worked"] if row["lines"] == 1 else row["ended"] - row["began"],
            output=linked(secrets.mask(run.output)),
            error=str(error.get("message", "")),
        )
    return stays


def _labels(execution: Execution) -> dict[str, str]:
    version = execution.workflow_version
    labels = {}
    for node in version.nodes if version else ():
        data = node.get("data") if isinstance(node, dict) else None
        if isinstance(data, dict) and data.get("label"):
            labels[str(node.get("id"))] = str(data["label"])
    return labels


def _changes(one: Stay | None, other: Stay | None) -> Iterable[str]:
    if one is None or other is None:
        yield "only there" if one is None else "only here"
        return
    if one.status != other.status:
        yield "status"
    if one.attempts != other.attempts or one.items != other.items:
        yield "attempts"
    if _comparable(one.output) != _comparable(other.output):
        yield "output"
    if abs(one.took - other.took) > max(NOISE, max(one.took, other.took) * SLOWER):
        yield "duration"


def _keys(one: Any, other: Any) -> tuple[str, ...]:
    """The keys under which two objects differ; () for values that are no objects."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ()
    gone = object()
    keys = dict.fromkeys((*one, *other))
    differ = (key for key in keys if _comparable(one.get(key, gone)) != _comparable(other.get(key, gone)))
    return tuple(differ)[:KEYS_NAMED]


def _comparable(value: Any) -> Any:
    """A value without what differs between runs that made the same: where a large output is kept."""
    if isinstance(value, dict):
        if KEY in value and "sha256" in value:
            return ("kept", value["sha256"])
        return {key: _comparable(item) for key, item in value.items()}
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _share(stay: Stay | None, longest: timedelta) -> int:
    return 0 if stay is None or not longest else max(1, round(stay.took / longest * 100))
