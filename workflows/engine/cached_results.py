"""Results that are kept: looked up before an activity runs, claimed by who makes one, stored once it is there.

One branch makes a result while the others wait without a worker, for as long as its lease is good. Refuses to keep
errors, and outputs with secret handles in them. Source: subsystem-cache 5.
"""

import json
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings

from workflows import control, secrets
from workflows.activities.registry import registry
from workflows.engine import artifacts, waits
from workflows.engine.json_text import dumps
from workflows.engine.line import Line, LineScope
from workflows.engine.store import Store
from workflows.errors import InvalidInput, WorkflowError
from workflows.identifiers import new_id
from workflows.spec import schema
from workflows.spec.secret_handles import HANDLE

log = logging.getLogger(__name__)

LONGEST_LOOK = timedelta(seconds=5)  # a waiting branch looks again by then, should nobody have woken it
SPARE = timedelta(seconds=60)  # beyond the activity's timeout, for queueing and storing
BATCH = 1000

_CLAIM = """
INSERT INTO workflows_cachedresult (id, customer_id, key, activity, version, workflow_id, execution_id, state, status,
    owner, owner_epoch, claimed_until, waiters, is_stored, bytes, hits)
VALUES (%(id)s, %(customer)s, %(key)s, %(activity)s, %(version)s, %(workflow)s, %(execution)s, %(state)s, 'computing',
    %(branch)s, %(epoch)s, now() + %(patience)s, '{}', false, 0, 0)
ON CONFLICT (customer_id, key) DO NOTHING RETURNING id
"""
# Whoever made it last is still at it if it holds the lease under which it began, and its time is not over.
_READ = """
SELECT c.id, c.status = 'ready' AND c.made_at > now() - %(ttl)s AND c.expires_at > now(),
    c.status = 'computing' AND c.owner <> %(branch)s AND c.claimed_until > now() AND b.id IS NOT NULL,
    c.output, c.execution_id, c.made_at, b.lease_expires_at
FROM workflows_cachedresult c LEFT JOIN workflows_branch b ON b.id = c.owner AND b.epoch = c.owner_epoch
    AND b.status = 'running' AND b.lease_expires_at > now()
WHERE c.customer_id = %(customer)s AND c.key = %(key)s FOR UPDATE OF c
"""
_TAKE_OVER = """
UPDATE workflows_cachedresult SET status = 'computing', owner = %(branch)s, owner_epoch = %(epoch)s,
    claimed_until = now() + %(patience)s, workflow_id = %(workflow)s, execution_id = %(execution)s, state = %(state)s,
    output = NULL, is_stored = false, bytes = 0, made_at = NULL, expires_at = NULL
WHERE id = %(id)s
"""
_USE = "UPDATE workflows_cachedresult SET hits = hits + 1, used_at = now() WHERE id = %s"
_JOIN = "UPDATE workflows_cachedresult SET waiters = array_append(array_remove(waiters, %s), %s) WHERE id = %s"
_IS_MADE = "SELECT 1 FROM workflows_cachedresult WHERE id = %s AND status = 'computing'"
_KEEP = """
UPDATE workflows_cachedresult c SET status = 'ready', output = %(output)s::jsonb, is_stored = %(is_stored)s,
    bytes = %(bytes)s, made_at = now(), used_at = now(), expires_at = now() + %(ttl)s, claimed_until = NULL,
    owner = NULL, waiters = '{}'
FROM (SELECT id, waiters FROM workflows_cachedresult WHERE id = %(id)s FOR UPDATE) AS old
WHERE c.id = old.id AND c.status = 'computing' AND c.owner = %(branch)s AND c.owner_epoch = %(epoch)s
RETURNING old.waiters
"""
_GIVE_UP = """
DELETE FROM workflows_cachedresult WHERE id = %s AND status = 'computing' AND owner = %s AND owner_epoch = %s
RETURNING waiters
"""
_TALLY = """
INSERT INTO workflows_metrictally AS t (metric, label, kind, status, bucket, count, again, seconds)
VALUES ('cache', %s, '', %s, 0, 1, 0, 0)
ON CONFLICT (metric, label, kind, status, bucket) DO UPDATE SET count = t.count + 1
"""
_FORGET_OLD = """
DELETE FROM workflows_cachedresult WHERE id IN (SELECT id FROM workflows_cachedresult
    WHERE expires_at < now() OR (status = 'computing' AND claimed_until < now() - interval '1 hour') LIMIT %s)
"""
# What was used longest ago goes first.
_FORGET_MOST = """
DELETE FROM workflows_cachedresult WHERE id IN (
    SELECT id FROM (
        SELECT id, sum(bytes) OVER (PARTITION BY customer_id ORDER BY used_at DESC, id) AS so_far
        FROM workflows_cachedresult WHERE status = 'ready'
    ) AS sizes WHERE so_far > %s LIMIT %s)
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A result that need not be made."""

    output: Any


def look_up(store: Store, line: Line, parameters: Any, config: Any = None) -> Hit | bool | None:
    """Return the kept result; None to run the activity; False if the branch was parked until another has made it.

    With None the line holds a claim (``line.claim``) that :func:`keep` or :func:`give_up` ends, unless this result is
    not to be kept. Raises :class:`InvalidInput` for a ``bypass`` that is neither true nor false.
    """
    step = line.step
    assert isinstance(step.state, schema.TaskState)
    assert step.state.cache is not None
    line.claim = None
    if settings.POIMEN_CACHE_MEGABYTES == 0:
        return None
    if _is_bypassed(line):
        line.log("info", "cache.bypassed", f"{step.name} does not look into the cache, as it was told")
        store.write(_TALLY, (step.resource, "bypass"))
        return None
    key = key_of(line, parameters, config)
    if key is None:
        return None
    ttl = waits.duration(step.state.cache.ttl)
    bound = {
        "id": new_id(), "customer": line.execution.customer, "key": key, "activity": step.resource,
        "version": step.activity.cache_version, "workflow": line.execution.workflow,
        "execution": line.execution.id, "state": step.name, "branch": line.id, "epoch": line.epoch,
        "patience": (step.timeout or step.activity.timeout) + SPARE, "ttl": ttl,
    }  # fmt: skip
    found = store.transaction(lambda cursor: _decide(cursor, bound))
    if isinstance(found, _Claim):
        line.claim = found.id
        return None
    if isinstance(found, _Other):
        return _wait(store, line, found)
    try:
        output = artifacts.fetch(found.output)
    except WorkflowError:  # the files of the execution that made it are gone
        store.write("DELETE FROM workflows_cachedresult WHERE id = %s", (found.id,))
        return None
    made_by = str(found.execution) if found.execution else "one that is deleted"
    line.log(
        "info", "cache.hit", f"{step.name} takes its result from the cache, made by execution {made_by}",
        execution=made_by, madeAt=found.made_at.isoformat(timespec="seconds"),
    )  # fmt: skip
    return Hit(output)


def key_of(line: Line, parameters: Any, config: Any = None) -> str | None:
    """Return the key of the result, None if it is not to be kept.

    It is SHA-256, keyed with the installation's secret (HMAC), of the canonical JSON of customer, activity, version,
    schemas, revealed input, what else the activity says and what its plugin is set up with: whoever reads keys cannot
    try inputs out on them.
    """
    activity = line.step.activity
    more: Any = None
    if callable(activity.cacheable):
        more = activity.cacheable(activity.parse_input(parameters))
        if more is None:
            return None
    elif not activity.is_cacheable:
        return None
    text = json.dumps(
        [str(line.execution.customer), activity.name, activity.cache_version, activity.input_schema,
         activity.output_schema, parameters, more, config, _version_of(activity.plugin)],
        sort_keys=True, ensure_ascii=True, separators=(",", ":"),
    )  # fmt: skip
    return secrets.keyed_digest(text.encode(), b"poimen results: key")


def keep(store: Store, line: Line, output: Any) -> None:
    """Store the result that the line has claimed, and wake who waits for it; what cannot be kept is given up."""
    state = line.step.state
    assert isinstance(state, schema.TaskState)
    assert state.cache is not None
    try:
        text = dumps(output)
        stored = artifacts.keep_small(line.execution.id, output)
    except WorkflowError:  # the state fails with it in a moment
        give_up(store, line)
        return
    # A secret can be replaced, run out, or be forgotten; and half an answer is no result.
    if HANDLE.search(text) or (isinstance(output, dict) and output.get("error")):
        give_up(store, line)
        return
    bound = {
        "id": line.claim, "branch": line.id, "epoch": line.epoch, "output": dumps(stored),
        "is_stored": artifacts.is_reference(stored), "bytes": len(text.encode()),
        "ttl": waits.duration(state.cache.ttl),
    }  # fmt: skip
    line.claim, claim = None, line.claim
    try:
        rows = store.rows(_KEEP, bound)
    except psycopg.DataError:  # what PostgreSQL refuses here it will refuse of the state too, which fails with it
        line.claim = claim
        give_up(store, line)
        return
    _wake(store, rows)


def give_up(store: Store, line: Line) -> None:
    """Let others make the result that the line has claimed."""
    claim, line.claim = line.claim, None
    _wake(store, store.rows(_GIVE_UP, (claim, line.id, line.epoch)))


def clean(connection: psycopg.Connection[Any]) -> None:
    """Delete results that are too old, and the longest unused where a customer's take up too much."""
    connection.execute(_FORGET_OLD, (BATCH,))
    connection.execute(_FORGET_MOST, (settings.POIMEN_CACHE_MEGABYTES * 2**20, BATCH))


# -- pieces --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Claim:
    id: UUID


@dataclass(frozen=True, slots=True)
class _Other:
    """Somebody else makes it, under a lease that is good until then."""

    id: UUID
    lease: Any


@dataclass(frozen=True, slots=True)
class _Kept:
    id: UUID
    output: Any
    execution: UUID | None
    made_at: Any


def _version_of(plugin: str) -> str:
    package = registry.plugins.get(plugin)
    return package.version if package is not None else ""


def _is_bypassed(line: Line) -> bool:
    template = line.step.templates.get("cache.bypass")
    bypass = template.resolve(LineScope(line)) if template is not None else False
    if bypass not in (True, False, None):
        raise InvalidInput("cache.bypass: expected true or false")
    return bool(bypass)


def _decide(cursor: psycopg.Cursor[Any], bound: dict[str, Any]) -> _Claim | _Other | _Kept:
    cursor.execute(_CLAIM, bound)
    if (made := cursor.fetchone()) is not None:
        cursor.execute(_TALLY, (bound["activity"], "miss"))
        return _Claim(made[0])
    cursor.execute(_READ, bound)
    row = cursor.fetchone()
    if row is None:  # deleted between the two
        return _decide(cursor, bound)
    id, is_good, is_made, output, execution, made_at, lease = row
    if is_good:
        cursor.execute(_USE, (id,))
        cursor.execute(_TALLY, (bound["activity"], "hit"))
        return _Kept(id, output, execution, made_at)
    if is_made:
        cursor.execute(_JOIN, (bound["branch"], bound["branch"], id))
        return _Other(id, lease)
    cursor.execute(_TAKE_OVER, bound | {"id": id})
    cursor.execute(_TALLY, (bound["activity"], "miss"))
    return _Claim(id)


def _wait(store: Store, line: Line, other: _Other) -> bool:
    def look(cursor: psycopg.Cursor[Any]) -> None:
        cursor.execute(_IS_MADE, (other.id,))
        if cursor.fetchone() is None:  # it was done while we were about to wait
            control.wake_branches(cursor, [line.id])

    if line.waiting_for != "cache":
        line.log("info", "cache.waiting", f"{line.state} waits for the same result, which another branch makes")
    store.advance(line, status="waiting", waiting_for="cache", wake_in=LONGEST_LOOK, also=look)
    waits.settle(store, line)
    return False


def _wake(store: Store, rows: list[tuple[Any, ...]]) -> None:
    waiters = rows[0][0] if rows else []
    if waiters:
        store.transaction(lambda cursor: control.wake_branches(cursor, waiters))
