"""How things look in the admin: statuses by sign and word, moments, durations, JSON, links. Secrets are masked."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workflows import secrets
from workflows.models import Execution
from workflows.spec.durations import format_duration
from workflows.terminal_text import plain

MOST_TEXT = 20_000
NOTHING = "–"

_SIGNS = {
    "pending": "○", "ready": "○", "blocked": "·", "queued": "·", "running": "▸", "waiting": "◔", "paused": "‖",
    "held": "‖", "success": "✓", "approved": "✓", "failed": "✗", "rejected": "✗", "cancelled": "⊘", "skipped": "–",
    "timed_out": "◷", "expired": "◷", "interrupted": "↯", "active": "✓",
    "delivered": "✓", "sending": "▸",
    "revoked": "⊘", "started": "▸", "ended": "⊘",
}  # fmt: skip


def status(value: str) -> SafeString:
    """Return a status as sign and word; the colour comes from the stylesheet."""
    return format_html(
        '<span class="status status-{}"><span aria-hidden="true">{}</span> {}</span>',
        value.replace("_", "-"),
        _SIGNS.get(value, "·"),
        value.replace("_", " "),
    )


def level(value: str) -> SafeString:
    """Return a log level as a coloured word."""
    return format_html('<span class="level level-{}">{}</span>', value, value)


def pretty(value: Any) -> SafeString:
    """Return JSON for reading: indented, masked, and cut after 20,000 characters."""
    if value is None:
        return format_html('<span class="quiet">{}</span>', NOTHING)
    text = json.dumps(secrets.mask(value), indent=2, ensure_ascii=False, default=str)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}\n… {len(text) - MOST_TEXT:,} more characters; the REST API has them all"
    return format_html('<pre class="json" tabindex="0">{}</pre>', text)


def short(value: Any, most: int = 80) -> str:
    """Return JSON on one line, masked, and cut."""
    if value is None:
        return ""
    value = plain(value) if isinstance(value, str) else value
    text = json.dumps(secrets.mask(value), ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def moment(value: datetime | None) -> SafeString | str:
    """Return a moment to the second, UTC."""
    if value is None:
        return NOTHING
    text = value.astimezone(UTC)
    return format_html('<time datetime="{}">{}</time>', text.isoformat(), text.strftime("%Y-%m-%d %H:%M:%S"))


def lasted(start: datetime | None, end: datetime | None) -> str:
    """Return the time between two moments, or up to now for what has not ended."""
    if start is None:
        return NOTHING
    length = (end or datetime.now(UTC)) - start
    exact = length < timedelta(minutes=1)
    return format_duration(max(length if exact else timedelta(seconds=round(length.total_seconds())), timedelta(0)))


def remaining(until: datetime) -> SafeString:
    """Return how long something is still open, which ``admin.js`` counts down; the moment itself on hover."""
    left = until - datetime.now(UTC)
    minutes = int(left.total_seconds() // 60)
    if left <= timedelta(0):
        text, urgency = "is over", "over"
    elif minutes < 1:
        text, urgency = "under a minute", "soon"
    elif minutes < 60:
        text, urgency = f"{minutes} min", "soon" if minutes < 10 else "calm"
    elif minutes < 48 * 60:
        text, urgency = f"{minutes // 60} h {minutes % 60:02} min", "calm"
    else:
        text, urgency = f"{minutes // (24 * 60)} days", "calm"
    title = until.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    at = until.astimezone(UTC).isoformat(timespec="seconds")
    tag = '<span class="remaining remaining-{}" data-until="{}" title="{}">{}</span>'
    return format_html(tag, urgency, at, title, text)


def page_of(name: str, pk: Any, text: str) -> SafeString:
    """Return a link to the admin page of a row of the model ``name``."""
    return format_html('<a href="{}">{}</a>', reverse(f"admin:workflows_{name}_change", args=[pk]), text)


def list_of(name: str, text: str, **filters: Any) -> SafeString:
    """Return a link to the filtered admin list of the model ``name``."""
    url = reverse(f"admin:workflows_{name}_changelist")
    return format_html('<a href="{}?{}">{}</a>', url, urlencode(filters), text)


def execution(row: Execution) -> SafeString:
    """Return a link to an execution: its name and the end of its id, which tells runs of one workflow apart."""
    return page_of("execution", row.pk, f"{row.name} …{str(row.pk)[-6:]}")
