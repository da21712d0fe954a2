"""What may stand on a command line: JSON, ``key=value``, files, standard input, durations.

Refuses what it cannot read before anything happens, saying what was expected.
"""

import argparse
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from rest_framework.utils import json  # strict: no NaN

from poimen_site.cli.faults import usage
from workflows.spec.durations import parse_duration

MAX_BYTES = 4 * 2**20  # as a request's body may have
STDIN = "-"


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Declare how inputs are given."""
    parser.add_argument(
        "-i", "--input", dest="pairs", metavar="KEY=VALUE", type=pair, action="append", default=[],
        help="one input; the value is JSON if it reads as that (3, true, [1]), else text. May be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--inputs", metavar="JSON|@FILE|-", help="all inputs as a JSON object, from a file or from standard input"
    )


def inputs_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that were given; single ones overrule those of ``--inputs``."""
    whole = {} if options["inputs"] is None else read_json(options["inputs"], "--inputs")
    if not isinstance(whole, dict):
        raise usage("--inputs: expected a JSON object")
    return whole | dict(options["pairs"])


def pair(text: str) -> tuple[str, Any]:
    """Read ``key=value``; for argparse."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, not {text!r}")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def duration(text: str) -> timedelta:
    """Read ``30s`` or ``1h30m``; for argparse."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def read_json(text: str, option: str) -> Any:
    """Return the value of JSON text, of ``@FILE``, or of standard input (``-``); raises a usage fault."""
    source, content = option, text
    if text == STDIN:
        source, content = f"{option} (standard input)", _read_stdin(option)
    elif text.startswith("@"):
        source, content = text[1:], read_file(Path(text[1:]), option)
    return parsed(content, source)


def read_json_file(name: str, option: str) -> Any:
    """Return the value in the file called ``name``, ``-`` for standard input; raises a usage fault."""
    return read_json(STDIN if name == STDIN else f"@{name}", option)


def read_file(path: Path, option: str) -> str:
    """Return the text of a file; raises a usage fault that says why it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise usage(f"{option}: {path} cannot be read: {reason}") from None
    return _decoded(content, f"{option}: {path}")


def parsed(content: str, source: str) -> Any:
    """Return the value of JSON text; raises a usage fault that says where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise usage(f"{source}: this is not JSON: {error}") from None


def _read_stdin(option: str) -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise usage(f"{option}: nothing is piped into standard input")
    stream = getattr(sys.stdin, "buffer", None)
    content = stream.read(MAX_BYTES + 1) if stream is not None else sys.stdin.read(MAX_BYTES + 1).encode()
    return _decoded(content, f"{option}: standard input")


def _decoded(content: bytes, source: str) -> str:
    if len(content) > MAX_BYTES:
        raise usage(f"{source} has more than {MAX_BYTES // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise usage(f"{source} is not text in UTF-8") from None
