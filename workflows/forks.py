"""How a rerun begins inside Parallels: which branches are taken over, which run again, and what is written for both.

Plans in memory, then writes in the caller's transaction; a worker meets branches as if the engine had made them.
Refuses to decide what may be rerun: that is ``reruns``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from workflows.engine.json_text import dumps
from workflows.engine.program import Order, Program
from workflows.identifiers import new_id
from workflows.spec import limits, schema

_KEPT: Final = ("success", "skipped")
_OVER: Final = ("success", "skipped", "failed", "cancelled")
_ALL_VISITS: Final = 2**31 - 1
_NAMED: Final = 5
_LISTED: Final = 100

_INSERT_BRANCHES: Final = """
INSERT INTO workflows_branch (id, execution_id, customer_id, parent_id, parent_visit, parent_attempt, body, name,
    index, ancestors, depends_on, depth, status, stop, state, visit, attempt, failures, interruptions, activity,
    state_entered_at, variables, previous, caught, waiting_for, wait_signal, open_children, priority, ready_at, epoch,
    seq, output, error, created_at, ended_at)
SELECT n.id, %(execution)s, %(customer)s, n.parent, n.parent_visit, n.parent_attempt, n.body, n.name, n.index,
    ARRAY(SELECT jsonb_array_elements_text(n.ancestors)::uuid),
    ARRAY(SELECT jsonb_array_elements_text(n.depends_on)), jsonb_array_length(n.ancestors), n.status, '', n.state,
    n.visit, 1, 0, 0, n.activity, CASE WHEN n.waiting_for <> '' THEN now() END,
    COALESCE(n.variables, o.variables, '{}'), n.previous, n.caught, n.waiting_for, '', n.open_children, %(priority)s,
    now(), 0, n.seq, o.output, o.error, now(),
    CASE WHEN n.status IN ('success', 'skipped', 'failed', 'cancelled') THEN COALESCE(o.ended_at, now()) END
FROM jsonb_to_recordset(%(branches)s::jsonb) AS n(id uuid, parent uuid, parent_visit int, parent_attempt int,
    body text, name text, index int, ancestors jsonb, depends_on jsonb, status text, state text, visit int,
    activity text, variables jsonb, previous jsonb, caught jsonb, waiting_for text, open_children int, seq int,
    source uuid)
    LEFT JOIN workflows_branch o ON o.id = n.source
"""

# In the order of the ids they had: the newest run of a state is the one that references read.
_COPY_RUNS: Final = """
INSERT INTO workflows_staterun (execution_id, branch_id, state, visit, attempt, type, activity, status, input, output,
    error, next_state, assigned, started_at, ended_at, worker, epoch, reused)
SELECT %(execution)s, c.new, r.state, r.visit, r.attempt, r.type, r.activity, r.status, r.input, r.output,
    r.error, r.next_state, r.assigned, r.started_at, r.ended_at, r.worker, 0, true
FROM jsonb_to_recordset(%(runs)s::jsonb) AS c(old uuid, new uuid, below int)
    JOIN workflows_staterun r ON r.execution_id = %(source)s AND r.branch_id = c.old AND r.visit < c.below
WHERE r.status <> 'interrupted'
ORDER BY r.id
"""

_SAY: Final = """
INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message, fields)
SELECT %(execution)s, l.branch, l.node, 'info', 'state.started', l.message, l.fields
FROM jsonb_to_recordset(%(lines)s::jsonb) AS l(branch uuid, node text, message text, fields jsonb)
"""

_WAIT: Final = """
UPDATE workflows_branch SET status = 'waiting', waiting_for = 'children', open_children = %(open)s, seq = 1,
    state_entered_at = now()
WHERE id = %(root)s
"""


@dataclass(frozen=True, slots=True)
class Former:
    """A branch of the ended execution, as far as its place and end go."""

    id: UUID
    parent: UUID | None
    parent_visit: int
    parent_attempt: int
    body: str
    name: str
    index: int
    ancestors: tuple[UUID, ...]
    depends_on: tuple[str, ...]
    status: str
    state: str
    visit: int
    seq: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What a branch held when it entered a visit: its own variables, the output before it, the error last caught."""

    variables: dict[str, Any]
    previous: Any
    caught: Any


class FormerBranches:
    """The branches of an ended execution, those inside Maps left out (one query)."""

    def __init__(self, cursor: Any, execution: UUID) -> None:
        cursor.execute(
            "SELECT id, parent_id, COALESCE(parent_visit, 0), COALESCE(parent_attempt, 0), body, name, index, "
            "ancestors, depends_on, status, state, visit, seq FROM workflows_branch WHERE execution_id = %s "
            "AND body NOT LIKE '%%/*' AND body NOT LIKE '%%/*/%%' ORDER BY index",
            (execution,),
        )
        self.execution = execution
        self.by_id: dict[UUID, Former] = {}
        self._below: dict[UUID, list[Former]] = {}
        for id, parent, parent_visit, parent_attempt, body, name, index, ancestors, depends_on, *rest in cursor:
            former = Former(
                id, parent, parent_visit, parent_attempt, body, name, index, tuple(ancestors), tuple(depends_on), *rest
            )
            self.by_id[former.id] = former
            if former.parent is not None:
                self._below.setdefault(former.parent, []).append(former)

    def children(self, of: UUID) -> list[Former]:
        """The branches right below ``of``, of every visit, by index."""
        return self._below.get(of, [])

    def inside(self, branch: UUID, visit: int) -> list[UUID]:
        """Every branch below ``branch`` that came of its ``visit``, at any depth."""
        found = [child.id for child in self.children(branch) if child.parent_visit == visit]
        for id in found:
            found.extend(child.id for child in self.children(id))
        return found


def moment_of(cursor: Any, program: Program, branch: Former, visit: int, execution: UUID) -> Moment:
    """Return what ``branch`` of ``execution`` held when it entered ``visit``, rebuilt from what its runs left."""
    states = [name for name, step in program.steps.items() if step.body == branch.body]
    where = (
        "FROM workflows_staterun WHERE execution_id = %s AND branch_id = %s AND visit < %s AND state = ANY(%s) "
        "AND status <> 'interrupted'"
    )
    bound = (execution, branch.id, visit, states)
    cursor.execute(f"SELECT state, status, next_state, assigned, error {where} ORDER BY id", bound)
    variables: dict[str, Any] = {}
    caught: Any = None
    for state, status, following, assigned, error in cursor.fetchall():
        variables |= _json(assigned) or {}
        catches = getattr(program.steps[state].state, "catch", ())
        if status in ("failed", "timed_out") and following in {clause.next for clause in catches}:
            caught = _json(error)
    cursor.execute(f"SELECT output {where} ORDER BY id + 0 DESC LIMIT 1", bound)
    last = cursor.fetchone()
    return Moment(variables, None if last is None else _json(last[0]), caught)


def _json(value: Any) -> Any:
    # Django's cursors leave jsonb as text, the engine's decode it.
    return json.loads(value) if isinstance(value, str) else value


def standings(order: Order, former: Mapping[int, str], chosen: int) -> dict[int, str]:
    """How each branch of a Parallel begins when ``chosen`` does not begin at its start, by index.

    ``former`` are the statuses they ended with. Those that went well, and all that ``chosen`` depends on, keep theirs;
    the others, and what depends on them, are ``ready``, ``blocked`` or, with all they depend on, ``skipped``.
    """
    before = _reached(order.depends_on, {chosen}) - {chosen}
    failed = {index for index, status in former.items() if status not in _KEPT and index not in before}
    again = _reached(order.dependents, {chosen} | failed)
    new = {index: status for index, status in former.items() if index not in again}
    new[chosen] = "chosen"
    waiting = again - {chosen}
    # Each round skips what depends only on what was skipped before.
    while True:
        skipped = {
            index for index in waiting
            if order.depends_on[index] and all(new.get(other) == "skipped" for other in order.depends_on[index])
        }  # fmt: skip
        if not skipped:
            break
        new |= dict.fromkeys(skipped, "skipped")
        waiting -= skipped
    for index in waiting:
        is_free = all(new.get(other) in _OVER for other in order.depends_on[index])
        new[index] = "ready" if is_free else "blocked"
    return new


def _reached(ways: tuple[frozenset[int], ...], start: set[int]) -> set[int]:
    found, ends = set(start), list(start)
    while ends:
        further = ways[ends.pop()] - found
        found |= further
        ends.extend(further)
    return found


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where a branch on the way to the state begins anew, under which id, and with what."""

    former: Former
    id: UUID
    state: str
    visit: int
    variables: dict[str, Any]
    moment: Moment


class Fork:
    """The branches of a new execution that begins at ``state`` in the branch ``at`` of ``old``, as at its ``visit``.

    ``root`` is its root branch, which is to stand on the outermost Parallel at ``root_visit``.
    """

    def __init__(
        self, cursor: Any, program: Program, old: FormerBranches, *, at: Former, state: str, visit: int, root: UUID,
        root_visit: int,
    ) -> None:  # fmt: skip
        self._program, self._old = program, old
        self._branches: list[dict[str, Any]] = []
        self._runs: list[dict[str, Any]] = []
        self._lines: list[dict[str, Any]] = []
        self._root = root
        way = self._way(cursor, at, state, visit, root)
        self.open_children = self._split(way[0], way[1], root_visit, [root], is_last=len(way) == 2)
        for place in range(1, len(way)):
            here, above = way[place], [one.id for one in way[: place + 1]]
            self._runs.append({"old": str(here.former.id), "new": str(here.id), "below": here.visit})
            for earlier in old.children(here.former.id):
                if earlier.parent_visit < here.visit:
                    self._take_over(earlier, above, (earlier.parent_visit, earlier.parent_attempt), earlier.status)
            if place + 1 < len(way):
                following = way[place + 1]
                count = self._split(here, following, here.visit, above, is_last=place + 2 == len(way))
                next(one for one in self._branches if one["id"] == str(here.id))["open_children"] = count

    def _way(self, cursor: Any, at: Former, state: str, visit: int, root: UUID) -> list[_Cursor]:
        """The branches from the root down to the one that begins at ``state``."""
        chain = [*(self._old.by_id[id] for id in at.ancestors), at]
        way: list[_Cursor] = []
        variables: dict[str, Any] = {}
        for former, below in zip(chain, [*chain[1:], None], strict=True):
            stands_at, entered = (state, visit) if below is None else (below.body.split("/")[-2], below.parent_visit)
            moment = moment_of(cursor, self._program, former, entered, self._old.execution)
            variables = {**variables, **moment.variables}
            way.append(_Cursor(former, new_id() if way else root, stands_at, entered, variables, moment))
        return way

    def _split(self, parent: _Cursor, chosen: _Cursor, visit: int, above: list[UUID], *, is_last: bool) -> int:
        """Plan the branches of the Parallel at which ``parent`` stands; returns how many of them are open."""
        state, order = self._program.steps[parent.state].state, self._program.steps[parent.state].order
        assert isinstance(state, schema.ParallelState)
        assert order is not None
        place = (chosen.former.parent_visit, chosen.former.parent_attempt)
        siblings = [
            one for one in self._old.children(parent.former.id) if (one.parent_visit, one.parent_attempt) == place
        ]
        statuses = standings(order, {one.index: one.status for one in siblings}, chosen.former.index)
        slots = (state.max_concurrency or limits.DEFAULT_MAX_CONCURRENCY) - 1
        kept: list[str] = []
        for one in siblings:
            status = statuses[one.index]
            if one.index == chosen.former.index:
                resource = self._program.steps[chosen.state].resource
                self._add(
                    one, chosen.id, above, (visit, 1), status="ready" if is_last else "waiting", state=chosen.state,
                    activity=resource, visit=chosen.visit, seq=1, variables=chosen.variables,
                    previous=chosen.moment.previous, caught=chosen.moment.caught,
                    waiting_for="" if is_last else "children",
                )  # fmt: skip
            elif status in _OVER:
                kept.append(one.name)
                self._take_over(one, above, (visit, 1), status)
            else:
                if status == "ready":
                    status, slots = ("ready" if slots > 0 else "queued"), slots - 1
                start = self._program.bodies[one.body].start
                self._add(
                    one, new_id(), above, (visit, 1), status=status, state=start,
                    activity=self._program.steps[start].resource, variables=parent.variables,
                )  # fmt: skip
        self._say(above[-1], parent.state, chosen.state, kept, len(siblings))
        return len(siblings) - len(kept)

    def _take_over(self, former: Former, above: list[UUID], place: tuple[int, int], status: str) -> None:
        """Copy a branch that is over, with all that is below it."""
        id = new_id()
        self._add(
            former, id, above, place, status=status, state=former.state, visit=former.visit, source=str(former.id)
        )
        self._runs.append({"old": str(former.id), "new": str(id), "below": _ALL_VISITS})
        for child in self._old.children(former.id):
            self._take_over(child, [*above, id], (child.parent_visit, child.parent_attempt), child.status)

    def _add(self, former: Former, id: UUID, above: list[UUID], place: tuple[int, int], **columns: Any) -> None:
        """A branch below the last of ``above``, at the ``(visit, attempt)`` of that one."""
        self._branches.append(
            {
                "id": str(id), "parent": str(above[-1]), "parent_visit": place[0], "parent_attempt": place[1],
                "body": former.body, "name": former.name, "index": former.index, "ancestors": [str(x) for x in above],
                "depends_on": former.depends_on, "visit": 1, "seq": 0, "activity": "", "waiting_for": "",
                "open_children": 0, **columns,
            }
        )  # fmt: skip

    def _say(self, branch: UUID, parallel: str, state: str, kept: list[str], count: int) -> None:
        named = ", ".join(kept[:_NAMED]) + (f" and {len(kept) - _NAMED} more" if len(kept) > _NAMED else "")
        reused = f"; {len(kept)} of {count} branches are reused: {named}" if kept else "; no other branch is reused"
        self._lines.append(
            {
                "branch": str(branch), "node": parallel, "message": f"{parallel} begins again at {state}{reused}",
                "fields": {"reused": kept[:_LISTED], "state": state},
            }
        )  # fmt: skip

    def write(self, cursor: Any, *, execution: UUID, customer: UUID, priority: int) -> None:
        """Write the branches, what they took over and a line for each Parallel; lets the root wait for them."""
        bound = {
            "execution": execution, "customer": customer, "priority": priority, "source": self._old.execution,
            "branches": dumps(self._branches), "runs": dumps(self._runs), "lines": dumps(self._lines),
            "root": self._root, "open": self.open_children,
        }  # fmt: skip
        for statement in (_INSERT_BRANCHES, _COPY_RUNS, _SAY, _WAIT):
            cursor.execute(statement, bound)
