"""The example of a plugin as others get it: built, installed with pip, found and used in a new process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from django.conf import settings

EXAMPLE = Path(settings.BASE_DIR) / "examples" / "markdown-links"
# What a program of somebody else does: nothing of it names the plugin's module.
PROGRAM = """
import inspect, json, pathlib, sys
import django
django.setup()
from workflows.activities.context import ActivityContext, Identity
from workflows.activities.registry import registry
found = registry.all()["MarkdownLinksActivity"]
identity = Identity("execution", "customer", "branch", "Links", visit=1, attempt=1)
context = ActivityContext(identity, home=pathlib.Path(sys.argv[1]), sink=lambda report: None, config={})
(context.workspace / "a.md").write_text("[b](b.md) and [gone](gone.md)")
(context.workspace / "b.md").write_text("[a](a.md)")
output = found.function(found.parse_input({"path": str(context.workspace)}), context)
print(json.dumps({"version": registry.plugins["markdown-links"].version, "output": output.model_dump(),
                  "file": inspect.getsourcefile(found.function)}))
"""


def test_the_example_is_built_installed_and_used(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    done = subprocess.run([*pip, "--target", str(site), str(source)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "PYTHONPATH": f"{site}:{settings.BASE_DIR}"}
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "home")], env=environment, cwd=tmp_path, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout.splitlines()[-1])
    assert told["version"] == "1.0.0"
    assert Path(told["file"]).is_relative_to(site)
    assert (told["output"]["files"], [link["target"] for link in told["output"]["broken"]]) == (2, ["gone.md"])
