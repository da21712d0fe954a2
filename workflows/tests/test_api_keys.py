"""API keys: shown once, kept as a digest, bound by scopes, role and person, refused with the reason when over."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from workflows.api_keys import create_key
from workflows.models import ApiKey, Execution, Membership, Role, Scope
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db

ALL = list(Scope)


def key_of(slug: str = "acme", scopes: list[Scope] = ALL, role: Role = Role.ADMIN, **more: Any) -> tuple[ApiKey, str]:
    return create_key(customer(slug), name="ci", scopes=scopes, role=role, **more)


def with_key(text: str, header: str = "X-API-Key") -> APIClient:
    client = APIClient(raise_request_exception=False)
    if header == "X-API-Key":
        client.credentials(HTTP_X_API_KEY=text)
    else:
        client.credentials(HTTP_AUTHORIZATION=f"ApiKey {text}")
    return client


def made(body: dict[str, Any]) -> dict[str, Any]:
    answer = signed_in(member(customer(), Role.ADMIN)).post("/api-keys", body, format="json")
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("header", ["X-API-Key", "Authorization"])
def test_a_key_is_shown_once_and_opens_what_it_is_for(header: str) -> None:
    answer = made({"name": "nightly", "scopes": ["read", "run"], "role": "operator"})
    text = answer["key"]
    assert text.startswith("pk_")
    assert len(text) > 40
    assert answer["prefix"] == text[:11]
    listed = signed_in(member(customer(), Role.ADMIN)).get("/api-keys")
    assert listed.headers["X-Total-Count"] == "1"
    assert text not in listed.content.decode()
    assert text not in str(ApiKey.objects.values().get())
    execution = started(customer())
    client = with_key(text, header)
    assert client.get(f"/executions/{execution.pk}").status_code == 200
    assert client.post(f"/executions/{execution.pk}/cancel", {"reason": "late"}, format="json").status_code == 202
    assert Execution.objects.get(pk=execution.pk).cancelled_by == "key:nightly"


def test_revoked_and_expired_and_invented_keys_say_why() -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    answer = made({"name": "x", "scopes": ["read"], "expiresAt": soon.isoformat()})
    client, admin = with_key(answer["key"]), signed_in(member(customer(), Role.ADMIN))
    assert client.get("/executions").status_code == 200

    ApiKey.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    refused = client.get("/executions")
    assert refused.status_code == 401
    assert "expired at" in refused.json()["error"]
    assert admin.get(f"/api-keys/{answer['id']}").json()["status"] == "expired"

    assert admin.delete(f"/api-keys/{answer['id']}").status_code == 204
    refused = client.get("/executions")
    assert refused.status_code == 401
    assert "revoked at" in refused.json()["error"]
    assert [key["status"] for key in admin.get("/api-keys?status=revoked").json()] == ["revoked"]
    assert admin.get("/api-keys?status=active").json() == []

    for text in ("pk_" + "A" * 43, "nonsense", answer["key"][:-1], "é"):
        refused = with_key(text).get("/executions")
        assert refused.status_code == 401
        assert "unknown" in refused.json()["error"]
    assert "ApiKey" in refused.headers["WWW-Authenticate"]


@pytest.mark.parametrize("scope", ALL)
def test_a_scope_allows_its_share_only(scope: Scope) -> None:
    user = member(customer(), Role.ADMIN)
    _, text = key_of(scopes=[scope], user=user)
    client, asked = with_key(text), gate()
    calls: dict[Scope, Any] = {
        Scope.READ: lambda: client.get("/executions"),
        Scope.WRITE: lambda: client.post("/workflows", {"name": "x"}, format="json"),
        Scope.RUN: lambda: client.post(f"/executions/{asked.execution_id}/pause", {}, format="json"),
        Scope.APPROVE: lambda: client.post(f"/approvals/{asked.pk}/approve", {}, format="json"),
    }
    for needed in ALL:
        answer: Any = calls[needed]()
        if needed == scope:
            assert answer.status_code in {200, 201, 202}, answer.json()
        else:
            assert answer.status_code == 403
            assert f"scope {needed.value}" in answer.json()["error"]


def test_no_key_is_made_above_the_role_of_its_user() -> None:
    admin = signed_in(member(customer(), Role.ADMIN, "ann"))
    member(customer(), Role.VIEWER, "vic")
    body = {"name": "x", "scopes": ["read"], "user": "vic"}
    refused = admin.post("/api-keys", body | {"role": "admin"}, format="json")
    assert refused.status_code == 400
    assert refused.json()["details"] == {"role": "vic may not do as much as admin: their role is viewer"}
    assert not ApiKey.objects.exists()
    assert admin.post("/api-keys", body | {"role": "viewer"}, format="json").status_code == 201
    assert admin.post("/api-keys", body | {"role": "admin", "user": "ann"}, format="json").status_code == 201


def test_a_key_is_bound_by_its_role_and_by_the_person_it_acts_for() -> None:
    _, text = key_of(role=Role.VIEWER)
    answer = with_key(text).post("/workflows", {"name": "x"}, format="json")
    assert answer.status_code == 403
    assert "role editor" in answer.json()["error"]

    user = member(customer(), Role.OPERATOR)
    key, text = key_of(role=Role.OPERATOR, user=user)
    client = with_key(text)
    assert client.post("/workflows", {"name": "x"}, format="json").json()["createdBy"] == user.username
    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    assert client.post("/workflows", {"name": "x"}, format="json").status_code == 403
    admin = signed_in(member(customer(), Role.ADMIN))
    assert admin.get(f"/api-keys/{key.pk}").json()["role"] == "viewer", "it is told in the role in which it acts"
    assert [row["role"] for row in admin.get("/api-keys").json() if row["id"] == str(key.pk)] == ["viewer"]
    user.is_active = False
    user.save()
    assert "inactive" in client.get("/executions").json()["error"]
    user.is_active = True
    user.save()
    Membership.objects.filter(user=user).delete()
    assert client.get("/executions").status_code == 401


def test_a_key_opens_nothing_of_another_customer() -> None:
    _, text = key_of("acme")
    theirs = started(customer("other"))
    client = with_key(text)
    assert client.get(f"/executions/{theirs.pk}").status_code == 404
    assert client.get("/executions", headers={"X-Customer": "other"}).status_code == 403
    assert client.get("/executions", headers={"X-Customer": "acme"}).status_code == 200
    key, _ = key_of("other")
    admin = signed_in(member(customer("acme"), Role.ADMIN))
    assert admin.get(f"/api-keys/{key.pk}").status_code == 404
    assert admin.delete(f"/api-keys/{key.pk}").status_code == 404
    assert ApiKey.objects.get(pk=key.pk).revoked_at is None


def test_keys_are_made_by_admins_and_not_by_keys() -> None:
    body = {"name": "x", "scopes": ["read"]}
    for role in (Role.VIEWER, Role.EDITOR, Role.OPERATOR, Role.APPROVER):
        assert signed_in(member(customer(), role)).post("/api-keys", body, format="json").status_code == 403
    _, text = key_of(user=member(customer(), Role.ADMIN))
    for answer in (with_key(text).post("/api-keys", body, format="json"), with_key(text).get("/api-keys")):
        assert answer.status_code == 403
        assert "sign in as a person" in answer.json()["error"]


@pytest.mark.parametrize(
    "body, field",
    [
        ({"scopes": ["read"]}, "name"),
        ({"name": "x"}, "scopes"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["all"]}, "scopes"),
        ({"name": "x", "scopes": ["read"], "role": "god"}, "role"),
        ({"name": "x", "scopes": ["read"], "user": "nobody"}, "user"),
        ({"name": "x", "scopes": ["approve"]}, "user"),
        ({"name": "x", "scopes": ["read"], "expiresAt": "2001-01-01T00:00:00Z"}, "expiresAt"),
        ({"name": "x", "scopes": ["read"], "expires": "1h"}, "expires"),
    ],
)
def test_a_wrong_key_is_refused_with_its_field(body: dict[str, Any], field: str) -> None:
    answer = signed_in(member(customer(), Role.ADMIN)).post("/api-keys", body, format="json")
    assert answer.status_code == 400
    assert field in answer.json()["details"]


def test_the_last_use_is_written_once_a_minute(django_assert_num_queries: Any) -> None:
    key, text = key_of()
    client = with_key(text)
    client.get("/activities")
    first = ApiKey.objects.get(pk=key.pk).last_used_at
    assert first is not None
    with django_assert_num_queries(1):
        client.get("/activities")
    assert ApiKey.objects.get(pk=key.pk).last_used_at == first
    earlier = first - timedelta(seconds=61)
    ApiKey.objects.update(last_used_at=earlier)
    client.get("/activities")
    later = ApiKey.objects.get(pk=key.pk).last_used_at
    assert later is not None
    assert later > earlier


def test_two_credentials_are_refused() -> None:
    _, text = key_of()
    client = signed_in(member(customer(), Role.ADMIN))
    answer = client.get("/executions", headers={"X-API-Key": text})
    assert answer.status_code == 401
    assert "not both" in answer.json()["error"]
    assert APIClient().get("/executions", headers={"Authorization": "ApiKey"}).status_code == 401
