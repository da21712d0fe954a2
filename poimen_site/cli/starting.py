"""``manage.py poimen_start``: a start from a spec or a sentence, or the health. Source: contract-router-and-llm 4.

Refuses wrong arguments before anything is connected to. The flags of the orchestrator are checked; it is not there yet.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from poimen_site.cli.arguments import read_json_file
from poimen_site.cli.faults import FAILURE, OK, Fault, usage
from poimen_site.cli.following import wait_for_end
from poimen_site.cli.routing import document_of, explain
from poimen_site.cli.schedules import tell
from poimen_site.cli.session import Session
from poimen_site.health import whole
from poimen_site.routing.api import routed
from workflows.activities.registry import registry
from workflows.api import acts, schedule_acts
from workflows.models import ExecutionStatus, Role
from workflows.spec.cron_schema import is_cron_document
from workflows.spec.cron_validator import validate_cron_spec
from workflows.spec.durations import format_duration
from workflows.spec.report import SpecReport, counted
from workflows.spec.validator import validate_spec

NOTHING_ASKED = "--repo and --remote are needed, both (or use --route or --spec to run a workflow)"
NO_ORCHESTRATOR = (
    "the orchestrator is not part of this version: nothing was started. Use --spec FILE or --route SENTENCE to run a "
    "workflow"
)


def start(session: Session, options: Mapping[str, Any]) -> int:
    """Do what the flags ask for; returns the exit code."""
    if options["health"]:
        return _health(session)
    if options["cron"] and options["spec"] is None:
        raise usage("--cron says how to read --spec FILE; give that too")
    if options["context"] and (options["route"] is None or options["spec"] is not None):
        raise usage("--context answers what --route SENTENCE asks; give that, without --spec")
    if options["spec"] is not None:
        return _spec(session, options)
    if options["route"] is not None:
        return _route(session, options)
    return _orchestrate(options)


def _health(session: Session) -> int:
    verdict, body = whole()
    session.document(body)
    return OK if verdict == "healthy" else FAILURE


def _spec(session: Session, options: Mapping[str, Any]) -> int:
    document = read_json_file(options["spec"], "--spec")
    if is_cron_document(document) and not options["cron"]:
        raise usage("--spec: this one has a schedule; add --cron to schedule it")
    activities = registry.all()
    judge = validate_cron_spec if options["cron"] else validate_spec
    report = judge(document, activities=activities)
    if not report.valid:
        raise _not_valid(report)
    for warning in report.warnings:
        session.remark(f"warning: {warning}")
    return _submit(session, document, options, is_cron=options["cron"])


def _route(session: Session, options: Mapping[str, Any]) -> int:
    # Whom the start needs is asked first: the only operator is not passed over for several editors.
    access = session.access(Role.EDITOR if options["dry_run"] else Role.OPERATOR)
    sent = {"message": options["route"], "context": dict(options["context"]) or None, "dryRun": True}
    body, _ = routed(access, sent)
    if not session.is_json:
        explain(session, body)
    document = document_of(body)
    schedule = f", {document['schedule']}" if body["isCron"] else ""
    session.remark(f"{document['name']}{schedule}, {counted(len(document['states']), 'state')}")
    return _submit(session, document, options, is_cron=body["isCron"])


def _submit(session: Session, document: Mapping[str, Any], options: Mapping[str, Any], *, is_cron: bool) -> int:
    if options["dry_run"]:
        session.document(document)
        return OK
    if is_cron:
        body = schedule_acts.create(session.access(Role.OPERATOR), {"spec": document})
        if session.is_json:
            session.document(body)
        else:
            tell(session, body)
        return OK
    return run(session, document, options["timeout"])


def run(session: Session, document: Mapping[str, Any], timeout: timedelta) -> int:
    """Start a WorkflowSpec once and wait for what comes of it, up to ``timeout``.

    Its run id is the idempotency key: started twice within a second it is one run. Returns 0 for a success and for an
    execution that still runs, since that was started as asked; 1 for one that did not go well.
    """
    run_id = f"routing-{document['name']}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    body, _ = acts.run_spec(session.access(Role.OPERATOR), {"spec": document}, run_id)
    pk = UUID(body["id"])
    if not session.is_json:
        session.say(f"workflow  {run_id}")
        session.say(f"run       {pk}")
    body, is_over = wait_for_end(session, session.customer.pk, pk, timeout)
    if session.is_json:
        session.document({"runId": run_id, "execution": body})
    elif is_over:
        _show_result(session, body)
    else:
        session.say(f"still running after {format_duration(timeout)}; see poimen wait {pk}")
    return OK if body.get("status") == ExecutionStatus.SUCCESS or not is_over else FAILURE


def _show_result(session: Session, body: Mapping[str, Any]) -> None:
    session.stdout.write(f"status    {session.status(body['status'])}")
    outputs = body["outputs"]
    for state, output in outputs.get("stepResults", {}).items():
        session.say(f"  {state}: {json.dumps(output, ensure_ascii=False)}")
    if "error" in outputs:
        session.painted(f"error     {outputs['error']}", session.style.ERROR)


def _not_valid(report: SpecReport) -> Fault:
    problems = [problem.as_json() for problem in report.problems]
    return Fault(f"the spec has {counted(len(report.errors), 'error')}", details=problems)


def _orchestrate(options: Mapping[str, Any]) -> int:
    if not options["repo"] or not options["remote"]:
        raise usage(NOTHING_ASKED)
    raise Fault(NO_ORCHESTRATOR)
