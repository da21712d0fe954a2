"""Which projects a repository holds, and what lints, tests and builds each of them: Go, Python, Node, Rust, Make.

Knows commands only; it runs none. Refuses to follow links while it looks (contract-activities 5).
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from workflows.activities.code_files import SKIPPED_DIRECTORIES
from workflows.activities.paths import Territory

Kind = Literal["go", "python", "node", "rust", "make"]
CheckName = Literal["lint", "test", "build"]
DEPTH: Final = 3  # directories below the root that are looked at
MOST_PROJECTS: Final = 20
MOST_MANIFEST: Final = 1024 * 1024
MANIFESTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "go": ("go.mod",),
    "python": ("pyproject.toml", "setup.py", "setup.cfg"),
    "node": ("package.json",),
    "rust": ("Cargo.toml",),
    "make": ("GNUmakefile", "makefile", "Makefile"),
}
_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)", re.MULTILINE)
_MAKE_TARGETS: Final[Mapping[CheckName, tuple[str, ...]]] = {
    "lint": ("lint",),
    "test": ("test", "check"),
    "build": ("build", "all"),
}
_NO_TESTS: Final = 'echo "Error: no test specified" && exit 1'  # what npm init writes
_PYTEST_NOTHING: Final = 5
_WITHOUT_PYTEST: Final = "; tests written for pytest run where that is installed beside Poimen"


@dataclass(frozen=True)
class Project:
    """One project; ``directory`` is resolved, ``place`` how people see it: ``.`` for the root."""

    kind: Kind
    directory: Path
    place: str


@dataclass(frozen=True)
class Check:
    """One command for one project. ``name`` is what failures are called by; ``nothing`` the exit code for no work.

    ``nothing_said`` is what it says to that if its exit code does not, ``hint`` what else there is to know of it.
    """

    project: Project
    check: CheckName
    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    nothing: int | None = None
    nothing_said: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Missing:
    """Why a check cannot be made."""

    project: Project
    check: CheckName
    reason: str


def projects_in(root: Path, territory: Territory) -> list[Project]:
    """Return the projects below ``root``, the nearest first; members of a Cargo or npm workspace are part of theirs."""
    found: list[Project] = []
    for directory, names in _directories(root, territory):
        place = directory.relative_to(root).as_posix()
        for kind, manifests in MANIFESTS.items():
            has_one = any(name in names for name in manifests)
            if kind == "python" and directory == root:
                has_one = has_one or "requirements.txt" in names or any(name.endswith(".py") for name in names)
            if has_one and not _is_member(kind, directory, found):
                found.append(Project(kind, directory, place))
    return found


def checks_of(project: Project, wanted: Collection[CheckName], scratch: Path) -> Iterator[Check | Missing]:
    """Yield what can be run for ``project``, and what cannot and why; ``scratch`` takes what tools write."""
    for check in wanted:
        match project.kind:
            case "go":
                yield _go(project, check, scratch)
            case "python":
                yield _python(project, check, scratch)
            case "node":
                yield _node(project, check)
            case "rust":
                yield _rust(project, check, scratch)
            case "make":
                yield from _make(project, check)


def _directories(root: Path, territory: Territory) -> Iterator[tuple[Path, frozenset[str]]]:
    """Walk breadth first, so that a project is found before those inside it."""
    pending = [root]
    while pending:
        directory = pending.pop(0)
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError:
            continue  # gone, or not for us to read
        yield directory, frozenset(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        if len(directory.relative_to(root).parts) >= DEPTH:
            continue
        for entry in entries:
            is_code = entry.name.isprintable() and not entry.name.startswith((".", "-"))
            if is_code and entry.name not in SKIPPED_DIRECTORIES and entry.is_dir(follow_symlinks=False):
                if territory.admits(Path(entry.path)):
                    pending.append(Path(entry.path))


def _is_member(kind: Kind, directory: Path, found: list[Project]) -> bool:
    above = [p for p in found if p.kind == kind and directory != p.directory and directory.is_relative_to(p.directory)]
    if kind == "node":
        return any("workspaces" in _package(p.directory) for p in above)
    return kind in ("rust", "make", "python") and bool(above)


def _go(project: Project, check: CheckName, scratch: Path) -> Check | Missing:
    if shutil.which("go") is None:
        return Missing(project, check, "go is not installed")
    command = {
        "lint": ("go", "vet", "./..."),
        "test": ("go", "test", "-short", "./..."),
        "build": ("go", "build", "./..."),
    }
    env = {
        "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOTELEMETRY": "off", "GOENV": "off", "GOFLAGS": "-buildvcs=false",
        "GOPATH": str(scratch / "go"), "GOCACHE": str(scratch / "go-build"),
    }  # fmt: skip
    return Check(project, check, f"go {command[check][1]}", command[check], env)


def _python(project: Project, check: CheckName, scratch: Path) -> Check | Missing:
    env = {"RUFF_NO_CACHE": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    if check == "lint":
        if find_spec("ruff") is None:
            return Missing(project, check, "ruff is not installed")
        return Check(project, check, "ruff", (sys.executable, "-I", "-m", "ruff", "check", "--no-fix", "--", "."), env)
    command: tuple[str, ...]
    if check == "build":
        command = (
            sys.executable, "-I", "-X", f"pycache_prefix={scratch / 'pycache'}", "-m", "compileall", "-q",
            "-x", r"(^|/)(\.[^/.]|node_modules/|venv/|vendor/)", ".",
        )  # fmt: skip
        return Check(project, check, "compileall", command, env={})
    if find_spec("pytest") is not None:
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no")
        return Check(project, check, "pytest", command, env, nothing=_PYTEST_NOTHING)
    # Python 3.12 and later end with 5, earlier ones with 0, where there is no test.
    command = (sys.executable, "-m", "unittest", "discover", "-q")
    return Check(project, check, "unittest", command, env, _PYTEST_NOTHING, "\nRan 0 tests in ", _WITHOUT_PYTEST)


def _node(project: Project, check: CheckName) -> Check | Missing:
    package = _package(project.directory)
    scripts = package.get("scripts")
    script = scripts.get(check) if isinstance(scripts, dict) else None
    if not isinstance(script, str) or not script.strip() or script.strip() == _NO_TESTS:
        return Missing(project, check, f"package.json has no script {check!r}")
    program = "npm"
    for file, other in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")):
        if (project.directory / file).is_file() and shutil.which(other) is not None:
            program = other
            break
    if shutil.which(program) is None or shutil.which("node") is None:
        return Missing(project, check, f"{program if shutil.which('node') else 'node'} is not installed")
    env = {"npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false", "NO_COLOR": "1",
           "npm_config_update_notifier": "false", "COREPACK_ENABLE_NETWORK": "0"}  # fmt: skip
    return Check(project, check, f"{program} run {check}", (program, "run", check), env)


def _rust(project: Project, check: CheckName, scratch: Path) -> Check | Missing:
    if shutil.which("cargo") is None:
        return Missing(project, check, "cargo is not installed")
    if check == "lint" and shutil.which("cargo-clippy") is None:
        return Missing(project, check, "cargo-clippy is not installed")
    command: tuple[str, ...] = ("cargo", "clippy" if check == "lint" else check)
    command += ("--workspace", "--offline", "--quiet", "--color=never")
    if check == "lint":
        command = (*command, "--", "-D", "warnings")
    env = {
        "CARGO_HOME": str(scratch / "cargo"),
        "CARGO_TARGET_DIR": str(scratch / "target"),
        "CARGO_NET_OFFLINE": "true",
    }
    toolchains = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    if toolchains.is_dir():
        env["RUSTUP_HOME"] = str(toolchains)
    return Check(project, check, f"cargo {command[1]}", command, env)


def _make(project: Project, check: CheckName) -> Iterator[Check | Missing]:
    makefile = next(name for name in MANIFESTS["make"] if (project.directory / name).is_file())
    targets = set(_TARGET.findall(_text(project.directory / makefile)))
    target = next((name for name in _MAKE_TARGETS[check] if name in targets), None)
    if target is None:
        yield Missing(project, check, f"{makefile} has no target {' or '.join(_MAKE_TARGETS[check])}")
    elif shutil.which("make") is None:
        yield Missing(project, check, "make is not installed")
    else:
        yield Check(project, check, f"make {target}", ("make", "--", target), {})


def _package(directory: Path) -> Mapping[str, Any]:
    try:
        package = json.loads(_text(directory / "package.json"))
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _text(file: Path) -> str:
    """The beginning of a manifest; empty for what is no regular file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(MOST_MANIFEST).decode(errors="replace")
    except OSError:
        return ""
