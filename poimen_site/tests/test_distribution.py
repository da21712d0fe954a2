"""Tests that share an installation run in one process, so that it is started once."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

HOOK = """
from poimen_site.tests.distribution import GroupScheduling
def pytest_xdist_make_scheduler(config, log):
    return GroupScheduling(config, log)
"""
MODULE = """
import pathlib, pytest
pytestmark = pytest.mark.xdist_group("{group}")
@pytest.mark.parametrize("number", range(4))
def test_it(number, worker_id):
    pathlib.Path("{group}-{name}-%s-%d" % (worker_id, number)).touch()
"""


def test_a_group_of_modules_has_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(HOOK)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = xdist_group: together\n")
    for group, name in (("river", "one"), ("stone", "two"), ("river", "three"), ("stone", "four")):
        (tmp_path / f"test_{name}.py").write_text(MODULE.format(group=group, name=name))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:django", "-p", "no:schemathesis"],
        cwd=tmp_path,
        env=inherited | {"PYTHONPATH": str(settings.BASE_DIR)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    ran = [path.name.split("-") for path in tmp_path.glob("*-*-gw*")]
    assert len(ran) == 16
    assert {len({worker for of, _, worker, _ in ran if of == group}) for group in ("river", "stone")} == {1}
    assert len({worker for _, _, worker, _ in ran}) == 2
