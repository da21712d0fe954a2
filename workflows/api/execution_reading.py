"""Reading one execution whole, in one statement: this is what programs poll (budget: 30 ms, design 9).

The row, its version's number, the newest run of each state or the states where it stands, and the newest log lines
come together; PostgreSQL puts the parts into JSON. Refuses nothing but other customers' executions.
"""

from typing import Any
from uuid import UUID

from workflows.activities.context import LEVELS, LogLevel
from workflows.api.executions import AT_A_STATE, execution_body, outputs_of
from workflows.models import Execution
from workflows.prepared_queries import Selected, expanded, fetch

# Names inside a Map contain "*" (see Branch.body); the Map's own run holds the list of what came of its items.
_EXECUTION = Selected(Execution, "e")
_READ = expanded(
    """
SELECT e.*, v.version AS version_number,
    (SELECT f.id FROM workflows_execution f WHERE f.continued_from_id = e.id ORDER BY f.created_at LIMIT 1)
        AS continued_as_id,
    CASE WHEN e.ended_at IS NULL THEN (
        SELECT json_agg(state ORDER BY depth, state) FROM (
            SELECT state, min(depth) AS depth FROM workflows_branch
            WHERE execution_id = e.id AND status = ANY(%(at_a_state)s) GROUP BY state
        ) standing
    ) END AS standing,
    CASE WHEN e.ended_at IS NOT NULL THEN (
        SELECT json_agg(json_build_array(state, status, output, error) ORDER BY id) FROM (
            SELECT DISTINCT ON (r.state) r.id, r.state, r.status, r.output, r.error
            FROM workflows_staterun r JOIN workflows_branch b ON b.id = r.branch_id
            WHERE r.execution_id = e.id AND r.status <> 'interrupted' AND strpos(b.body, '*') = 0
            ORDER BY r.state, r.id DESC
        ) newest
    ) END AS results,
    (
        SELECT json_agg(json_strip_nulls(json_build_object(
            'timestamp', to_char(logged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'nodeId', node_id,
            'level', level, 'message', message, 'event', nullif(event, '')
        )) ORDER BY logged_at, tx, id) FROM (
            SELECT * FROM workflows_logentry l WHERE l.execution_id = e.id AND l.level = ANY(%(levels)s)
            ORDER BY l.tx DESC, l.id DESC LIMIT %(lines)s
        ) said
    ) AS said
FROM workflows_execution e LEFT JOIN workflows_workflowversion v ON v.id = e.workflow_version_id
WHERE e.id = %(id)s AND e.customer_id = %(customer)s
""",
    _EXECUTION,
)


def read_execution(customer_id: UUID, execution_id: UUID, *, lines: int, level: LogLevel = "info") -> dict[str, Any]:
    """Return the JSON of an execution (contract-rest-api 2.5) with its newest ``lines`` of log from ``level`` up.

    One query. Raises ``Execution.DoesNotExist``, for those of other customers too.
    """
    rows = fetch(
        _READ,
        {
            "id": execution_id,
            "customer": customer_id,
            "at_a_state": list(AT_A_STATE),
            "levels": list(LEVELS[LEVELS.index(level) :]),
            "lines": lines,
        },
    )
    if not rows:
        raise Execution.DoesNotExist
    execution: Any = _EXECUTION.make(rows[0])
    execution.version_number, execution.continued_as_id, *lists = rows[0][_EXECUTION.count :]
    standing, results, said = (part or [] for part in lists)  # no row at all is NULL
    return execution_body(
        execution,
        outputs=None if execution.ended_at is None else outputs_of(execution, results),
        current_states=standing,
        logs=said,
    )
