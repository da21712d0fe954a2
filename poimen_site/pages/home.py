"""``/``: what runs, what waits for me, what failed, and the last days. Each list is short and leads to the whole."""

from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from poimen_site.health import FRESH
from poimen_site.pages.charts import column_chart
from poimen_site.pages.figures import FAILED, ended_by_day, open_counts
from poimen_site.pages.gates import open_gates
from poimen_site.pages.visitor import Visitor, draw, page
from workflows.api.executions import current_states_of, executions_of
from workflows.models import Process, ProcessKind, Role, Workflow

SHOWN = 6  # rows of each list
GATES_SHOWN = 50
LATELY = timedelta(days=7)


@page
def home(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Draw home: ten queries whatever there is."""
    now = datetime.now(UTC)
    counts = open_counts(visitor.customer)
    days = ended_by_day(visitor.customer, now)
    executions = executions_of(visitor.customer)
    running = list(executions.filter(ended_at=None)[:SHOWN])
    states = current_states_of(running)
    gates = open_gates(visitor, most=GATES_SHOWN + 1)
    failed = executions.filter(status__in=FAILED, ended_at__gte=now - LATELY).order_by("-ended_at")
    context = {
        "counts": counts,
        "open_total": sum(counts.values()),
        "days": days,
        "chart": column_chart(days),
        "ended": sum(day.total for day in days),
        "failures": sum(day.failed for day in days),
        "today": days[-1],
        "running": [(execution, states.get(execution.pk, [])) for execution in running],
        "gates": gates[:GATES_SHOWN],
        "more_gates": len(gates) > GATES_SHOWN,
        "failed": failed.defer("output")[:SHOWN],
        "has_workflows": Workflow.objects.filter(customer=visitor.customer).exists(),
        "silent": _silent(now),
        "may_save": visitor.may(Role.EDITOR),
    }
    return draw(request, visitor, "ui/home.html", context)


def _silent(now: datetime) -> list[str]:
    """Which of the processes that do the work have not been heard of lately."""
    alive = set(Process.objects.filter(heartbeat_at__gte=now - FRESH).values_list("kind", flat=True))
    needed = {ProcessKind.CLUSTER: "workers", ProcessKind.CLOCK: "clock"}
    return [word for kind, word in needed.items() if kind not in alive]
