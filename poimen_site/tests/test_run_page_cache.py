"""The page of a run marks the attempts that took their result from the cache, and says who had made it."""

from datetime import timedelta

from poimen_site.tests.test_pages import text, visiting
from workflows.models import LogEntry, StateRun
from workflows.tests.conftest import engine, misbehaving, quickly_emptied
from workflows.tests.people import member
from workflows.tests.pumping import Engine
from workflows.tests.test_cached_results import _counting, counted

__all__ = ["_counting", "engine", "misbehaving", "quickly_emptied"]


def test_a_result_from_the_cache_is_marked_on_its_attempt(engine: Engine) -> None:
    engine.pump()
    first, second = engine.run(counted()), engine.run(counted())
    client = visiting(member(engine.customer))
    made, taken = (text(client, f"/ui/executions/{run.pk}") for run in (first, second))
    assert "from cache" not in made
    assert taken.count("from cache") == 1
    run = StateRun.objects.get(execution=second, state="Count")
    details = text(client, f"/ui/executions/{second.pk}/runs/{run.pk}")
    assert "from the cache, made by" in details
    assert f'href="/ui/executions/{first.pk}"' in details
    LogEntry.objects.filter(execution=second, event="cache.hit").update(
        logged_at=run.ended_at + timedelta(seconds=2), fields=None
    )
    assert "made by an execution that is deleted" in text(client, f"/ui/executions/{second.pk}/runs/{run.pk}")
