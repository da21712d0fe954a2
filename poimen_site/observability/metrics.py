"""The metrics of an installation, for Prometheus: what the engine did and does, and the requests of this process.

Engine figures come from the database at each scrape, so that every web process tells the same, whatever happened to
workers. Counters of requests are this process's own. Source: subsystem-metrics; names and labels are its.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator

from django.db import DatabaseError
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from workflows.metrics import figures
from workflows.metrics.figures import Counter, Figures
from workflows.metrics.tallies import EXECUTION_BUCKETS, RUN_BUCKETS
from workflows.schedules.tallies import LAG_BUCKETS

# The words of the metrics for how something ended.
STATUS = {"failed": "failure", "timed_out": "timeout"}
OPEN_STATUSES = ("pending", "running", "waiting", "paused")
PROCESS_KINDS = ("cluster", "pump", "clock")
GIT_OPERATIONS = {"CloneRepoActivity": "clone"}

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody asks for
_IS_SHARED = "PROMETHEUS_MULTIPROC_DIR" in os.environ
registry = CollectorRegistry()
http_requests = Histogram(
    "poimen_http_request_duration_seconds",
    "Time to answer a request, by method, route and status",
    ["method", "route", "status"],
    buckets=REQUEST_BUCKETS,
    registry=None if _IS_SHARED else registry,
)
if _IS_SHARED:
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # of all processes that share the directory
else:
    ProcessCollector(registry=registry)


class EngineCollector(Collector):
    """Reads the figures at each scrape. Without the database it tells only that it has none."""

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        up = GaugeMetricFamily("poimen_database_up", "Whether the figures of this scrape could be read")
        try:
            read = figures.read()
        except DatabaseError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _executions(read)
        yield from _activities(read)
        yield from _git(read)
        yield _cache(read)
        yield from _schedules(read)
        yield from _engine(read)

    def describe(self) -> Iterable[Metric]:
        """Say nothing beforehand: registering must not read the database."""
        return []


registry.register(EngineCollector())


def _executions(read: Figures) -> Iterator[Metric]:
    started = CounterMetricFamily(
        "poimen_workflow_executions_started", "Executions begun, by name of the workflow", labels=["workflow_type"]
    )
    for (name,), items in _grouped(_of(read, "started"), lambda c: (c.label,)):
        started.add_metric([name], sum(item.count for item in items))
    yield started
    yield _completed(
        "poimen_workflow_executions_completed", "Executions ended, by result", "workflow_type", _of(read, "ended")
    )
    yield _durations(
        "poimen_workflow_duration_seconds", "Time from an execution's start to its end", "workflow_type",
        _of(read, "ended"), EXECUTION_BUCKETS,
    )  # fmt: skip


def _activities(read: Figures) -> Iterator[Metric]:
    ended = [counter for counter in _of(read, "run") if counter.label]
    begun = ended + _of(read, "running")
    started = CounterMetricFamily(
        "poimen_activity_executions_started", "Attempts of activities begun", labels=["activity_type"]
    )
    retries = CounterMetricFamily(
        "poimen_activity_retries", "Attempts of activities that were not the first", labels=["activity_type"]
    )
    for (name,), items in _grouped(begun, lambda c: (c.label,)):
        started.add_metric([name], sum(item.count for item in items))
        retries.add_metric([name], sum(item.again for item in items))
    yield started
    yield retries
    yield _completed(
        "poimen_activity_executions_completed", "Attempts of activities ended, by result", "activity_type", ended
    )
    yield _durations(
        "poimen_activity_duration_seconds", "Time an attempt of an activity took", "activity_type", ended, RUN_BUCKETS
    )
    running = GaugeMetricFamily("poimen_tasks_in_progress", "Activities that run now", labels=["task_type"])
    for counter in _of(read, "running"):
        running.add_metric([counter.label], counter.count)
    yield running


def _git(read: Figures) -> Iterator[Metric]:
    ended = [
        Counter(c.metric, GIT_OPERATIONS[c.label], c.kind, c.status, c.bucket, c.count, c.again, c.seconds)
        for c in _of(read, "run")
        if c.label in GIT_OPERATIONS
    ]
    yield _completed("poimen_git_operations", "Git operations ended, by result", "operation", ended)
    yield _durations(
        "poimen_git_operations_duration_seconds", "Time a git operation took", "operation", ended, RUN_BUCKETS
    )


def _cache(read: Figures) -> Metric:
    asked = CounterMetricFamily(
        "poimen_cache_requests", "States that may take a kept result, by what came of it",
        labels=["activity_type", "result"],
    )  # fmt: skip
    for counter in _of(read, "cache"):
        asked.add_metric([counter.label, counter.status], counter.count)
    return asked


def _schedules(read: Figures) -> Iterator[Metric]:
    runs = _of(read, "schedule")
    decided = CounterMetricFamily(
        "poimen_schedule_runs", "Due instants of schedules, by what made them run and what became of them",
        labels=["trigger", "outcome"],
    )  # fmt: skip
    for (trigger, outcome), items in _grouped(runs, lambda c: (c.kind, c.status)):
        decided.add_metric([trigger, outcome], sum(item.count for item in items))
    yield decided
    on_time = [counter for counter in runs if (counter.kind, counter.status) == ("clock", "started")]
    lag = HistogramMetricFamily("poimen_schedule_lag_seconds", "From when a run was to start to its start by the clock")
    counts = [sum(c.count for c in on_time if c.bucket == bucket) for bucket in range(len(LAG_BUCKETS) + 1)]
    buckets = zip([*map(str, LAG_BUCKETS), "+Inf"], map(float, itertools.accumulate(counts)), strict=True)
    lag.add_metric([], list(buckets), sum(c.seconds for c in on_time))
    yield lag
    for name, text, value in (
        ("poimen_schedules_active", "Schedules that will run again", read.active_schedules),
        ("poimen_schedule_delay_seconds", "How long the run that is most overdue has been due", read.schedule_delay),
        ("poimen_schedule_queued_runs", "Runs that wait for the one before to end", read.queued_runs),
    ):
        yield GaugeMetricFamily(name, text, value=value)


def _engine(read: Figures) -> Iterator[Metric]:
    runs = _of(read, "run")
    transitions = CounterMetricFamily("poimen_transitions", "Attempts of states ended, by type", labels=["state_type"])
    for (kind,), items in _grouped(runs, lambda c: (c.kind or "unknown",)):
        transitions.add_metric([kind], sum(item.count for item in items))
    yield transitions
    lost = sum(counter.count for counter in runs if counter.status == "lost")
    yield CounterMetricFamily("poimen_lease_expiries", "Attempts cut short because their worker was lost", value=lost)
    for name, text, value in (
        ("poimen_ready_branches", "Branches that wait for a worker", read.ready_branches),
        ("poimen_queue_age_seconds", "How long the longest of them has waited", read.queue_age),
        ("poimen_running_branches", "Branches that a worker drives", read.running_branches),
        ("poimen_approvals_pending", "Approvals that wait for people", read.pending_approvals),
        ("poimen_database_size_bytes", "Size of the database on disk", read.database_bytes),
        ("poimen_pump_capacity_branches", "Branches that all living pumps can hold", read.capacity["capacity"]),
    ):
        yield GaugeMetricFamily(name, text, value=value)
    executions = GaugeMetricFamily("poimen_executions", "Executions that have not ended, by status", labels=["status"])
    for status in OPEN_STATUSES:
        executions.add_metric([status], read.open_executions.get(status, 0))
    yield executions
    alive = GaugeMetricFamily("poimen_processes_alive", "Processes that gave a sign of life lately", labels=["kind"])
    for kind in PROCESS_KINDS:
        alive.add_metric([kind], read.processes.get(kind, 0))
    yield alive


def _of(read: Figures, metric: str) -> list[Counter]:
    return [counter for counter in read.counters if counter.metric == metric]


def _grouped(
    counters: Iterable[Counter], key: Callable[[Counter], tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], list[Counter]]]:
    for found, items in itertools.groupby(sorted(counters, key=key), key):
        yield found, list(items)


def _completed(name: str, text: str, label: str, ended: Iterable[Counter]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label, "status"])
    for (what, status), items in _grouped(ended, lambda c: (c.label, STATUS.get(c.status, c.status))):
        family.add_metric([what, status], sum(item.count for item in items))
    return family


def _durations(name: str, text: str, label: str, ended: Iterable[Counter], bounds: tuple[float, ...]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=[label])
    for (what,), items in _grouped(ended, lambda c: (c.label,)):
        counts = [0] * (len(bounds) + 1)
        for item in items:
            counts[item.bucket] += item.count
        names = [*map(str, bounds), "+Inf"]
        buckets = list(zip(names, itertools.accumulate(counts), strict=True))
        family.add_metric([what], buckets, sum(item.seconds for item in items))
    return family
