"""Whether Poimen is alive, ready and whole: ``/health/live``, ``/health/ready``, ``/health``. Open to probes.

It refuses to change anything and to name hosts: anybody may ask.
Source: contract-rest-api 3.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from workflows.models import Process, ProcessKind

FRESH = timedelta(seconds=15)  # a heartbeat comes every few seconds; leases last ten

Check = dict[str, Any]


@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 while this process answers at all."""
    return JsonResponse({"status": "alive"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 when requests can be served: the database answers and its schema is current. 503 otherwise.

    Workers and the clock are reported, but do not decide: requests are accepted without them, and wait.
    """
    checks = _checks()
    is_ready = all(checks[name]["status"] == "healthy" for name in ("database", "migrations"))
    body = {"status": "ready" if is_ready else "unready", "checks": checks, "timestamp": _now()}
    return JsonResponse(body, status=200 if is_ready else 503)


@require_safe
def report(request: HttpRequest) -> JsonResponse:
    """``healthy`` (200), ``degraded`` (200: requests are served but work stands still) or ``unhealthy`` (503)."""
    checks = _checks()
    sick = {name for name, check in checks.items() if check["status"] != "healthy"}
    verdict = "unhealthy" if sick & {"database", "migrations"} else "degraded" if sick else "healthy"
    body = {"status": verdict, "checks": checks, "timestamp": _now()}
    return JsonResponse(body, status=503 if verdict == "unhealthy" else 200)


def _checks() -> dict[str, Check]:
    checks = {"database": _timed(_check_database)}
    if checks["database"]["status"] == "healthy":
        checks["migrations"] = _timed(_check_migrations)
    else:
        checks["migrations"] = {"status": "unhealthy", "message": "unknown without the database", "latencyMs": 0.0}
    known = checks["migrations"]["status"] == "healthy"
    for name, kind in (("workers", ProcessKind.CLUSTER), ("clock", ProcessKind.CLOCK)):
        if known:
            checks[name] = _timed(partial(_check_heartbeats, kind))
        else:
            checks[name] = {"status": "unhealthy", "message": "unknown without the database", "latencyMs": 0.0}
    return checks


def _timed(check: Callable[[], str | None]) -> Check:
    """Run a check that returns None, or what is wrong."""
    started = time.perf_counter()
    try:
        problem = check()
    except DatabaseError:
        problem = "the database does not answer"
    latency = round((time.perf_counter() - started) * 1000, 2)
    return {"status": "unhealthy" if problem else "healthy", "message": problem or "ok", "latencyMs": latency}


def _check_database() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return None


_schema_is_current = False


def _check_migrations() -> str | None:
    global _schema_is_current  # noqa: PLW0603 - once current it stays so for this process's code
    if not _schema_is_current:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if missing:
            return f"{missing} migrations are not applied; run manage.py migrate"
        _schema_is_current = True
    return None


def _check_heartbeats(kind: ProcessKind) -> str | None:
    count = Process.objects.filter(kind=kind, heartbeat_at__gte=timezone.now() - FRESH).count()
    seconds = int(FRESH.total_seconds())
    return None if count else f"no {kind.label.lower()} has signed in during the last {seconds} s"


def _now() -> str:
    return timezone.now().isoformat(timespec="seconds").replace("+00:00", "Z")
