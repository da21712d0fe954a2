"""The second place that knows where every chain ends: a signed file in the home, renewed by the clock.

Whoever cuts the tail of a trail in the database, its end row included, contradicts this file. Refuses to move an
anchor back, and to begin a new one where the trail tells of one, since both would hide just such a cut.
"""

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection as django_connection
from django.db import transaction

from workflows.audit import chain
from workflows.audit.recording import record
from workflows.models.audit import INSTALLATION, AuditHead, AuditRecord

log = logging.getLogger(__name__)

Ends = dict[str, tuple[int, str]]  # customer id to (seq, hash)

FIRST, ANEW = "audit.anchored", "audit.anchored_anew"

_HEADS = "SELECT customer_id::text, seq, hash FROM workflows_audithead WHERE seq > 0"


class AnchorError(Exception):
    """The anchor file cannot be read, or was not signed by this installation; the message says which."""


def path() -> Path:
    """Return where the anchor of the database in use is kept."""
    database = quote(str(django_connection.settings_dict["NAME"]), safe="")
    return Path(settings.POIMEN_HOME) / f"audit-anchor-{database}.json"


def read() -> Ends | None:
    """Return the anchored ends, None if there is no anchor yet. Raises :class:`AnchorError`."""
    try:
        kept = json.loads(path().read_text(encoding="utf-8"))
        body, signature = kept["anchor"], kept["signature"]
        is_ours = chain.is_signed(body, signature)
        ends = {str(customer): (int(end["seq"]), str(end["hash"])) for customer, end in body["ends"].items()}
    except FileNotFoundError:
        return None
    except chain.UnknownKey as error:
        raise AnchorError(f"{path()} was signed with a key that is not configured ({error.args[0]})") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnchorError(f"{path()} is not an anchor ({type(error).__name__}: {error})") from error
    if not is_ours:
        raise AnchorError(f"{path()} has a wrong signature: somebody changed it")
    return ends


def anchored_since() -> datetime | None:
    """Return when the trail says that the first anchor was written; None if it never was."""
    rows = AuditRecord.objects.filter(customer_id=INSTALLATION, action__in=(FIRST, ANEW)).order_by("seq")
    return rows.values_list("at", flat=True).first()


def problem() -> str:
    """Return in a sentence why the anchor proves nothing, or what it contradicts; empty if all is well."""
    try:
        known = read()
    except AnchorError as error:
        return str(error)
    if known is None:
        since = anchored_since()
        if since is None:
            return ""
        return (
            f"the audit anchor {path()} is gone, and there was one since {since:%Y-%m-%d %H:%M:%S} UTC: without it a "
            "cut tail would not show. Bring a copy back, or take the ends there are with audit_verify --anchor-anew"
        )
    heads = AuditHead.objects.values_list("customer_id", "seq")
    cut = _cut(known, {str(customer): seq for customer, seq in heads})
    if not cut:
        return ""
    first = min(cut)
    return (
        f"{len(cut)} audit trails end before their anchors, that of customer {first} before record {cut[first][0]}: "
        "run audit_verify"
    )


def renew(connection: Any) -> bool:
    """Write where the chains end now; returns whether there was anything new. Never moves an end back.

    ``connection`` is psycopg's. The first anchor leaves a record in the installation's trail; once that is there, a
    missing file is told and not made again. A file that is unreadable or was tampered with is left as it is, for
    ``audit_verify`` to tell; so is one that cannot be written, until the next time.
    """
    ends: Ends = {row[0]: (row[1], row[2]) for row in connection.execute(_HEADS).fetchall()}
    if told := problem():
        log.error("%s", told)
    try:
        known = read()
    except AnchorError:
        return False
    if known is None and told:
        return False
    known = known or {}
    ends |= _cut(known, {customer: end[0] for customer, end in ends.items()})
    if ends == known:
        return False
    try:
        write(ends)
    except OSError as error:
        log.warning("the audit anchor cannot be written: %s", error)
        return False
    # After the file: who is stopped between the two finds a file without its record, which the next time mends.
    if anchored_since() is None:
        _tell(FIRST)
    return True


def renew_anew() -> None:
    """Anchor the ends there are, whatever was anchored before; the trail tells of it. Raises ``OSError``."""
    _tell(ANEW)
    write({str(head.customer_id): (head.seq, head.hash) for head in AuditHead.objects.filter(seq__gt=0)})


def _cut(known: Ends, ends: Mapping[str, int]) -> Ends:
    """The anchored ends that the chains do not reach."""
    return {customer: end for customer, end in known.items() if ends.get(customer, 0) < end[0]}


def _tell(action: str) -> None:
    with transaction.atomic():
        record(None, action, target=("anchor", path().name), actor="")


def write(ends: Mapping[str, tuple[int, str]]) -> None:
    """Replace the file in one step, on disk before it counts. Raises ``OSError``."""
    body = {
        "ends": {customer: {"seq": seq, "hash": text} for customer, (seq, text) in sorted(ends.items())},
        "writtenAt": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    text = json.dumps({"anchor": body, "signature": chain.sign(body)}, indent=1)
    draft = path().with_name(f".audit-anchor-{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.chmod(0o600)
    draft.replace(path())
