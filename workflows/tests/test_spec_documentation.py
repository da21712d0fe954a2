"""The reference of the language says what the code does: its examples are valid, its tables complete."""

import json
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from jsonschema import Draft202012Validator

from workflows.activities.registry import registry
from workflows.spec import limits, schema
from workflows.spec.durations import parse_duration
from workflows.spec.references import RESERVED_ROOTS
from workflows.spec.report import CODES
from workflows.spec.validator import validate_spec

REFERENCE = Path(settings.BASE_DIR) / "docs" / "reference"
TEXT = (REFERENCE / "spec.md").read_text()
EXAMPLES = re.findall(r"^```json\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
MIB, KIB = 1 << 20, 1 << 10


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_is_valid_and_without_a_warning(text: str) -> None:
    report = validate_spec(text, activities=registry.all())
    assert report.problems == [], report.as_text()
    written = json.loads((REFERENCE / "spec.schema.json").read_text())
    assert list(Draft202012Validator(written).iter_errors(json.loads(text))) == []


def test_the_examples_show_every_state_type_and_most_keys() -> None:
    shown = set(re.findall(r'"(\w+)":', "".join(EXAMPLES)))
    assert set(re.findall(r'"type": "(\w+)"', "".join(EXAMPLES))) == set(schema.STATE_TYPES)
    assert {"retry", "catch", "timeout", "heartbeat", "dependsOn", "when", "assign", "output", "continueAsNew"} <= shown


def test_the_table_of_codes_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.+) \|$", TEXT, flags=re.MULTILINE)
    assert rows == [(code, severity, meaning) for code, (severity, meaning) in CODES.items()]


def test_the_table_of_limits_is_that_of_the_code() -> None:
    found = re.findall(r"^\| [^|]+ \| ([^|]+) \| `([A-Z_]+)` \|$", TEXT, flags=re.MULTILINE)
    rows = {name: value for value, name in found}
    values: dict[str, Any] = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert set(rows) == set(values)
    for name, value in values.items():
        assert _read(rows[name], value) == value, name


def _read(text: str, like: Any) -> Any:
    if isinstance(like, timedelta):
        return parse_duration(text)
    if isinstance(like, float):
        return parse_duration(text).total_seconds()
    number, _, unit = text.partition(" ")
    return int(number.replace(",", "")) * {"MiB": MIB, "KiB": KIB}.get(unit, 1)


def test_the_words_that_are_taken_are_named() -> None:
    sentence = next(line for line in TEXT.splitlines() if line.startswith("in the whole document"))
    assert set(re.findall(r"`(\w+)`", sentence)) == RESERVED_ROOTS


def test_the_written_schema_is_current() -> None:
    call_command("spec_schema", check=True, stdout=StringIO())


def test_a_schema_that_is_out_of_date_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "spec.schema.json"
    with pytest.raises(CommandError, match="out of date; run manage"):
        call_command("spec_schema", check=True, output=path, stdout=StringIO())
    call_command("spec_schema", output=path, stdout=StringIO())
    call_command("spec_schema", check=True, output=path, stdout=StringIO())
    path.write_text(path.read_text().replace("startAt", "startsAt"))
    with pytest.raises(CommandError, match="out of date"):
        call_command("spec_schema", check=True, output=path, stdout=StringIO())


@pytest.mark.parametrize(
    "document",
    [
        {"name": "x", "states": []},
        {"name": "x", "states": [{"name": "A", "type": "Tsk"}]},
        {"name": "x", "states": [{"name": "A", "type": "Fail", "next": "B"}]},
        {"name": "x", "states": [{"name": "a b", "type": "Fail"}]},
        {"name": "x", "states": [{"name": "A", "type": "Task", "resource": "R", "timeout": "soon"}]},
        {"name": "x", "start_at": "A", "states": [{"name": "A", "type": "Fail"}]},
    ],
)
def test_the_schema_refuses_what_validation_refuses(document: dict[str, Any]) -> None:
    written = json.loads((REFERENCE / "spec.schema.json").read_text())
    assert not validate_spec(document).valid
    assert not Draft202012Validator(written).is_valid(document)
