"""A spec as saving a canvas made it, one Parallel of named chains, as its steps and the ways between them.

Owns reading that shape back; refuses every other Parallel, and a condition that cannot be told apart by edge.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_EXISTS = re.compile(r"^\$exists\((?:`([^`]+)`|([A-Za-z_]\w*))\.output\)(?: and \((.*)\))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unfolded:
    """The states of all chains by name, and from each state (None: the start) the ways on with their conditions."""

    states: dict[str, Mapping[str, Any]]
    ways: list[tuple[str | None, str, str]]


def unfold(document: Mapping[str, Any], drawable: tuple[str, ...]) -> Unfolded | None:
    """Return the chains of ``document`` joined again, or None if it is not of that shape.

    ``drawable`` are the types of states that a canvas knows.
    """
    states = document["states"]
    if len(states) != 1 or states[0]["type"] != "Parallel" or "catch" in states[0]:
        return None
    found = Unfolded({}, [])
    tails: dict[str, str] = {}
    branches = states[0]["branches"]
    for branch in branches:
        chain = _chain(branch, drawable)
        if chain is None or found.states.keys() & {state["name"] for state in chain}:
            return None
        found.states.update({state["name"]: state for state in chain})
        found.ways.extend((one["name"], other["name"], "") for one, other in pairwise(chain))
        tails[branch.get("name", "")] = chain[-1]["name"]
    for branch in branches:
        head = branch.get("startAt", branch["states"][0]["name"])
        before = [tails.get(name) for name in branch.get("dependsOn", ())]
        conditions = _conditions(branch.get("when"), before)
        if None in before or conditions is None:
            return None
        found.ways.extend((source, head, conditions.get(source, "")) for source in before or [None])
    return found


def _chain(branch: Mapping[str, Any], drawable: tuple[str, ...]) -> list[Mapping[str, Any]] | None:
    by_name = {state["name"]: state for state in branch["states"]}
    name: str | None = branch.get("startAt", branch["states"][0]["name"])
    chain: list[Mapping[str, Any]] = []
    while name is not None and name in by_name and by_name[name]["type"] in drawable:
        chain.append(by_name.pop(name))
        name = chain[-1].get("next")
    is_whole = not by_name and name is None and bool(chain)
    return chain if is_whole and not any("catch" in state for state in chain) else None


def _conditions(when: object, before: list[str | None]) -> dict[str | None, str] | None:
    """Return the condition of the edge from each source, or None where one cannot be told to be of an edge."""
    if when is None:
        return {}
    if not isinstance(when, str) or not (when.startswith("{%") and when.endswith("%}")):
        return None
    text = when[2:-2].strip()
    if len(before) <= 1:
        source = before[0] if before else None
        exists = _EXISTS.match(text)
        inner = exists.group(3) if exists and (exists.group(1) or exists.group(2)) == source else None
        return {source: inner or text}
    found: dict[str | None, str] = {}
    for term in _terms(text):
        exists = _EXISTS.match(term)
        named = exists.group(1) or exists.group(2) if exists else None
        sources = [s for s in before if s == named] or [s for s in before if s is not None and _reads(term, s)]
        if len(sources) != 1 or sources[0] in found:
            return None
        found[sources[0]] = (exists.group(3) or "") if exists and named == sources[0] else term
    return found


def _reads(term: str, node: str) -> bool:
    return re.search(rf"(?:`{re.escape(node)}`|(?<![\w.`]){re.escape(node)})\.output\b", term) is not None


def _terms(text: str) -> Iterator[str]:
    """Yield what ``(a) or (b)`` joins, without the brackets; all of it where it is no such list."""
    depth, begin, quote = 0, 0, ""
    terms: list[str] = []
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
        elif depth == 0 and text.startswith(" or ", at):
            terms.append(text[begin:at])
            begin = at + len(" or ")
    terms.append(text[begin:])
    if all(term.startswith("(") and term.endswith(")") for term in terms):
        yield from (term[1:-1] for term in terms)
    else:
        yield text
