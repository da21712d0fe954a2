"""Cloning: which sources are taken, what comes out, and what an interrupted attempt leaves to the next."""

import base64
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from pytest_django import Settings

from workflows.activities import clone_repo
from workflows.activities.network_guard import ForbiddenTarget
from workflows.errors import ActivityError, Canceled, InvalidInput, LimitExceeded, PermanentError, WorkflowError
from workflows.tests.activity_case import Case

GIT_DAEMON = Path(subprocess.check_output(["git", "--exec-path"], text=True).strip()) / "git-daemon"
IDENTITY = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.check_output(command, cwd=directory, env=os.environ | IDENTITY, text=True).strip()


def commit(repository: Path, name: str = "file.py", text: str = "x = 1\n") -> str:
    (repository / name).write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", f"Write {name}")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path, settings: Settings) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    settings.POIMEN_REPO_ROOTS = [root]
    return root


@pytest.fixture
def source(root: Path) -> Path:
    """A repository with three commits on main."""
    repository = root / "project"
    git(root, "init", "-q", "-b", "main", str(repository))
    for number in range(3):
        commit(repository, text=f"x = {number}\n")
    return repository


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


def clone(case: Case, **parameters: object) -> dict[str, str]:
    output: dict[str, str] = case.run("CloneRepoActivity", parameters)
    return output


def test_a_clone_is_in_the_workspace_at_the_tip_of_main(case: Case, source: Path) -> None:
    output = clone(case, repo=str(source))
    assert output["branch"] == "main"
    assert output["commit"] == git(source, "rev-parse", "main")
    path = Path(output["path"])
    assert path.is_relative_to(case.context().workspace)
    assert path.name == "project"
    assert (path / "file.py").read_text() == "x = 2\n"
    assert git(path, "rev-list", "--count", "HEAD") == "3"
    assert git(path, "status", "--porcelain", "--branch") == "## main...origin/main"


def test_the_older_form_clones_into_the_named_directory(case: Case, source: Path) -> None:
    output = clone(case, RemoteURL=f"file://{source}", TargetRepoPath="work/tree")
    assert Path(output["path"]) == case.context().workspace / "work" / "tree"
    tip = commit(source, text="y = 1\n")
    assert clone(case, RemoteURL=f"file://{source}", TargetRepoPath="work/tree")["commit"] == tip


@pytest.mark.parametrize("target", ["..", "../x", "/etc/x", ".", "", "a/../../x", "link/x", "a\0b"])
def test_nothing_is_written_outside_the_workspace(case: Case, source: Path, tmp_path: Path, target: str) -> None:
    (case.context().workspace / "link").symlink_to(tmp_path)
    with pytest.raises(PermanentError, match=r"targetRepoPath: .*(outside the allowed|not a usable path)"):
        clone(case, RemoteURL=str(source), TargetRepoPath=target)


def test_a_directory_that_is_no_clone_is_not_touched(case: Case, source: Path) -> None:
    mine = case.context().workspace / "mine"
    mine.mkdir()
    (mine / "notes").write_text("keep")
    with pytest.raises(PermanentError, match="is there already, and is not a clone"):
        clone(case, RemoteURL=str(source), TargetRepoPath="mine")
    assert (mine / "notes").read_text() == "keep"


def test_depth_makes_it_shallow(case: Case, source: Path) -> None:
    assert git(Path(clone(case, repo=str(source), depth=2)["path"]), "rev-list", "--count", "HEAD") == "2"


def test_branches_and_tags_can_be_asked_for(case: Case, source: Path) -> None:
    first = git(source, "rev-parse", "HEAD~2")
    git(source, "branch", "feature/old", first)
    git(source, "tag", "-a", "-m", "one", "v1", "HEAD~1")
    assert clone(case, repo=str(source), branch="feature/old")["commit"] == first
    tagged = clone(case, repo=str(source), branch="v1")
    assert (tagged["commit"], tagged["branch"]) == (git(source, "rev-parse", "HEAD~1"), "v1")
    assert clone(case, repo=str(source), branch="v1", depth=1)["commit"] == tagged["commit"]


def test_without_a_main_the_default_branch_is_taken_and_said(case: Case, source: Path) -> None:
    git(source, "branch", "-m", "main", "trunk")
    assert clone(case, repo=str(source))["branch"] == "trunk"
    assert "has no branch main; taking its default, trunk" in case.said
    with pytest.raises(PermanentError, match=r"branch: 'main' does not exist in .*; it has trunk"):
        clone(case, repo=str(source), branch="main")


def test_a_source_on_no_branch_is_cloned_at_its_head(case: Case, source: Path) -> None:
    git(source, "checkout", "-q", "--detach", "HEAD~1")
    git(source, "branch", "-D", "main")
    output = clone(case, repo=str(source))
    assert (output["branch"], output["commit"]) == ("HEAD", git(source, "rev-parse", "HEAD"))
    assert clone(case, repo=str(source), depth=1)["commit"] == output["commit"]


def test_a_mistyped_branch_gets_a_suggestion(case: Case, source: Path) -> None:
    git(source, "branch", "release-1")
    with pytest.raises(PermanentError, match=r"'relaese-1' does not exist in .*; it has release-1"):
        clone(case, repo=str(source), branch="relaese-1")


def test_an_empty_repository_is_said_to_be_empty(case: Case, root: Path) -> None:
    git(root, "init", "-q", "empty")
    with pytest.raises(PermanentError, match="is empty: it has no commits"):
        clone(case, repo=str(root / "empty"))


def test_bare_shallow_and_linked_sources_work(case: Case, source: Path, root: Path, tmp_path: Path) -> None:
    tip = git(source, "rev-parse", "HEAD")
    git(root, "clone", "-q", "--bare", str(source), "bare.git")
    git(root, "clone", "-q", "--depth=1", f"file://{source}", "shallow")
    git(root, "init", "-q", "-b", "main", str(tmp_path / "elsewhere"))
    git(tmp_path / "elsewhere", "pull", "-q", str(source), "main")
    git(tmp_path / "elsewhere", "worktree", "add", "-q", str(root / "worktree"))
    for name in ("bare.git", "shallow", "worktree"):
        output = clone(case, repo=str(root / name))
        assert output["commit"] == tip, name
        assert Path(output["path"]).name == name.removesuffix(".git")


def test_again_brings_the_clone_up_to_date_and_undoes_what_was_changed(case: Case, source: Path) -> None:
    path = Path(clone(case, repo=str(source))["path"])
    (path / "file.py").write_text("spoilt")
    git(source, "commit", "-q", "--amend", "-m", "Rewritten")
    tip = commit(source, "new.py")
    output = clone(case, repo=str(source))
    assert (Path(output["path"]), output["commit"]) == (path, tip)
    assert (path / "file.py").read_text() == "x = 2\n"
    assert git(path, "status", "--porcelain") == ""


def test_what_an_interrupted_attempt_left_does_not_matter(case: Case, source: Path) -> None:
    path = Path(clone(case, repo=str(source))["path"])
    # Killed while updating: a lock, and a broken index.
    (path / ".git" / "index.lock").write_text("")
    (path / ".git" / "index").write_bytes(b"half")
    tip = commit(source, "new.py")
    assert clone(case, repo=str(source))["commit"] == tip
    assert not (path / ".git" / "index.lock").exists()
    # Killed while cloning: a part, and no clone.
    path.rename(path.with_name(".project.part"))
    assert clone(case, repo=str(source))["commit"] == tip
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["project"]


def test_two_at_once_make_one_good_clone(case: Case, source: Path) -> None:
    outputs: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda: outputs.append(clone(case, repo=str(source)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 4
    assert len({output["path"] for output in outputs}) == 1
    assert git(Path(outputs[0]["path"]), "status", "--porcelain") == ""


def test_repositories_of_one_name_do_not_share_a_directory(case: Case, source: Path, root: Path) -> None:
    (root / "other").mkdir()
    git(root, "clone", "-q", str(source), "other/project")
    assert clone(case, repo=str(source))["path"] != clone(case, repo=str(root / "other" / "project"))["path"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
@pytest.mark.parametrize("kind", ["plain", "bare", "worktree"])
def test_a_source_of_another_user_can_be_cloned(case: Case, source: Path, root: Path, kind: str) -> None:
    repository = root / kind
    if kind == "bare":
        git(root, "clone", "-q", "--bare", str(source), str(repository))
    elif kind == "worktree":
        git(source, "worktree", "add", "-q", str(repository))
    else:
        repository = source
    for place in (root, *root.rglob("*")):
        os.chown(place, 12345, 12345)
    assert clone(case, repo=str(repository))["commit"]


@pytest.mark.parametrize(
    "repo",
    [
        "ext::sh -c 'touch /tmp/owned'",
        "ext::sh%20-c%20id",
        "fd::17",
        "foo::https://example.org/x",
        "::x",
        "--upload-pack=touch /tmp/owned",
        "-oProxyCommand=id",
        "ssh://-oProxyCommand=id/x",
        "ssh://-oProxyCommand=id@example.org/x",
        "ssh://user:word@example.org/x",
        "-oProxyCommand=id@example.org:x",
        "ftp://example.org/x",
        "http+unix://x/y",
        "javascript://x",
        "file://host/x",
        "file:///x%00y",
        "https://",
        "https://exa mple.org/x",
        "https://example.org/x\n--upload-pack=id",
        "a\0b",
        "a\tb",
        " ",
    ],
)
def test_hostile_sources_are_refused_before_git_sees_them(case: Case, repo: str) -> None:
    with pytest.raises(InvalidInput, match=r"repo: |CloneRepoActivity cannot take"):
        clone(case, repo=repo)


@pytest.mark.parametrize(
    "repo",
    [
        "https://127.0.0.1/x",
        "https://user:hunter2@10.0.0.1/x",
        "https://169.254.169.254/latest",
        "ssh://git@localhost/x",
        "git@localhost:x",
        "git@[::1]:x",
        "git://192.168.0.1/x",
        "https://2130706433/x",
        "https://[::ffff:127.0.0.1]/x",
        "http://1.1.1.1/x",
    ],
)
def test_private_hosts_and_plain_http_are_refused(case: Case, repo: str) -> None:
    with pytest.raises(ForbiddenTarget) as refused:
        clone(case, repo=repo)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "branch",
    [
        "-f",
        "--upload-pack=id",
        "a..b",
        "a b",
        "a\nb",
        "a~1",
        "a^",
        "a:b",
        "a*",
        "a.lock",
        "/a",
        "a/",
        "a//b",
        "@{u}",
        "",
    ],
)
def test_what_no_branch_can_be_called_is_refused(case: Case, source: Path, branch: str) -> None:
    with pytest.raises(InvalidInput, match="branch"):
        clone(case, repo=str(source), branch=branch)


@pytest.mark.parametrize("depth", [0, -1, 1.5, "many"])
def test_a_depth_is_a_positive_number(case: Case, source: Path, depth: object) -> None:
    with pytest.raises(InvalidInput, match="depth"):
        clone(case, repo=str(source), depth=depth)


def test_local_paths_outside_the_roots_are_refused(case: Case, root: Path, source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(source), "outside")
    (root / "link").symlink_to(tmp_path / "outside")
    for repo in (
        tmp_path / "outside",
        f"file://{tmp_path}/outside",
        root / "link",
        root / ".." / "outside",
        "/no/such",
    ):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            clone(case, repo=str(repo))


def test_a_directory_that_is_no_repository_says_so(case: Case, root: Path) -> None:
    (root / "plain").mkdir()
    with pytest.raises(PermanentError, match="is not a git repository"):
        clone(case, repo=str(root / "plain"))
    with pytest.raises(PermanentError, match="does not exist"):
        clone(case, repo=str(root / "missing"))


def test_a_repository_made_by_an_activity_cannot_lend_from_outside(case: Case, source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(source), "outside")
    workspace = case.context().workspace
    by_file = workspace / "by-file"
    by_file.mkdir()
    (by_file / ".git").write_text(f"gitdir: {tmp_path}/outside/.git\n")
    by_symlink = workspace / "by-symlink"
    by_symlink.mkdir()
    (by_symlink / ".git").symlink_to(tmp_path / "outside" / ".git")
    git(workspace, "init", "-q", "by-alternate")
    (workspace / "by-alternate/.git/objects/info/alternates").write_text(f"{tmp_path}/outside/.git/objects\n")
    git(workspace, "init", "-q", "by-common")
    (workspace / "by-common/.git/commondir").write_text(f"{tmp_path}/outside/.git\n")
    (workspace / "by-common/.git/gitdir").write_text(f"{workspace}/by-common/.git\n")
    for name in ("by-file", "by-symlink", "by-alternate", "by-common"):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            clone(case, repo=name)


def test_a_git_file_in_a_root_leads_outside_only_if_the_repository_knows_of_it(
    case: Case, source: Path, root: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(source), "outside")
    forged = root / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {tmp_path}/outside/.git\n")
    with pytest.raises(PermanentError, match="keeps its repository outside the allowed directories"):
        clone(case, repo=str(forged))
    git(tmp_path / "outside", "worktree", "add", "-q", "-b", "known", str(root / "known"))
    assert clone(case, repo=str(root / "known"), branch="known")["branch"] == "known"


def test_neither_hooks_nor_filters_nor_submodules_of_the_source_do_anything(
    case: Case, source: Path, root: Path, tmp_path: Path
) -> None:
    owned = tmp_path / "owned"
    for hook in ("post-checkout", "post-upload-pack", "pre-receive"):
        (source / ".git/hooks").mkdir(exist_ok=True)
        (source / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {owned}\n")
        (source / ".git/hooks" / hook).chmod(0o755)
    git(source, "config", "uploadpack.packObjectsHook", f"touch {owned};")
    git(source, "config", "core.fsmonitor", f"touch {owned}")
    git(root, "clone", "-q", "--bare", str(source), "module.git")
    git(source, "-c", "core.fsmonitor=false", "submodule", "-q", "add", str(root / "module.git"), "module")
    (source / ".gitattributes").write_text("*.py filter=lfs\n")
    commit(source, "more.py")
    owned.unlink(missing_ok=True)
    path = Path(clone(case, repo=str(source))["path"])
    assert list((path / "module").iterdir()) == []
    assert not owned.exists()


def test_hooks_in_an_existing_clone_do_not_run_either(case: Case, source: Path, tmp_path: Path) -> None:
    path = Path(clone(case, repo=str(source))["path"])
    (path / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "reference-transaction"):
        (path / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
        (path / ".git/hooks" / hook).chmod(0o755)
    commit(source)
    clone(case, repo=str(source))
    assert not (tmp_path / "owned").exists()


def test_a_repository_that_is_too_large_is_refused_and_removed(
    case: Case, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "large").write_bytes(os.urandom(3_000_000))
    commit(source)
    monkeypatch.setattr(clone_repo, "MAX_CLONE_BYTES", 1_000_000)
    with pytest.raises(LimitExceeded, match="larger than"):
        clone(case, repo=str(source))
    assert not [path for path in case.context().workspace.rglob("*") if path.name == "large"]


def test_a_cancelled_clone_stops(case: Case, source: Path) -> None:
    case.cancelled.set()
    with pytest.raises(Canceled):
        clone(case, repo=str(source))


class _WebServer(SimpleHTTPRequestHandler):
    """Files over HTTP (git's "dumb" protocol), behind a password; /moved redirects to them."""

    wanted = "Basic " + base64.b64encode(b"robot:hunter2 x").decode()

    def do_GET(self) -> None:
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved"))
            self.end_headers()
        elif self.headers.get("Authorization") != self.wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(source: Path, tmp_path: Path) -> Iterator[int]:
    served = tmp_path / "served"
    served.mkdir()
    git(served, "clone", "-q", "--bare", str(source), "project.git")
    git(served / "project.git", "update-server-info")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_WebServer, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def everything_in(directory: Path) -> str:
    return "".join(f.read_text(errors="replace") for f in directory.rglob("*") if f.is_file() and not f.is_symlink())


def test_credentials_reach_the_server_and_nothing_else(case: Case, source: Path, web: int, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [f"127.0.0.1:{web}"]
    output = clone(case, repo=f"http://robot:hunter2%20x@127.0.0.1:{web}/project.git")
    assert output["commit"] == git(source, "rev-parse", "HEAD")
    assert Path(output["path"]).name == "project"
    for text in (str(output), case.said, everything_in(case.context().workspace)):
        assert "hunter2" not in text
        assert _WebServer.wanted.removeprefix("Basic ") not in text


def test_wrong_credentials_are_not_shown_and_not_asked_for(case: Case, web: int, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    with pytest.raises(WorkflowError) as failed:
        clone(case, repo=f"http://robot:wrongword@127.0.0.1:{web}/project.git")
    assert not failed.value.retryable
    assert "wrongword" not in str(failed.value) + case.said


def test_a_redirect_is_not_followed(case: Case, web: int, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    with pytest.raises(WorkflowError):
        clone(case, repo=f"http://robot:hunter2%20x@127.0.0.1:{web}/moved/project.git")


def test_git_goes_to_the_address_that_was_checked(
    case: Case, web: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name means something to our look-up only: were git to look it up again, it would find nothing."""
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["repositories.invalid"]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", web))])
    assert clone(case, repo=f"http://robot:hunter2%20x@repositories.invalid:{web}/project.git")["commit"]


def test_a_host_that_does_not_answer_may_be_tried_again(case: Case, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(WorkflowError) as failed:
            clone(case, repo=f"http://127.0.0.1:{port}/x.git")
    assert failed.value.retryable


def test_a_host_without_an_address_may_be_tried_again(case: Case) -> None:
    with pytest.raises(ActivityError, match="cannot be resolved"):
        clone(case, repo="https://no-such-host.invalid/x.git")


@pytest.mark.skipif(not GIT_DAEMON.exists(), reason="this git comes without its daemon")
def test_gits_own_protocol_works(case: Case, source: Path, root: Path, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["localhost"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(GIT_DAEMON),
        "--listen=127.0.0.1",
        f"--port={port}",
        f"--base-path={root}",
        "--export-all",
        "--reuseaddr",
    ]
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        output = clone(case, repo=f"git://localhost:{port}/project")
    finally:
        for child in psutil.Process(daemon.pid).children(recursive=True):
            child.kill()
        daemon.kill()
        daemon.wait()
    assert output["commit"] == git(source, "rev-parse", "HEAD")
