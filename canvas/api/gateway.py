"""``POST /workflow``: one address, eight actions, for clients that speak of workflows and runs (contract-rest-api 4).

Refuses unknown actions and keys; each action needs the role that the endpoint of its own needs. Keys in snake_case.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn
from uuid import uuid4

from rest_framework import serializers, status
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from canvas.api.answers import GatewayAnswer
from canvas.api.refusals import answered
from canvas.gateway import (
    DEFAULT_NAMESPACE,
    MAX_NAME_LENGTH,
    STATUSES,
    TASK_QUEUE,
    TERMINATED,
    AlreadyRunning,
    RunNotFound,
    is_name,
    name_of,
    run_of,
    runs_of,
    start_run,
    status_of,
    with_status,
)
from workflows import approvals, control
from workflows.access import Access, require_role
from workflows.api.acts import as_unprocessable
from workflows.api.documentation import IDEMPOTENCY_KEY, documented
from workflows.api.execution_reading import read_execution
from workflows.api.logs import lines_after
from workflows.api.requests import (
    MAX_REASON,
    Conflict,
    JsonObject,
    JsonValue,
    Limit,
    Strict,
    Text,
    checked,
    explained,
    idempotency_key,
    not_found,
)
from workflows.api.timestamps import rfc3339
from workflows.live.lines import START, Cursor
from workflows.models import Execution, Role
from workflows.sent_specs import SpecNotValid
from workflows.submission import checksum_of

RUN = "Workflow run"
STATUS_PREFIX = "WORKFLOW_EXECUTION_STATUS_"
HISTORY = ("run.", "state.", "branch.", "signal.")
QUERIES = ("status", "current_states", "result", "state_output")
MAX_PAGE_SIZE = 1000


class Name(Text):
    """What a run or a namespace is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_NAME_LENGTH, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the name; raises ``ValidationError`` for text that cannot be one."""
        text = super().to_internal_value(data)
        if not is_name(text):
            raise serializers.ValidationError("expected one line without / and #")
        return text


class Place(Text):
    """A ``next_page_token`` of an earlier answer."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the place in the log; raises ``ValidationError``."""
        try:
            return Cursor.parse(super().to_internal_value(data))
        except ValueError:
            raise serializers.ValidationError("expected the next_page_token of an earlier answer") from None


class GatewayBody(Strict):
    """What is asked of whom."""

    action = Text(max_length=64)
    namespace = Name(default=DEFAULT_NAMESPACE)
    payload = JsonObject(required=False, allow_null=True, default=dict)


class StartPayload(Strict):
    """``START_WORKFLOW``: without ``workflow_id`` one is made up."""

    workflow_id = Name(required=False, default=None)
    workflow_type = Text(max_length=MAX_NAME_LENGTH)
    task_queue = serializers.ChoiceField(choices=[TASK_QUEUE], default=TASK_QUEUE)
    input = JsonObject(required=False, allow_null=True, default=None)

    def validate_input(self, given: Any) -> Any:
        """Refuse ``inputs`` beside a spec that are no object."""
        if given and "spec" in given and not isinstance(given.get("inputs") or {}, dict):
            raise serializers.ValidationError("inputs: expected an object")
        return given


class RunPayload(Strict):
    """Which run: the newest of that name, or the one of ``run_id``."""

    workflow_id = Name()
    run_id = serializers.UUIDField(required=False, allow_null=True, default=None)


class ListPayload(Strict):
    """``LIST_WORKFLOWS``."""

    status = serializers.ChoiceField(
        choices=[text for word in STATUSES for text in (word, f"{STATUS_PREFIX}{word}")], required=False
    )
    workflow_type = Text(required=False, max_length=MAX_NAME_LENGTH)
    page_size = Limit(most=MAX_PAGE_SIZE, default=100)
    next_page_token = serializers.UUIDField(required=False, allow_null=True, default=None)


class HistoryPayload(RunPayload):
    """``GET_WORKFLOW_HISTORY``."""

    page_size = Limit(most=MAX_PAGE_SIZE, default=MAX_PAGE_SIZE)
    next_page_token = Place(required=False, allow_null=True, default=None)


class SignalPayload(RunPayload):
    """``SIGNAL_WORKFLOW``."""

    signal_name = Text(max_length=128)
    input = JsonValue(required=False, allow_null=True, default=None)


class QueryPayload(RunPayload):
    """``QUERY_WORKFLOW``; ``state_output`` wants ``{"state": name}`` as ``args``."""

    query_type = serializers.ChoiceField(choices=QUERIES)
    args = JsonObject(required=False, allow_null=True, default=None)


class StopPayload(RunPayload):
    """``CANCEL_WORKFLOW`` and ``TERMINATE_WORKFLOW``."""

    reason = Text(required=False, allow_blank=True, default="", max_length=MAX_REASON)


Action = Callable[[Access, str, dict[str, Any]], Response]


class Gateway(APIView):
    """``POST /workflow`` ``{action, namespace?, payload?}``."""

    permission_classes = (IsAuthenticated,)  # the role depends on the action
    # action -> least role, whether it only looks, payload, name of the method
    ACTIONS: ClassVar[dict[str, tuple[Role, bool, type[Strict], str]]] = {
        "START_WORKFLOW": (Role.OPERATOR, False, StartPayload, "start"),
        "DESCRIBE_WORKFLOW": (Role.VIEWER, True, RunPayload, "describe"),
        "LIST_WORKFLOWS": (Role.VIEWER, True, ListPayload, "list"),
        "GET_WORKFLOW_HISTORY": (Role.VIEWER, True, HistoryPayload, "history"),
        "SIGNAL_WORKFLOW": (Role.OPERATOR, False, SignalPayload, "signal"),
        "QUERY_WORKFLOW": (Role.VIEWER, True, QueryPayload, "query"),
        "TERMINATE_WORKFLOW": (Role.OPERATOR, False, StopPayload, "terminate"),
        "CANCEL_WORKFLOW": (Role.OPERATOR, False, StopPayload, "cancel"),
    }

    @documented(
        "gateway",
        dict.fromkeys((200, 201, 202), GatewayAnswer),
        body=GatewayBody,
        headers=[IDEMPOTENCY_KEY],
        refusals=[404, 409, 422],
        tag="gateway",
    )
    def post(self, request: Request) -> Response:
        """Do what ``action`` says: 400 for an unknown one, 404 for an unknown run, 409 if it is not possible now."""
        body = checked(GatewayBody, request.data)
        if body["action"] not in self.ACTIONS:
            raise serializers.ValidationError({"action": [f"unknown; known are {', '.join(self.ACTIONS)}"]})
        role, is_reading, form, method = self.ACTIONS[body["action"]]
        access = require_role(request, role, is_reading=is_reading)
        payload = _checked_payload(form, body["payload"] or {})
        if body["action"] == "START_WORKFLOW":
            payload["idempotency_key"] = idempotency_key(request)
        act: Action = getattr(self, method)
        try:
            return act(access, body["namespace"], payload)
        except RunNotFound:
            raise not_found(RUN) from None
        except control.NotPossible as refused:
            raise Conflict(str(refused)) from refused

    def start(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Start a run; 409 with the ``run_id`` of the one that is under way under that name.

        With ``Idempotency-Key`` the same request sent again answers 200 with the run of the first, another one 409.
        """
        key = payload["idempotency_key"]
        name = payload["workflow_id"] or (f"key-{checksum_of(key)}" if key else str(uuid4()))
        try:
            with answered():
                run, is_new = start_run(
                    access.customer,
                    namespace,
                    name,
                    workflow_type=payload["workflow_type"],
                    input=payload["input"] or {},
                    idempotency_key=key,
                    by=access.actor,
                )
        except AlreadyRunning as busy:
            raise explained(Conflict(), f"{busy}.", {"workflow_id": name, "run_id": str(busy.run.pk)}) from None
        except SpecNotValid as refused:
            raise as_unprocessable(refused) from None
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response({"workflow_id": name, "run_id": str(run.pk)}, status=code)

    def describe(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Answer ``{workflow_id, run_id, status, start_time, close_time, workflow_type, namespace, task_queue}``."""
        run = _run(access, namespace, payload)
        run = runs_of(access.customer, namespace).filter(pk=run.pk).first() or run
        return Response(_run_body(run, namespace) | {"workflow_id": payload["workflow_id"]})

    def list(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Answer a page of runs, the newest first, and the ``next_page_token`` of the next, null on the last."""
        rows = runs_of(access.customer, namespace)
        if "status" in payload:
            rows = with_status(rows, payload["status"].removeprefix(STATUS_PREFIX))
        if "workflow_type" in payload:
            rows = rows.filter(name=payload["workflow_type"])
        if payload["next_page_token"] is not None:
            rows = rows.filter(pk__lt=payload["next_page_token"])  # ids grow with time
        size = payload["page_size"]
        found = list(rows.order_by("-pk")[: size + 1])
        more = str(found[size - 1].pk) if len(found) > size else None
        return Response({"executions": [_run_body(run, namespace) for run in found[:size]], "next_page_token": more})

    def history(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Answer what happened, in order; a page may hold fewer events than asked for, the token says if it goes on."""
        after: Cursor | None = payload["next_page_token"]
        run = _run(access, namespace, payload)
        entries, more = lines_after(run.pk, after, payload["page_size"], level="debug")
        last = Cursor(entries[-1].tx, entries[-1].id) if entries else after or START
        events = [
            {
                "event_id": str(Cursor(entry.tx, entry.id)),
                "event_type": entry.event.replace(".", "_").upper(),
                "event_time": rfc3339(entry.logged_at),
                "state": entry.node_id or None,
                "message": entry.message,
            }
            for entry in entries
            if entry.event.startswith(HISTORY)
        ]
        names = {"workflow_id": payload["workflow_id"], "run_id": str(run.pk)}
        return Response(names | {"events": events, "next_page_token": str(last) if more else None})

    def signal(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Send a signal: 202."""
        name = payload["signal_name"]
        if name.startswith(approvals.SIGNAL_PREFIX):
            _refuse_payload("signal_name", "approvals are decided by vote, not by signal")
        run = _run(access, namespace, payload)
        control.send_signal(run.pk, name, payload["input"], by=access.actor)
        return _accepted(payload, run)

    def query(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Answer ``{workflow_id, run_id, query_type, result}``; nothing is asked of the run itself."""
        run = _run(access, namespace, payload)
        body = read_execution(access.customer.pk, run.pk, lines=0)
        kind = payload["query_type"]
        result: Any = {
            "status": body["status"],
            "current_states": body["currentStates"],
            "result": body["outputs"] or None,
        }.get(kind)
        if kind == "state_output":
            state = (payload["args"] or {}).get("state")
            if not isinstance(state, str):
                _refuse_payload("args", 'expected {"state": "the name of a state"}')
            result = (body["outputs"].get("stepResults") or {}).get(state)
        names = {"workflow_id": payload["workflow_id"], "run_id": str(run.pk)}
        return Response(names | {"query_type": kind, "result": result})

    def cancel(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Ask the run to stop: 202."""
        run = _run(access, namespace, payload)
        control.request_cancel(run.pk, by=access.actor, reason=payload["reason"])
        return _accepted(payload, run)

    def terminate(self, access: Access, namespace: str, payload: dict[str, Any]) -> Response:
        """Stop the run as :meth:`cancel` does, and remember that it was terminated: 202."""
        run = _run(access, namespace, payload)
        reason = f"{TERMINATED}: {payload['reason']}" if payload["reason"] else TERMINATED
        control.request_cancel(run.pk, by=access.actor, reason=reason)
        return _accepted(payload, run)


def _checked_payload(form: type[Strict], payload: Any) -> dict[str, Any]:
    try:
        return checked(form, payload)
    except serializers.ValidationError as refused:
        raise serializers.ValidationError({"payload": refused.detail}) from None


def _refuse_payload(field: str, message: str) -> NoReturn:
    raise serializers.ValidationError({"payload": {field: [message]}})


def _run(access: Access, namespace: str, payload: dict[str, Any]) -> Execution:
    return run_of(access.customer, namespace, payload["workflow_id"], payload["run_id"])


def _accepted(payload: dict[str, Any], run: Execution) -> Response:
    body = {"workflow_id": payload["workflow_id"], "run_id": str(run.pk)}
    return Response(body, status=status.HTTP_202_ACCEPTED)


def _run_body(run: Execution, namespace: str) -> dict[str, Any]:
    return {
        "workflow_id": name_of(run),
        "run_id": str(run.pk),
        "namespace": namespace,
        "task_queue": TASK_QUEUE,
        "workflow_type": run.workflow.name if run.workflow else run.name,
        "status": status_of(run),
        "start_time": rfc3339(run.started_at or run.created_at),
        "close_time": run.ended_at and rfc3339(run.ended_at),
    }
