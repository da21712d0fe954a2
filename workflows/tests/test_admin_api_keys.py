"""API keys in the admin: made by admins of the customer, shown once, revoked; never changed, never shown again."""

import re

import pytest
from django.test import Client

from workflows.api_keys import create_key
from workflows.models import ApiKey, AuditRecord, Membership, Role, Scope
from workflows.tests.people import customer, member

pytestmark = pytest.mark.django_db

KEYS = "/admin/workflows/apikey/"


def as_(role: Role, name: str = "", slug: str = "acme") -> Client:
    client = Client()
    client.force_login(member(customer(slug), role, name, is_staff=True))
    return client


def made_with(client: Client, slug: str = "acme", **more: object) -> str:
    fields = {"customer": str(customer(slug).pk), "name": "ci", "scopes": ["read", "run"], "role": "operator"}
    return client.post(f"{KEYS}add/", {**fields, **more}).content.decode()


def test_a_key_is_made_shown_once_and_works() -> None:
    ann = as_(Role.ADMIN, "ann")
    found = re.search(r'id="key-text">(pk_[\w-]+)<', made_with(ann))
    assert found is not None
    text = found[1]
    assert Client().get("/executions", headers={"X-API-Key": text}).status_code == 200
    key = ApiKey.objects.get()
    assert (key.created_by, key.role, key.scopes) == ("ann", "operator", ["read", "run"])
    for page in (KEYS, f"{KEYS}{key.pk}/change/", f"{KEYS}{key.pk}/history/"):
        content = ann.get(page).content.decode()
        assert key.prefix in content or "history" in page
        assert text not in content
        assert key.digest not in content
    assert AuditRecord.objects.get(action="api_key.created").actor == "ann"


def test_a_revoked_key_opens_nothing() -> None:
    key, text = create_key(customer(), name="ci", scopes=[Scope.READ], role=Role.VIEWER)
    body = {"action": "revoke_selected", "_selected_action": [str(key.pk)], "index": 0}
    assert "1 key works no more" in as_(Role.ADMIN, "ann").post(KEYS, body, follow=True).content.decode()
    assert Client().get("/executions", headers={"X-API-Key": text}).status_code == 401
    key.refresh_from_db()
    assert key.revoked_by == "ann"


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_nobody_less_than_an_admin_sees_or_makes_keys(role: Role) -> None:
    create_key(customer(), name="ci", scopes=[Scope.READ], role=Role.VIEWER)
    client = as_(role)
    assert client.get(KEYS).status_code == 403
    assert "pk_" not in made_with(client)
    assert ApiKey.objects.count() == 1


def test_an_admin_elsewhere_neither_sees_nor_makes_nor_revokes_them() -> None:
    key, _ = create_key(customer(), name="secret-project", scopes=[Scope.READ], role=Role.VIEWER)
    stranger = as_(Role.ADMIN, slug="other")
    assert "secret-project" not in stranger.get(KEYS).content.decode()
    assert "Select a valid choice" in made_with(stranger)
    stranger.post(KEYS, {"action": "revoke_selected", "_selected_action": [str(key.pk)], "index": 0})
    key.refresh_from_db()
    assert key.revoked_at is None


def test_they_are_called_what_they_are() -> None:
    content = as_(Role.ADMIN).get(KEYS).content.decode()
    assert "API key" in content
    assert "Api key" not in content


def test_a_key_is_listed_in_the_role_in_which_it_acts_and_not_made_above_it() -> None:
    ann = as_(Role.ADMIN, "ann")
    vic = member(customer(), Role.OPERATOR, "vic")
    assert "vic may not do as much as admin: their role is operator" in made_with(ann, username="vic", role="admin")
    assert not ApiKey.objects.exists()
    assert 'id="key-text"' in made_with(ann, username="vic", role="operator")
    key = ApiKey.objects.get()
    Membership.objects.filter(user=vic).update(role=Role.VIEWER)
    for page in (KEYS, f"{KEYS}{key.pk}/change/"):
        content = ann.get(page).content.decode()
        assert "Viewer" in content, page
        assert "Operator" not in content, page


def test_wrong_fields_are_named() -> None:
    ann = as_(Role.ADMIN, "ann")
    assert "no member of this name" in made_with(ann, username="nobody")
    assert "decisions are made by people" in made_with(ann, scopes=["approve"])
    assert "has passed" in made_with(ann, expires_at_0="2020-01-01", expires_at_1="00:00")
    assert "This field is required" in made_with(ann, name="")
    assert not ApiKey.objects.exists()


def test_keys_are_neither_changed_nor_deleted() -> None:
    key, _ = create_key(customer(), name="ci", scopes=[Scope.READ], role=Role.VIEWER)
    ann = as_(Role.ADMIN)
    assert ann.post(f"{KEYS}{key.pk}/change/", {"role": "admin"}).status_code == 403
    assert ann.post(f"{KEYS}{key.pk}/delete/", {"post": "yes"}).status_code == 403
    key.refresh_from_db()
    assert key.role == "viewer"
