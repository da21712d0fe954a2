"""Where control goes from state to state: array order, ``next``, catches and choices, as the engine follows them.

Owns the one reading of array order (contract-workflow-spec 6); says nothing about whether a spec is right.
"""

from collections.abc import Sequence

from workflows.spec import schema


def uses_next(states: Sequence[schema.AnyState]) -> bool:
    """Whether any state of the list has a ``next`` of its own, which turns array order off for the whole list."""
    return any(getattr(state, "next", None) is not None for state in states)


def next_of(states: Sequence[schema.AnyState], index: int) -> str | None:
    """Return the name of the state that follows ``states[index]`` when it is done, or None where the list ends.

    ``Choice`` picks its own way, ``Fail`` and ``Succeed`` end: None for all three. A state with neither ``next`` nor
    ``end`` goes to the next of the array if no state of this list uses ``next``, else it ends the list.
    """
    state = states[index]
    if isinstance(state, schema.ChoiceState | schema.FailState | schema.SucceedState) or state.end:
        return None
    if state.next is not None:
        return state.next
    if index + 1 < len(states) and not uses_next(states):
        return states[index + 1].name
    return None


def next_map(states: Sequence[schema.AnyState]) -> dict[str, str | None]:
    """Return :func:`next_of` for every state of the list by name, in one pass."""
    in_array_order = not uses_next(states)
    following: dict[str, str | None] = {}
    for index, state in enumerate(states):
        if isinstance(state, schema.ChoiceState | schema.FailState | schema.SucceedState) or state.end:
            following[state.name] = None
        elif state.next is not None:
            following[state.name] = state.next
        elif in_array_order and index + 1 < len(states):
            following[state.name] = states[index + 1].name
        else:
            following[state.name] = None
    return following


def start_of(states: Sequence[schema.AnyState], start_at: str | None) -> str:
    """Return the name of the state a list starts with: ``start_at``, else the first of the array."""
    return start_at if start_at is not None else states[0].name
