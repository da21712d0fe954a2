"""What an execution's admin page tells of it: its newest runs and log lines, where it stands, whom it waits for."""

from typing import Any

from django.db.models import F

from workflows.admin import display
from workflows.admin.history import BY_EXECUTION
from workflows.api.executions import AT_A_STATE
from workflows.models import ApprovalGate, Branch, Execution, LogEntry, StateRun
from workflows.models.approval import GateStatus
from workflows.terminal_text import plain

_RUNS_SHOWN = 100
_LINES_SHOWN = 50


def story_of(execution: Execution) -> dict[str, Any]:
    """Return what the page shows beside the fields: runs, log lines, cursors, open gates, links (four queries)."""
    # Adding 0 keeps PostgreSQL from walking the primary key of everybody's history to find this one's rows.
    runs = (
        StateRun.objects.filter(execution=execution)
        .alias(place=F("id") + 0)
        .order_by("-place")
        .select_related("branch")
        .defer("input", "assigned", "branch__variables", "branch__item", "branch__previous")[:_RUNS_SHOWN]
    )
    lines = LogEntry.objects.filter(execution=execution).order_by("-tx", "-id")[:_LINES_SHOWN]
    gates = ApprovalGate.objects.filter(execution=execution, status=GateStatus.PENDING)
    cursors = Branch.objects.filter(execution=execution, status__in=AT_A_STATE).order_by("depth", "index")
    return {
        "runs": [
            {
                "link": display.page_of("staterun", run.pk, run.state),
                "status": display.status(run.status),
                "branch": run.branch.body or "root",
                "index": run.branch.index if run.branch.body.endswith("*") else None,
                "attempt": run.attempt,
                "reused": run.reused,
                "started": display.moment(run.started_at),
                "took": display.lasted(run.started_at, run.ended_at),
                "gist": display.short(run.error["message"] if run.error else run.output, 100),
            }
            for run in reversed(runs)
        ],
        "lines": [
            {
                "time": display.moment(line.logged_at),
                "level": display.level(line.level),
                "node": line.node_id,
                "message": plain(line.message),
            }
            for line in reversed(lines)
        ],
        "cursors": [
            {
                "link": display.page_of("branch", branch.pk, branch.state),
                "status": display.status(branch.status),
                "branch": branch.body or "root",
                "waits": " ".join(filter(None, (branch.waiting_for, branch.wait_signal))),
                "wakes": display.moment(branch.wake_at) if branch.wake_at else "",
            }
            for branch in cursors[:_RUNS_SHOWN]
        ],
        "gates": [display.page_of("approvalgate", gate.pk, plain(gate.subject)) for gate in gates],
        "links": [
            display.list_of(name, text, **{BY_EXECUTION: execution.pk})
            for name, text in (
                ("staterun", "All state runs"), ("logentry", "Whole log"), ("branch", "Branches"),
                ("signal", "Signals"),
            )
        ],
    }  # fmt: skip
