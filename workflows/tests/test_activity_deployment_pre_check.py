"""Pre-checks: what is run for which project, what counts as failed, and what a hostile repository cannot do.

Python, Make, Node and Rust run for real where they are installed; that Go is called rightly is shown by a script of
that name on the PATH, which writes down how it was called.
"""

import json
import os
import shutil
import sys
import threading
import time
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytest_django import Settings

from workflows.activities import confinement, deployment_pre_check, project_checks
from workflows.activities.paths import Territory
from workflows.errors import Canceled, InvalidInput, PermanentError
from workflows.tests.activity_case import Case
from workflows.tests.pumping import eventually

# Without the plug-ins that are installed here for other tests, which take long to load.
QUICKLY = "-p no:schemathesis -p no:hypothesispytest -p no:django -p no:xdist -p no:typeguard -p no:anyio"
needs_namespaces = pytest.mark.skipif(
    bool(confinement.namespaces_problem()), reason="this machine gives no namespaces to confine programs in"
)


@pytest.fixture
def case(tmp_path: Path, settings: Settings) -> Case:
    settings.POIMEN_HOME = tmp_path / "home"
    settings.POIMEN_UNCONFINED_CHECKS = bool(confinement.namespaces_problem())
    return Case(tmp_path / "home")


@pytest.fixture
def repository(case: Case) -> Path:
    path = case.context().workspace / "repository"
    path.mkdir()
    return path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory at the front of the PATH, which checks see although all around it is hidden."""
    directory, python = tmp_path / "tools", confinement._python()
    directory.mkdir()
    monkeypatch.setattr(confinement, "_python", lambda: [*python, directory])
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    return directory


def write(repository: Path, **files: str) -> None:
    for name, text in files.items():
        path = repository / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def script(tools: Path, name: str, body: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\n{body}\n")
    (tools / name).chmod(0o755)


def check(case: Case, path: Path | str, kind: str | None = None) -> dict[str, Any]:
    given = {"path": str(path)} | ({"checkType": kind} if kind else {})
    output: dict[str, Any] = case.run("DeploymentPreCheckActivity", given)
    return output


def test_a_good_python_project_passes(case: Case, repository: Path) -> None:
    write(
        repository,
        calc_dot_py="def add(a, b):\n    return a + b\n",
        test_calc_dot_py="from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        pyproject_dot_toml=f"[project]\nname = 'calc'\n[tool.pytest.ini_options]\naddopts = '{QUICKLY}'\n",
    )
    output = check(case, repository)
    assert output == {"passed": True, "failures": [], "warnings": [], "checks": ["ruff", "compileall", "pytest"]}
    assert sorted(path.name for path in repository.iterdir()) == ["calc.py", "pyproject.toml", "test_calc.py"]


def test_a_bad_python_project_fails_by_its_tests_and_builds_and_is_warned_of_its_style(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_checks, "find_spec", lambda name: None if name == "pytest" else find_spec(name))
    test = "import unittest\n\n\nclass It(unittest.TestCase):\n    def test_it(self):\n        self.fail('no luck')\n"
    write(repository, calc_dot_py="import os\n", test_calc_dot_py=test, setup_dot_py="def broken(:\n")
    output = check(case, repository)
    assert output["passed"] is False
    assert output["checks"] == ["ruff", "compileall", "unittest"]
    assert [failure.partition(":")[0] for failure in output["failures"]] == ["compileall failed", "unittest failed"]
    assert "setup.py" in output["failures"][0]
    assert "no luck" in output["failures"][1]
    assert len(output["warnings"]) == 1
    assert output["warnings"][0].startswith("ruff failed: ")
    assert "F401" in output["warnings"][0]
    assert check(case, repository, "lint")["passed"] is True


def test_no_test_that_was_found_is_no_test_that_passed(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pytest is not installed, as after the installation of the README, tests written for it are not seen."""
    monkeypatch.setattr(project_checks, "find_spec", lambda name: None if name == "pytest" else find_spec(name))
    write(repository, pyproject_dot_toml="", tests__test_it_dot_py="def test_it():\n    assert 1 == 2\n")
    output = check(case, repository, "test")
    assert output["checks"] == ["unittest"]
    assert output["warnings"] == [
        "unittest found nothing to run; tests written for pytest run where that is installed beside Poimen"
    ]


def test_what_a_linter_quotes_of_the_code_holds_no_secret(case: Case, repository: Path) -> None:
    key = "AKIA" + "Q3EGRNVHUM2XLTYP"
    write(repository, app_dot_py=f"import os, sys\npassword = 'hunter2hunter2'\nkey = '{key}'\n")
    (warning,) = check(case, repository, "lint")["warnings"]
    assert "password = '***'" in warning
    assert "hunter2" not in warning
    assert key not in warning


def test_make_targets_are_used_by_their_names(case: Case, repository: Path) -> None:
    makefile = "check:\n\t@echo checked > made; grep checked made\nall:\n\t@echo no compiler >&2; false\nlint := x\n"
    write(repository, Makefile=makefile)
    output = check(case, repository)
    assert output["checks"] == ["make all", "make check"]
    assert output["failures"] == ["make all failed: no compiler\nmake: *** [Makefile:4: all] Error 1"]
    assert output["warnings"] == ["lint of the Make project was not checked: Makefile has no target lint"]
    assert not (repository / "made").exists()
    assert [report.message for report in case.reports if report.percent] == ["1 of 2 checks made", "2 of 2 checks made"]


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_scripts_of_a_node_project_are_run(case: Case, repository: Path) -> None:
    scripts = {"test": "node -e \"console.log('three'); process.exit(3)\"", "build": "node -e 1"}
    write(repository, package_dot_json=json.dumps({"name": "x", "version": "1.0.0", "scripts": scripts}))
    output = check(case, repository)
    assert output["checks"] == ["npm run build", "npm run test"]
    assert len(output["failures"]) == 1
    assert "three" in output["failures"][0]
    assert output["warnings"] == ["lint of the Node project was not checked: package.json has no script 'lint'"]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_rust_project_is_built(case: Case, repository: Path) -> None:
    manifest = '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
    write(repository, Cargo_dot_toml=manifest, src__lib_dot_rs="pub fn one() -> u8 { 256 }\n")  # fmt: skip
    output = check(case, repository, "build")
    assert output["checks"] == ["cargo build"]
    assert "error: literal out of range for `u8`" in output["failures"][0]
    assert not (repository / "target").exists()


def test_go_is_called_offline_for_each_module(case: Case, repository: Path, tools: Path) -> None:
    script(tools, "go", 'echo "$(basename $PWD) $* $GOPROXY"; exit 1')
    write(repository, go_dot_mod="module x\n", tools__go_dot_mod="module y\n", vendor__z__go_dot_mod="module z\n")
    output = check(case, repository)
    assert output["warnings"] == [
        "go vet failed: copy vet ./... off", "go vet (in tools) failed: tools vet ./... off",
    ]  # fmt: skip
    assert output["failures"] == [
        "go build failed: copy build ./... off", "go test failed: copy test -short ./... off",
        "go build (in tools) failed: tools build ./... off", "go test (in tools) failed: tools test -short ./... off",
    ]  # fmt: skip
    script(tools, "go", "exit 0")
    assert check(case, repository)["passed"] is True


def test_tools_that_are_not_installed_are_named(case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = shutil.which
    absent = {"go", "cargo", "npm", "node", "make"}
    monkeypatch.setattr("shutil.which", lambda name: None if name in absent else installed(name))
    scripts = json.dumps({"scripts": {"test": "true"}})
    write(repository, go_dot_mod="", Cargo_dot_toml="", package_dot_json=scripts, Makefile="test:\n")
    output = check(case, repository, "test")
    assert output["passed"] is True
    assert output["checks"] == []
    assert output["warnings"] == [
        "test of the Go project was not checked: go is not installed",
        "test of the Node project was not checked: node is not installed",
        "test of the Rust project was not checked: cargo is not installed",
        "test of the Make project was not checked: make is not installed",
    ]


def test_members_of_a_workspace_are_part_of_it(case: Case, repository: Path) -> None:
    write(repository, Cargo_dot_toml="[workspace]", a__Cargo_dot_toml="", package_dot_json='{"workspaces": ["web"]}',
          web__package_dot_json="{}", api__pyproject_dot_toml="", node_modules__x__package_dot_json="{}",
          a__b__c__d__go_dot_mod="")  # fmt: skip
    (repository / "link").symlink_to(repository / "api")
    territory = Territory.of(case.context())
    found = [(project.kind, project.place) for project in project_checks.projects_in(repository, territory)]
    assert found == [("node", "."), ("rust", "."), ("python", "api")]


def test_a_missing_path_does_not_pass_and_is_no_error(case: Case, tmp_path: Path) -> None:
    output = check(case, "nothing")
    assert (output["passed"], output["checks"]) == (False, [])
    assert "does not exist" in output["failures"][0]


def test_bad_paths_and_check_types_are_refused(case: Case, repository: Path, tmp_path: Path) -> None:
    write(repository, file="x")
    (repository / "out").symlink_to(tmp_path)
    for path in ("/etc", str(repository / "out"), "../../../.."):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            check(case, path)
    with pytest.raises(InvalidInput, match=r"path: .* is a file"):
        check(case, repository / "file")
    with pytest.raises(InvalidInput, match="checkType"):
        check(case, repository, "everything")


def test_a_project_of_no_known_kind_passes_with_a_warning(case: Case, repository: Path) -> None:
    write(repository, README_dot_md="hello")
    output = check(case, repository)
    assert (output["passed"], output["checks"]) == (True, [])
    assert output["warnings"][0].startswith("no checkers")


@needs_namespaces
def test_the_code_of_a_repository_sees_no_secrets_and_no_network(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POIMEN_SECRET_KEY", "c4n4ry-key")
    (case.home / "secret-key").write_text("c4n4ry-key")
    neighbour = Case(case.home, "018f0000-0000-7000-8000-000000000002").context().workspace / "theirs"
    neighbour.write_text("c4n4ry-key")
    probe = f"""
import os, pathlib, socket, sys
seen = [str(dict(os.environ))]
for path in ["{case.home}/secret-key", "{neighbour}", *map(str, pathlib.Path("/proc").glob("*/environ"))]:
    try:
        seen.append(pathlib.Path(path).read_bytes().decode(errors="replace"))
    except OSError:
        continue
assert "c4n4ry" not in "".join(seen), "a secret was seen"
for place in ("{case.home}", "{Path(__file__).parent}", os.path.expanduser("~root"), "/etc"):
    try:
        pathlib.Path(place, "left-behind").write_text("x")
    except OSError:
        continue
    assert place == "{case.home}", "written to " + place  # an empty directory stands in its place
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), timeout=5).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
    sys.exit("the network is there")
except OSError as error:
    assert error.errno == 101, error
"""
    write(repository, Makefile="test:\n\tpython3 probe.txt\n", probe_dot_txt=probe)
    output = check(case, repository, "test")
    assert output == {"passed": True, "failures": [], "warnings": [], "checks": ["make test"]}
    assert not (case.home / "left-behind").exists()


def test_where_code_cannot_be_confined_it_is_not_run(
    case: Case, repository: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(confinement, "namespaces_problem", lambda: "Operation not permitted")
    settings.POIMEN_UNCONFINED_CHECKS = False
    trace = tmp_path / "ran"
    write(repository, Makefile=f"test:\n\ttouch {trace}\n")
    with pytest.raises(PermanentError, match="POIMEN_UNCONFINED_CHECKS") as refused:
        check(case, repository, "test")
    assert refused.value.name == "NotConfined"
    assert not trace.exists()
    settings.POIMEN_UNCONFINED_CHECKS = True
    assert check(case, repository, "test")["passed"] is True
    assert trace.exists()
    assert "unconfined" in case.said


def test_a_clone_is_left_as_it_is_so_that_nothing_planted_in_it_is_trusted(case: Case, repository: Path) -> None:
    planted = (
        "test:\n\tgit config filter.x.smudge evil; echo evil > .git/hooks/post-checkout; touch ran; test -e .git\n"
    )
    write(repository, Makefile=planted, _dot_git__config="[core]\n", _dot_git__hooks__readme="")
    os.mkfifo(repository / "pipe")
    (repository / "out").symlink_to("/etc")
    before = {path: path.lstat().st_mtime_ns for path in sorted(repository.rglob("*"))}
    assert check(case, repository, "test")["checks"] == ["make test"]
    assert {path: path.lstat().st_mtime_ns for path in sorted(repository.rglob("*"))} == before


def test_a_repository_of_the_operator_is_left_as_it_is_too(case: Case, tmp_path: Path, settings: Settings) -> None:
    shared = tmp_path / "shared"
    settings.POIMEN_REPO_ROOTS = [shared]
    write(shared, Makefile="test:\n\ttouch ran; ls\n")
    assert check(case, shared, "test") == {"passed": True, "failures": [], "warnings": [], "checks": ["make test"]}
    assert [path.name for path in shared.iterdir()] == ["Makefile"]


def test_what_takes_too_long_is_killed_with_all_it_started(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment_pre_check, "LONGEST", timedelta(seconds=5))
    mark = f"600.{os.getpid()}"
    write(repository, Makefile=f"test:\n\t@setsid nohup sleep {mark} & sleep {mark}\n")
    output = check(case, repository, "test")
    assert len(output["failures"]) == 1
    assert output["failures"][0].startswith("make test failed: it did not end within ")
    assert output["checks"] == ["make test"]
    eventually(
        lambda: not [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])],
        "everything it started is gone",
    )


def test_cancelling_stops_it(case: Case, repository: Path) -> None:
    mark = f"601.{os.getpid()}"
    write(repository, Makefile=f"test:\n\t@sleep {mark}\n")

    def is_running() -> bool:
        return any(mark in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))

    def cancel() -> None:
        eventually(is_running, "it runs", seconds=60)
        case.cancelled.set()

    thread = threading.Thread(target=cancel)
    thread.start()
    begun = time.monotonic()
    with pytest.raises(Canceled):
        check(case, repository, "test")
    thread.join()
    assert time.monotonic() - begun < 100
    eventually(lambda: not is_running(), "it is gone")


@needs_namespaces
def test_python_is_seen_also_where_all_around_it_is_hidden(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    around, python = str(Path(sys.prefix).parent), confinement._python()
    monkeypatch.setattr(confinement, "_MACHINE", (*confinement._MACHINE, around))
    write(repository, Makefile=f"test:\n\t! test -e {around}/manage.py\n", calc_dot_py="one = 1\n")
    output = check(case, repository)
    assert (output["failures"], output["checks"]) == ([], ["ruff", "compileall", "pytest", "make test"])
    monkeypatch.setattr(confinement, "_python", lambda: [*python, tmp_path])
    write(tmp_path, shown="x", home__secret="x")
    look = f"cd {tmp_path} && test -e shown && ! touch new && ! test -e home/secret"
    write(repository, Makefile=f"test:\n\t{look}\n", calc_dot_py="one = 1\n")
    assert check(case, repository, "test")["failures"] == []


@needs_namespaces
def test_a_tool_that_cannot_be_started_is_no_failure_of_the_repository(
    case: Case, repository: Path, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, go_dot_mod="module x\n")
    script(tools, "go", "echo 'go cannot be started: no luck' >&2; exit 126")
    assert check(case, repository, "test")["failures"] == ["go test failed: go cannot be started: no luck"]
    (tools / "go").write_text("#!/nowhere/interpreter\n")
    untold = {"passed": True, "failures": [], "checks": []}
    reason = "test of the Go project was not checked: go cannot be started: No such file or directory"
    assert check(case, repository, "test") == {**untold, "warnings": [reason]}
    script(tmp_path, "go", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    output = check(case, repository, "test")
    assert "which the code of a repository does not see" in output["warnings"][0]
    assert {**output, "warnings": []} == {**untold, "warnings": []}
    assert "warn test of the Go project was not checked" in case.said


@needs_namespaces
def test_a_fork_bomb_and_endless_output_are_bounded(
    case: Case, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "MOST_PROCESSES", 40)
    bomb = "import os, time\nfor _ in range(200):\n    if os.fork() == 0:\n        time.sleep(600)\ntime.sleep(600)\n"
    makefile = "test:\n\t@python3 bomb.txt\nbuild:\n\t@yes | head -c 20000000; false\n"
    write(repository, Makefile=makefile, bomb_dot_txt=bomb)
    output = check(case, repository)
    assert output["failures"][0].startswith("make build failed: ... ")
    assert len(output["failures"][0]) < 5000
    assert "more than 40 processes and was killed" in output["failures"][1]


def test_strange_names_and_terminal_sequences_do_no_harm(case: Case, repository: Path) -> None:
    (repository / "-rf").mkdir()
    (repository / "-rf" / "package.json").write_text("{}")
    (repository / "new\nline").mkdir()
    (repository / "new\nline" / "go.mod").write_text("")
    (repository / "package.json").symlink_to("/etc/passwd")
    os.mkfifo(repository / "go.mod")
    write(repository, Makefile="test:\n\t@printf '\\033[31mred\\033[0m\\033]0;title\\007\\n'; false\n")
    output = check(case, repository, "test")
    assert output["failures"] == ["make test failed: red\nmake: *** [Makefile:2: test] Error 1"]
    assert output["warnings"] == []
