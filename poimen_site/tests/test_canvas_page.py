"""The page of the canvas editor over HTTP: who gets it, what it says about their rights, how people come to it."""

from uuid import uuid4

import pytest
from django.conf import settings

from canvas.saving import save_workflow
from canvas.tests.drawing import node
from poimen_site.tests.test_pages import text, visiting, visitor
from workflows.models import Membership, Role, Workflow, WorkflowStatus
from workflows.tests.people import customer, member

pytestmark = pytest.mark.django_db


def drawn(slug: str = "acme", name: str = "Drawn") -> Workflow:
    return save_workflow(customer(slug), name=name, nodes=[node("a", "EchoActivity")])


@pytest.mark.parametrize(
    "role, may_edit, may_run",
    [(Role.VIEWER, "no", "no"), (Role.EDITOR, "yes", "no"), (Role.OPERATOR, "yes", "yes"), (Role.ADMIN, "yes", "yes")],
)
def test_the_page_tells_the_editor_what_the_role_allows(role: Role, may_edit: str, may_run: str) -> None:
    workflow = drawn()
    shown = text(visitor(role), f"/ui/workflows/{workflow.pk}/edit")
    assert f'data-workflow="{workflow.pk}" data-may-edit="{may_edit}" data-may-run="{may_run}"' in shown


def test_an_archived_workflow_is_edited_and_not_run() -> None:
    workflow = drawn()
    workflow.status = WorkflowStatus.ARCHIVED
    workflow.save()
    assert 'data-may-edit="yes" data-may-run="no"' in text(visitor(Role.ADMIN), f"/ui/workflows/{workflow.pk}/edit")


def test_others_canvases_do_not_exist() -> None:
    workflow = drawn("globex")
    for path in (f"/ui/workflows/{workflow.pk}/edit", f"/ui/workflows/{uuid4()}/edit", "/ui/workflows/none/edit"):
        assert "Workflow not found" in text(visitor(Role.ADMIN), path, 404)
    user = member(customer(), Role.ADMIN)
    Membership.objects.create(user=user, customer=customer("globex"), role=Role.VIEWER)
    assert "Globex" in text(visiting(user), f"/ui/workflows/{workflow.pk}/edit", 404)


def test_the_name_of_a_workflow_is_shown_and_not_run() -> None:
    workflow = drawn(name="<script>alert(1)</script>")
    for path in (f"/ui/workflows/{workflow.pk}/edit", f"/ui/workflows/{workflow.pk}"):
        assert "<script>alert" not in text(visitor(), path)


@pytest.mark.parametrize("role, says", [(Role.VIEWER, "See the canvas"), (Role.EDITOR, "Edit on the canvas")])
def test_a_workflow_leads_to_its_canvas(role: Role, says: str) -> None:
    workflow = drawn()
    shown = text(visitor(role), f"/ui/workflows/{workflow.pk}")
    assert f'href="/ui/workflows/{workflow.pk}/edit"' in shown
    assert says in shown
    assert ("New workflow" in text(visitor(role), "/ui/workflows")) == (role is Role.EDITOR)


def test_all_that_the_page_loads_is_here() -> None:
    workflow = drawn()
    shown = text(visitor(Role.EDITOR), f"/ui/workflows/{workflow.pk}/edit")
    for name in ("canvas/editor.js", "canvas/editor.css"):
        assert f"/static/{name}" in shown
        assert (settings.BASE_DIR / "static" / name).exists()
