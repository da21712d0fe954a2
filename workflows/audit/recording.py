"""Adding a record: in the caller's transaction, after what it tells about, so that both are there or neither is.

Writers of one customer take turns by locking the row of its chain's end, which they hold until they commit: so call
this last. Refuses to run outside a transaction.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from workflows import secrets
from workflows.audit.chain import FIELDS, current_key_id, details_text, hash_of
from workflows.audit.origin import current, kind_of
from workflows.models.audit import GENESIS, INSTALLATION
from workflows.prepared_queries import prepared_cursor

MAX_TEXT = 300
MAX_DETAILS = 20_000  # characters

_LOCK = "SELECT seq, hash FROM workflows_audithead WHERE customer_id = %s FOR UPDATE"
_BEGIN = (
    "INSERT INTO workflows_audithead (customer_id, seq, hash) VALUES (%s, 0, %s) ON CONFLICT (customer_id) DO NOTHING"
)
_ADD = f"""
WITH head AS (
    UPDATE workflows_audithead SET seq = %(seq)s, hash = %(hash)s WHERE customer_id = %(customer_id)s
)
INSERT INTO workflows_auditrecord ({", ".join(FIELDS)}, hash)
VALUES ({", ".join(f"%({name})s" for name in FIELDS)}, %(hash)s)
"""  # noqa: S608 - the names are ours, the values are parameters


def record(
    customer: UUID | None,
    action: str,
    *,
    target: tuple[str, Any],
    actor: str | None = None,
    execution: UUID | None = None,
    workflow: UUID | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add to the customer's trail (None: the installation's) that ``actor`` did ``action`` to ``target``.

    ``actor`` is a user name, by default of who sent the request that is being answered; empty for Poimen itself.
    ``target`` is ``(kind, id)``; secret-named values in ``details`` are masked. Raises ``TransactionManagementError``
    outside a transaction.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("an act and its audit record are one transaction: use atomic()")
    chain, origin = customer or INSTALLATION, current()
    who = origin.actor if actor is None else actor
    text = details_text(secrets.mask(dict(details or {})))
    if len(text) > MAX_DETAILS:
        text = details_text({"omitted": f"{len(text)} characters of details"})
    with prepared_cursor() as cursor:
        seq, previous = _locked_end(cursor, chain)
        values: dict[str, Any] = {
            "customer_id": chain,
            "seq": seq + 1,
            "at": datetime.now(UTC),
            "actor": _kept(who),
            "actor_kind": kind_of(who).value,
            "action": action,
            "target_kind": target[0],
            "target_id": _kept(target[1]),
            "execution_id": execution,
            "workflow_id": workflow,
            "details": text,
            "request_id": _kept(origin.request_id),
            "key_id": current_key_id(),
            "previous_hash": previous,
        }
        cursor.execute(_ADD, values | {"hash": hash_of(values)})


def _locked_end(cursor: Any, chain: UUID) -> tuple[int, str]:
    """Lock the end of the chain and return its number and hash; a chain begins with its first record."""
    cursor.execute(_LOCK, (chain,))
    row = cursor.fetchone()
    if row is None:
        cursor.execute(_BEGIN, (chain, GENESIS))
        cursor.execute(_LOCK, (chain,))
        row = cursor.fetchone()
    return int(row[0]), str(row[1])


def _kept(value: Any) -> str:
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()[:MAX_TEXT]
