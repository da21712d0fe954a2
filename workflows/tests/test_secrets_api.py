"""Editors see which secrets there are by name, to write their handles into a workflow; nobody sees a value."""

from datetime import UTC, datetime

import pytest

from workflows.models import Role, Secret
from workflows.secrets import handle_of, seal
from workflows.tests.people import customer, member, signed_in

pytestmark = pytest.mark.django_db


def test_names_and_handles_are_listed_and_no_value() -> None:
    seal({"apiToken": "very-secret-value", "password": "another-secret"}, customer("acme"))
    seal({"token": "of-others-12345"}, customer("other"))
    Secret.objects.filter(name="password").update(expires_at=datetime(2030, 1, 31, tzinfo=UTC))
    editor = signed_in(member(customer("acme"), Role.EDITOR))
    answer = editor.get("/secrets")
    assert answer.headers["X-Total-Count"] == "2"
    listed = answer.json()
    assert [(one["name"], one["expiresAt"]) for one in listed] == [
        ("apiToken", None),
        ("password", "2030-01-31T00:00:00Z"),
    ]
    assert listed[0]["handle"] == handle_of(Secret.objects.get(name="apiToken"))
    assert set(listed[0]) == {"handle", "name", "createdAt", "expiresAt"}
    for value in (b"very-secret", b"another-secret", b"of-others"):
        assert value not in answer.content
    assert [one["name"] for one in editor.get("/secrets?name=TOKEN").json()] == ["apiToken"]
    assert len(editor.get("/secrets?limit=1&page=2").json()) == 1
    assert editor.get("/secrets?value=x").status_code == 400
