"""The workflows that are measured, and how they are started and awaited from the client's process."""

from typing import Any

from benchmarks.installation import rows, wait_until

FINISH_SECONDS = 300.0


def chain(steps: int) -> dict[str, Any]:
    """``steps`` trivial activities, one after another."""
    states = [
        {"name": f"Step{step}", "type": "Task", "resource": "EchoActivity", "parameters": {"value": step}}
        for step in range(steps)
    ]
    return {"name": f"chain-{steps}", "states": states}


def fan_out(items: int) -> dict[str, Any]:
    """A Map over ``items`` items with one trivial activity each."""
    step = {"name": "Each", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${item}"}}
    state = {"name": "All", "type": "Map", "items": list(range(items)), "states": [step]}
    return {"name": f"fan-out-{items}", "states": [state]}


def waiting(seconds: float) -> dict[str, Any]:
    """One activity that waits without working, as one that calls a slow service does."""
    state = {"name": "Wait", "type": "Task", "resource": "SleepActivity", "parameters": {"seconds": seconds}}
    return {"name": "waiting", "states": [state]}


def start(spec: dict[str, Any], count: int = 1) -> list[Any]:
    """Start ``count`` executions in one transaction, so that they become visible together; returns their ids."""
    from django.db import transaction

    from workflows.models import Customer
    from workflows.submission import start_execution, store_spec

    customer, _ = Customer.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    document = store_spec(spec)
    with transaction.atomic():
        return [
            start_execution(customer=customer, spec=document, inputs={}, name=spec["name"])[0].pk for _ in range(count)
        ]


def finish(ids: list[Any], *, every: float = 0.1) -> None:
    """Wait, looking seldom, until all have ended; raises ``RuntimeError`` if one did not succeed."""
    ended = "SELECT count(*) FROM workflows_execution WHERE id = ANY(%s) AND ended_at IS NOT NULL"
    wait_until("the executions end", lambda: rows(ended, ids)[0][0] == len(ids), every=every, within=FINISH_SECONDS)
    statuses = rows("SELECT DISTINCT status FROM workflows_execution WHERE id = ANY(%s)", ids)
    if statuses != [("success",)]:
        raise RuntimeError(f"executions ended as {statuses}")


def seconds_of(ids: list[Any]) -> float:
    """From the first state's start to the last execution's end, as the engine wrote them down."""
    began, ended = rows(
        "SELECT (SELECT min(started_at) FROM workflows_staterun WHERE execution_id = ANY(%s)), "
        "(SELECT max(ended_at) FROM workflows_execution WHERE id = ANY(%s))",
        ids,
        ids,
    )[0]
    return float((ended - began).total_seconds())
