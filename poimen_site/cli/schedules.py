"""``poimen schedules list|show|create|pause|resume|trigger|delete``: what starts by the calendar.

Refuses what REST refuses, in its words.
"""

from collections.abc import Callable, Mapping
from typing import Any

from poimen_site.cli.arguments import add_inputs, inputs_of, read_json_file
from poimen_site.cli.executions import workflow_in
from poimen_site.cli.faults import OK, usage
from poimen_site.cli.session import Session, given, uuid_in
from poimen_site.cli.verbs import Run, Verbs
from workflows.access import Access
from workflows.api import schedule_acts
from workflows.api.schedule_bodies import full_body
from workflows.models import Customer, Overlap, Role, Schedule, ScheduleRun
from workflows.schedules.firing import database_now

MOST = 100
HISTORY = 10


def add_verbs(verbs: Verbs) -> None:
    """Declare them."""
    group = verbs.group("schedules", "Make, see and steer schedules.")
    group.add("list", f"List schedules, by name; {MOST} at most.", _list)
    show = group.add("show", f"Show a schedule, its next runs and its last {HISTORY}.", _show)
    show.add_argument("schedule", help="its id or name")

    create = group.add("create", "Make a schedule of a workflow, or of a spec file.", _create)
    create.add_argument("workflow", nargs="?", help="name or id of a saved workflow")
    create.add_argument("--spec", metavar="FILE", help="a CronWorkflowSpec, or a WorkflowSpec and --schedule")
    create.add_argument("--schedule", metavar="CRON", help='such as "30 7 * * MON-FRI", @daily or "@every 1h30m"')
    create.add_argument("--timezone", metavar="ZONE", help="such as Europe/Berlin; UTC if left out")
    create.add_argument("--name", help="left out: that of the spec or workflow")
    create.add_argument("--overlap", choices=Overlap.values, help="when a run is due while the one before still runs")
    create.add_argument("--catch-up", metavar="DURATION", help="how far back missed runs are made up for")
    create.add_argument("--jitter", metavar="DURATION", help="each run starts up to this much later")
    create.add_argument("--max-runs", type=int, help="ends after so many")
    create.add_argument("--paused", action="store_true", help="make it paused")
    add_inputs(create)

    for name, help, act in (
        ("pause", "Let nothing start by the clock until it is resumed.", schedule_acts.pause),
        ("resume", "Let it start by the clock again.", schedule_acts.resume),
    ):
        parser = group.add(name, help, _asking(act))
        parser.add_argument("schedule", help="its id or name")
        parser.add_argument("--reason", default="", help="why; it goes into the audit trail")
    trigger = group.add("trigger", "Start an execution of it now.", _trigger)
    trigger.add_argument("schedule", help="its id or name")
    delete = group.add("delete", "Delete it with its history; its executions stay.", _delete)
    delete.add_argument("schedule", help="its id or name")


def tell(session: Session, body: Mapping[str, Any]) -> None:
    """Print a schedule for people."""
    session.stdout.write(f"{body['name']} {body['id']}: {session.status(body['status'])}")
    session.fields(
        [
            ("schedule", f"{body['schedule']}: {body['reading']}"),
            ("workflow", body["workflowId"]),
            ("inputs", body["inputs"]),
            ("overlap", body["overlapPolicy"]),
            ("catch-up", body["catchUp"]),
            ("jitter", body["jitter"]),
            ("runs", f"{body['runs']}" + (f" of {body['maxRuns']}" if body["maxRuns"] else "")),
            ("paused", body.get("pausedAt") and f"{body['pausedAt']} by {body['pausedBy']}"),
        ]
    )
    for run in body["nextRuns"]:
        session.say(f"  next       {run['local']}")


def _list(session: Session, options: Mapping[str, Any]) -> int:
    rows = Schedule.objects.filter(customer=session.readable()).order_by("name", "pk")[:MOST]
    bodies = schedule_acts.list_bodies(list(rows))
    if session.is_json:
        session.document(bodies)
        return OK
    table = [(b["id"], b["status"], b["name"], b["reading"], b["nextRunAt"] or "") for b in bodies]
    session.table(("id", "status", "name", "reading", "next run"), table)
    return OK


def _show(session: Session, options: Mapping[str, Any]) -> int:
    _act_for_owner(session, options["schedule"])
    schedule = schedule_acts.own_schedule(session.readable(), _id_of(session, options["schedule"]))
    runs = ScheduleRun.objects.filter(schedule=schedule).order_by("-due_at")[:HISTORY]
    body = full_body(schedule, database_now()) | {"history": schedule_acts.history_bodies(list(runs))}
    if session.is_json:
        session.document(body)
        return OK
    tell(session, body)
    for run in body["history"]:
        execution = run["execution"]
        what = f"{execution['id']} {execution['status']}" if execution else run["reason"]
        session.say(f"  {run['dueAt']} {run['outcome']} {what}")
    return OK


def _create(session: Session, options: Mapping[str, Any]) -> int:
    if (options["workflow"] is None) == (options["spec"] is None):
        raise usage("name a workflow, or give --spec FILE; one of the two")
    if options["workflow"] is not None and options["schedule"] is None:
        raise usage("--schedule is needed: cron text such as 30 7 * * MON-FRI")
    if options["spec"] == "-" and options["inputs"] == "-":
        raise usage("--spec - and --inputs -: standard input can be only one of the two")
    sent = given(options, "name", "schedule", "timezone", "jitter")
    more = {"overlapPolicy": options["overlap"], "catchUp": options["catch_up"], "maxRuns": options["max_runs"]}
    sent |= {key: value for key, value in more.items() if value is not None}
    if inputs := inputs_of(options):
        sent["inputs"] = inputs
    if options["paused"]:
        sent["enabled"] = False
    access = session.access(Role.OPERATOR)
    if options["spec"] is not None:
        sent["spec"] = read_json_file(options["spec"], "--spec")
    else:
        sent["workflowId"] = str(workflow_in(options["workflow"], access.customer))
    return _told(session, schedule_acts.create(access, sent))


def _asking(act: Callable[[Access, str, Any], dict[str, Any]]) -> Run:
    def run(session: Session, options: Mapping[str, Any]) -> int:
        _act_for_owner(session, options["schedule"])
        access = session.access(Role.OPERATOR)
        return _told(session, act(access, _id_of(session, options["schedule"]), {"reason": options["reason"]}))

    return run


def _trigger(session: Session, options: Mapping[str, Any]) -> int:
    _act_for_owner(session, options["schedule"])
    body = schedule_acts.trigger(session.access(Role.OPERATOR), _id_of(session, options["schedule"]))
    if session.is_json:
        session.document(body)
    else:
        session.remark(f"{body['name']} started")
        session.say(body["id"])
    return OK


def _delete(session: Session, options: Mapping[str, Any]) -> int:
    _act_for_owner(session, options["schedule"])
    access = session.access(Role.OPERATOR)
    pk = _id_of(session, options["schedule"])
    schedule_acts.delete(access, pk, None)
    if session.is_json:
        session.document({"id": pk, "deleted": True})
    else:
        session.say(f"{options['schedule']} deleted")
    return OK


def _told(session: Session, body: dict[str, Any]) -> int:
    if session.is_json:
        session.document(body)
    else:
        tell(session, body)
    return OK


def _act_for_owner(session: Session, text: str) -> None:
    """Where several customers are, an id says whose schedule it is; a name does not."""
    if (pk := uuid_in(text)) is not None:
        session.act_for(Customer.objects.filter(schedules__pk=pk).first())


def _id_of(session: Session, text: str) -> str:
    """The id that ``text`` is, or that of the one schedule that is called so; raises a usage fault."""
    if uuid_in(text) is not None:
        return text
    rows = Schedule.objects.filter(customer=session.customer)
    found = [str(pk) for pk in rows.filter(name=text).values_list("pk", flat=True)] if "\0" not in text else []
    if len(found) == 1:
        return found[0]
    if found:
        raise usage(f"several schedules are called {text!r}; take one of their ids: {', '.join(found)}")
    names = ", ".join(rows.order_by("name").values_list("name", flat=True)[:20]) or "none yet"
    raise usage(f"there is no schedule {text!r} at {session.customer.slug}; there are: {names}")
