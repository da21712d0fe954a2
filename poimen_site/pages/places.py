"""Where in its workflow a branch of a run is, in words: which item of which Map, which branch of which Parallel."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from workflows.models import Branch

MOST = 200  # branches in one question


@dataclass(frozen=True, slots=True)
class Place:
    """``short`` stands behind a state's name: ``[3] left``; ``whole`` is ``Each[3]/Fan/left``. Root: both are ""."""

    short: str
    whole: str


def places_of(execution: UUID, branches: Iterable[UUID]) -> dict[UUID, Place]:
    """Return where up to :data:`MOST` branches of the execution are, without ids it does not have (two queries)."""
    columns = ("pk", "ancestors", "body", "name", "index")
    own = Branch.objects.filter(execution=execution)
    found = {row[0]: row for row in own.filter(pk__in=list(branches)[:MOST]).values_list(*columns)}
    above = {pk for row in found.values() for pk in row[1]} - found.keys()
    known = found | {row[0]: row for row in own.filter(pk__in=above).values_list(*columns)}
    return {pk: _place([known[step] for step in (*row[1], pk) if step in known]) for pk, row in found.items()}


def _place(chain: list[tuple[UUID, list[UUID], str, str, int]]) -> Place:
    """Told from the outermost branch inwards."""
    short, whole, outer = [], [], ""
    for _, _, body, name, index in sorted(chain, key=lambda row: len(row[2])):
        if not body:
            continue
        state = body.removeprefix(outer).strip("/").rpartition("/")[0]
        is_item = body.endswith("/*")
        short.append(f"[{index}]" if is_item else name)
        whole.append(f"{state}[{index}]" if is_item else f"{state}/{name}")
        outer = body
    return Place(" ".join(short), "/".join(whole))
