"""Admin and REST stay quick with a million log lines, and a page costs few queries however many rows it shows."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from workflows.admin.pagination import MOST_ROWS, EstimatingPaginator
from workflows.models import Execution, LogEntry, Role
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.test_approvals import gate
from workflows.tests.work import work_of

BUDGET = 0.3
LINES = 1_000_000
EXECUTIONS = 1_000

_FILL = """
INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message, logged_at)
SELECT e.id, NULL, 'Step', CASE WHEN n %% 1000 = 0 THEN 'error' ELSE 'info' END, '', 'line ' || n || ' of a long story',
    now() + n * interval '1 millisecond'
FROM generate_series(1, %s) AS n
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM workflows_execution) e ON e.place = 1 + n %% %s
"""


def root() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.django_db(transaction=True)  # short transactions: a long one would hold up every log that is followed
def test_lists_are_quick_with_a_million_log_lines() -> None:
    for number in range(EXECUTIONS):
        started(customer("acme" if number % 100 == 0 else "other"))
    with connection.cursor() as cursor:
        cursor.execute(_FILL, (LINES, EXECUTIONS))
        cursor.execute("ANALYZE workflows_logentry, workflows_execution")
    one = Execution.objects.filter(customer=customer()).first()
    assert one is not None
    someone = Client()
    someone.force_login(member(customer(), Role.VIEWER, is_staff=True))
    program = signed_in(member(customer(), Role.VIEWER))
    log = "/admin/workflows/logentry/"
    line = LogEntry.objects.filter(execution=one).order_by("-tx", "-id")[500]
    measured = {}
    for who, client in (("superuser", root()), ("member", someone)):
        for name, path in {
            "the newest lines": log,
            "the next page": f"{log}?p=2",
            "the last page offered": f"{log}?p=100",
            "one execution": f"{log}?execution__id__exact={one.pk}",
            "its second page": f"{log}?execution__id__exact={one.pk}&p=2",
            "errors of one execution": f"{log}?execution__id__exact={one.pk}&level=error",
            "search by execution": f"{log}?q={one.pk}",
            "one line": f"{log}{line.pk}/change/",
            "an execution's page": f"/admin/workflows/execution/{one.pk}/change/",
        }.items():
            if who == "member" and name == "the last page offered":
                continue
            measured[f"admin, {who}: {name}"] = work_of(client, path)
    measured["REST: execution with 1,000 lines"] = work_of(program, f"/executions/{one.pk}")
    measured["REST: log from a cursor"] = work_of(
        program, f"/executions/{one.pk}/logs?after={line.tx}-{line.pk}&limit=100"
    )
    print("\n" + "\n".join(f"{took * 1000:6.0f} ms  {name}" for name, took in measured.items()))
    assert {name: took for name, took in measured.items() if took > BUDGET} == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path, most",
    [("execution/", 8), ("approvalgate/", 8), ("logentry/", 8), ("staterun/", 8), ("branch/", 8), ("secret/", 8)],
)
def test_a_list_costs_the_same_queries_for_one_row_and_for_fifty(
    path: str, most: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        gate()
    someone = Client()
    someone.force_login(member(customer(), Role.ADMIN, is_staff=True))
    for client in (root(), someone):
        with django_assert_max_num_queries(most):
            assert client.get(f"/admin/workflows/{path}").status_code == 200


@pytest.mark.django_db
def test_rows_are_counted_up_to_a_bound_only(monkeypatch: pytest.MonkeyPatch) -> None:
    execution = started(customer())
    LogEntry.objects.bulk_create(LogEntry(execution=execution, level="info", message=str(n)) for n in range(30))
    monkeypatch.setattr("workflows.admin.pagination.MOST_ROWS", 20)
    paginator = EstimatingPaginator(LogEntry.objects.filter(execution=execution).order_by("-pk"), 5)
    assert (paginator.count, paginator.is_cut) == (20, True)


@pytest.mark.django_db
def test_a_whole_table_is_estimated_from_statistics(django_assert_num_queries: Any) -> None:
    execution = started(customer())
    LogEntry.objects.bulk_create(
        (LogEntry(execution=execution, level="info", message=str(n)) for n in range(MOST_ROWS + 1)), batch_size=2000
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE workflows_logentry")
    paginator = EstimatingPaginator(LogEntry.objects.order_by("-pk"), 100)
    with django_assert_num_queries(1):
        assert paginator.count == MOST_ROWS
        assert paginator.is_cut
    assert paginator.estimate == MOST_ROWS + 2
