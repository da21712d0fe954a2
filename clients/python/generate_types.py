"""Writes ``poimen_client/types.py`` from the OpenAPI document that the server answers, or checks that it is current.

Refuses to write more than the client uses: the shapes of other endpoints may change without it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = HERE / "poimen_client" / "types.py"
HEADER = '''"""The shapes of the server's answers. Made by generate_types.py from its OpenAPI document: do not edit."""
'''
OPERATIONS = frozenset(
    {
        "approve",
        "cancelExecution",
        "createSchedule",
        "deleteSchedule",
        "executeSpec",
        "executeWorkflow",
        "listApprovals",
        "listExecutions",
        "listSchedules",
        "listWorkflows",
        "pauseExecution",
        "pauseSchedule",
        "readExecution",
        "readLogs",
        "readSchedule",
        "reject",
        "rerunExecution",
        "resumeExecution",
        "resumeSchedule",
        "routeMessage",
        "signIn",
        "signalExecution",
        "triggerSchedule",
    }
)
OPTIONS = (
    "--input-file-type", "openapi", "--output-model-type", "typing.TypedDict", "--target-python-version", "3.11",
    "--strict-nullable", "--use-schema-description", "--use-standard-collections", "--use-union-operator",
    "--disable-timestamp", "--formatters", "ruff-format", "ruff-check",
)  # fmt: skip


def main() -> int:
    """Write the file, or with ``--check`` return 1 if it is not what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the file is out of date")
    parser.add_argument("--schema", type=Path, help="an OpenAPI document as JSON; left out: that of this checkout")
    options = parser.parse_args()
    document = json.loads(options.schema.read_text()) if options.schema else served_document()
    text = types_of(used_part(document))
    if options.check:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.stderr.write(f"{TARGET} is out of date; run clients/python/generate_types.py\n")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


def served_document() -> dict[str, Any]:
    """Return the OpenAPI document of this checkout, as ``GET /schema`` answers it."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "schema.json"
        command = [sys.executable, "manage.py", "spectacular", "--format", "openapi-json", "--file", str(file)]
        environment = {"DJANGO_SETTINGS_MODULE": "poimen_site.settings", **os.environ}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        document: dict[str, Any] = json.loads(file.read_text())
    return document


def used_part(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the operations that the client calls, and what they refer to, in order of names."""
    known = document["components"]["schemas"]
    found: set[str] = set()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    used = [operation for operation in operations if operation.get("operationId") in OPERATIONS]
    missing = OPERATIONS - {operation["operationId"] for operation in used}
    if missing:
        raise SystemExit(f"the server has no operation called {', '.join(sorted(missing))}")
    pending = [name for operation in used for name in referred(operation)]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += referred(known[name])
    schemas = {name: known[name] for name in sorted(found)}
    return {"openapi": document["openapi"], "info": document["info"], "paths": {}, "components": {"schemas": schemas}}


def referred(part: Any) -> list[str]:
    """Return the names of the schemas that a part of the document refers to."""
    if isinstance(part, list):
        return [name for item in part for name in referred(item)]
    if not isinstance(part, dict):
        return []
    names = [part["$ref"].rpartition("/")[2]] if "$ref" in part else []
    return names + [name for value in part.values() for name in referred(value)]


def types_of(document: dict[str, Any]) -> str:
    """Return the module's text; raises ``CalledProcessError`` if the generator cannot make it."""
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "schema.json", Path(scratch) / "types.py"
        source.write_text(json.dumps(document))
        program = [sys.executable, "-m", "datamodel_code_generator", "--input", str(source), "--output", str(target)]
        subprocess.run([*program, *OPTIONS], cwd=ROOT, check=True)
        text = target.read_text()
    return HEADER + text[text.index("from __future__") - 1 :]


if __name__ == "__main__":
    sys.exit(main())
