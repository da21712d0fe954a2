"""Who did what: records in the transaction of the act, chained by keyed hashes, and the proof that none is missing.

Refuses to change or remove a record. Source: subsystem-audit.
"""

from workflows.audit.origin import Origin, bound, current
from workflows.audit.recording import record

__all__ = ["Origin", "bound", "current", "record"]
