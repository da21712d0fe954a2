"""CloneRepoActivity: brings a git repository into the execution's workspace (contract-activities 1).

Refuses sources that ``git_source`` refuses, and to write anywhere but in the workspace.
"""

import difflib
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from workflows.activities.context import ActivityContext
from workflows.activities.git import Git, GitFailed, SizeLimit
from workflows.activities.git_source import Source, parse_source
from workflows.activities.paths import Territory, printable
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS_IN_URL, Fields
from workflows.errors import PermanentError

MAX_CLONE_BYTES = 2 * 2**30
DEFAULT_BRANCH = "main"
# What git accepts as the name of a branch or tag (git check-ref-format), without what it would take for an option.
_REF = re.compile(
    r"(?![-/])(?!.*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)))(?!\.)[^\x00-\x20\x7f~^:?*\[\\]+(?<![./])(?<!^@)", re.DOTALL
)

# By name, for catch rules and for the reference.
ERRORS = {
    "GitError": "git failed; the message is its own last words, without credentials",
    "ForbiddenTarget": "the host is in a private network and not in `POIMEN_ALLOWED_PRIVATE_HOSTS`",
    "LimitExceeded": "the repository is larger than 2 GiB",
}


class CloneRepoInput(Fields):
    """Which repository, and which of its branches. ``{RemoteURL, TargetRepoPath}`` is taken as well."""

    repo: str = Field(
        min_length=1,
        max_length=4096,
        description="Address of the repository: https://, ssh:// or git:// URL, user@host:path, or a local path; "
        "the user information and query of a URL may hold secret:<id> handles",
        examples=["https://github.com/django/django.git", "git@github.com:django/django.git"],
        json_schema_extra=TAKES_SECRETS_IN_URL,
    )
    branch: str = Field(
        default=DEFAULT_BRANCH,
        max_length=255,
        description="Branch or tag; when left out and there is no main, the repository's own default branch",
    )
    depth: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Fetch only so many commits of the branch; left out, everything"
    )
    target_repo_path: str | None = Field(
        default=None, max_length=4096, description="Directory in the workspace to clone into; left out, one is chosen"
    )

    @model_validator(mode="before")
    @classmethod
    def _take_older_form(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        taken = dict(data)
        for older, name in (("RemoteURL", "repo"), ("TargetRepoPath", "targetRepoPath")):
            if older in taken:
                taken.setdefault(name, taken.pop(older))
        return taken

    @field_validator("branch")
    @classmethod
    def _is_ref(cls, value: str) -> str:
        if not _REF.fullmatch(value):
            raise ValueError("this is not a name that a branch or tag can have")
        return value


class CloneRepoOutput(Fields):
    """Where it is now."""

    path: str = Field(description="Directory of the clone")
    commit: str = Field(description="Hash of the commit that is checked out")
    branch: str = Field(description="The branch or tag that is checked out; HEAD if the source is on none")


@dataclass(frozen=True)
class _Wanted:
    """The ref to check out. ``ref`` is a full name, or HEAD for a source that is on no branch."""

    name: str
    ref: str
    commit: str

    @property
    def start(self) -> str:
        """What it is called in the clone, after fetching."""
        if self.ref.startswith("refs/heads/"):
            return f"refs/remotes/origin/{self.name}"
        return self.ref if self.ref.startswith("refs/tags/") else "FETCH_HEAD"


@activity(
    "CloneRepoActivity",
    keywords=("clone", "check out", "get the code", "repository"),
    category="repository",
    timeout="5m",
    max_attempts=1,
    backoff=1.5,
    notes="Needs the network.",
)
def clone_repo(input: CloneRepoInput, context: ActivityContext) -> CloneRepoOutput:
    """Clones a git repository into the workspace, or brings an existing clone up to date."""
    source = parse_source(input.repo, Territory.of(context))
    target = _target(input, source, context)
    # Next to no clone, and in a dotted directory that analyses skip; one of each per target.
    backstage = context.workspace / ".clones" / _digest(str(target))
    with _locked(backstage.with_suffix(".lock"), context):
        git = Git(source, private=backstage, cancelled=lambda: context.is_cancelled)
        try:
            wanted = _wanted(git, input, context)
            if (target / ".git").exists():
                _refresh(git, wanted, input.depth, target, context)
            else:
                _clone_afresh(git, wanted, input.depth, target)
            commit = git.run("rev-parse", "HEAD", cwd=target).strip()
        finally:
            git.close()
    context.info(f"{source.shown} is at {commit[:12]} ({wanted.name})", path=str(target), commit=commit)
    return CloneRepoOutput(path=str(target), commit=commit, branch=wanted.name)


def _target(input: CloneRepoInput, source: Source, context: ActivityContext) -> Path:
    """Return the directory of the clone: the one asked for, else always the same one for the same request."""
    if input.target_repo_path is None:
        request = f"{source.shown}\n{input.branch}\n{input.depth}"
        return context.workspace.resolve() / "repositories" / _digest(request) / source.name
    shown = printable(input.target_repo_path)
    workspace = context.workspace.resolve()
    if "\0" in input.target_repo_path:
        raise PermanentError(f"targetRepoPath: {shown!r} is not a usable path")
    # Missing parents are made later; what is there already must not lead out of the workspace.
    target = Path(os.path.realpath(workspace / input.target_repo_path))
    if not target.is_relative_to(workspace) or target == workspace:
        raise PermanentError(
            f"targetRepoPath: {shown!r} is outside the allowed directories: name one in the execution's workspace"
        )
    if target.exists() and not (target / ".git").exists() and (not target.is_dir() or any(target.iterdir())):
        raise PermanentError(f"targetRepoPath: {shown!r} is there already, and is not a clone")
    return target


def _wanted(git: Git, input: CloneRepoInput, context: ActivityContext) -> _Wanted:
    """Ask the source what it has, and return the ref that the input means."""
    branch, tag = f"refs/heads/{input.branch}", f"refs/tags/{input.branch}"
    said = git.run("ls-remote", "--symref", "--", git.source.url, "HEAD", branch, tag, cwd=context.workspace)
    refs, default = dict[str, str](), ""
    for line in said.splitlines():
        value, _, ref = line.partition("\t")
        if value.startswith("ref: ") and ref == "HEAD":
            default = value.removeprefix("ref: ")
        else:
            refs[ref] = value
    for ref in (branch, tag):
        if ref in refs:
            return _Wanted(input.branch, ref, refs[ref])
    if "branch" not in input.model_fields_set and "HEAD" in refs:
        name = default.removeprefix("refs/heads/") if default.startswith("refs/heads/") else "HEAD"
        context.warn(f"{git.source.shown} has no branch {DEFAULT_BRANCH}; taking its default, {name}", branch=name)
        return _Wanted(name, default if name != "HEAD" else "HEAD", refs["HEAD"])
    raise PermanentError(_no_such_branch(git, input.branch, context))


def _no_such_branch(git: Git, branch: str, context: ActivityContext) -> str:
    heads = git.run("ls-remote", "--heads", "--", git.source.url, cwd=context.workspace)
    names = [line.partition("refs/heads/")[2] for line in heads.splitlines()]
    if not names:
        return f"repo: {git.source.shown} is empty: it has no commits to check out"
    near = difflib.get_close_matches(branch, names, n=3) or sorted(names)[:3]
    return f"branch: {branch!r} does not exist in {git.source.shown}; it has {', '.join(near)}"


def _clone_afresh(git: Git, wanted: _Wanted, depth: int | None, target: Path) -> None:
    """Clone beside ``target`` and put it there in one step: what is there is always a whole clone."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f".{target.name}.part")
    _remove(part)  # what an interrupted attempt left
    part.mkdir(mode=0o700)
    try:
        limit = SizeLimit(part, MAX_CLONE_BYTES)
        object_format = "sha256" if len(wanted.commit) == 64 else "sha1"
        git.run("init", "-q", "--template=", f"--object-format={object_format}", cwd=part)
        git.run("remote", "add", "origin", git.source.shown, cwd=part)
        _fetch_and_check_out(git, wanted, depth, part, limit)
        limit.check()
        _remove(target)
        part.rename(target)
    finally:
        _remove(part)


def _refresh(git: Git, wanted: _Wanted, depth: int | None, target: Path, context: ActivityContext) -> None:
    """Bring an existing clone to the wanted commit; one that is damaged is replaced."""
    try:
        _fetch_and_check_out(git, wanted, depth, target, SizeLimit(target, MAX_CLONE_BYTES))
    except GitFailed as error:
        # Left behind by a process that was killed: locks, half-written files. A fresh clone needs none of it.
        context.warn(f"the clone cannot be brought up to date and is made anew: {error.message}")
        _clone_afresh(git, wanted, depth, target)


def _fetch_and_check_out(git: Git, wanted: _Wanted, depth: int | None, clone: Path, limit: SizeLimit) -> None:
    if wanted.ref == "HEAD":
        refspecs = ["HEAD"]
    elif wanted.ref.startswith("refs/tags/"):
        refspecs = [f"+{wanted.ref}:{wanted.ref}"]
    else:
        refspecs = [f"+{wanted.ref}:{wanted.start}"]
    how = ["--no-tags", f"--depth={depth}"] if depth is not None else []
    if depth is None:
        refspecs.append("+refs/heads/*:refs/remotes/origin/*")
    # The clone of a shallow clone is shallow too: --update-shallow takes over where its history ends.
    git.run("fetch", "-q", "--update-shallow", *how, "--", git.source.url, *refspecs, cwd=clone, limit=limit)
    if wanted.ref.startswith("refs/heads/"):
        git.run("checkout", "-q", "-f", "-B", wanted.name, wanted.start, "--", cwd=clone, limit=limit)
    else:
        git.run("checkout", "-q", "-f", "--detach", wanted.start, "--", cwd=clone, limit=limit)


@contextmanager
def _locked(file: Path, context: ActivityContext) -> Iterator[None]:
    """Hold ``file`` locked: of two activities that want the same clone at once, one waits."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system lets go when the process ends
                break
            except BlockingIOError:
                context.check_cancelled()
                time.sleep(0.1)
        yield


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
