"""``poimen submit|wait|status|cancel|pause|resume|signal|rerun``: start executions, read them, steer them.

Refuses what REST refuses, in its words.
"""

import argparse
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from canvas.api.starts import run_workflow
from poimen_site.cli.arguments import add_inputs, duration, inputs_of, read_json, read_json_file
from poimen_site.cli.faults import FAILURE, OK, Fault, usage
from poimen_site.cli.following import wait_for_end
from poimen_site.cli.session import Session, uuid_in
from poimen_site.cli.verbs import Run, Verbs
from workflows import control
from workflows.access import Access
from workflows.api import acts
from workflows.api.execution_reading import read_execution
from workflows.api.executions import executions_of, list_bodies
from workflows.api.requests import MAX_LIMIT, MAX_PRIORITY, checked_key
from workflows.engine.json_text import dumps
from workflows.models import Customer, Execution, ExecutionStatus, Role, Workflow, WorkflowStatus
from workflows.spec.cron_schema import is_cron_document
from workflows.spec.durations import format_duration
from workflows.spec.report import Findings
from workflows.terminal_text import plain

SUCCESS = ExecutionStatus.SUCCESS.value
_SHOWN = 300  # characters of one state's output


def add_verbs(verbs: Verbs) -> None:
    """Declare them."""
    submit = verbs.add("submit", "Start a workflow by its name or id, or a spec file.", _submit)
    submit.add_argument("workflow", nargs="?", help="name or id of a saved workflow")
    submit.add_argument("--spec", metavar="FILE", help="a WorkflowSpec as JSON; - for standard input")
    add_inputs(submit)
    submit.add_argument("--priority", type=int, default=0, help=f"-{MAX_PRIORITY} to {MAX_PRIORITY}; higher runs first")
    _add_key(submit)
    submit.add_argument("--wait", action="store_true", help="wait for the end; exit code 1 unless it is a success")
    _add_timeout(submit)

    wait = verbs.add("wait", "Wait for the end of an execution; exit code 1 unless it is a success.", _wait)
    wait.add_argument("execution", help="its id")
    _add_timeout(wait)

    status = verbs.add("status", "Show an execution, or the newest ones.", _status)
    status.add_argument("execution", nargs="?", help="its id; left out: a list")
    status.add_argument("--status", choices=ExecutionStatus.values, help="only those, in the list")
    status.add_argument("--limit", type=_limit, default=10, help=f"how many in the list, {MAX_LIMIT} at most")

    _add_asking(verbs, "cancel", "Ask an execution to stop.", control.request_cancel)
    _add_asking(verbs, "pause", "Pause an execution at its next state boundary.", control.request_pause)
    _add_asking(verbs, "resume", "Let a paused execution go on where it stopped.", control.request_resume)

    signal = verbs.add("signal", "Send a signal to an execution.", _signal)
    signal.add_argument("execution", help="its id")
    signal.add_argument("name", help="what the waiting state calls it")
    signal.add_argument("--payload", metavar="JSON|@FILE|-", help="what it carries; null if left out")
    signal.add_argument("--dedupe-key", metavar="KEY", help="sent twice with one key it arrives once")

    rerun = verbs.add("rerun", "Run an ended execution again, as a new one.", _rerun)
    rerun.add_argument("execution", help="its id")
    rerun.add_argument("--from", dest="from_state", metavar="STATE", help="keep what ran before that state")
    _add_key(rerun)
    rerun.add_argument("--wait", action="store_true", help="wait for the end; exit code 1 unless it is a success")
    _add_timeout(rerun)


def workflow_in(text: str, customer: Customer) -> UUID:
    """Return the id of the workflow that ``text`` names, by id or by exact name; raises a usage fault."""
    rows = Workflow.objects.filter(customer=customer).exclude(status=WorkflowStatus.ARCHIVED)
    pk = uuid_in(text)
    if pk is not None and rows.filter(pk=pk).exists():
        return pk
    names: dict[str, list[UUID]] = {}
    for key, name in rows.values_list("pk", "name"):
        names.setdefault(name, []).append(key)
    found = names.get(text, [])
    if len(found) == 1:
        return found[0]
    if found:
        raise usage(f"several workflows are called {text!r}; take one of their ids: {', '.join(map(str, found))}")
    meant = Findings().closest(text, names)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    known = ", ".join(sorted(names)[:20]) or "none yet"
    raise usage(f"there is no workflow {text!r} at {customer.slug}{hint}; there are: {known}")


def show_end(session: Session, pk: UUID, body: dict[str, Any], *, is_over: bool, timeout: timedelta | None) -> int:
    """Print what an execution that was waited for came to; returns the exit code.

    ``body`` is empty if the database did not answer all the time.
    """
    if session.is_json:
        session.document(body)
    elif is_over:
        show(session, body)
    if not is_over:
        within = format_duration(timeout) if timeout is not None else ""
        session.remark(f"still {body.get('status', 'unknown')} after {within}; it goes on: poimen wait {pk}")
    return OK if body.get("status") == SUCCESS else FAILURE


def show(session: Session, body: dict[str, Any]) -> None:
    """Print an execution for people."""
    session.stdout.write(f"{body['name']} {body['id']}: {session.status(body['status'])}")
    output = body["outputs"].get("output")
    version = f"{body['workflowId']}, version {body['version']}" if body["workflowId"] else ""
    session.fields(
        [
            ("workflow", version),
            ("created", f"{body['createdAt']} by {body['createdBy'] or 'the system'}"),
            ("completed", body.get("completedAt")),
            ("now at", ", ".join(body["currentStates"])),
            ("inputs", _short(body["inputs"]) if body["inputs"] else ""),
            ("output", _short(output) if output is not None else ""),
            ("rerun of", body.get("rerunOf")),
            ("continued", body.get("continuedAs")),
        ]
    )
    for state, output in body["outputs"].get("stepResults", {}).items():
        failed = isinstance(output, dict) and set(output) == {"error"}
        text = _short(output["error"] if failed else output)
        mark = session.style.ERROR("failed") if failed else session.style.SUCCESS("ok")
        session.stdout.write(f"  {mark} {state}: {text}")
    for error in body.get("errors", []):
        session.painted(f"  {error}", session.style.ERROR)


def _short(value: Any) -> str:
    text = plain(dumps(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters; --json shows all)"


def _submit(session: Session, options: Mapping[str, Any]) -> int:
    if (options["workflow"] is None) == (options["spec"] is None):
        raise usage("name a workflow, or give --spec FILE; one of the two")
    if options["spec"] == "-" and options["inputs"] == "-":
        raise usage("--spec - and --inputs -: standard input can be only one of the two")
    sent: dict[str, Any] = {"inputs": inputs_of(options), "priority": options["priority"]}
    key = options["key"] and checked_key(options["key"])
    access = session.access(Role.OPERATOR)
    if options["spec"] is not None:
        spec = read_json_file(options["spec"], "--spec")
        if is_cron_document(spec):
            raise usage(
                "--spec: this one has a schedule; it is to be scheduled, not run: poimen schedules create, or "
                "poimen_start --spec FILE --cron"
            )
        body, is_new = acts.run_spec(access, {"spec": spec, **sent}, key)
    else:
        body, is_new = run_workflow(access, workflow_in(options["workflow"], access.customer), sent, key)
    return _begun(session, options, body, is_new)


def _begun(session: Session, options: Mapping[str, Any], body: dict[str, Any], is_new: bool) -> int:
    """Tell of an execution that was started, or wait for its end."""
    if options["wait"]:
        if not session.is_json:
            session.remark(f"{body['name']} {body['id']}: {'started' if is_new else 'had been started'}; waiting")
        return _until_end(session, UUID(body["id"]), options["timeout"])
    if session.is_json:
        session.document(body)
    else:
        # The id alone on standard output: id=$(poimen submit ...)
        session.remark(f"{body['name']} {'started' if is_new else 'had been started with this key already'}")
        session.say(body["id"])
    return OK


def _wait(session: Session, options: Mapping[str, Any]) -> int:
    return _until_end(session, execution_in(session, options["execution"]), options["timeout"])


def _until_end(session: Session, pk: UUID, timeout: timedelta | None) -> int:
    try:
        body, is_over = wait_for_end(session, session.customer.pk, pk, timeout)
    except KeyboardInterrupt:
        session.remark(f"the execution goes on: poimen wait {pk}")
        raise
    return show_end(session, pk, body, is_over=is_over, timeout=timeout)


def _status(session: Session, options: Mapping[str, Any]) -> int:
    if options["execution"] is None:
        return _list(session, options)
    pk = execution_in(session, options["execution"])
    body = read_execution(session.customer.pk, pk, lines=0)
    if session.is_json:
        session.document(body)
    else:
        show(session, body)
    return OK


def _list(session: Session, options: Mapping[str, Any]) -> int:
    rows = executions_of(session.readable())
    if options["status"] is not None:
        rows = rows.filter(status=options["status"])
    bodies = list_bodies(list(rows[: options["limit"]]))
    if session.is_json:
        session.document(bodies)
        return OK
    table = [
        (b["id"], b["status"], b["name"], b["createdAt"], b["createdBy"], ", ".join(b["currentStates"])) for b in bodies
    ]
    session.table(("id", "status", "name", "created", "by", "now at"), table)
    return OK


def _signal(session: Session, options: Mapping[str, Any]) -> int:
    sent: dict[str, Any] = {"name": options["name"]}
    if options["payload"] is not None:
        sent["payload"] = read_json(options["payload"], "--payload")
    if options["dedupe_key"] is not None:
        sent["dedupeKey"] = options["dedupe_key"]
    body = acts.send_signal(_access(session, options), options["execution"], sent)
    if session.is_json:
        session.document(body)
    else:
        session.say(f"signal {body['name']} {'sent' if body['new'] else 'had been sent with this key already'}")
    return OK


def _rerun(session: Session, options: Mapping[str, Any]) -> int:
    sent = {} if options["from_state"] is None else {"fromState": options["from_state"]}
    key = options["key"] and checked_key(options["key"])
    body, is_new = acts.rerun(_access(session, options), options["execution"], sent, key)
    return _begun(session, options, body, is_new)


def _access(session: Session, options: Mapping[str, Any]) -> Access:
    """Return what may be done with the execution of ``options``, as an operator of its customer."""
    pk = uuid_in(options["execution"])
    if pk is not None:
        session.choose_by_execution(pk)
    return session.access(Role.OPERATOR)


def execution_in(session: Session, text: str) -> UUID:
    """Return the id of an execution, of the customer that was named or whose it is; raises a fault."""
    pk = uuid_in(text)
    if pk is None:
        raise usage(f"{text!r} is not the id of an execution; poimen status lists them")
    session.choose_by_execution(pk)
    if not Execution.objects.filter(pk=pk, customer=session.readable()).exists():
        raise Fault(f"there is no execution {pk} at {session.customer.slug}")
    return pk


def _add_asking(verbs: Verbs, name: str, help: str, request_it: Callable[..., Execution]) -> None:
    parser = verbs.add(name, help, _asking(request_it))
    parser.add_argument("execution", help="its id")
    parser.add_argument("--reason", default="", help="why; it goes into the log and the audit trail")


def _asking(request_it: Callable[..., Execution]) -> Run:
    def run(session: Session, options: Mapping[str, Any]) -> int:
        body = acts.ask(request_it, _access(session, options), options["execution"], {"reason": options["reason"]})
        if session.is_json:
            session.document(body)
        else:
            show(session, body)
        return OK

    return run


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--key", "--idempotency-key", metavar="KEY", help="started twice with one key it runs once")


def _add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=duration, metavar="DURATION", help="wait so long at most, as 90s or 1h30m")


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_LIMIT:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MAX_LIMIT}")
    return int(text)
