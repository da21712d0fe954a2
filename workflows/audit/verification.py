"""Proving a trail whole: every record, their order, the end that the database keeps and the one that is anchored.

Reads in batches and changes nothing; stops at the first break of a chain, since nothing after it can be trusted.
"""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from workflows.audit import anchor, chain
from workflows.models.audit import GENESIS, AuditHead, AuditRecord

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one customer's chain: how many records are sound, and where and how it breaks, if it does."""

    customer: UUID
    sound: int
    problem: str = ""


def verify(customer: UUID | None = None) -> Iterator[Finding]:
    """Check the chain of ``customer``, or all there are, the anchored ones too; yields one finding for each.

    Raises :class:`~workflows.audit.anchor.AnchorError` if the anchor itself cannot be trusted.
    """
    anchored = anchor.read() or {}
    if customer is not None:
        chains = {customer}
    else:
        chains = set(AuditHead.objects.values_list("customer_id", flat=True))
        chains |= set(AuditRecord.objects.order_by().values_list("customer_id", flat=True).distinct())
        chains |= {UUID(text) for text in anchored}
    for chain_id in sorted(chains):
        yield verify_chain(chain_id, anchored.get(str(chain_id)))


def verify_chain(customer: UUID, anchored: tuple[int, str] | None = None) -> Finding:
    """Check one chain against its end in the database and, if given, its anchor ``(seq, hash)``."""
    # The end is read first: what is added meanwhile lies behind it.
    head = AuditHead.objects.filter(customer_id=customer).first()
    end, previous = 0, GENESIS
    rows = AuditRecord.objects.filter(customer_id=customer).order_by("seq")
    for row in rows.iterator(chunk_size=_BATCH):
        problem = _problem_of(row, end + 1, previous)
        if not problem and anchored is not None and row.seq == anchored[0] and row.hash != anchored[1]:
            problem = f"record {row.seq} is not the one that was anchored: the chain was written anew"
        if not problem and head is not None and row.seq == head.seq and row.hash != head.hash:
            problem = f"record {row.seq} is not the one that the end of the chain names"
        if problem:
            return Finding(customer, end, problem)
        end, previous = row.seq, row.hash
    known = max(head.seq if head is not None else 0, anchored[0] if anchored is not None else 0)
    if known > end:
        source = "the anchor" if anchored is not None and anchored[0] > end else "the end of the chain"
        return Finding(customer, end, f"records {end + 1} to {known} are missing: {source} knows of record {known}")
    if head is None and end:
        return Finding(customer, end, "the row that tells the end of the chain is missing")
    return Finding(customer, end)


def _problem_of(row: AuditRecord, expected: int, previous: str) -> str:
    if row.seq != expected:
        missing = f"record {expected} is" if row.seq == expected + 1 else f"records {expected} to {row.seq - 1} are"
        return f"{missing} missing"
    if row.previous_hash != previous:
        return f"record {row.seq} does not follow record {expected - 1}: another record was there"
    try:
        is_whole = hmac.compare_digest(row.hash, chain.hash_of({name: getattr(row, name) for name in chain.FIELDS}))
    except chain.UnknownKey:
        return f"record {row.seq} was made with a key that is not configured ({row.key_id})"
    return "" if is_whole else f"record {row.seq} was changed: its hash does not fit its contents"
