"""The admin of what is drawn: each sees what belongs to their customers, in few queries, and changes nothing."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from canvas.models import Relation, RelationVersion
from canvas.saving import save_workflow
from canvas.tests.drawing import edges, node
from workflows.models import Role, Workflow, WorkflowVersion
from workflows.tests.people import customer, member

pytestmark = pytest.mark.django_db

LISTS = ("workflows/workflow", "workflows/workflowversion", "canvas/relation", "canvas/relationversion")


def seen_by(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def drawn() -> dict[str, Workflow]:
    def save(slug: str) -> Workflow:
        return save_workflow(
            customer(slug), name=f"plan of {slug}", nodes=[node("a"), node("b", "Nope")], edges=edges("a b")
        )

    return {slug: save(slug) for slug in ("acme", "other")}


@pytest.mark.parametrize("path", LISTS)
def test_staff_see_what_belongs_to_their_customers(path: str, drawn: dict[str, Workflow]) -> None:
    staff = seen_by(member(customer("acme"), Role.VIEWER, is_staff=True))
    page = staff.get(f"/admin/{path}/").content.decode()
    assert "plan of other" not in page
    assert str(drawn["other"].pk) not in page
    boss = seen_by(User.objects.create_superuser("boss"))
    response = boss.get(f"/admin/{path}/")
    assert response.context["cl"].result_count == 2
    assert staff.get(f"/admin/{path}/").context["cl"].result_count == 1


@pytest.mark.parametrize("model", [Workflow, WorkflowVersion, Relation, RelationVersion])
def test_a_page_shows_everything_and_changes_nothing(model: Any, drawn: dict[str, Workflow]) -> None:
    path = f"/admin/{model._meta.app_label}/{model._meta.model_name}"
    staff = seen_by(member(customer("acme"), Role.ADMIN, is_staff=True))
    mine = {Workflow: {"customer__slug": "acme"}}.get(model, {"workflow__customer__slug": "acme"})
    row = model.objects.get(**mine)
    page = staff.get(f"{path}/{row.pk}/change/")
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert staff.post(f"{path}/{row.pk}/change/", {"name": "changed"}).status_code == 403
    assert staff.post(f"{path}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert staff.get(f"{path}/add/").status_code == 403
    theirs = model.objects.exclude(pk=row.pk).get()
    assert staff.get(f"{path}/{theirs.pk}/change/").status_code == 302, "away, as for what does not exist"


def test_staff_without_a_membership_see_nothing(drawn: dict[str, Workflow]) -> None:
    nobody = seen_by(User.objects.create_user("nobody", is_staff=True))
    for path in LISTS:
        assert nobody.get(f"/admin/{path}/").status_code == 403


def test_a_version_says_what_was_wrong_and_what_it_compiled_to(drawn: dict[str, Workflow]) -> None:
    boss = seen_by(User.objects.create_superuser("boss"))
    broken = WorkflowVersion.objects.get(workflow=drawn["acme"])
    page = boss.get(f"/admin/workflows/workflowversion/{broken.pk}/change/").content.decode()
    assert "✗ 1 error" in page
    assert "which is no activity" in page
    fine = save_workflow(customer(), name="fine", nodes=[node("a", value="<script>")], edges=[])
    version = WorkflowVersion.objects.get(workflow=fine)
    page = boss.get(f"/admin/workflows/workflowversion/{version.pk}/change/").content.decode()
    assert "✓ valid" in page
    assert "&quot;startAt&quot;: &quot;a&quot;" in page
    assert "<script>&quot;" not in page


@pytest.mark.parametrize("path", LISTS)
def test_lists_take_few_queries_whatever_their_length(path: str) -> None:
    for number in range(8):
        save_workflow(customer(), name=f"w{number}", nodes=[node("a"), node("b")], edges=edges("a b"))
    boss = seen_by(User.objects.create_superuser("boss"))
    with CaptureQueriesContext(connection) as queries:
        assert boss.get(f"/admin/{path}/").status_code == 200
    assert len(queries) <= 6, [q["sql"][:100] for q in queries]


def test_a_workflow_leads_to_its_versions_and_relations(drawn: dict[str, Workflow]) -> None:
    boss = seen_by(User.objects.create_superuser("boss"))
    pk = drawn["acme"].pk
    page = boss.get(f"/admin/workflows/workflow/{pk}/change/").content.decode()
    for path in (f"/admin/workflows/workflowversion/?workflow__id__exact={pk}",
                 f"/admin/canvas/relation/?workflow__id__exact={pk}&amp;version=1"):  # fmt: skip
        assert path in page
        assert boss.get(path.replace("&amp;", "&")).context["cl"].result_count == 1
    assert boss.get("/admin/workflows/workflow/?q=other").context["cl"].result_count == 1
    for model in ("workflows/workflowversion", "canvas/relation", "canvas/relationversion"):
        assert boss.get(f"/admin/{model}/?q={pk}").context["cl"].result_count == 1
        assert boss.get(f"/admin/{model}/?q=%00x").status_code in (200, 302, 400)
