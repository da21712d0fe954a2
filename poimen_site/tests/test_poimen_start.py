"""``manage.py poimen_start``: runs a spec and tells what came of it; wrong flags are told before anything is done."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from poimen_site.tests.test_cli import FAILS, HOLD, Said, engine  # noqa: F401 - a fixture
from workflows.models import Execution, Role, Schedule
from workflows.tests.people import customer, member
from workflows.tests.pumping import Engine

ADD: dict[str, Any] = {
    "name": "add",
    "states": [
        {"name": "One", "type": "Pass", "result": 1, "next": "Two"},
        {"name": "Two", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${One.output}"}},
    ],
}


def starter(*arguments: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("poimen_start", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return Said(int(end.code or 0), out.getvalue(), err.getvalue())
    return Said(0, out.getvalue(), err.getvalue())


def written(path: Path, spec: Any) -> str:
    path.write_text(json.dumps(spec))
    return str(path)


def test_a_spec_is_run_and_each_step_is_told(engine: Engine, tmp_path: Path) -> None:  # noqa: F811
    member(customer(), Role.OPERATOR, "olga")
    engine.pump()
    done = starter("--spec", written(tmp_path / "add.json", ADD))
    assert done.code == 0
    execution = Execution.objects.get()
    assert re.fullmatch(r"routing-add-\d{8}-\d{6}", execution.idempotency_key or "")
    assert done.out.splitlines() == [
        f"workflow  {execution.idempotency_key}",
        f"run       {execution.pk}",
        "status    success",
        "  One: 1",
        '  Two: {"value": 1}',
    ]
    in_json = starter("--spec", written(tmp_path / "fails.json", FAILS), "--json")
    assert in_json.code == 1
    assert in_json.json["runId"].startswith("routing-fails-")
    assert in_json.json["execution"]["status"] == "failed"


@pytest.mark.django_db(transaction=True)
def test_what_takes_longer_is_still_running(tmp_path: Path) -> None:
    member(customer(), Role.OPERATOR)
    late = starter("--spec", written(tmp_path / "hold.json", HOLD), "--timeout", "10ms")
    assert late.code == 0
    assert "still running after 0.01s" in late.out


def test_a_dry_run_prints_the_spec_and_needs_no_database(tmp_path: Path) -> None:
    dry = starter("--spec", written(tmp_path / "add.json", ADD), "--dry-run")
    assert (dry.code, dry.json) == (0, ADD)
    assert dry.out.startswith('{\n  "name"')


@pytest.mark.parametrize(
    "flags,code,said",
    [
        ([], 2, "--repo and --remote are needed, both (or use --route or --spec"),
        (["--repo", "/srv/a"], 2, "--repo and --remote are needed, both"),
        (["--repo", "/srv/a", "--remote", "https://example.org/a.git"], 1, "not part of this version"),
        (["--cron"], 2, "--spec FILE"),
        (["-c", "repo=/srv/a"], 2, "--route SENTENCE"),
        (["--spec", "/nowhere.json"], 2, "cannot be read"),
    ],
)
def test_flags_are_checked_before_anything_is_connected_to(flags: list[str], code: int, said: str) -> None:
    refused = starter(*flags)
    assert (refused.code, refused.out) == (code, "")
    assert said in refused.err


def test_a_spec_with_errors_is_fatal_with_all_of_them(tmp_path: Path) -> None:
    bad = {"name": "", "states": [{"name": "A", "type": "Task", "resource": "EhcoActivity", "next": "B"}]}
    refused = starter("--spec", written(tmp_path / "bad.json", bad))
    assert refused.code == 1
    assert refused.err.count("error:") >= 3
    assert 'did you mean "EchoActivity"?' in refused.err
    cron = written(tmp_path / "cron.json", {**ADD, "schedule": "0 2 * * *"})
    assert "add --cron" in starter("--spec", cron).err
    assert (
        starter("--spec", written(tmp_path / "c.json", {**ADD, "schedule": "never"}), "--cron", "--dry-run").code == 1
    )


@pytest.mark.django_db
def test_the_health_is_told_as_json() -> None:
    told = starter("--health")
    assert told.json["checks"]["database"]["status"] == "healthy"
    assert (told.code, told.json["status"]) == (1, "degraded")  # there are no workers


@pytest.mark.django_db
def test_a_cron_spec_becomes_a_schedule(tmp_path: Path) -> None:
    member(customer(), Role.OPERATOR)
    cron = written(tmp_path / "cron.json", {**ADD, "schedule": "0 2 * * *"})
    assert starter("--spec", cron, "--cron", "--dry-run").json["schedule"] == "0 2 * * *"
    assert not Schedule.objects.exists()
    made = starter("--spec", cron, "--cron")
    assert made.code == 0, made.err
    assert str(Schedule.objects.get().pk) in made.out
    assert "At 02:00" in made.out


@pytest.mark.django_db(transaction=True)
def test_a_sentence_is_routed_and_run(tmp_path: Path) -> None:
    member(customer(), Role.OPERATOR)
    sentence = "scan https://example.org/web.git for security problems"
    dry = starter("--route", sentence, "--dry-run")
    assert dry.code == 0, dry.err
    assert dry.json["name"] in dry.err
    assert "2 states" in dry.err
    assert not Execution.objects.exists()
    late = starter("--route", sentence, "--timeout", "10ms")
    assert (late.code, "still running" in late.out) == (0, True)
    assert starter("--route", f"{sentence} every day at 2 am").code == 0
    assert Schedule.objects.get().cron == "0 2 * * *"
    asked = starter("--route", "scan the repository for security problems")
    assert (asked.code, "more has to be known" in asked.err) == (1, True)
    assert "Answer with -c repo=" in asked.err
    told = starter(
        "--route", "scan the repository for security problems", "-c", "repo=https://example.org/web.git", "--dry-run"
    )
    assert told.json["input"]["repo"] == "https://example.org/web.git", told.err
    both = starter("--route", "nonsense", "--spec", written(tmp_path / "add.json", ADD), "--dry-run")
    assert both.json == ADD  # --spec wins
