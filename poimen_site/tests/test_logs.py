"""What log lines look like: JSON or readable, marked with what they are about, and never with a secret in them."""

import json
import logging
import os
import re
import subprocess
import sys
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from poimen_site.observability.logs import LineFormatter
from workflows.activities.context import Identity
from workflows.audit import Origin, bound
from workflows.engine import driving
from workflows.secret_texts import masked

SECRET = "hunter2-hunter2"


def record_of(message: str, *arguments: Any, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("workflows.engine", logging.WARNING, __file__, 1, message, arguments, None)
    made.__dict__.update(more)
    return made


def as_json(record: logging.LogRecord) -> dict[str, Any]:
    line = LineFormatter("json").format(record)
    assert "\n" not in line, "one line each, whatever is in it"
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_for_machines_has_time_level_logger_and_event() -> None:
    line = as_json(record_of("took %d branches\nand more", 3, shard="ä"))
    assert (line["level"], line["logger"], line["event"]) == (
        "warning",
        "workflows.engine",
        "took 3 branches\nand more",
    )
    assert line["timestamp"].endswith("Z")
    assert line["shard"] == "ä"


def test_a_line_for_people_is_readable() -> None:
    line = LineFormatter("console").format(record_of("took %d branches", 3))
    assert "took 3 branches" in line
    assert "warning" in line
    assert "workflows.engine" in line


def test_a_line_carries_the_ids_of_what_it_is_about() -> None:
    who = Identity(str(uuid4()), str(uuid4()), str(uuid4()), "Build", 1, 1)
    token = driving.driven.set(who)
    try:
        with bound(Origin("request-7")):
            line = as_json(record_of("slow"))
    finally:
        driving.driven.reset(token)
    assert (line["request_id"], line["execution"], line["branch"], line["node"]) == (
        "request-7", who.execution, who.branch, "Build",
    )  # fmt: skip
    after = as_json(record_of("idle"))
    assert not {"request_id", "execution", "branch", "node"} & set(after)


@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize(
    "message",
    [
        f"login with password={SECRET}", f"{{'api_key': '{SECRET}'}}", f'{{"client_secret": "{SECRET}"}}',
        f"Authorization: Bearer {SECRET}", f"DB_PASSWORD={SECRET}; next", f"postgresql://ann:{SECRET}@db/poimen",
        f"used pk_{SECRET}-abcdefghijk", f"got eyJ{SECRET}.eyJ{SECRET}.sig-{SECRET}", f"x-api-key: {SECRET}",
    ],
)  # fmt: skip
def test_no_secret_gets_into_a_message(style: str, message: str) -> None:
    line = LineFormatter(style).format(record_of(message))
    assert SECRET not in line
    assert "***" in line


@pytest.mark.parametrize("style", ["json", "console"])
def test_no_secret_gets_into_fields_and_tracebacks(style: str) -> None:
    kept_in_frame = SECRET
    try:
        raise ValueError(f"cannot use token={kept_in_frame}")
    except ValueError:
        record = record_of("failed", password=SECRET, nested={"headers": [{"authorization": SECRET}]})
        record.exc_info = sys.exc_info()
    line = LineFormatter(style).format(record)
    assert SECRET not in line
    assert "ValueError" in line
    assert "***" in line


@pytest.mark.parametrize(
    "begins, rest",
    [
        ("ghp_", "x7Kq" * 9), ("github_pat_", "x7Kq" * 9), ("glpat-", "x7Kq" * 6), ("xoxb-", "12345-67890-abcd"),
        ("sk-proj-", "x7Kq" * 9), ("sk-ant-api03-", "x7Kq" * 9), ("AKIA", "Q3EGRNVHUM2XLTYP"),
        ("AIza", "x7Kq" * 8 + "abc"),
        ("npm_", "x7Kq" * 9), ("sk_live_", "x7Kq" * 6), ("lin_api_", "x7Kq" * 10), ("hf_", "x7Kq" * 9),
        ("SG.", "x7Kq" * 5 + "." + "x7Kq" * 10),
        ("https://hooks.slack.com/services/", "T00000000/B00000000/" + "x7Kq" * 6),
        ("-----BEGIN RSA PRIVATE KEY-----", "\nMIIEpAIBAAKCAQEA\nx7Kqx7Kq\n"),
    ],
)  # fmt: skip
def test_tokens_of_known_issuers_are_masked_by_their_form(begins: str, rest: str) -> None:
    said = masked(f"cannot use {begins}{rest} (401)")
    assert "***" in said
    assert not any(part in said for part in re.findall(r"\w{5,}", rest))
    assert said.startswith("cannot use ")
    assert masked(said) == said


@pytest.mark.parametrize(
    "text",
    [
        "started 3 branches in 0.5 s", "http://127.0.0.1:8080/executions?next=7", "tokens=512", "page_token=abc",
        "the secret secret:01890000-0000-7000-8000-000000000000 expired", "password: secret:0189",
        "GET /workflows 200 in 3 ms", "password=", "assert token == 5",
        "sk-learn and task-force-delta-of-the-north", "ghp_short", "the AKIA prefix", "xoxb-1", "https://example.org/a:b@c",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_masking_a_large_text_is_bounded() -> None:
    nasty = "a=" * 200_000 + "password=" + '"' * 50_000
    import time

    began = time.process_time()
    assert len(masked(nasty)) < 120_000
    assert time.process_time() - began < 2


@pytest.mark.parametrize("level, library, own", [("debug", 20, 10), ("info", 20, 20), ("error", 40, 40)])
def test_libraries_tell_no_requests_even_where_everything_else_is_told(level: str, library: int, own: int) -> None:
    """At DEBUG botocore writes the id of the access key and the signature of each request."""
    names = ("botocore.auth", "boto3", "urllib3.connectionpool", "google.auth", "httpx", "httpcore", "workflows.engine")
    asked = (
        "import json, logging, django; django.setup(); "
        f"print(json.dumps([logging.getLogger(name).getEffectiveLevel() for name in {names}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=settings.BASE_DIR, env=os.environ | {"LOG_LEVEL": level},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    *others, ours = json.loads(done.stdout)
    assert ours == own
    assert min(others) == library
