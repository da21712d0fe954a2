"""A repository that was made to do harm, taken through clone, analysis, scan, pre-check, report and archive."""

import io
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from workflows.activities import confinement
from workflows.errors import PermanentError
from workflows.tests.activity_case import Case

# Without the plug-ins that are installed here for other tests, which take long to load.
QUICKLY = "-p no:schemathesis -p no:hypothesispytest -p no:django -p no:xdist -p no:typeguard -p no:anyio"
CANARY = "c4n4ry-0utside-the-cl0ne"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What a repository must neither read nor change."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.py").write_text(f"password = '{CANARY}'\nimport os\n")
    return outside


@pytest.fixture
def repository(tmp_path: Path, outside: Path) -> Path:
    path = tmp_path / "roots" / "evil.git"
    path.mkdir(parents=True)
    (path / "leak.py").symlink_to(outside / "settings.py")
    (path / "folder").symlink_to(outside)
    (path / "loop").symlink_to(path / "loop")
    (path / "environ.py").symlink_to("/proc/self/environ")
    (path / "--config=evil.py").write_text("import os\n")
    (path / "-x").mkdir()
    (path / "-x" / "--exec.py").write_text("x = 1\n")
    (path / "new\nline.py").write_text("x = 1\n")
    (path / "conftest.py").write_text(f"open({str(outside / 'planted')!r}, 'w')\n")
    (path / "pytest.ini").write_text(f"[pytest]\naddopts = {QUICKLY}\n")
    (path / "ruff.toml").write_text(f"extend = {str(outside / 'settings.py')!r}\n")
    (path / ".bandit").write_text("[bandit]\nexclude = /\n")
    (path / "Makefile").write_text(f"test:\n\tcat leak.py folder/settings.py; echo x > {outside}/planted; false\n")
    (path / "report.html").symlink_to(outside / "settings.py")
    with zipfile.ZipFile(path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("../../../planted", b"\0" * 50_000_000)
    with tarfile.open(path / "slip.tar", "w") as slip:
        member = tarfile.TarInfo(str(outside / "planted"))
        member.size = 1
        slip.addfile(member, io.BytesIO(b"x"))
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(path)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "evil"]):
        subprocess.run([*git, *arguments], check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    return path


@pytest.mark.skipif(bool(confinement.namespaces_problem()), reason="this machine gives no namespaces")
def test_it_learns_nothing_and_changes_nothing(
    tmp_path: Path, repository: Path, outside: Path, settings: Settings
) -> None:
    settings.POIMEN_HOME = tmp_path / "home"
    settings.POIMEN_REPO_ROOTS = [repository.parent]
    settings.POIMEN_ARCHIVES = {**settings.POIMEN_ARCHIVES, "root": tmp_path / "archive"}
    case = Case(tmp_path / "home")
    clone = case.run("CloneRepoActivity", {"repo": str(repository)}, state="Clone")["path"]
    assert (Path(clone) / "leak.py").is_symlink()
    results: dict[str, Any] = {}
    for name in ("AnalyzeCodeActivity", "SecurityScanActivity"):
        results[name] = case.run(name, {"path": clone}, state=name)
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            case.run(name, {"path": f"{clone}/folder"}, state=name)
    results["checks"] = case.run("DeploymentPreCheckActivity", {"path": clone, "checkType": "test"}, state="Check")
    assert "make test" in results["checks"]["checks"]
    assert any(
        "Read-only file system" in failure or "o such file" in failure for failure in results["checks"]["failures"]
    )
    report = case.run(
        "GenerateReportActivity",
        {
            "analysisResult": results["AnalyzeCodeActivity"],
            "securityResult": results["SecurityScanActivity"],
            "format": "html",
        },
        state="Report",
    )
    kept = case.run("ArchiveResultsActivity", {"reportPath": report["reportPath"], "destination": "kept.html"})
    for path in (f"{clone}/report.html", f"{clone}/leak.py", f"{clone}/folder/settings.py"):
        with pytest.raises(PermanentError, match="reportPath"):
            case.run("ArchiveResultsActivity", {"reportPath": path, "destination": "kept.py"})
    assert Path(kept["archiveUrl"]).read_text() == report["report"]
    assert CANARY not in json.dumps(results) + report["report"] + case.said
    assert [path.name for path in outside.iterdir()] == ["settings.py"]
    assert [path.name for path in (tmp_path / "archive" / "customer").iterdir()] == ["kept.html"]
