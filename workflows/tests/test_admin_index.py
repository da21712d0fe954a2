"""The admin says first what runs, what waits for people and what failed, for the user's customers; and what is next."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from workflows.models import ApprovalGate, Execution, Role
from workflows.tests.people import customer, member, started
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db


def staff(slug: str = "acme") -> Client:
    client = Client()
    client.force_login(member(customer(slug), Role.VIEWER, is_staff=True))
    return client


def root() -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username="root", is_staff=True, is_superuser=True)[0])
    return client


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def figures(client: Client) -> dict[str, tuple[int, str]]:
    """Count and address of each, by its words."""
    found = re.findall(r'class="figure [^"]+" href="([^"]+)"><b>(\d+)</b> <span>([^<]+)<', page(client, "/admin/"))
    return {words: (int(count), url.replace("&amp;", "&")) for url, count, words in found}


def ended(slug: str, status: str, hours: float) -> Execution:
    one = started(customer(slug))
    moment = datetime.now(UTC) - timedelta(hours=hours)
    Execution.objects.filter(pk=one.pk).update(status=status, ended_at=moment)
    return one


def test_the_index_counts_what_belongs_to_the_users_customers() -> None:
    Execution.objects.filter(pk=started(customer()).pk).update(status="running")
    Execution.objects.filter(pk=started(customer("other")).pk).update(status="running")
    waits, over = gate(), gate()
    ApprovalGate.objects.filter(pk=over.pk).update(expires_at=datetime.now(UTC) - timedelta(minutes=1))
    gate(slug="other")
    failed = [ended("acme", "failed", 1), ended("acme", "timed_out", 23)]
    ended("acme", "failed", 25)
    ended("acme", "success", 1)
    ended("other", "failed", 1)
    seen = {words: count for words, (count, _) in figures(staff()).items()}
    assert seen == {"running": 1, "waiting for people": 1, "failed in the last 24 h": 2}
    everything = figures(root())
    assert [count for count, _ in everything.values()] == [2, 2, 3]
    own = figures(staff())
    assert str(waits.pk) in page(staff(), own["waiting for people"][1])
    listed = page(staff(), own["failed in the last 24 h"][1])
    assert listed.count('class="action-select"') in (0, 2)
    assert all(str(one.pk) in listed for one in failed)
    assert len(set(re.findall(r"/execution/([0-9a-f-]{36})/change", listed))) == 2


def test_the_index_costs_three_queries_more_whatever_there_is(django_assert_max_num_queries: Any) -> None:
    for client in (staff(), root()):
        for _ in range(2):
            gate()
            ended("acme", "failed", 1)
        with django_assert_max_num_queries(9):
            figures(client)


@pytest.mark.parametrize(
    "path, hint",
    [("secret", "Add one"), ("apikey", "make a key"), ("approvalgate", "A workflow asks here"), ("execution", "Start")],
)
def test_an_empty_list_says_what_to_do_next(path: str, hint: str) -> None:
    assert hint in page(root(), f"/admin/workflows/{path}/")


def test_a_list_without_what_was_searched_for_leads_to_all() -> None:
    gate()
    found = page(root(), "/admin/workflows/approvalgate/?q=nowhere")
    assert "Nothing fits" in found
    assert "A workflow asks here" not in found


def test_moments_are_written_alike_everywhere() -> None:
    gate()
    for path in ("workflows/customer/", "workflows/specdocument/", "workflows/approvalgate/?status=all"):
        assert not re.search(r"[ap]\.m\.|noon|midnight", page(root(), f"/admin/{path}")), path
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", page(root(), "/admin/workflows/customer/"))


def test_an_execution_leads_to_its_run_page() -> None:
    one = started(customer())
    assert f'href="/ui/executions/{one.pk}"' in page(staff(), f"/admin/workflows/execution/{one.pk}/change/")


def test_terminal_sequences_are_left_out() -> None:
    asked = gate()
    ApprovalGate.objects.filter(pk=asked.pk).update(subject="\x1b[31mred\x1b[0m", description="\x1b[1mbold\x1b[0m")
    Execution.objects.filter(pk=asked.execution_id).update(
        error={"name": "Boom", "message": "\x1b[31mred\x1b[0m"}, errors=["F: \x1b[31mred\x1b[0m"]
    )
    for path in ("approvalgate/", f"approvalgate/{asked.pk}/change/", f"execution/{asked.execution_id}/change/"):
        shown = page(root() if path == "approvalgate/" else staff(), f"/admin/workflows/{path}")
        assert "red" in shown or "bold" in shown
        assert "\x1b" not in shown, path
        assert "u001b" not in shown, path
