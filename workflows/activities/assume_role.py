"""AssumeRoleActivity: a token of an authorization server for other activities to use, as a handle that expires.

Refuses servers that the operator has not named, and to send the operator's client secret to any but the first of
them; the token itself is in no output, log or row (contract-activities 9).
"""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal
from urllib.parse import urlencode

from django.conf import settings
from pydantic import Field

from workflows import secrets
from workflows.activities import database, pinned_http
from workflows.activities.context import ActivityContext
from workflows.activities.network_guard import ForbiddenTarget, redact
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS, Fields, counts_at_most
from workflows.errors import ActivityError, PermanentError

SECONDS: Final = 10.0
MOST_ANSWER: Final = 64 * 1024
MOST_TOKEN: Final = 16 * 1024
LONGEST: Final = 86_400  # seconds that a workflow may ask for
MOST_EXPIRY: Final = 366 * 86_400  # seconds that a server may answer
_CODE: Final = re.compile(r"[a-z_]{1,40}")  # OAuth 2's own error codes
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")

# By name, for catch rules and for the reference.
ERRORS = {
    "TokenRefused": "the server gave no token; 4xx is not tried again",
    "ForbiddenTarget": "the server is not one of those in the settings",
    "NotConfigured": "server, client or secret are neither in the input nor in the settings; the message names them",
}


class AssumeRoleInput(Fields):
    """Who to be, to do what."""

    identity: str = Field(
        min_length=1, max_length=255, description="Who the token is for: the subject", examples=["ann"]
    )
    scope: str = Field(
        min_length=1,
        max_length=1000,
        description="What it may be used for: scopes separated by blanks",
        examples=["llm:read llm:write"],
    )
    client_id: str | None = Field(
        default=None,
        max_length=255,
        description="The OAuth client; left out, OAUTH_CLIENT_ID",
        json_schema_extra=TAKES_SECRETS,
    )
    client_secret: str | None = Field(
        default=None,
        max_length=4096,
        description="Its secret, as a secret:<id> handle; left out, OAUTH_CLIENT_SECRET",
        json_schema_extra=TAKES_SECRETS,
    )
    duration_seconds: int = Field(
        default=3600,
        ge=1,
        description="For how long it is asked for; more than 86400 count as 86400",
        json_schema_extra=counts_at_most(LONGEST),
    )
    auth_server_url: str | None = Field(
        default=None,
        max_length=2048,
        description="The server, one of POIMEN_AUTH_SERVERS; left out, AUTH_SERVER_URL",
    )
    encoding: Literal["json", "form"] = Field(
        default="json", description="How the request is written: json, or form as OAuth 2 says"
    )


class AssumeRoleOutput(Fields):
    """The token's handle, and until when it is good."""

    token: str = Field(description="A secret:<id> handle of the token, for the inputs of activities that take secrets")
    expires_at: int = Field(description="When it expires, in seconds since 1970")
    expires_in: int = Field(description="For how many seconds it is good")
    token_type: str = Field(description="How it is used, most often Bearer")


class TokenRefused(ActivityError):
    """The authorization server gave no token."""

    name = "TokenRefused"


@activity(
    "AssumeRoleActivity",
    category="authentication",
    timeout="30s",
    max_attempts=2,
    backoff=1.5,
    notes="The token is a handle that expires with it; put it where a secret may stand: Bearer ${Role.output.token}.",
)
def assume_role(input: AssumeRoleInput, context: ActivityContext) -> AssumeRoleOutput:
    """Gets an access token by client credentials and keeps it as an encrypted secret that expires."""
    server, client_id, client_secret = _client(input)
    duration = min(input.duration_seconds, LONGEST)
    if duration < input.duration_seconds:
        context.warn(f"durationSeconds is {input.duration_seconds}; {LONGEST} is the most, and is asked for")
    request = {
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_secret": client_secret,
        "scope": input.scope,
        "subject": input.identity,
        "duration_seconds": duration,
        "expires_in": duration,
    }
    asked_at = datetime.now(UTC)
    answer = asyncio.run(_asked(server, request, input.encoding))
    token, expires_in, kind = _read(answer, duration, server)
    expires_at = asked_at + timedelta(seconds=expires_in)
    with database.borrowed():
        handle = _kept(token, f"token of {input.identity} for {input.scope}"[:128], expires_at, context)
    context.info(f"token for {input.identity} until {expires_at:%Y-%m-%dT%H:%M:%SZ}", server=redact(server))
    return AssumeRoleOutput(
        token=handle, expires_at=int(expires_at.timestamp()), expires_in=expires_in, token_type=kind
    )


def _client(input: AssumeRoleInput) -> tuple[str, str, str]:
    """Return server, client and secret; raises :class:`PermanentError` naming the field and the setting."""
    own = settings.POIMEN_AUTHORIZATION
    server = (input.auth_server_url or own["server"]).rstrip("/")
    if not server:
        raise _missing("authServerUrl", "AUTH_SERVER_URL")
    if server != own["server"] and server not in own["others"]:
        raise ForbiddenTarget(
            f"authServerUrl: {redact(server)!r} is not among the servers that an operator allows: AUTH_SERVER_URL and "
            "POIMEN_AUTH_SERVERS"
        )
    # The operator's client is known to the operator's server: another one must not get to see its secret.
    is_own = server == own["server"]
    client_id = input.client_id or (own["client_id"] if is_own else "")
    client_secret = input.client_secret or (own["client_secret"] if is_own else "")
    if not client_id:
        raise _missing("clientId", "OAUTH_CLIENT_ID" if is_own else "")
    if not client_secret:
        raise _missing("clientSecret", "OAUTH_CLIENT_SECRET" if is_own else "")
    return server, client_id, client_secret


def _missing(field: str, variable: str) -> PermanentError:
    why = f"and {variable} is not set" if variable else "and that of the settings is not for this server"
    return PermanentError(f"{field}: not provided, {why}", name="NotConfigured")


async def _asked(server: str, request: dict[str, Any], encoding: str) -> Any:
    """Post the request and return the answer's JSON. Errors hold the status and OAuth's code, and no other words."""
    if encoding == "form":
        content, kind = urlencode(request).encode(), "application/x-www-form-urlencoded"
    else:
        content, kind = json.dumps(request).encode(), "application/json"
    target = await pinned_http.checked(f"{server}/oauth/token", field="authServerUrl", is_trusted=True)
    headers = {"Content-Type": kind, "Accept": "application/json", "User-Agent": "poimen"}
    answer = await pinned_http.send_once(
        "POST", target, headers, content, seconds=SECONDS, most_bytes=MOST_ANSWER, shown=redact(server)
    )
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    if answer.status != 200:
        code = body.get("error") if isinstance(body, dict) else None
        told = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
        raise TokenRefused(
            f"{redact(server)} answered {answer.status}{told}", retryable=pinned_http.may_help_again(answer.status)
        )
    return body


def _read(body: Any, duration: int, server: str) -> tuple[str, int, str]:
    """Return token, seconds and type; raises :class:`TokenRefused`, worth another attempt, for what is no answer."""
    shown = redact(server)
    if not isinstance(body, dict):
        raise TokenRefused(f"{shown} answered with something else than a JSON object")
    token, expires_in, kind = body.get("access_token"), body.get("expires_in", duration), body.get("token_type")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or len(token) > MOST_TOKEN:
        raise TokenRefused(f"{shown} answered without a usable access_token")
    if isinstance(expires_in, str) and expires_in.isascii() and expires_in.isdigit() and len(expires_in) < 10:
        expires_in = int(expires_in)
    if isinstance(expires_in, bool) or not isinstance(expires_in, int | float) or not 1 <= expires_in <= MOST_EXPIRY:
        raise TokenRefused(f"{shown} answered with an expires_in that is no number of seconds from 1 to {MOST_EXPIRY}")
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z][\w-]{0,39}", kind) or kind == token:
        kind = "Bearer"
    return token, int(expires_in), kind


def _kept(token: str, name: str, expires_at: datetime, context: ActivityContext) -> str:
    """Store the token, or let the same one live as long as the server says now, and return its handle."""
    customer = context.identity.customer
    known = secrets.equal_secrets(customer, token, name=name).first()
    return secrets.handle_of(secrets.write_secret(customer, token, name=name, expires_at=expires_at, secret=known))
