"""Random graphs with random failures: what ran respects the edges, everything ends, nothing runs twice.

What should happen is predicted by a model of a few lines, which knows nothing of the engine.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workflows.models import Branch
from workflows.tests.pumping import Engine, runs_of, story

ATTEMPTS = 3


@dataclass
class Chain:
    """A branch: states one after the other. A number fails that often first, a list is mapped over."""

    name: str
    states: list[int | list[int]]
    depends_on: list[str] = field(default_factory=list)
    when: bool | None = None


@st.composite
def graphs(draw: st.DrawFn) -> list[Chain]:
    """Chains in random order, each depending on some that come before it in another order: a DAG."""
    failures = st.sampled_from([0, 0, 0, 1, 2, ATTEMPTS])
    state = st.one_of(failures, failures, st.lists(failures, max_size=4))
    chains: list[Chain] = []
    for number in range(draw(st.integers(1, 6))):
        chains.append(
            Chain(
                f"b{number}",
                draw(st.lists(state, min_size=1, max_size=3)),
                [c.name for c in chains if draw(st.booleans())],
                draw(st.sampled_from([None, None, True, False])),
            )
        )
    return draw(st.permutations(chains))


def spec_of(chains: list[Chain], mode: str, most: int) -> dict[str, Any]:
    def fail(name: str, failures: Any) -> dict[str, Any]:
        return {"name": name, "type": "Task", "resource": "FailActivity", "parameters": {"failures": failures},
                "retry": {"maxAttempts": ATTEMPTS, "initialInterval": "1ms" if "b0" in name else "0s"}}  # fmt: skip

    def state(name: str, what: int | list[int]) -> dict[str, Any]:
        if isinstance(what, int):
            return fail(name, what)
        return {"name": name, "type": "Map", "items": what, "maxConcurrency": 2, "toleratedFailures": "100%",
                "states": [fail(f"{name}i", "${item}")]}  # fmt: skip

    branches = [
        {
            "name": c.name,
            "dependsOn": c.depends_on,
            "states": [state(f"{c.name}s{n}", s) for n, s in enumerate(c.states)],
        }
        | ({} if c.when is None else {"when": "{% " + str(c.when).lower() + " %}"})
        for c in chains
    ]
    return {"name": "graph", "errorHandling": mode, "states": [
        {"name": "Fan", "type": "Parallel", "maxConcurrency": most, "branches": branches},
        {"name": "After", "type": "Pass", "result": "done"}]}  # fmt: skip


def skipped_in(chains: list[Chain]) -> set[str]:
    """Those whose condition is false, and those all of whose dependencies are skipped."""
    skipped: set[str] = set()
    for chain in sorted(chains, key=lambda c: c.name):  # names are in topological order
        if chain.when is False or (chain.depends_on and skipped.issuperset(chain.depends_on)):
            skipped.add(chain.name)
    return skipped


def runs_in(chain: Chain) -> Counter[tuple[str, str]]:
    """How often each state of a chain runs with which outcome if nothing stops it."""
    runs: Counter[tuple[str, str]] = Counter()
    for number, what in enumerate(chain.states):
        name = f"{chain.name}s{number}"
        if isinstance(what, list):
            runs[(name, "success")] += 1
            name += "i"
        for failures in what if isinstance(what, list) else [what]:
            runs[(name, "failed")] += min(failures, ATTEMPTS)
            runs[(name, "success")] += failures < ATTEMPTS
    return +runs


def fails(chain: Chain) -> bool:
    return ATTEMPTS in [state for state in chain.states if isinstance(state, int)]


COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
    "derandomize": True,
}


def test_with_continue_exactly_what_is_predicted_runs(engine: Engine) -> None:
    engine.pump(threads=4)
    engine.pump(threads=4)
    engine.clock()

    @settings(max_examples=15, **COMMON)
    @given(chains=graphs(), most=st.sampled_from([1, 2, 10]))
    def check(chains: list[Chain], most: int) -> None:
        ended = engine.run(spec_of(chains, "continue", most))
        what_happened = f"{chains}\n{story(ended.pk)}"
        assert ended.status == "success", what_happened
        skipped = skipped_in(chains)
        wanted: Counter[tuple[str, str]] = Counter({("Fan", "success"): 1, ("After", "success"): 1})
        for chain in chains:
            if chain.name not in skipped:
                wanted += runs_in(chain)
        runs = runs_of(ended.pk)
        assert Counter((r.state, r.status) for r in runs) == wanted, what_happened
        branches = Branch.objects.filter(execution=ended, body__startswith="Fan/", body__regex=r"^Fan/[^/]*$")
        status = {branch.name: str(branch.status) for branch in branches}
        for chain in chains:
            failed = chain.states[-1] == ATTEMPTS  # under continue only the last state ends a branch as failed
            expected = "skipped" if chain.name in skipped else "failed" if failed else "success"
            assert status[chain.name] == expected, what_happened
            for before in chain.depends_on:
                ended_at = [r.ended_at for r in runs if r.state.startswith(f"{before}s")]
                started_at = [r.started_at for r in runs if r.state.startswith(f"{chain.name}s")]
                if ended_at and started_at:
                    assert max(ended_at) <= min(started_at), what_happened

    check()


def test_by_default_the_first_failure_ends_it_and_nothing_runs_twice(engine: Engine) -> None:
    engine.pump(threads=4)
    engine.pump(threads=4)
    engine.clock()

    @settings(max_examples=15, **COMMON)
    @given(chains=graphs(), most=st.sampled_from([1, 2, 10]))
    def check(chains: list[Chain], most: int) -> None:
        ended = engine.run(spec_of(chains, "retry", most))
        what_happened = f"{chains}\n{story(ended.pk)}"
        running = [chain for chain in chains if chain.name not in skipped_in(chains)]
        assert ended.status == ("failed" if any(map(fails, running)) else "success"), what_happened
        assert not Branch.objects.filter(execution=ended, ended_at=None).exists(), what_happened
        runs = Counter((r.state, r.status) for r in runs_of(ended.pk) if r.status in ("success", "failed"))
        most_runs: Counter[tuple[str, str]] = Counter({("Fan", ended.status): 1, ("After", "success"): 1})
        for chain in running:
            most_runs += runs_in(chain)
        assert runs <= most_runs, what_happened
        if ended.status == "success":
            assert runs == most_runs, what_happened

    check()
