"""NotifyStatusActivity: tells people or services how a workflow went, and says whether that arrived.

Refuses to call a message sent that was not: a failed delivery fails the attempt (contract-activities 6).
"""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import AfterValidator, BeforeValidator, Field

from workflows import notifications
from workflows.activities import database, notify_mail, notify_service, pinned_http
from workflows.activities.context import ActivityContext
from workflows.activities.notify_delivery import DELIVERY_SECONDS, DeliveryFailed
from workflows.activities.paths import printable
from workflows.activities.registry import activity, registry
from workflows.activities.shapes import KEEPS_HANDLES, TAKES_SECRETS, Fields
from workflows.errors import ActivityError, Canceled, InvalidInput, PermanentError, WorkflowError
from workflows.models import NotificationRecord, NotificationStatus
from workflows.spec.retry import RetryPolicy

NAME = "NotifyStatusActivity"
MOST_ANSWER = 64 * 1024
SIGNS = {"success": "✅", "failure": "❌", "warning": "⚠️", "info": "ℹ️"}
VARIABLES = {"slack": "SLACK_WEBHOOK_URL", "webhook": "NOTIFICATION_WEBHOOK_URL"}


def _address(text: str) -> str:
    try:
        validate_email(text)
    except ValidationError:
        raise ValueError(f"{printable(text)!r} is not a mail address") from None
    return text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("this is one line of text, without line breaks and control characters")
    return text


def _storable(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


Recipients = Annotated[
    list[Annotated[str, AfterValidator(_address)]],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(max_length=50),
]

# By name, for catch rules and for the reference.
ERRORS = {
    "DeliveryFailed": "it did not arrive; `retryable` for servers that are away, slow or say 408, 425, 429 or 5xx",
    "NotConfigured": "the channel needs a setting that is empty; the message names it",
    "ForbiddenTarget": "the host is in a private network and not in `POIMEN_ALLOWED_PRIVATE_HOSTS`",
}


class NotifyStatusInput(Fields):
    """What to say, how, to whom."""

    channel: str = Field(
        min_length=1,
        max_length=2048,
        description="slack, email or webhook; a mail address; or the apprise address of another service, which holds "
        "its tokens and so belongs in a secret:<id> handle",
        examples=["slack", "email", "team@example.org", "discord://webhook-id/webhook-token"],
        json_schema_extra=TAKES_SECRETS,
    )
    status: Literal["success", "failure", "warning", "info"] = Field(description="How it went")
    message: Annotated[str, AfterValidator(_storable)] = Field(
        min_length=1,
        max_length=20_000,
        description="What people read",
        examples=["The nightly build is done"],
        json_schema_extra=KEEPS_HANDLES,
    )
    to: Recipients | None = Field(
        default=None, description="Mail addresses for the channel email: one, or a list of up to 50"
    )
    subject: Annotated[str, AfterValidator(_one_line), AfterValidator(_storable)] | None = Field(
        default=None,
        max_length=200,
        description="Subject or title; left out, it is made of status and message",
        json_schema_extra=KEEPS_HANDLES,
    )
    url: str | None = Field(
        default=None,
        max_length=8192,
        description="Webhook for the channels slack and webhook, in place of the one in the settings; a secret:<id> "
        "handle where its path is a secret, as Slack's are",
        json_schema_extra=TAKES_SECRETS,
    )
    required: bool = Field(
        default=True,
        description="Whether a notification that cannot be delivered fails the state; if not, the last attempt "
        "succeeds with delivered: false",
    )


class NotifyStatusOutput(Fields):
    """What became of it."""

    notification_id: str = Field(description="Id of the notification's record (UUID)")
    timestamp: str = Field(description="When it was delivered, or given up; RFC 3339")
    delivered: bool = Field(description="Whether it arrived")
    error: str | None = Field(default=None, description="Why it did not arrive, if it did not have to")


@activity(
    NAME,
    category="notification",
    timeout="3m",
    is_flaky=True,
    max_attempts=3,
    backoff=1.5,
    notes="Needs EMAIL_URL for mail; slack and webhook need an address in the settings or the input.",
)
def notify_status(input: NotifyStatusInput, context: ActivityContext) -> NotifyStatusOutput:
    """Sends a message to Slack, mail addresses, a webhook or another service, and fails if it does not arrive."""
    kind, recipients = _destination(input)
    with database.borrowed():
        record = notifications.begin(
            context.identity, channel=kind, recipients=recipients, severity=input.status, message=input.message
        )
    if record.status == NotificationStatus.DELIVERED and record.delivered_at is not None:
        context.info("an earlier attempt was delivered: it is not sent again", notification=str(record.pk))
        return _output(record, record.delivered_at)
    try:
        context.check_cancelled()
        _deliver(kind, input, record)
    except WorkflowError as error:
        return _undelivered(input, record, error, context)
    with database.borrowed():
        at = notifications.delivered(record)
    context.info(f"notification delivered by {kind}", notification=str(record.pk), recipients=recipients)
    return _output(record, at)


def _destination(input: NotifyStatusInput) -> tuple[str, Sequence[str]]:
    """Return the kind of channel and who is reached by it, as people may see it; raises :class:`InvalidInput`."""
    channel = input.channel.strip()
    if channel.lower() in VARIABLES:
        kind = channel.lower()
        return kind, [_host(input.url) if input.url else VARIABLES[kind]]
    if input.url is not None:
        raise InvalidInput("url: only the channels slack and webhook take one")
    if channel.lower() == "email":
        if not input.to:
            raise InvalidInput("to: the channel email needs the addresses to send to")
        return "email", list(dict.fromkeys(input.to))
    if "://" in channel:
        return notify_service.known(channel)
    if "@" in channel:
        try:
            return "email", list(dict.fromkeys([_address(channel), *(input.to or ())]))
        except ValueError as error:
            raise InvalidInput(f"channel: {error}") from None
    raise InvalidInput(
        f"channel: {printable(channel)!r} is none; use slack, email, webhook, a mail address, or the apprise address "
        "of another service"
    )


def _deliver(kind: str, input: NotifyStatusInput, record: NotificationRecord) -> None:
    title = input.subject or _title(input)
    if kind == "email":

        def arrived(recipient: str) -> None:
            with database.borrowed():
                notifications.arrived(record, recipient)

        missing = [recipient for recipient in record.recipients if recipient not in record.delivered_to]
        notify_mail.send(record.pk, missing, title, input.message, arrived)
    elif kind == "slack":
        text = f"{SIGNS[input.status]} *{input.status}*: {_for_slack(input.message)}"
        status = _post(kind, input.url, {"text": text}, record)
        if status != 200:
            raise _refused("Slack", status)
    elif kind == "webhook":
        body = {
            "channel": kind,
            "status": input.status,
            "message": input.message,
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "notificationId": str(record.pk),
        }
        status = _post(kind, input.url, body, record)
        if status >= 300:
            raise _refused("the webhook", status)
    else:
        notify_service.send(input.channel.strip(), title, input.message, input.status)


def _post(kind: str, url: str | None, body: dict[str, Any], record: NotificationRecord) -> int:
    """Post JSON to the webhook and return the status; never follows redirects. Errors name no path: it is a secret."""
    address = url or settings.POIMEN_WEBHOOKS[kind]
    if not address:
        raise PermanentError(
            f"url: not provided, and {VARIABLES[kind]} is not set: there is nowhere to send it", name="NotConfigured"
        )
    shown = f"the webhook at {_host(address)}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "poimen",
        "Accept": "*/*",
        "Idempotency-Key": str(record.pk),
    }

    async def post() -> int:
        target = await pinned_http.checked(address, is_trusted=url is None)
        answer = await pinned_http.send_once(
            "POST", target, headers, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            seconds=DELIVERY_SECONDS, most_bytes=MOST_ANSWER, shown=shown,
        )  # fmt: skip
        return answer.status

    try:
        return asyncio.run(post())
    except (ActivityError, PermanentError) as error:
        raise DeliveryFailed(error.message, name=_name(error), retryable=error.retryable) from None


def _undelivered(
    input: NotifyStatusInput, record: NotificationRecord, error: WorkflowError, context: ActivityContext
) -> NotifyStatusOutput:
    """Note the failure; raise it, unless the notification is not required and no other attempt follows."""
    with database.borrowed():
        notifications.failed(record, error.message)
        policy = notifications.policy_of(context.identity)
    if input.required or isinstance(error, Canceled | InvalidInput):
        raise error
    known = registry.get(NAME)
    policy = policy or RetryPolicy(max_attempts=known.max_attempts)
    if policy.allows(error, context.identity.attempt):
        raise error
    context.warn(f"not delivered, and not required to be: {error.message}", notification=str(record.pk))
    return _output(record, datetime.now(UTC), error.message)


def _output(record: NotificationRecord, at: datetime, error: str | None = None) -> NotifyStatusOutput:
    return NotifyStatusOutput(
        notification_id=str(record.pk),
        timestamp=at.isoformat(timespec="seconds"),
        delivered=error is None,
        error=error,
    )


def _refused(who: str, status: int) -> DeliveryFailed:
    moved = " with a redirect, which is not followed" if 300 <= status < 400 else ""
    return DeliveryFailed(f"{who} answered {status}{moved}", retryable=pinned_http.may_help_again(status))


def _name(error: WorkflowError) -> str:
    return error.name if error.name not in (ActivityError.name, PermanentError.name) else DeliveryFailed.name


def _host(url: str) -> str:
    try:
        return printable(urlsplit(url).hostname or "no host", 100)
    except ValueError:
        return "no host"


def _for_slack(text: str) -> str:
    """Text in which Slack sees no links, mentions or entities of ours or anybody's."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _title(input: NotifyStatusInput) -> str:
    lines = input.message.split("\n", 1)
    return printable(f"{input.status}: {lines[0].strip()}", 120)
