"""How pages show things: statuses by icon and word, moments, spans of time, JSON. It refuses to show secrets."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django import template
from django.contrib.staticfiles.storage import staticfiles_storage
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workflows import secrets
from workflows.spec.durations import format_duration
from workflows.terminal_text import plain as without_sequences

register = template.Library()

MOST_TEXT = 50_000
NOTHING = "–"
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))

# Which symbol of static/ui/icons.svg stands for a status, and which of the five tones it has.
_LOOKS = {
    "pending": ("circle", "idle"), "ready": ("circle", "busy"), "blocked": ("circle", "idle"),
    "queued": ("circle", "idle"), "running": ("running", "busy"), "waiting": ("clock", "wait"),
    "paused": ("pause", "wait"), "held": ("pause", "wait"), "success": ("check", "good"), "approved": ("check", "good"),
    "failed": ("cross", "bad"), "rejected": ("cross", "bad"), "timed_out": ("expired", "bad"),
    "expired": ("expired", "bad"), "interrupted": ("bolt", "bad"), "cancelled": ("slash", "idle"),
    "skipped": ("slash", "idle"), "draft": ("pencil", "wait"), "active": ("check", "good"),
    "archived": ("slash", "idle"), "ended": ("slash", "idle"), "started": ("running", "busy"),
}  # fmt: skip


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw a symbol of ``static/ui/icons.svg``; words beside it say what it means."""
    sheet = staticfiles_storage.url("ui/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', sheet, name)


@register.simple_tag
def status(value: str) -> SafeString:
    """Say a status by icon, word and colour."""
    symbol, tone = _LOOKS.get(value, ("circle", "idle"))
    return format_html('<span class="status tone-{}">{}{}</span>', tone, icon(symbol), value.replace("_", " "))


@register.filter
def plain(value: Any) -> str:
    """Return what a program or a person wrote, without terminal control sequences."""
    return without_sequences(str(value))


@register.filter
def tone(value: str) -> str:
    """Return the tone of a status: good, bad, busy, wait or idle."""
    return _LOOKS.get(value, ("circle", "idle"))[1]


@register.filter
def moment(value: datetime | None) -> SafeString | str:
    """Say a moment as UTC, to the second; the page's script adds how long ago that is."""
    if value is None:
        return NOTHING
    text = value.astimezone(UTC)
    return _time("<time", text, text.strftime("%d %b %H:%M:%S"))


@register.filter
def ago(value: datetime | None) -> SafeString | str:
    """Say how long ago a moment was, or how far ahead; the moment itself on hover. The page's script keeps it true."""
    if value is None:
        return NOTHING
    text = value.astimezone(UTC)
    return _time("<time data-relative", text, relative(datetime.now(UTC) - text))


@register.filter
def ahead(value: datetime | None) -> SafeString | str:
    """Say how far ahead a moment is that is still to come, ``due now`` once it is there."""
    if value is None:
        return NOTHING
    text = value.astimezone(UTC)
    said = relative(datetime.now(UTC) - text)
    return _time("<time data-relative=ahead", text, "due now" if said == "just now" else said)


def _time(tag: str, at: datetime, shown: str) -> SafeString:
    return format_html(
        tag + ' datetime="{}" title="{} UTC">{}</time>',
        at.isoformat(timespec="milliseconds"),
        at.strftime("%Y-%m-%d %H:%M:%S"),
        shown,
    )


def relative(age: timedelta) -> str:
    """Return ``just now``, ``5 min ago``, ``in 1 h 29 min``: what is past in one unit, what is ahead in two."""
    seconds = int(abs(age.total_seconds()))
    if seconds < 5:
        return "just now"
    place = next(place for place, (size, _) in enumerate(_UNITS) if seconds >= size)
    size, unit = _UNITS[place]
    text = f"{seconds // size} {unit}"
    if age > timedelta(0):
        return f"{text} ago"
    if seconds >= 3600:  # minutes matter to a person who must decide within two hours; seconds to nobody
        size, unit = _UNITS[place + 1]
        rest = seconds % _UNITS[place][0] // size
        text += f" {rest} {unit}" if rest else ""
    return f"in {text}"


@register.filter
def spoken(length: timedelta) -> str:
    """Say a span of time: milliseconds below a second, tenths below ten."""
    if length < timedelta(seconds=1):
        return f"{round(length / timedelta(milliseconds=1))}ms"
    digits = None if length >= timedelta(seconds=10) else 1
    return format_duration(timedelta(seconds=round(length.total_seconds(), digits)))


@register.simple_tag
def lasted(start: datetime | None, end: datetime | None) -> SafeString | str:
    """Say the time between two moments; of what has not ended, up to now, and the page's script counts on."""
    if start is None:
        return NOTHING
    text = spoken(max((end or datetime.now(UTC)) - start, timedelta(0)))
    if end is not None:
        return text
    return format_html('<span data-since="{}">{}</span>', start.astimezone(UTC).isoformat(), text)


@register.filter
def pretty(value: Any) -> SafeString:
    """Show JSON for reading: indented, masked, cut after 50,000 characters."""
    if value is None:
        return format_html('<p class="quiet">{}</p>', "none")
    text = json.dumps(secrets.mask(value), indent=2, ensure_ascii=False, default=str)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}\n… {len(text) - MOST_TEXT:,} more characters; the REST API has them all"
    return format_html('<pre class="json" tabindex="0">{}</pre>', text)


@register.filter
def short_id(value: Any) -> str:
    """Return the end of an id, which tells runs of one workflow apart."""
    return f"…{str(value)[-6:]}"
