"""``manage.py poimen``: the verbs do what REST does, as people in their roles, and answer with text, JSON and codes."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from canvas.tests.asking import saved
from workflows.models import AuditRecord, Execution, LogEntry, Role, Workflow
from workflows.models.approval import GateStatus
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.pumping import Engine
from workflows.tests.scheduling import schedule_of
from workflows.tests.test_approvals import gate

HOLD: dict[str, Any] = {
    "name": "hold",
    "states": [
        {"name": "First", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${workflow.input.x}"},
         "next": "Hold"},
        {"name": "Hold", "type": "WaitForSignal", "signal": "go", "end": True},
    ],
}  # fmt: skip
FAILS: dict[str, Any] = {
    "name": "fails",
    "states": [{"name": "No", "type": "Fail", "error": "Nope", "cause": "no luck"}],
}


class Said:
    """What a command came to."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def poimen(*arguments: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("poimen", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return Said(int(end.code or 0), out.getvalue(), err.getvalue())
    return Said(0, out.getvalue(), err.getvalue())


@pytest.fixture
def engine(transactional_db: None) -> Iterator[Engine]:
    made = Engine()
    made.customer.delete()
    made.customer = customer()
    yield made
    made.stop()


@pytest.fixture
def spec_file(tmp_path: Path) -> Callable[[Any], str]:
    def write(spec: Any) -> str:
        path = tmp_path / "spec.json"
        path.write_text(spec if isinstance(spec, str) else json.dumps(spec))
        return str(path)

    return write


def test_a_spec_is_submitted_followed_signalled_and_waited_for(engine: Engine, spec_file: Any) -> None:
    member(customer(), Role.OPERATOR, "olga")
    engine.pump()
    begun = poimen("submit", "--spec", spec_file(HOLD), "-i", "x=[1, 2]", "--priority", "3")
    assert begun.code == 0, begun.err
    pk = begun.out.strip()
    engine.reaches(Execution.objects.get(pk=pk).pk, "waiting")
    shown = poimen("status", pk)
    assert "hold" in shown.out
    assert "waiting" in shown.out
    late = poimen("wait", pk, "--timeout", "50ms")
    assert (late.code, late.out) == (1, "")
    assert f"poimen wait {pk}" in late.err
    sent = poimen("signal", pk, "go", "--payload", '{"a": 1}', "--json")
    assert (sent.code, sent.json["new"]) == (0, True)
    ended = poimen("wait", pk, "--timeout", "20s", "--json")
    assert ended.code == 0
    assert ended.json["status"] == "success"
    assert ended.json["outputs"]["stepResults"] == {"First": {"value": [1, 2]}, "Hold": {"a": 1}}
    assert (ended.json["priority"], ended.json["createdBy"]) == (3, "olga")
    kinds = set(AuditRecord.objects.filter(execution_id=pk).values_list("action", "actor", "actor_kind"))
    assert kinds == {("execution.started", "olga", "user"), ("execution.signalled", "olga", "user")}
    assert all(record.request_id.startswith("cli:") for record in AuditRecord.objects.filter(execution_id=pk))


def test_what_fails_is_told_by_the_exit_code(engine: Engine, spec_file: Any) -> None:
    member(customer(), Role.OPERATOR)
    engine.pump()
    ended = poimen("submit", "--spec", spec_file(FAILS), "--wait", "--timeout", "20s")
    assert ended.code == 1
    assert "failed" in ended.out
    assert "no luck" in ended.out


def test_the_json_is_that_of_rest(engine: Engine, spec_file: Any) -> None:
    engine.pump()
    operator = member(customer(), Role.OPERATOR)
    body = poimen("submit", "--spec", spec_file(HOLD), "-i", "x=1", "--json").json
    engine.reaches(Execution.objects.get(pk=body["id"]).pk, "waiting")
    client = signed_in(operator)
    assert poimen("status", body["id"], "--json").json == client.get(f"/executions/{body['id']}?logs=0").json()
    assert poimen("status", "--json").json == client.get("/executions").json()
    lines = [json.loads(line) for line in poimen("logs", body["id"], "--json").out.splitlines()]
    assert lines == client.get(f"/executions/{body['id']}/logs").json()["logs"]


@pytest.mark.django_db
def test_a_saved_workflow_is_submitted_by_name_or_id_and_once_for_a_key() -> None:
    made = saved(signed_in(member(customer(), Role.OPERATOR)), name="Say it")
    first = poimen("submit", "Say it", "--key", "k")
    again = poimen("submit", made["id"], "--key", "k")
    assert first.out == again.out
    assert "already" in again.err
    other = poimen("submit", made["id"], "--key", "k", "-i", "x=1")
    assert other.code == 1
    assert "idempotency key" in other.err
    wrong = poimen("submit", "Say it!")
    assert wrong.code == 2
    assert "did you mean 'Say it'?" in wrong.err


def test_a_log_is_followed_filtered_and_gone_on_with_from_any_line(engine: Engine) -> None:
    execution = started(customer())
    for level, node, message in (("info", "A", "one"), ("debug", "A", "two"), ("error", "B", "three\x1b[31m")):
        LogEntry.objects.create(execution=execution, level=level, node_id=node, message=message)
    pk = str(execution.pk)
    engine.pump()
    followed = poimen("logs", "-f", pk, "--json")
    lines = [json.loads(line) for line in followed.out.splitlines()]
    said = [line["message"] for line in lines]
    assert said[:3] == ["echo started", "one", "three\x1b[31m"]
    assert said[-1] == "echo finished: success"
    for number, line in enumerate(lines):
        rest = poimen("logs", "-f", pk, "--json", "--after", line["cursor"]).out.splitlines()
        assert [json.loads(text) for text in rest] == lines[number + 1 :]
    assert "two" in poimen("logs", pk, "--level", "debug").out
    only = poimen("logs", pk, "--node", "B").out
    assert only.endswith("error B: three\n")  # without the colour it was given
    assert len(only.splitlines()) == 1


@pytest.mark.django_db
def test_people_decide_as_themselves() -> None:
    asked = gate(2)
    member(customer(), Role.APPROVER, "ann")
    member(customer(), Role.APPROVER, "bob")
    member(customer(), Role.OPERATOR, "olga")
    listed = poimen("approvals", "--json").json
    assert [item["id"] for item in listed] == [str(asked.pk)]
    nobody = poimen("approve", str(asked.pk))
    assert nobody.code == 2
    assert nobody.err.endswith("--user: ann, bob\n")
    lesser = poimen("approve", str(asked.pk), "--user", "olga")
    assert (lesser.code, "role approver" in lesser.err) == (1, True)
    assert poimen("approve", str(asked.pk), "--user", "ann", "--reason", "fine").code == 0
    twice = poimen("approve", str(asked.pk), "--user", "ann")
    assert (twice.code, "voted" in twice.err) == (1, True)
    silent = poimen("reject", str(asked.pk), "--user", "bob")
    assert (silent.code, "reason" in silent.err) == (2, True)
    decided = poimen("reject", str(asked.execution_id), "--user", "bob", "--reason", "no", "--json")
    assert (decided.code, decided.json["status"]) == (0, "rejected")
    asked.refresh_from_db()
    assert asked.status == GateStatus.REJECTED


@pytest.mark.django_db
def test_the_id_of_what_waits_or_is_scheduled_says_whose_it_is() -> None:
    asked, other = gate(2), customer("other")
    member(customer(), Role.APPROVER, "ann")
    member(other, Role.ADMIN, "otto")
    assert poimen("approve", str(asked.pk)).code == 0
    assert poimen("reject", str(asked.execution_id), "--user", "otto", "--reason", "no").code == 2, "not one of his"
    schedule = schedule_of(other)
    assert f"hourly {schedule.pk}" in poimen("schedules", "show", str(schedule.pk)).out
    assert poimen("schedules", "pause", str(schedule.pk)).code == 0
    assert poimen("schedules", "pause", "hourly").code == 2, "a name does not say it"
    assert poimen("schedules", "trigger", str(schedule.pk)).code == 0
    assert poimen("schedules", "delete", str(schedule.pk)).code == 0


@pytest.mark.django_db
def test_executions_are_paused_resumed_cancelled_and_rerun() -> None:
    member(customer(), Role.OPERATOR, "olga")
    pk = str(started(customer(), HOLD).pk)
    assert poimen("pause", pk, "--reason", "lunch", "--json").json["status"] == "paused"
    assert poimen("resume", pk).code == 0
    assert poimen("resume", pk).err == "poimen: the execution is not paused\n"
    early = poimen("rerun", pk)
    assert (early.code, "still running" in early.err) == (1, True)
    assert "cancelled" in poimen("cancel", pk).out
    again = poimen("rerun", pk, "--key", "r", "--json").json
    assert again["rerunOf"] == pk
    assert poimen("rerun", pk, "--key", "r").out.strip() == again["id"]


@pytest.mark.django_db
def test_customers_and_people_are_chosen_never_guessed() -> None:
    assert "no customer yet" in poimen("status").err
    acme, other = customer(), customer("other")
    execution = started(acme)
    several = poimen("status")
    assert (several.code, "acme, other" in several.err) == (2, True)
    assert poimen("status", "--customer", "nobody").code == 2
    assert str(execution.pk) in poimen("status", "--customer", "acme").out
    assert str(execution.pk) in poimen("status", "--customer", str(acme.pk)).out
    assert f"{execution.name} {execution.pk}" in poimen("status", str(execution.pk)).out, "its id says whose it is"
    assert poimen("logs", str(execution.pk)).code == 0
    nowhere = poimen("status", str(acme.pk))
    assert (nowhere.code, f"no execution {acme.pk} at acme, other" in nowhere.err) == (1, True)
    foreign = poimen("status", str(execution.pk), "--customer", other.slug)
    assert (foreign.code, "no execution" in foreign.err) == (1, True)
    assert poimen("cancel", str(execution.pk), "--customer", "acme").code == 2  # nobody can
    member(acme, Role.VIEWER, "vera")
    lesser = poimen("cancel", str(execution.pk), "--customer", "acme")
    assert (lesser.code, "needs the role operator" in lesser.err) == (1, True)
    member(other, Role.ADMIN, "otto")
    stranger = poimen("status", "--customer", "acme", "--user", "otto")
    assert (stranger.code, "no member of acme" in stranger.err) == (2, True)
    unseen = poimen("status", str(execution.pk), "--user", "otto")
    assert (unseen.code, "choose one with --customer: acme, other" in unseen.err) == (2, True)
    gone = member(acme, Role.ADMIN, "gone", is_active=False)
    assert poimen("cancel", str(execution.pk), "--customer", "acme", "--user", gone.username).code == 2


@pytest.mark.django_db
def test_only_people_whose_role_suffices_are_counted() -> None:
    pk = str(started(customer(), HOLD).pk)
    member(customer(), Role.VIEWER, "vic")
    member(customer(), Role.EDITOR, "ed")
    nobody = poimen("cancel", pk)
    assert (nobody.code, "the role operator at acme, which none of its members has" in nobody.err) == (1, True)
    member(customer(), Role.OPERATOR, "olga")
    member(customer(), Role.ADMIN, "gone", is_active=False)
    assert poimen("pause", pk).code == 0
    assert AuditRecord.objects.get(action="execution.paused").actor == "olga"
    unknown = poimen("resume", pk, "--user", "nemo")
    assert (unknown.code, unknown.err.endswith("those who can do this: olga\n")) == (2, True)
    User.objects.create_superuser("root")
    several = poimen("resume", pk)
    assert (several.code, several.err.endswith("--user: olga, root\n")) == (2, True)


@pytest.mark.parametrize("script,command", [("poimen", "poimen"), ("starter", "poimen_start")])
def test_help_and_usage_name_what_was_called(script: str, command: str, tmp_path: Path) -> None:
    root = Path(settings.BASE_DIR)
    (tmp_path / "bin").mkdir()
    shutil.copy(root / "bin" / script, tmp_path / "bin")
    (tmp_path / "bin" / "environment.sh").write_text("with_lock() { :; }\n")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "manage.py").symlink_to(root / "manage.py")
    run = partial(subprocess.run, capture_output=True, text=True, timeout=120, check=False)
    called = run([f"bin/{script}", "--nonsense"], cwd=tmp_path)
    assert (called.returncode, called.stderr.startswith(f"usage: bin/{script} [-h]")) == (2, True), called.stderr
    by_hand = run([sys.executable, "manage.py", command, "--nonsense"], cwd=root)
    assert by_hand.stderr.startswith(f"usage: manage.py {command} [-h]"), by_hand.stderr


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments,said",
    [
        (["submit"], "one of the two"),
        (["submit", "--spec", "/nowhere.json"], "cannot be read"),
        (["submit", "x", "--inputs", "[1]"], "expected a JSON object"),
        (["submit", "x", "--inputs", "{nope"], "this is not JSON"),
        (["submit", "x", "--priority", "5000"], "no workflow"),
        (["submit", "x", "--key", " "], "Idempotency-Key"),
        (["status", "x"], "is not the id of an execution"),
        (["approve", "x"], "is not the id of an approval"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments: list[str], said: str) -> None:
    member(customer(), Role.ADMIN)
    result = poimen(*arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""
    in_json = poimen(*arguments, "--json")
    assert in_json.code == 2
    assert said in in_json.json["error"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["submit", "-i", "novalue"], ["wait", "x", "--timeout", "soon"], ["logs", "x", "--after", "y"], []],
)
def test_arguments_that_cannot_be_read_are_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError):  # on a command line: the usage and exit code 2
        call_command("poimen", *arguments)


@pytest.mark.django_db
def test_a_spec_with_errors_is_refused_with_all_of_them(spec_file: Any) -> None:
    member(customer(), Role.OPERATOR)
    bad = {"name": "bad", "states": [{"name": "A", "type": "Taks"}, {"name": "B", "type": "Task", "resource": "Ehco"}]}
    refused = poimen("submit", "--spec", spec_file(bad))
    assert refused.code == 1
    assert 'did you mean "Task"?' in refused.err
    assert len(poimen("submit", "--spec", spec_file(bad), "--json").json["details"]) >= 1
    cron = {"name": "nightly", "schedule": "0 2 * * *", "states": HOLD["states"]}
    scheduled = poimen("submit", "--spec", spec_file(cron))
    assert (scheduled.code, "has a schedule" in scheduled.err) == (2, True)
    large = poimen("submit", "--spec", spec_file(HOLD), "-i", f"x={'y' * 1_100_000}")
    assert (large.code, "1024 KiB" in large.err) == (2, True)


@pytest.mark.django_db
def test_schedules_are_made_shown_and_steered(spec_file: Any) -> None:
    member(customer(), Role.OPERATOR, "olga")
    cron = {"name": "nightly", "schedule": "0 2 * * *", "timezone": "Europe/Berlin", "states": HOLD["states"]}
    made = poimen("schedules", "create", "--spec", spec_file(cron), "-i", "x=1", "--overlap", "queue", "--json")
    assert made.code == 0, made.out
    assert (made.json["name"], made.json["inputs"], made.json["overlapPolicy"]) == ("nightly", {"x": 1}, "queue")
    assert "nightly" in poimen("schedules", "list").out
    assert poimen("schedules", "pause", "nightly", "--reason", "holidays", "--json").json["status"] == "paused"
    assert "02:00" in poimen("schedules", "resume", "nightly").out
    started_now = poimen("schedules", "trigger", "nightly")
    execution = Execution.objects.get(pk=started_now.out.strip())
    assert str(execution.schedule_id) == made.json["id"]
    shown = poimen("schedules", "show", made.json["id"], "--json").json
    assert [run["execution"]["id"] for run in shown["history"]] == [str(execution.pk)]
    assert "Europe/Berlin" in poimen("schedules", "show", "nightly").out
    plain = poimen("schedules", "create", "--spec", spec_file(HOLD), "--schedule", "never")
    assert (plain.code, "schedule" in plain.err) == (2, True)
    assert poimen("schedules", "delete", "nightly").code == 0
    unknown = poimen("schedules", "show", "nightly")
    assert (unknown.code, "no schedule 'nightly'" in unknown.err) == (2, True)


@pytest.mark.django_db
def test_a_sentence_becomes_a_spec_for_review_or_a_question() -> None:
    member(customer(), Role.EDITOR)
    sentence = "scan https://example.org/web.git for security problems"
    made = poimen("route", sentence, "--offline")
    assert made.code == 0, made.err
    assert "SecurityScanActivity" in [state.get("resource") for state in made.json["states"]]
    assert not Workflow.objects.exists()
    kept = poimen("route", sentence, "--offline", "--save", "--json")
    assert str(Workflow.objects.get().pk) == kept.json["workflowId"]
    asked = poimen("route", "scan the repository for security problems", "--offline")
    assert (asked.code, asked.out) == (1, "")
    assert "-c repo=" in asked.err
    told = poimen("route", "scan the repository for security problems", "--offline", "-c", "repo=https://x.org/a.git")
    assert told.code == 0
    assert poimen("route", " ").code == 2
