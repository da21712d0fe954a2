"""The second place that knows where every chain ends: a signed file in the home, renewed by the clock.

Whoever cuts the tail of a trail in the database, its end row included, contradicts this file. Refuses to move an
anchor back, since that would hide just such a cut.
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

from workflows.audit import chain

log = logging.getLogger(__name__)

Ends = dict[str, tuple[int, str]]  # customer id to (seq, hash)

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


def renew(connection: Any) -> bool:
    """Write where the chains end now; returns whether there was anything new. Never moves an end back.

    ``connection`` is psycopg's. A file that is unreadable or was tampered with is left as it is, for
    ``audit_verify`` to tell; so is one that cannot be written, until the next time.
    """
    ends: Ends = {row[0]: (row[1], row[2]) for row in connection.execute(_HEADS).fetchall()}
    try:
        known = read() or {}
    except AnchorError as error:
        log.error("the audit anchor is not renewed: %s", error)
        return False
    cut = {customer: end for customer, end in known.items() if ends.get(customer, (0, ""))[0] < end[0]}
    if cut:
        first = min(cut)
        log.error(
            "%d audit trails end before their anchors, that of customer %s before record %d: run audit_verify",
            len(cut), first, cut[first][0],
        )  # fmt: skip
    ends |= cut
    if ends == known:
        return False
    try:
        write(ends)
    except OSError as error:
        log.warning("the audit anchor cannot be written: %s", error)
        return False
    return True


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
