"""What may be asked of executions, specs and gates: each act once, as REST and the command line do it.

Takes bodies as they were sent, checks them, and gives what REST answers; refuses with the errors of the API. Whether
somebody may act at all is for the caller, who knows how they came in (:func:`workflows.access.refuse_lesser`).
"""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from rest_framework import serializers
from rest_framework.exceptions import APIException, PermissionDenied, ValidationError

from workflows import approvals, control, reruns, submission
from workflows.access import Access
from workflows.api.execution_reading import read_execution
from workflows.api.executions import execution_body, own_execution_in
from workflows.api.gates import own_gate_body, own_gate_in
from workflows.api.requests import (
    APPROVAL,
    MAX_PRIORITY,
    Conflict,
    JsonObject,
    JsonValue,
    Reason,
    Strict,
    Text,
    Unprocessable,
    WholeNumber,
    checked,
    explained,
    not_found,
)
from workflows.errors import LimitExceeded
from workflows.models import Execution
from workflows.sent_specs import SpecNotValid, start_spec
from workflows.spec.report import counted

Body = dict[str, Any]


class SpecStart(Strict):
    """A spec to run."""

    spec = JsonObject()
    inputs = JsonObject(required=False, allow_null=True, default=None)
    priority = WholeNumber(min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY, default=0)


class SignalBody(Strict):
    """A signal; sent twice with one ``dedupeKey`` it arrives once."""

    name = Text(max_length=128)
    payload = JsonValue(required=False, allow_null=True, default=None)
    dedupeKey = Text(required=False, max_length=255, default=None)  # noqa: N815


class RerunBody(Strict):
    """Where to start again, one of the states that GET lists; left out: from the beginning."""

    fromState = Text(required=False, max_length=128, default=None)  # noqa: N815


def run_spec(access: Access, sent: Any, key: str | None) -> tuple[Body, bool]:
    """Start ``{spec, inputs?, priority?}``; returns the execution and whether it is new (idempotency ``key``).

    Raises 400 for fields, 409 for a key that was used for something else, 422 with the problems of the spec.
    """
    body = checked(SpecStart, sent)
    try:
        execution, is_new = start_spec(
            body["spec"],
            access.customer,
            inputs=body["inputs"] or {},
            priority=body["priority"],
            idempotency_key=key,
            by=access.actor,
        )
    except SpecNotValid as refused:
        raise as_unprocessable(refused) from None
    except submission.IdempotencyConflict as conflict:
        raise Conflict(f"{conflict}.") from None
    except LimitExceeded as refused:
        raise ValidationError({"inputs": [refused.message]}) from None
    return execution_body(execution), is_new


def ask(request_it: Callable[..., Execution], access: Access, execution_id: str, sent: Any) -> Body:
    """Ask with ``{reason?}`` for what ``request_it`` of :mod:`workflows.control` does; returns the execution as it is.

    Raises 400, 404, and 409 if it cannot be done now.
    """
    pk = own_execution_in(execution_id, access.customer)
    reason = checked(Reason, sent)["reason"]
    try:
        request_it(pk, by=access.actor, reason=reason)
    except control.NotPossible as error:
        raise Conflict(str(error)) from error
    return read_execution(access.customer.pk, pk, lines=0)


def send_signal(access: Access, execution_id: str, sent: Any) -> Body:
    """Send ``{name, payload?, dedupeKey?}``; returns ``{id, name, new}``. Raises as :func:`ask`."""
    pk = own_execution_in(execution_id, access.customer)
    body = checked(SignalBody, sent)
    if body["name"].startswith(approvals.SIGNAL_PREFIX):
        raise ValidationError({"name": ["approvals are decided by vote, not by signal: POST /approvals/{id}/approve"]})
    try:
        signal, is_new = control.send_signal(
            pk, body["name"], body["payload"], dedupe_key=body["dedupeKey"], by=access.actor
        )
    except control.NotPossible as error:
        raise Conflict(str(error)) from error
    return {"id": str(signal.pk), "name": signal.name, "new": is_new}


def rerun_choices(access: Access, execution_id: str) -> Body:
    """Return ``{states}``: what ``fromState`` of :func:`rerun` may be. Raises 404."""
    pk = own_execution_in(execution_id, access.customer)
    return {"states": reruns.states_to_rerun_from(Execution.objects.select_related("spec").get(pk=pk))}


def rerun(access: Access, execution_id: str, sent: Any, key: str | None) -> tuple[Body, bool]:
    """Run again with ``{fromState?}``; returns the new execution and whether it is new. Raises as :func:`ask`."""
    pk = own_execution_in(execution_id, access.customer)
    state = checked(RerunBody, sent)["fromState"]
    try:
        execution, is_new = reruns.rerun_once(pk, from_state=state, idempotency_key=key, by=access.actor)
    except (reruns.NotRerunnable, submission.IdempotencyConflict) as error:
        raise Conflict(str(error)) from error
    return execution_body(execution), is_new


def vote(access: Access, user: User | AnonymousUser, gate_id: str, sent: Any, *, approve: bool) -> Body:
    """Count the vote of ``user`` with ``{reason?}``; returns the gate as it is then.

    Raises 400 for a rejection without a reason, 403, 404, and 409 once it has been decided or ``user`` has voted.
    """
    pk = own_gate_in(gate_id, access.customer)
    reason = checked(Reason, sent)["reason"]
    try:
        approvals.vote(pk, user, approve=approve, reason=reason)
    except approvals.VoteRefused as refused:
        raise _as_api_error(refused) from refused
    return own_gate_body(access.customer, pk)


def as_unprocessable(refused: SpecNotValid) -> Unprocessable:
    """Return the 422 whose ``details`` lists the problems, errors first."""
    problems: list[Any] = [problem.as_json() for problem in refused.report.problems]
    error = f"the spec has {counted(len(refused.report.errors), 'error')}"
    return explained(Unprocessable(), error, problems)


def _as_api_error(refused: approvals.VoteRefused) -> APIException:
    match refused.code:
        case "unknown":
            return not_found(APPROVAL)
        case "not-allowed":
            return PermissionDenied(str(refused))
        case "reason":
            return serializers.ValidationError({"reason": [str(refused)]})
        case "decided" | "expired" | "voted":
            return Conflict(str(refused))
