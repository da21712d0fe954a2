"""Whether Poimen is alive, ready and whole: ``/health/live``, ``/health/ready``, ``/health``. Open to probes.

It refuses to change anything and to name hosts: anybody may ask.
Source: contract-rest-api 3.
"""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Min
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django_q.brokers import get_broker

from agents.llm import configuration
from memory import service as memory_service
from poimen_site import llm_health
from poimen_site.errors import RETRY_AFTER_SECONDS, read_only
from poimen_site.redis_outage import redis_errors
from workflows.audit import anchor
from workflows.models import Branch, BranchStatus, Process, ProcessKind, Schedule

FRESH = timedelta(seconds=15)  # a heartbeat comes every few seconds; leases last ten
_SECONDS = int(FRESH.total_seconds())
LONGEST_WAIT = timedelta(seconds=60)
LEAST_FREE_BYTES = 512 * 2**20

Check = dict[str, Any]


@read_only
def live(request: HttpRequest) -> JsonResponse:
    """200 while this process answers at all."""
    return JsonResponse({"status": "alive"})


@read_only
def ready(request: HttpRequest) -> JsonResponse:
    """200 when requests can be served: the database answers and its schema is current. 503 otherwise.

    The others are reported, but do not decide: requests are accepted without workers, clock and queue, and wait.
    """
    checks = _checks()
    is_ready = all(checks[name]["status"] == "healthy" for name in ("database", "migrations"))
    body = {"status": "ready" if is_ready else "unready", "checks": checks, "timestamp": _now()}
    return _answer(body, is_ready)


@read_only
def report(request: HttpRequest) -> JsonResponse:
    """``healthy`` (200), ``degraded`` (200: requests are served but work stands still) or ``unhealthy`` (503)."""
    verdict, body = whole()
    return _answer(body, verdict != "unhealthy")


def _answer(body: dict[str, Any], is_well: bool) -> JsonResponse:
    if is_well:
        return JsonResponse(body)
    return JsonResponse(body, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def whole() -> tuple[str, dict[str, Any]]:
    """Return ``healthy``, ``degraded`` or ``unhealthy``, and the report that says why."""
    checks = _checks()
    sick = {name for name, check in checks.items() if check["status"] != "healthy"}
    verdict = "unhealthy" if sick & {"database", "migrations"} else "degraded" if sick else "healthy"
    return verdict, {"status": verdict, "checks": checks, "timestamp": _now()}


def _checks() -> dict[str, Check]:
    checks = {"database": _timed(_check_database)}
    if checks["database"]["status"] == "healthy":
        checks["migrations"] = _timed(_check_migrations)
    else:
        checks["migrations"] = {"status": "unhealthy", "message": "unknown without the database", "latencyMs": 0.0}
    known = checks["migrations"]["status"] == "healthy"
    for name, check in (
        ("workers", _check_workers), ("clock", _check_clock), ("queue", _check_queue),
        ("audit", _check_audit),
    ):  # fmt: skip
        if known:
            checks[name] = _timed(check)
        else:
            checks[name] = {"status": "unhealthy", "message": "unknown without the database", "latencyMs": 0.0}
    beside = {"memory": _check_memory(), "llm": _check_llm()}
    return checks | {"git": _timed(_check_git), "disk": _timed(_check_disk)} | beside


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
    return None if count else f"no {kind.label.lower()} has signed in during the last {_SECONDS} s"


def _check_workers() -> str | None:
    """Clusters must be there, and workers of theirs must drive: a cluster without any is silent."""
    problem = _check_heartbeats(ProcessKind.CLUSTER)
    if problem:
        return problem
    rows = Process.objects.filter(heartbeat_at__gte=timezone.now() - FRESH)
    started = timezone.now() - FRESH  # a cluster that has just started has no pumps yet
    is_old = rows.filter(kind=ProcessKind.CLUSTER, started_at__lt=started).exists()
    if is_old and not rows.filter(kind=ProcessKind.PUMP).exists():
        return f"silent: a cluster is there, but none of its workers has given a sign of life for {_SECONDS} s"
    return None


def _check_clock() -> str | None:
    """A clock must be there, and no schedule may have been due for long."""
    problem = _check_heartbeats(ProcessKind.CLOCK)
    if problem:
        return problem
    oldest = Schedule.objects.filter(paused_at=None, fires_at__isnull=False).aggregate(at=Min("fires_at"))["at"]
    late = timezone.now() - oldest if oldest is not None else timedelta(0)
    if late > LONGEST_WAIT:
        return f"a schedule has been due for {int(late.total_seconds())} s and no clock has dealt with it"
    return None


def _check_queue() -> str | None:
    """The queue of hints must answer, and no ready branch may have waited for long."""
    try:
        get_broker().queue_size()
    except redis_errors() as error:
        return f"the queue in Redis does not answer ({type(error).__name__})"
    oldest = Branch.objects.filter(status=BranchStatus.READY).aggregate(at=Min("ready_at"))["at"]
    waited = timezone.now() - oldest if oldest is not None else timedelta(0)
    if waited > LONGEST_WAIT:
        return f"a branch has been ready for {int(waited.total_seconds())} s and no worker has taken it"
    return None


def _check_audit() -> str | None:
    """The anchor must be there and fit; what exactly is wrong is for those who run Poimen, not for anybody who asks."""
    return "the audit trail and its anchor do not fit: run manage.py audit_verify" if anchor.problem() else None


@lru_cache(maxsize=1)
def _git_problem(minute: int) -> str | None:
    """What is wrong with git; asked once a minute."""
    try:
        subprocess.run(["git", "--version"], check=True, capture_output=True, timeout=5)
    except (OSError, subprocess.SubprocessError) as error:
        return f"git cannot be run ({type(error).__name__}): activities that work on repositories fail"
    return None


def _check_git() -> str | None:
    return _git_problem(int(time.monotonic() // 60))


@lru_cache(maxsize=1)
def _is_memory_well(url: str, quarter_minute: int) -> bool:
    """Whether the memory service answers; asked four times a minute at most."""
    return asyncio.run(memory_service.is_healthy())


def _check_memory() -> Check:
    """The memory service, if there is one: what needs it works without, with less to go by."""
    url = settings.POIMEN_MEMORY_URL
    if not url:
        return {"status": "healthy", "message": "not configured", "latencyMs": 0.0}
    return _timed(
        lambda: (
            None
            if _is_memory_well(url, int(time.monotonic() // 15))
            else "the memory service does not answer: workflows run without what is remembered"
        )
    )


def _check_llm() -> Check:
    """The language model, if there is one: what can work without it does."""
    if not configuration.is_configured():
        return {"status": "healthy", "message": "not configured", "latencyMs": 0.0}
    return _timed(llm_health.problem)


def _check_disk() -> str | None:
    """Room for artifacts, workspaces and the embedded database, on the disk of the home."""
    usage = shutil.disk_usage(settings.POIMEN_HOME)
    if usage.free < LEAST_FREE_BYTES:
        return f"only {usage.free // 2**20} MiB are free where POIMEN_HOME is; {LEAST_FREE_BYTES // 2**20} are wanted"
    return None


def _now() -> str:
    return timezone.now().isoformat(timespec="seconds").replace("+00:00", "Z")
