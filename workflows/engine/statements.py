"""The SQL of the engine's hot path. Each statement is one round trip; guards are in the statements themselves.

``%(name)s`` are psycopg parameters; JSON goes in as text and is cast here.
"""

RUN_COLUMNS = (
    "state text, visit int, attempt int, type text, activity text, status text, input jsonb, output jsonb, "
    "error jsonb, next_state text, assigned jsonb, started_at timestamptz, ended_at timestamptz"
)
LOG_COLUMNS = "node_id text, level text, event text, message text, fields jsonb, logged_at timestamptz"

_WRITE_HISTORY = f"""
runs AS (
    INSERT INTO workflows_staterun (execution_id, branch_id, state, visit, attempt, type, activity, status, input,
        output, error, next_state, assigned, started_at, ended_at, worker, epoch, reused)
    SELECT moved.execution_id, moved.id, r.state, r.visit, r.attempt, r.type, r.activity, r.status, r.input,
        r.output, r.error, r.next_state, r.assigned, r.started_at, r.ended_at, %(worker)s, %(epoch)s, false
    FROM moved, jsonb_to_recordset(%(runs)s::jsonb) AS r({RUN_COLUMNS})
), logs AS (
    INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message, fields, logged_at)
    SELECT moved.execution_id, moved.id, l.node_id, l.level, l.event, l.message, l.fields, l.logged_at
    FROM moved, jsonb_to_recordset(%(logs)s::jsonb) AS l({LOG_COLUMNS})
)"""

# The transition: the cursor moves, history and logs are written, or nothing happens because the epoch is stale.
# An execution that is being paused takes the branch out of play in the same commit. A branch that was asked to stop
# neither waits nor is held: it is ready, or goes on, to end.
ADVANCE = f"""
WITH moved AS (
    UPDATE workflows_branch b SET
        seq = b.seq + 1,
        status = CASE WHEN b.stop <> '' AND %(status)s = 'waiting' THEN 'ready'
                      WHEN e.pause_requested_at IS NOT NULL AND b.stop = '' AND %(status)s IN ('running', 'ready')
                      THEN 'held' ELSE %(status)s END,
        state = %(state)s,
        visit = %(visit)s,
        attempt = %(attempt)s,
        failures = %(failures)s,
        interruptions = %(interruptions)s,
        state_entered_at = CASE WHEN b.visit <> %(visit)s THEN now() ELSE b.state_entered_at END,
        activity = %(activity)s,
        variables = COALESCE(%(variables)s::jsonb, b.variables),
        caught = %(caught)s::jsonb,
        waiting_for = %(waiting_for)s,
        wait_signal = %(wait_signal)s,
        wake_at = COALESCE(%(wake_at)s::timestamptz, now() + %(wake_in)s::interval),
        open_children = %(open_children)s,
        ready_at = CASE WHEN %(status)s = 'running' THEN b.ready_at ELSE now() END,
        lease_expires_at = now() + %(lease)s::interval
    FROM workflows_execution e
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.seq = %(seq)s AND b.status = 'running' AND e.id = b.execution_id
    RETURNING b.id, b.execution_id, b.status, b.stop
), {_WRITE_HISTORY}
SELECT status, stop FROM moved
"""

# The most frequent transition, a state done and the next one entered, with as little for the server to do as possible:
# one run and one log line as plain values, and only the columns that change.
STEP = """
WITH moved AS (
    UPDATE workflows_branch b SET
        seq = b.seq + 1,
        status = CASE WHEN e.pause_requested_at IS NULL OR b.stop <> '' THEN 'running' ELSE 'held' END,
        state = %(state)s,
        visit = %(visit)s,
        attempt = 1,
        failures = 0,
        interruptions = 0,
        state_entered_at = now(),
        activity = %(activity)s,
        variables = COALESCE(%(variables)s::jsonb, b.variables),
        lease_expires_at = now() + %(lease)s::interval
    FROM workflows_execution e
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.seq = %(seq)s AND b.status = 'running' AND e.id = b.execution_id
    RETURNING b.id, b.execution_id, b.status, b.stop
), runs AS (
    INSERT INTO workflows_staterun (execution_id, branch_id, state, visit, attempt, type, activity, status, input,
        output, error, next_state, assigned, started_at, ended_at, worker, epoch, reused)
    SELECT execution_id, id, %(r_state)s, %(r_visit)s, %(r_attempt)s, %(r_type)s, %(r_activity)s, %(r_status)s,
        %(r_input)s::jsonb, %(r_output)s::jsonb, NULL, %(state)s, %(r_assigned)s::jsonb, %(r_started_at)s::timestamptz,
        %(r_ended_at)s::timestamptz, %(worker)s, %(epoch)s, false
    FROM moved
), logs AS (
    INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message, fields, logged_at)
    SELECT execution_id, id, %(l_node_id)s, %(l_level)s, %(l_event)s, %(l_message)s, %(l_fields)s::jsonb,
        %(l_logged_at)s::timestamptz
    FROM moved
)
SELECT status, stop FROM moved
"""

# The branch ends; its parent, if it has one, is dealt with in the same transaction.
END_BRANCH = f"""
WITH moved AS (
    UPDATE workflows_branch b SET
        seq = b.seq + 1, status = %(status)s, output = %(output)s::jsonb, error = %(error)s::jsonb,
        ended_at = now(), lease_expires_at = NULL, activity = '', waiting_for = '',
        wait_signal = '', wake_at = NULL, state = %(state)s, visit = %(visit)s, attempt = %(attempt)s,
        variables = COALESCE(%(variables)s::jsonb, b.variables)
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.seq = %(seq)s AND b.status = 'running'
    RETURNING b.id, b.execution_id
), {_WRITE_HISTORY}
SELECT 1 FROM moved
"""

# What a pump must know of a branch that it took, and of its execution when it meets it for the first time.
_BRANCH_COLUMNS = (
    *(
        f"b.{name}"
        for name in (
            "id", "execution_id", "body", "name", "index", "ancestors", "parent_id", "parent_visit", "parent_attempt",
            "item", "state", "visit", "attempt", "failures", "interruptions", "variables", "previous", "caught",
            "waiting_for", "wait_signal",
        )
    ),
    # A moment that Python cannot tell must not keep a pump from reading what else is ready.
    "CASE WHEN b.wake_at < 'epoch' THEN 'epoch' ELSE b.wake_at END",
    "COALESCE(b.wake_at <= now(), false)", "b.stop", "b.epoch", "b.seq", "COALESCE(b.state_entered_at, now())",
)  # fmt: skip
BRANCH_COLUMN_COUNT = len(_BRANCH_COLUMNS)
_FACT_COLUMNS = (
    "e.id, e.customer_id, e.workflow_id, e.workflow_version_id, e.name, e.inputs, COALESCE(e.started_at, now()), "
    "e.priority, e.depth, e.created_by, e.parent_branch, e.parent_visit, e.parent_attempt, "
    "CASE WHEN e.start_state <> '' THEN e.rerun_of_id END, e.spec_id"
)
TAKEN_COLUMNS = f"{', '.join(_BRANCH_COLUMNS)}, {_FACT_COLUMNS}"
_WITH_FACTS = "LEFT JOIN workflows_execution e ON e.id = b.execution_id AND b.parent_id IS NULL AND b.seq = 0"

NEXT_COLUMNS = ", ".join(
    f"next.{name}" for name in ("id", "epoch", "seq", "status", "name", "index", "item", "state", "variables")
)

# A Map item succeeds: the parent counts down, and the next queued item takes over slot and worker in the same commit.
# Where other work is ready too, the next item queues up with it instead, so that priorities hold.
END_ITEM = f"""
WITH locked AS MATERIALIZED (
    SELECT id, pause_requested_at IS NOT NULL AS is_paused FROM workflows_execution WHERE id = %(execution)s
    FOR NO KEY UPDATE
), moved AS (
    UPDATE workflows_branch b SET
        seq = b.seq + 1, status = %(status)s, output = %(output)s::jsonb, ended_at = now(), lease_expires_at = NULL,
        activity = '', waiting_for = '', wait_signal = '', wake_at = NULL, state = %(state)s, visit = %(visit)s,
        attempt = %(attempt)s, variables = COALESCE(%(variables)s::jsonb, b.variables)
    FROM locked
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.seq = %(seq)s AND b.status = 'running'
        AND b.execution_id = locked.id
    RETURNING b.id, b.execution_id, b.parent_id, b.parent_visit, b.parent_attempt
), {_WRITE_HISTORY}, parent AS (
    UPDATE workflows_branch p SET
        open_children = p.open_children - 1,
        status = CASE WHEN p.open_children > 1 THEN p.status WHEN locked.is_paused THEN 'held' ELSE 'ready' END,
        ready_at = CASE WHEN p.open_children > 1 THEN p.ready_at ELSE now() END
    FROM moved, locked
    WHERE p.id = moved.parent_id AND p.visit = moved.parent_visit AND p.attempt = moved.parent_attempt
        AND p.status = 'waiting' AND p.waiting_for = 'children'
    RETURNING p.id, p.visit, p.attempt, p.open_children
), next AS (
    UPDATE workflows_branch n SET
        status = CASE WHEN locked.is_paused THEN 'held' WHEN %(takes_over)s AND NOT EXISTS (
            SELECT 1 FROM workflows_branch o WHERE o.status = 'ready') THEN 'running' ELSE 'ready' END,
        epoch = n.epoch + 1, lease_owner = %(owner)s, lease_expires_at = now() + %(lease)s::interval,
        state_entered_at = now(), ready_at = now()
    FROM locked
    WHERE n.id = (
        SELECT q.id FROM workflows_branch q JOIN parent ON q.parent_id = parent.id
            AND q.parent_visit = parent.visit AND q.parent_attempt = parent.attempt
        WHERE q.status = 'queued' ORDER BY q.index LIMIT 1
        FOR UPDATE OF q SKIP LOCKED)  -- the snapshot is older than the lock: look at the rows as they are now
    RETURNING n.*
)
SELECT COALESCE((SELECT open_children FROM parent), -1), {NEXT_COLUMNS}
FROM moved LEFT JOIN next ON true
"""

_TAKE = """
claimed AS (
    UPDATE workflows_branch b SET
        status = 'running', epoch = b.epoch + 1, lease_owner = %(owner)s,
        lease_expires_at = now() + %(lease)s::interval,
        -- now() may be earlier than the end of what it waited for, which this statement has seen
        state_entered_at = COALESCE(b.state_entered_at, clock_timestamp())
    FROM picked WHERE b.id = picked.id
    RETURNING b.*
), started AS (
    UPDATE workflows_execution e SET status = 'running', started_at = COALESCE(e.started_at, now())
    FROM (
        SELECT x.id FROM workflows_execution x WHERE x.id IN (SELECT execution_id FROM claimed)
            AND x.status IN ('pending', 'waiting') FOR NO KEY UPDATE SKIP LOCKED  -- never waits: see LOCK_EXECUTION
    ) free
    WHERE e.id = free.id
)"""
_TAKEN = f"SELECT {TAKEN_COLUMNS} FROM claimed b {_WITH_FACTS} ORDER BY b.priority DESC, b.ready_at, b.id"

CLAIM = f"""
WITH picked AS (
    SELECT id FROM workflows_branch WHERE status = 'ready'
    ORDER BY priority DESC, ready_at, id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), {_TAKE}
{_TAKEN}"""

# The root branch of an execution nobody waits for ends, and the execution with it: one statement, one commit.
_END_EXECUTION = f"""
WITH locked AS MATERIALIZED (
    SELECT id FROM workflows_execution WHERE id = %(execution)s FOR NO KEY UPDATE
), moved AS (
    UPDATE workflows_branch b SET
        seq = b.seq + 1, status = %(status)s, output = NULL, error = %(error)s::jsonb,
        ended_at = now(), lease_expires_at = NULL, activity = '', waiting_for = '',
        wait_signal = '', wake_at = NULL, state = %(state)s, visit = %(visit)s, attempt = %(attempt)s,
        variables = COALESCE(%(variables)s::jsonb, b.variables)
    FROM locked
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.seq = %(seq)s AND b.status = 'running'
        AND b.execution_id = locked.id
    RETURNING b.id, b.execution_id
), ended AS (
    UPDATE workflows_execution e SET
        status = %(execution_status)s, output = %(output)s::jsonb, error = %(error)s::jsonb,
        errors = %(errors)s::jsonb, ended_at = now(),
        started_at = COALESCE(e.started_at, now())
    FROM moved WHERE e.id = moved.execution_id AND e.ended_at IS NULL
), {_WRITE_HISTORY}"""
END_EXECUTION = f"{_END_EXECUTION} SELECT 1 FROM moved"

# The same, and the pump takes the branch that is next in the queue into the place that became free: saves a commit,
# and a way through the claiming thread, per execution.
END_EXECUTION_AND_TAKE = f"""{_END_EXECUTION}, picked AS (
    SELECT id FROM workflows_branch
    WHERE status = 'ready' AND execution_id <> %(execution)s AND EXISTS (SELECT 1 FROM moved)
    ORDER BY priority DESC, ready_at, id LIMIT 1
    FOR UPDATE SKIP LOCKED
), {_TAKE}
SELECT {TAKEN_COLUMNS} FROM moved LEFT JOIN claimed b ON true {_WITH_FACTS}
"""

# With limits on customers or activities: what runs is counted, what is ready is ranked within its customer and
# activity, and only ranks that still fit are taken. Exact because claims under limits hold an advisory lock.
CLAIM_WITHIN_LIMITS = f"""
WITH limits AS (
    SELECT * FROM unnest(%(activities)s::text[], %(activity_limits)s::int[]) AS l(activity, most)
), running AS (
    SELECT customer_id, activity FROM workflows_branch WHERE status = 'running' AND lease_owner IS NOT NULL
), ranked AS (
    SELECT b.id, b.priority, b.ready_at, b.activity, c.max_running_branches AS customer_most, l.most AS activity_most,
        row_number() OVER (PARTITION BY b.customer_id ORDER BY b.priority DESC, b.ready_at, b.id)
            + (SELECT count(*) FROM running r WHERE r.customer_id = b.customer_id) AS customer_rank,
        row_number() OVER (PARTITION BY b.activity ORDER BY b.priority DESC, b.ready_at, b.id)
            + (SELECT count(*) FROM running r WHERE r.activity = b.activity) AS activity_rank
    FROM workflows_branch b
    JOIN workflows_customer c ON c.id = b.customer_id
    LEFT JOIN limits l ON l.activity = b.activity
    WHERE b.status = 'ready'
), picked AS (
    SELECT b.id FROM workflows_branch b JOIN ranked ON ranked.id = b.id
    WHERE b.status = 'ready'
        AND (customer_most IS NULL OR customer_rank <= customer_most)
        AND (activity_most IS NULL OR activity_rank <= activity_most)
    ORDER BY b.priority DESC, b.ready_at, b.id LIMIT %(limit)s
    FOR UPDATE OF b SKIP LOCKED
), {_TAKE}
{_TAKEN}"""

HAS_CUSTOMER_LIMITS = "SELECT EXISTS (SELECT 1 FROM workflows_customer WHERE max_running_branches IS NOT NULL)"

EXECUTION_FACTS = f"SELECT {_FACT_COLUMNS} FROM workflows_execution e WHERE e.id = %s"

# An execution whose outputs a rerun reuses, and those that it had itself reused.
REUSED = """
WITH RECURSIVE reused AS (
    SELECT id, rerun_of_id, start_state, 1 AS number FROM workflows_execution WHERE id = %s
    UNION ALL
    SELECT e.id, e.rerun_of_id, e.start_state, number + 1
    FROM reused r JOIN workflows_execution e ON e.id = r.rerun_of_id AND r.start_state <> '' WHERE number < 100
) SELECT id::text FROM reused
"""

SPEC = "SELECT document FROM workflows_specdocument WHERE checksum = %s"

# What states are visible from a branch. An ``own`` state lies in the branch ``anchor`` itself, another one in a branch
# below it; what was reused from an earlier execution lies in the root branch. Newest ended visit of each.
OUTPUTS = """
WITH wanted AS (
    SELECT * FROM unnest(%(states)s::text[], %(bodies)s::text[], %(anchors)s::uuid[], %(owns)s::bool[])
        AS w(state, body, anchor, own)
), places AS (
    SELECT state, anchor AS branch FROM wanted WHERE own
    UNION
    SELECT w.state, %(root)s FROM wanted w WHERE NOT own
    UNION
    SELECT w.state, b.id FROM wanted w JOIN workflows_branch b
        ON b.execution_id = %(execution)s AND b.body = w.body AND w.anchor = ANY(b.ancestors)
    WHERE NOT own
)
SELECT DISTINCT ON (r.state) r.state, r.status, r.output, r.error
FROM places p JOIN workflows_staterun r
    ON r.execution_id = %(execution)s AND r.branch_id = p.branch AND r.state = p.state
WHERE r.status IN ('success', 'failed', 'timed_out')
ORDER BY r.state, r.id DESC
"""

# The output of the state before, as Pass, Choice and Wait hand it on.
PREVIOUS = """
SELECT output FROM workflows_staterun WHERE execution_id = %s AND branch_id = %s AND NOT reused
    AND (status = 'success' OR next_state <> state) AND status <> 'interrupted'
ORDER BY visit DESC, attempt DESC LIMIT 1
"""

# One statement keeps every lease of a pump, and the status of executions whose start found them locked. Rows that
# someone else holds are in the middle of a transition, which extends the lease itself: nothing here ever waits.
HEARTBEAT = """
WITH mine AS (
    SELECT b.id FROM workflows_branch b
    JOIN unnest(%(ids)s::uuid[], %(epochs)s::bigint[]) AS held(id, epoch) ON b.id = held.id AND b.epoch = held.epoch
    WHERE b.status = 'running' FOR UPDATE OF b SKIP LOCKED
), kept AS (
    UPDATE workflows_branch b SET lease_expires_at = now() + %(lease)s::interval FROM mine WHERE b.id = mine.id
    RETURNING b.execution_id
), late AS (
    SELECT e.id FROM workflows_execution e WHERE e.id IN (SELECT execution_id FROM kept)
        AND e.status IN ('pending', 'waiting') FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE workflows_execution e SET status = 'running', started_at = COALESCE(e.started_at, now())
FROM late WHERE e.id = late.id
"""

# Which branches are still held, and what the outside asked of them.
HELD = """
SELECT b.id, b.stop FROM workflows_branch b
JOIN unnest(%(ids)s::uuid[], %(epochs)s::bigint[]) AS held(id, epoch) ON b.id = held.id AND b.epoch = held.epoch
WHERE b.status = 'running'
"""

# An execution and those it is a child of, outermost first: the one order in which locks are taken.
LOCK_EXECUTION = """
WITH RECURSIVE family AS (
    SELECT id, parent_id FROM workflows_execution WHERE id = %(id)s
    UNION ALL
    SELECT e.id, e.parent_id FROM workflows_execution e JOIN family ON e.id = family.parent_id
)
SELECT e.id FROM workflows_execution e WHERE e.id IN (SELECT id FROM family) ORDER BY e.depth FOR NO KEY UPDATE OF e
"""

# Give a branch back unfinished: another pump runs the state again.
RELEASE = f"""
WITH moved AS (
    UPDATE workflows_branch b SET
        status = CASE WHEN e.pause_requested_at IS NOT NULL AND b.stop = '' THEN 'held' ELSE 'ready' END,
        attempt = b.attempt + %(lost_attempts)s, lease_owner = NULL, lease_expires_at = NULL, ready_at = now()
    FROM (SELECT id, pause_requested_at FROM workflows_execution WHERE id = %(execution)s FOR SHARE) e
    WHERE b.id = %(id)s AND b.epoch = %(epoch)s AND b.status = 'running' AND e.id = b.execution_id
    RETURNING b.id, b.execution_id
), {_WRITE_HISTORY}
SELECT 1 FROM moved
"""

APPEND_LOGS = f"""
INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message, fields, logged_at)
SELECT l.execution_id, l.branch_id, l.node_id, l.level, l.event, l.message, l.fields, l.logged_at
FROM jsonb_to_recordset(%(logs)s::jsonb) AS l(execution_id uuid, branch_id uuid, {LOG_COLUMNS})
"""

TRANSITIONS = "SELECT COALESCE(sum(seq), 0) FROM workflows_branch WHERE execution_id = %s AND id <> %s"
