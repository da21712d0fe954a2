"""The commands as processes: following through an outage, Ctrl-C, a reader that leaves, exit codes."""

import json
import signal
import subprocess

import pytest

from poimen_site.tests.places import Place

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.timeout(300)]

ACME = ("--customer", "acme")


def read_until(process: "subprocess.Popen[str]", text: str) -> list[str]:
    """The lines up to one that has ``text``; fails if the output ends before."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"{text!r} did not come: {lines}")


def test_a_log_is_followed_interrupted_and_gone_on_with(place: Place) -> None:
    execution = place.house.execution()
    messages = [f"line {number}" for number in range(40)]
    place.house.say(execution, *messages[:10])
    first = place.command("poimen", "logs", "-f", execution, "--json", *ACME)
    heard = read_until(first, '"line 9"')
    place.house.installation.postgres.stop()
    place.house.installation.postgres.start()
    place.house.say(execution, *messages[10:20])
    heard += read_until(first, '"line 19"')
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=30)
    assert first.returncode == 130
    assert "Traceback" not in said
    assert "the database is away" in said
    cursor = json.loads(heard[-1])["cursor"]
    assert said.splitlines()[-1].endswith(f"poimen logs -f {execution} --after {cursor}")
    place.house.say(execution, *messages[20:])
    place.house.finish(execution)
    second = place.command("poimen", "logs", "-f", execution, "--after", cursor, "--json", *ACME)
    rest, said = second.communicate(timeout=60)
    assert (second.returncode, said) == (0, "")
    everything = [json.loads(line)["message"] for line in [*heard, *rest.splitlines()]]
    assert [message for message in everything if message in set(messages)] == messages


def test_a_reader_that_leaves_ends_the_command_quietly(place: Place) -> None:
    execution = place.house.execution()
    place.house.say(execution, "one")
    process = place.command("poimen", "logs", "-f", execution, *ACME)
    read_until(process, "one")
    assert process.stdout is not None
    process.stdout.close()
    place.house.say(execution, "two")
    assert process.wait(30) == 141
    assert process.stderr is not None
    assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "arguments,code,said",
    [
        (["poimen", "nothing"], 2, "invalid choice"),
        (["poimen", "logs"], 2, "required"),
        (["poimen", "status"], 2, "acme, other"),
        (["poimen_start"], 2, "--repo and --remote are needed"),
    ],
    ids=["verb", "argument", "customer", "starter"],
)
def test_wrong_usage_ends_with_2(place: Place, arguments: list[str], code: int, said: str) -> None:
    process = place.command(*arguments)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_the_health_of_a_working_installation_is_exit_code_0(place: Place) -> None:
    process = place.command("poimen_start", "--health")
    out, _ = process.communicate(timeout=60)
    report = json.loads(out)
    sick = {name: check for name, check in report["checks"].items() if check["status"] != "healthy"}
    assert (process.returncode == 0) == (report["status"] == "healthy"), sick
    assert set(sick) <= {"disk", "audit", "queue"}, sick  # what depends on the machine
