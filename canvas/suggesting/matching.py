"""Connections found without a model: an output whose name and type are those of an input that nothing gives yet.

Owns how sure each kind of match is. Refuses to guess at meanings: names must be equal, or the activities must say of
themselves that one depends on the other.
"""

import re
from collections.abc import Iterator

from canvas.catalogue import ANY, KnownActivity, fits
from canvas.nodes import Node
from canvas.suggesting.drawn import Drawn, Ways
from canvas.suggesting.reviewing import Proposal

ONLY_MATCH, ONE_OF_SEVERAL, DEPENDENCY, OPTIONAL = 0.95, 0.8, 0.75, 0.5
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def match(drawn: Drawn) -> list[Proposal]:
    """Return a connection for every required input that another node could give, in drawing order of the targets.

    Of several nodes that give it the nearest to the left is taken. An activity is also connected to those it depends
    on; one that requires nothing, and that nothing was found for, may be matched by an input it can do without.
    """
    ways = Ways(drawn.edges)
    producers: dict[str, list[tuple[Node, KnownActivity]]] = {}
    for node in drawn.activities:
        if (activity := drawn.activity_of(node)) is not None:
            for name in activity.outputs:
                producers.setdefault(name, []).append((node, activity))
    found: list[Proposal] = []
    for node in drawn.activities:
        takes = drawn.activity_of(node)
        if takes is None:
            continue
        for proposal in _matches(drawn, ways, node, takes, producers):
            ways.add(proposal.source, proposal.target)
            found.append(proposal)
    return found


def _matches(
    drawn: Drawn,
    ways: Ways,
    node: Node,
    takes: KnownActivity,
    producers: dict[str, list[tuple[Node, KnownActivity]]],
) -> Iterator[Proposal]:
    declared = (drawn.start.config or {}) if drawn.start is not None else {}
    missing = [name for name in takes.required if name not in (node.config or {}) and name not in declared]
    for name in missing:
        yield from _by_name(drawn, ways, node, takes, name, producers, is_required=True)
    for dependency in takes.info.dependencies:
        before = ways.before(node.id)
        runs_it = [other for other in drawn.activities if other.activity == dependency and other is not node]
        if any(other.id in before for other in runs_it):
            continue
        free = [other for other in runs_it if not ways.leads(node.id, other.id)]
        if free:
            other = min(free, key=lambda one: drawn.distance(one.id, node.id))
            yield _depends(other, node, takes)
    if not takes.required and not ways.has_way_in(node.id) and not ways.has_way_out(node.id):
        for name in takes.inputs:
            if name not in (node.config or {}):
                proposals = list(_by_name(drawn, ways, node, takes, name, producers, is_required=False))
                if proposals:
                    yield proposals[0]
                    return


def _by_name(
    drawn: Drawn,
    ways: Ways,
    node: Node,
    takes: KnownActivity,
    name: str,
    producers: dict[str, list[tuple[Node, KnownActivity]]],
    *,
    is_required: bool,
) -> Iterator[Proposal]:
    giving = [
        (other, gives)
        for other, gives in producers.get(name, ())
        if other is not node and gives.outputs[name] and fits(gives.outputs[name], takes.inputs.get(name, ANY))
    ]
    before = ways.before(node.id)
    if any(other.id in before for other, _ in giving):
        return
    free = [pair for pair in giving if not ways.leads(node.id, pair[0].id)]
    if not free:
        return
    other, gives = min(free, key=lambda pair: drawn.distance(pair[0].id, node.id))
    kind = " or ".join(sorted(gives.outputs[name]))
    confidence = (ONLY_MATCH if len(free) == 1 else ONE_OF_SEVERAL) if is_required else OPTIONAL
    several = "" if len(free) == 1 else f"; of {len(free)} nodes that give it, this one is nearest"
    yield Proposal(
        other.id,
        node.id,
        label=f"{_short(gives)} outputs {name} → {_short(takes)} {'requires' if is_required else 'takes'} {name}",
        wording={
            "verb": "outputs",
            "source_output": f"{name} ({kind})",
            "target_input": f"{name} ({kind}{', required' if is_required else ''})",
            "connection_type": "direct-map",
            "semantic_match": f'Both call it "{name}", and its type is {kind}{several}',
        },
        confidence=confidence,
    )


def _depends(source: Node, target: Node, takes: KnownActivity) -> Proposal:
    words = {word.lower()[:6] for word in _WORDS.findall(source.activity.removesuffix("Activity"))}
    field = next(
        (
            name
            for name, types in takes.inputs.items()
            if "object" in types and words & {word.lower()[:6] for word in _WORDS.findall(name)}
        ),
        "",
    )
    hint = f'; set "{field}" to ${{{source.id}.output}}' if field else ""
    short = source.activity.removesuffix("Activity")
    return Proposal(
        source.id,
        target.id,
        label=f"{short} outputs its result → {_short(takes)} builds on it",
        wording={
            "verb": "outputs",
            "source_output": "the whole output (object)",
            "target_input": f"{field} (object)" if field else "what it depends on",
            "connection_type": "direct-map",
            "semantic_match": f"{takes.name} says that it comes after {source.activity}{hint}",
        },
        confidence=DEPENDENCY,
    )


def _short(activity: KnownActivity) -> str:
    return activity.name.removesuffix("Activity")
