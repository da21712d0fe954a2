"""Labelled sentences, and how an answer of the router is held against a label. Importable after ``django.setup`` only.

The labels are in ``router_sentences.jsonl``. Those of the two held-out parts were written before any result of theirs
was seen, the second after the router had been mended for the first.
"""

import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from cronsim import CronSim

from agents.router.routing import Route, route
from workflows.activities.registry import registry
from workflows.spec.cron_validator import validate_cron_spec
from workflows.spec.validator import validate_spec

SENTENCES = Path(__file__).with_name("router_sentences.jsonl")
PARTS = ("tuned", "held-out", "second held-out")
FLOORS = {"activities": 90.0, "schedules": 95.0, "specs": 100.0}
_RUNS_COMPARED = 60
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was right about one sentence; None where there is nothing to be right about."""

    entry: dict[str, Any]
    routed: Route
    seconds: float
    activities: bool
    schedule: bool
    parameters: bool | None
    questions: bool
    spec: bool
    faults: list[str] = field(default_factory=list)


@cache
def sentences() -> tuple[dict[str, Any], ...]:
    """Return the labelled sentences: ``{part, text, activities, cron?, zone?, parameters?, asks?, errorHandling?}``."""
    return tuple(json.loads(line) for line in SENTENCES.read_text().splitlines())


def usable() -> list[dict[str, Any]]:
    """Return the sentences that ask for nothing but activities that are registered here."""
    known = registry.all()
    return [entry for entry in sentences() if all(name in known for name in entry["activities"])]


def judge(entry: dict[str, Any]) -> Verdict:
    """Route one sentence by its words alone, and hold the answer against its label."""
    before = time.perf_counter()
    routed = route(entry["text"], offline=True)
    seconds = time.perf_counter() - before
    faults: list[str] = []

    def check(what: str, wanted: Any, got: Any, is_right: bool) -> bool:
        if not is_right:
            faults.append(f"{what}: expected {wanted}, got {got}")
        return is_right

    asked = sorted({question.parameter for question in routed.questions})
    wanted = sorted(entry["activities"])
    got = sorted(routed.activities)
    activities = check("activities", wanted, got, wanted == got)
    schedule = _schedule_is_right(entry, routed, check)
    parameters: bool | None = None
    if routed.document is not None and (given := entry.get("parameters")):
        inputs = routed.document.get("input", {})
        lacking = {key: value for key, value in given.items() if not _has(inputs, key, value)}
        parameters = check("parameters", lacking, inputs, not lacking)
    expected = sorted(entry.get("asks", []))
    questions = check("questions", expected, asked, expected == asked)
    if routed.document is not None:
        mode = routed.document.get("errorHandling", "retry")
        check("errors", entry.get("errorHandling", "retry"), mode, mode == entry.get("errorHandling", "retry"))
    spec = check("spec", "valid or questions", _problems(routed), not _problems(routed))
    return Verdict(entry, routed, seconds, activities, schedule, parameters, questions, spec, faults)


def _schedule_is_right(entry: dict[str, Any], routed: Route, check: Any) -> bool:
    asks = "schedule" in entry.get("asks", [])
    is_asked = any(question.parameter == "schedule" for question in routed.questions)
    if asks or is_asked:
        return bool(check("schedule", "a question" if asks else "none", f"asked: {is_asked}", asks == is_asked))
    if entry.get("asks"):
        return True  # no spec, so no schedule to look at
    cron = routed.cron_spec
    if "cron" not in entry or cron is None:
        told = None if cron is None else cron["schedule"]
        return bool(check("schedule", entry.get("cron"), told, "cron" not in entry and cron is None))
    wanted, got = (entry["cron"], entry["zone"]), (cron["schedule"], cron["timezone"])
    return bool(check("schedule", wanted, got, got[1] == wanted[1] and _runs(got[0]) == _runs(wanted[0])))


@cache
def _runs(cron: str) -> list[datetime]:
    runs = CronSim(cron, _BEGIN)
    return [next(runs) for _ in range(_RUNS_COMPARED)]


def _has(inputs: dict[str, Any], key: str, value: Any) -> bool:
    name = re.sub(r"\d+$", "", key).lower().replace("_", "")
    return any(k.lower().replace("_", "").endswith(name) and v == value for k, v in inputs.items())


def _problems(routed: Route) -> list[str]:
    if routed.document is None:
        return [] if routed.questions else ["neither a spec nor a question"]
    validate = validate_cron_spec if routed.is_cron else validate_spec
    return [str(problem) for problem in validate(routed.document, activities=registry.all()).errors]


def shares(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """Return percentages of ``activities``, ``schedules``, ``parameters``, ``questions`` and ``specs`` that are right.

    Schedules are counted over the sentences about one, and those in which one was seen that is not there.
    """
    found = list(verdicts)

    def share(values: Iterable[bool]) -> float:
        ordered = list(values)
        return 100.0 * sum(ordered) / len(ordered) if ordered else 100.0

    about_time = [v for v in found if "cron" in v.entry or "schedule" in v.entry.get("asks", []) or not v.schedule]
    return {
        "activities": share(v.activities for v in found),
        "schedules": share(v.schedule for v in about_time),
        "parameters": share(v.parameters for v in found if v.parameters is not None),
        "questions": share(v.questions for v in found),
        "specs": share(v.spec for v in found),
    }
