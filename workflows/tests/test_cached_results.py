"""Kept results: made once, for whom, for how long, by whom when workers die, and never what must not be kept."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from pydantic import Field

from workflows import secrets
from workflows.activities.context import ActivityContext, Suspended
from workflows.activities.registry import activity, registry
from workflows.activities.shapes import TAKES_SECRETS, Fields
from workflows.engine import retention
from workflows.engine.store import direct_connection
from workflows.errors import ActivityError
from workflows.metrics import figures
from workflows.models import CachedResult, Customer, Execution, LogEntry
from workflows.spec.validator import validate_spec
from workflows.tests.pumping import Engine, age, eventually, output_of, ran, task

calls: list[dict[str, Any]] = []
release, late = threading.Event(), threading.Event()


class CountInput(Fields):
    """What to count for."""

    value: Any = None
    token: str = Field(default="", json_schema_extra=TAKES_SECRETS)
    blocks: bool = False
    fails: bool = False
    bytes: int = 0


class CountOutput(Fields):
    """How often it was counted."""

    number: int
    filling: str = ""
    said: str = ""


async def count(input: CountInput, context: ActivityContext) -> CountOutput:
    """Counts its calls."""
    calls.append(input.model_dump())
    number = len(calls)
    if input.blocks:
        import asyncio

        await asyncio.to_thread((late if input.value == "late" and number == 1 else release).wait, 15)
    if input.fails:
        raise ActivityError("as told", retryable=False)
    return CountOutput(number=number, filling="x" * input.bytes, said=input.token)


@pytest.fixture(autouse=True)
def _counting() -> Iterator[None]:
    calls.clear()
    release.clear()
    late.clear()
    activity("CountActivity", category="testing", cacheable=True)(count)
    yield
    release.set()
    late.set()
    registry._activities.pop("CountActivity")


def counted(**given: Any) -> dict[str, Any]:
    """A spec of one state whose result is kept."""
    cache = given.pop("cache", {"ttl": "1h"})
    return {"name": "counting", "states": [task("CountActivity", "Count", **given) | {"cache": cache}]}


def numbers(engine: Engine, *specs: dict[str, Any], **inputs: Any) -> list[int]:
    return [output_of(engine.run(spec, inputs).pk, "Count")["number"] for spec in specs]


def tallies() -> dict[str, int]:
    return {c.status: c.count for c in figures.read().counters if c.metric == "cache"}


def test_a_result_is_made_once_for_its_input_and_says_where_it_came_from(engine: Engine) -> None:
    engine.pump()
    first = engine.run(counted(value={"a": 1, "b": [2]}))
    second = engine.run({**counted(value={"b": [2], "a": 1}), "name": "another"})
    assert [output_of(run.pk, "Count")["number"] for run in (first, second)] == [1, 1]
    assert numbers(engine, counted(value={"a": 2}), counted(value=None)) == [2, 3]
    assert len(calls) == 3
    (said,) = LogEntry.objects.filter(execution=second, event="cache.hit")
    assert said.message.endswith(f"made by execution {first.pk}")
    assert tallies() == {"hit": 1, "miss": 3}
    row = CachedResult.objects.get(execution=first)
    assert (row.activity, row.state, row.hits, row.status) == ("CountActivity", "Count", 1, "ready")


def test_nothing_is_kept_unless_the_state_says_so_and_a_run_can_pass_by(engine: Engine) -> None:
    engine.pump()
    plain = {"name": "counting", "states": [task("CountActivity", "Count", value=1)]}
    passing = counted(value=1, cache={"ttl": "1h", "bypass": "${workflow.input.fresh}"})
    assert numbers(engine, plain, plain) == [1, 2]
    assert not CachedResult.objects.exists()
    assert numbers(engine, passing, passing, fresh=True) == [3, 4]
    assert not CachedResult.objects.exists()
    assert numbers(engine, passing, passing, fresh=False) == [5, 5]
    assert numbers(engine, passing, fresh=True) == [6]
    assert numbers(engine, passing, fresh=False) == [5]
    assert tallies() == {"bypass": 3, "miss": 1, "hit": 2}
    failed = engine.run(passing, {"fresh": "perhaps"})
    assert (failed.error or {})["message"] == "cache.bypass: expected true or false"


def test_results_are_as_old_as_the_reader_allows_at_most(engine: Engine) -> None:
    engine.pump()
    assert numbers(engine, counted(cache={"ttl": "24h"})) == [1]
    CachedResult.objects.update(made_at=F("made_at") - timedelta(hours=2))
    assert numbers(engine, counted(cache={"ttl": "3h"}), counted(cache={"ttl": "1h"})) == [1, 2]
    CachedResult.objects.update(expires_at=F("made_at"))
    assert numbers(engine, counted(cache={"ttl": "24h"})) == [3]


def test_customers_share_nothing(engine: Engine) -> None:
    engine.pump()
    other = Customer.objects.create(slug=f"o-{uuid4().hex[:8]}", name="Other")
    ours, theirs = engine.run(counted(value=1)), engine.run(counted(value=1), customer=other)
    assert [output_of(run.pk, "Count")["number"] for run in (ours, theirs)] == [1, 2]


def test_errors_are_not_kept(engine: Engine) -> None:
    engine.pump()
    for _ in range(2):
        assert engine.run(counted(fails=True)).status == "failed"
    assert len(calls) == 2
    assert not CachedResult.objects.exists()


def test_a_secret_counts_by_its_value_and_is_neither_in_key_nor_row(engine: Engine) -> None:
    engine.pump()
    secret = secrets.write_secret(engine.customer, "hunter22-and-more", name="token")
    spec = counted(value=1, token=f"Bearer {secrets.handle_of(secret)}", fails=False)
    first = engine.run(spec)
    assert output_of(first.pk, "Count")["number"] == 1
    assert not CachedResult.objects.exists(), "its output repeats the secret"
    quiet = {"name": "counting", "states": [
        task("CountActivity", "Count", value=1, token=secrets.handle_of(secret)) | {"cache": {}}]}  # fmt: skip
    assert output_of(engine.run(quiet).pk, "Count")["number"] == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM workflows_cachedresult c WHERE c::text LIKE '%hunter22%'")
        assert cursor.fetchone() == (0,)


def test_a_secret_with_another_value_is_another_input(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(input: CountInput, context: ActivityContext) -> CountOutput:
        """Counts, and repeats nothing."""
        calls.append({})
        return CountOutput(number=len(calls))

    registry._activities.pop("CountActivity")
    activity("CountActivity", category="testing", cacheable=True)(silent)
    engine.pump()
    secret = secrets.write_secret(engine.customer, "hunter22-and-more", name="token")
    spec = counted(token=secrets.handle_of(secret))
    assert numbers(engine, spec, spec) == [1, 1]
    secrets.write_secret(engine.customer, "another-and-more", name="token", secret=secret)
    assert numbers(engine, spec, spec) == [2, 2]
    keys = set(CachedResult.objects.values_list("key", flat=True))
    assert len(keys) == 2
    assert all(len(key) == 64 for key in keys)


def test_a_new_version_and_other_facts_make_nothing_of_what_was_kept(engine: Engine) -> None:
    engine.pump()
    facts: list[Any] = ["one"]
    for version, expected in (("1", 1), ("2", 2), ("1", 1)):
        registry._activities.pop("CountActivity")
        activity("CountActivity", category="testing", cacheable=lambda _: facts[0], cache_version=version)(count)
        assert numbers(engine, counted()) == [expected]
    facts[0] = "two"
    assert numbers(engine, counted(), counted()) == [3, 3]
    facts[0] = None
    assert numbers(engine, counted(), counted()) == [4, 5]


def test_equal_calls_side_by_side_are_made_once_and_hold_no_worker(engine: Engine) -> None:
    engine.clock()
    engine.pump()
    spec = {"name": "many", "states": [{
        "name": "Each", "type": "Map", "items": list(range(12)), "maxConcurrency": 12,
        "states": [task("CountActivity", "Count", blocks=True) | {"cache": {"ttl": "1h"}}],
    }]}  # fmt: skip
    execution = engine.start(spec)
    engine.waits(execution, "cache", count=11)
    assert len(calls) == 1
    release.set()
    found: Any = engine.ended(execution).output
    assert [item["number"] for item in found] == [1] * 12
    assert len(calls) == 1
    assert tallies() == {"miss": 1, "hit": 11}


def test_whoever_makes_a_result_and_dies_is_waited_for_no_longer_than_its_lease(engine: Engine) -> None:
    engine.pump()
    spec = counted(value="late", blocks=True)
    first = engine.start(spec)
    engine.is_running(first, "Count")
    eventually(lambda: len(calls) == 1, "the first call")
    engine.clock()
    second = engine.start(spec)
    engine.waits(second, "cache")
    CachedResult.objects.update(owner_epoch=F("owner_epoch") - 1)  # as if another had taken the branch over
    eventually(lambda: len(calls) == 2, "the second call")
    release.set()
    assert engine.ended(second).status == "success"
    late.set()
    assert engine.ended(first).status == "success"
    row: Any = CachedResult.objects.get()
    assert (row.execution_id, row.output["number"]) == (second, 2), "what the first made came too late to count"


def test_a_failure_lets_the_next_one_try(engine: Engine) -> None:
    engine.clock()
    engine.pump()
    first = engine.start(counted(blocks=True, fails=True))
    engine.is_running(first, "Count")
    second = engine.start(counted(blocks=True, fails=True))
    engine.waits(second, "cache")
    release.set()
    assert (engine.ended(first).status, engine.ended(second).status, len(calls)) == ("failed", "failed", 2)


def test_cancelling_who_waits_and_who_makes_leaves_nothing_behind(engine: Engine) -> None:
    from workflows import control

    engine.clock()
    engine.pump()
    first = engine.start(counted(blocks=True))
    engine.is_running(first, "Count")
    second = engine.start(counted(blocks=True))
    engine.waits(second, "cache")
    for execution in (second, first):
        control.request_cancel(execution, by="ann")
        assert engine.ended(execution).status == "cancelled"
    eventually(lambda: not CachedResult.objects.exists(), "no claim")
    release.set()
    assert numbers(engine, counted(blocks=True)) == [2]


def test_large_results_are_files_of_who_made_them_and_go_with_them(engine: Engine, settings: Any) -> None:
    engine.pump()
    spec = counted(bytes=400_000)
    first, second = engine.run(spec), engine.run(spec)
    assert len(calls) == 1
    (small, large) = (CachedResult.objects.get(), output_of(second.pk, "Count"))
    assert small.is_stored
    assert large["$artifact"].startswith(str(second.pk)), "the reader has a copy of its own"
    age(first.pk, timedelta(days=40))
    with direct_connection() as raw:
        retention.prune(raw)
    assert not Execution.objects.filter(pk=first.pk).exists()
    assert not CachedResult.objects.exists()
    engine.run(spec)
    assert len(calls) == 2


def test_a_file_that_is_lost_is_made_again(engine: Engine) -> None:
    engine.pump()
    spec = counted(bytes=400_000)
    engine.run(spec)
    kept: Any = CachedResult.objects.get().output
    CachedResult.objects.update(output={**kept, "$artifact": f"{uuid4()}/outputs/{'0' * 64}.json"})
    assert output_of(engine.run(spec).pk, "Count")["bytes"] > 400_000
    assert len(calls) == 2


def test_what_is_old_or_too_much_is_deleted_the_longest_unused_first(engine: Engine, settings: Any) -> None:
    engine.pump()
    for value in range(4):
        engine.run(counted(value=value, bytes=200_000))
    rows = list(CachedResult.objects.order_by("made_at"))
    CachedResult.objects.filter(pk=rows[3].pk).update(expires_at=F("made_at") - timedelta(seconds=1))
    CachedResult.objects.filter(pk=rows[0].pk).update(used_at=F("used_at") + timedelta(minutes=5))
    CachedResult.objects.update(bytes=400_000)
    settings.POIMEN_CACHE_MEGABYTES = 1
    with direct_connection() as raw:
        retention.prune(raw)
    assert set(CachedResult.objects.values_list("pk", flat=True)) == {rows[0].pk, rows[2].pk}
    settings.POIMEN_CACHE_MEGABYTES = 0
    engine.run(counted(value=0, bytes=200_000))
    assert len(calls) == 5, "with 0 nothing is taken from it"


def test_a_wrong_cache_is_refused_with_the_spec() -> None:
    def problems(resource: str, cache: Any) -> list[tuple[str, str]]:
        spec = {"name": "x", "states": [task(resource, value=1) | {"cache": cache}]}
        found = validate_spec(spec, activities=registry.all()).problems
        return [(problem.path, problem.code) for problem in found]

    assert problems("CountActivity", {}) == []
    assert problems("EchoActivity", {"ttl": "1h"}) == [("states[0].cache", "not-cacheable")]
    assert problems("CountActivity", {"ttl": "soon"}) == [("states[0].cache.ttl", "bad-duration")]
    assert problems("CountActivity", {"ttl": "0s"}) == [("states[0].cache.ttl", "duration-out-of-range")]
    assert problems("CountActivity", {"ttl": "9000h"}) == [("states[0].cache.ttl", "duration-out-of-range")]
    assert problems("CountActivity", {"bypass": "often"}) == [("states[0].cache.bypass", "wrong-type")]
    assert problems("CountActivity", {"bypass": "${Nowhere.output}"})[0][0] == "states[0].cache.bypass"
    assert problems("CountActivity", {"for": "1h"})[0][0] == "states[0].cache.for"


def test_only_what_has_a_result_worth_keeping_is_cacheable() -> None:
    def quick(input: CountInput, context: ActivityContext) -> CountOutput:
        """Is quick."""
        return CountOutput(number=1)

    async def waits(input: CountInput, context: ActivityContext) -> CountOutput | Suspended:
        """Waits."""
        return Suspended("x")

    for function, options in ((quick, {"isolation": "inline"}), (waits, {})):
        with pytest.raises(ValueError, match="no result worth keeping"):
            activity("QuickActivity", category="testing", cacheable=True, **options)(function)  # type: ignore[arg-type]


def test_an_activity_without_a_cache_costs_no_query(engine: Engine) -> None:
    engine.pump()
    engine.run({"name": "plain", "states": [task("CountActivity", "Count")]})
    assert tallies() == {}
    assert json.dumps(ran(Execution.objects.get().pk)) == '[["Count", "success", 1]]'
