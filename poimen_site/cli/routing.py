"""``poimen route``: a sentence becomes a spec to look at. Nothing runs.

Refuses to invent: what is missing is asked for, and the exit code is 1 until it is told.
"""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from poimen_site.cli.arguments import pair
from poimen_site.cli.faults import FAILURE, OK, Fault
from poimen_site.cli.session import Session
from poimen_site.cli.verbs import Verbs
from poimen_site.routing.api import routed
from workflows.models import Role


def add_verbs(verbs: Verbs) -> None:
    """Declare it."""
    route = verbs.add("route", "Turn a sentence into a spec, for review.", _route)
    route.add_argument("message", help="what should happen, and how often")
    add_context(route)
    route.add_argument("--offline", action="store_true", help="ask no language model")
    route.add_argument("--save", action="store_true", help="save its drawing as a workflow, a draft")


def add_context(parser: argparse.ArgumentParser) -> None:
    """Declare how the questions about a sentence are answered."""
    parser.add_argument(
        "-c", "--context", metavar="KEY=VALUE", type=pair, action="append", default=[],
        help="a value by name: the answer to a question about the sentence. May be repeated",
    )  # fmt: skip


def explain(session: Session, body: Mapping[str, Any]) -> None:
    """Say beside the answer how it came about, and what is still to be known."""
    for note in body["explanation"]:
        session.remark(f"{note['subject']}: {note['text']}")
    for warning in body["warnings"]:
        session.remark(f"warning: {warning}")
    for question in body["questions"]:
        options = f" ({', '.join(question['options'])})" if question.get("options") else ""
        session.complain(f"question: {question['text']}{options} Answer with -c {question['parameter']}=...")


def document_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an answer, of whichever kind; raises a fault if there are questions instead."""
    found = body.get("cronSpec") or body.get("spec")
    if found is None:
        asked = "; ".join(f"{question['parameter']}: {question['text']}" for question in body["questions"])
        raise Fault(f"more has to be known first: {asked}", details=list(body["questions"]))
    document: dict[str, Any] = found
    return document


def _route(session: Session, options: Mapping[str, Any]) -> int:
    sent = {"message": options["message"], "context": dict(options["context"]) or None, "dryRun": not options["save"]}
    body, is_saved = routed(session.access(Role.EDITOR), sent, offline=options["offline"])
    is_answer = not body["questions"]
    if session.is_json:
        session.document(body)
    else:
        explain(session, body)
        if is_answer:
            session.say(json.dumps(document_of(body), indent=2, ensure_ascii=False))
        if is_saved:
            session.remark(f"saved as the draft {body['workflowId']}")
    return OK if is_answer else FAILURE
