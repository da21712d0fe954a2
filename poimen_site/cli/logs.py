"""``poimen logs``: what an execution said, and with ``-f`` what it says, every line once and in order.

Refuses to colour what is not read on a terminal.
"""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, get_args
from uuid import UUID

from poimen_site.cli.executions import execution_in
from poimen_site.cli.faults import OK
from poimen_site.cli.following import PAGE, follow_lines
from poimen_site.cli.session import Session
from poimen_site.cli.verbs import Verbs
from workflows.activities.context import LogLevel
from workflows.api.logs import lines_after
from workflows.live.lines import Cursor, Entry, log_body
from workflows.live.text import text_line
from workflows.models import Execution


def add_verbs(verbs: Verbs) -> None:
    """Declare it."""
    logs = verbs.add("logs", "Print the log of an execution.", _logs)
    logs.add_argument("execution", help="its id")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the execution has ended")
    logs.add_argument("--after", type=_cursor, metavar="CURSOR", help="only what came after that line")
    logs.add_argument("--level", choices=get_args(LogLevel), default="info", help="lines from this level up")
    logs.add_argument("--node", metavar="STATE", help="lines of this state only")


def _logs(session: Session, options: Mapping[str, Any]) -> int:
    pk = execution_in(session, options["execution"])
    place: Cursor | None = options["after"]
    lines = follow_lines(session, pk, place, options["level"]) if options["follow"] else _so_far(pk, options)
    try:
        for entry in lines:
            place = Cursor(entry.tx, entry.id)
            if options["node"] in (None, entry.node_id):
                _print(session, entry)
    except KeyboardInterrupt:
        after = f" --after {place}" if place is not None else ""
        session.remark(f"go on with: poimen logs -f {pk}{after}")
        raise
    following = Execution.objects.filter(continued_from=pk).values_list("pk", flat=True).first()
    if following is not None and options["follow"]:
        session.remark(f"it continues as {following}")
    return OK


def _so_far(pk: UUID, options: Mapping[str, Any]) -> Iterable[Entry]:
    """What is there now; lines that an open transaction withholds are not waited for."""
    place: Cursor | None = options["after"]
    while True:
        entries, _ = lines_after(pk, place, PAGE, level=options["level"])
        yield from entries
        if len(entries) < PAGE:
            return
        place = Cursor(entries[-1].tx, entries[-1].id)


def _print(session: Session, entry: Entry) -> None:
    if session.is_json:
        session.line(log_body(entry))
        return
    paint = {"error": session.style.ERROR, "warn": session.style.WARNING}.get(entry.level)
    text = text_line(entry).rstrip("\n")
    if paint is None:
        session.say(text)
    else:
        session.painted(text, paint)
    session.stdout.flush()


def _cursor(text: str) -> Cursor:
    try:
        return Cursor.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
