"""Who may do what over REST: each endpoint and role, foreign and anonymous callers, the choice of a customer."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import jwt
import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from workflows.access import DEFAULT_CUSTOMER_SLUG, default_customer
from workflows.models import ApprovalGate, Customer, Execution, Membership, Role
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.test_approvals import gate

# method, path, body, the least role, the codes that tell "may" from "may not"
ENDPOINTS: list[tuple[str, str, Any, Role, int]] = [
    ("get", "/executions", None, Role.VIEWER, 200),
    ("get", "/executions/{execution}", None, Role.VIEWER, 200),
    ("get", "/executions/{execution}/states", None, Role.VIEWER, 200),
    ("get", "/executions/{execution}/logs", None, Role.VIEWER, 200),
    ("post", "/executions/{execution}/cancel", {}, Role.OPERATOR, 202),
    ("post", "/executions/{execution}/pause", {}, Role.OPERATOR, 202),
    ("post", "/executions/{execution}/resume", {}, Role.OPERATOR, 409),
    ("post", "/executions/{execution}/signal", {"name": "go"}, Role.OPERATOR, 202),
    ("post", "/executions/{execution}/rerun", {}, Role.OPERATOR, 409),
    ("get", "/activities", None, Role.VIEWER, 200),
    ("get", "/cached-results", None, Role.VIEWER, 200),
    ("post", "/cached-results/forget", {"all": True}, Role.OPERATOR, 200),
    ("get", "/approvals", None, Role.VIEWER, 200),
    ("get", "/approvals/stats", None, Role.VIEWER, 200),
    ("get", "/approvals/{gate}", None, Role.VIEWER, 200),
    ("post", "/approvals/{gate}/approve", {}, Role.APPROVER, 200),
    ("post", "/approvals/{gate}/reject", {"reason": "no"}, Role.APPROVER, 200),
]
OBJECTS = [endpoint for endpoint in ENDPOINTS if "{" in endpoint[1]]


def call(client: APIClient, method: str, path: str, body: Any, asked: ApprovalGate) -> Any:
    url = path.format(execution=asked.execution_id, gate=asked.pk)
    return getattr(client, method)(url, body, format="json") if body is not None else getattr(client, method)(url)


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("method, path, body, needed, code", ENDPOINTS)
def test_each_role_may_do_its_share(method: str, path: str, body: Any, needed: Role, code: int, role: Role) -> None:
    response = call(signed_in(member(customer(), role)), method, path, body, gate())
    if role.covers(needed):
        assert response.status_code == code
    else:
        assert response.status_code == 403
        assert needed.value in response.json()["error"]


@pytest.mark.django_db
@pytest.mark.parametrize("method, path, body, needed, code", ENDPOINTS)
def test_nobody_is_served_anonymously(method: str, path: str, body: Any, needed: Role, code: int) -> None:
    response = call(APIClient(), method, path, body, gate())
    assert response.status_code == 401
    assert "error" in response.json()


@pytest.mark.django_db
@pytest.mark.parametrize("method, path, body, needed, code", OBJECTS)
def test_what_is_another_customers_does_not_exist(method: str, path: str, body: Any, needed: Role, code: int) -> None:
    stranger = signed_in(member(customer("other"), Role.ADMIN))
    asked = gate()
    response = call(stranger, method, path, body, asked)
    assert response.status_code == 404
    unknown = getattr(stranger, method)(path.format(execution=uuid4(), gate=uuid4()), body, format="json")
    assert response.json() == unknown.json(), "foreign and unknown cannot be told apart"
    asked.refresh_from_db()
    assert asked.status == "pending"
    assert Execution.objects.get(pk=asked.execution_id).cancel_requested_at is None


@pytest.mark.django_db
@pytest.mark.parametrize("method, path, body, needed, code", OBJECTS)
@pytest.mark.parametrize("bad", ["x", "1", "00000000-0000-0000-0000-00000000000g", "%00", "..%2F..", "é"])
def test_what_cannot_be_an_id_is_not_found(
    method: str, path: str, body: Any, needed: Role, code: int, bad: str
) -> None:
    client = signed_in(member(customer(), Role.ADMIN))
    response = getattr(client, method)(path.format(execution=bad, gate=bad), body, format="json")
    assert response.status_code == (400 if bad == "%00" else 404)  # NUL is refused before anything is looked up
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]


@pytest.mark.django_db
def test_lists_show_only_what_is_ones_own() -> None:
    mine, other = gate(), gate(slug="other")
    client = signed_in(member(customer(), Role.VIEWER))
    assert [e["id"] for e in client.get("/executions").json()] == [str(mine.execution_id)]
    assert [g["id"] for g in client.get("/approvals").json()] == [str(mine.pk)]
    assert client.get("/approvals/stats").json()["total"] == 1
    assert client.get(f"/approvals?executionId={other.execution_id}").json() == []


# -- which customer -------------------------------------------------------------------------------------------------


def seen_by(client: APIClient, x_customer: str = "") -> Any:
    response = client.get("/executions", headers={"X-Customer": x_customer} if x_customer else None)
    return [e["name"] for e in response.json()] if response.status_code == 200 else response.status_code


def of_two() -> tuple[User, Customer, Customer]:
    one, two = customer("one"), customer("two")
    started(one, {"name": "first", "states": [{"name": "A", "type": "Pass"}]})
    started(two, {"name": "second", "states": [{"name": "A", "type": "Pass"}]})
    user = member(one, Role.OPERATOR)
    Membership.objects.create(user=user, customer=two, role=Role.VIEWER)
    return user, one, two


@pytest.mark.django_db
def test_a_member_of_several_customers_acts_for_the_oldest_unless_one_is_named() -> None:
    user, _one, two = of_two()
    client = signed_in(user)
    assert seen_by(client) == ["first"]
    assert seen_by(client, x_customer="one") == ["first"]
    assert seen_by(client, x_customer=str(two.pk).upper()) == ["second"]
    assert seen_by(client, x_customer="three") == 403


@pytest.mark.django_db
def test_the_role_is_that_at_the_chosen_customer() -> None:
    user, one, two = of_two()
    run = {of.slug: Execution.objects.get(customer=of) for of in (one, two)}
    client = signed_in(user)
    assert client.post(f"/executions/{run['one'].pk}/cancel", HTTP_X_CUSTOMER="one").status_code == 202
    assert client.post(f"/executions/{run['two'].pk}/cancel", HTTP_X_CUSTOMER="two").status_code == 403
    assert client.post(f"/executions/{run['two'].pk}/cancel", HTTP_X_CUSTOMER="one").status_code == 404


@pytest.mark.django_db
def test_a_token_can_be_tied_to_a_customer() -> None:
    user, _one, two = of_two()
    client = signed_in(user, claim=two)
    assert seen_by(client) == ["second"]
    assert seen_by(client, x_customer="two") == ["second"]
    assert seen_by(client, x_customer="one") == 403, "the token is for two"
    Membership.objects.filter(user=user, customer=two).delete()
    assert seen_by(client) == 403, "a membership that has ended takes the token's customer with it"


@pytest.mark.django_db
def test_a_token_for_a_foreign_customer_opens_nothing() -> None:
    assert seen_by(signed_in(member(customer(), Role.ADMIN), claim=customer("other"))) == 403


@pytest.mark.django_db
def test_someone_without_a_customer_is_told_so() -> None:
    response = signed_in(User.objects.create_user("lonely")).get("/executions")
    assert response.status_code == 403
    assert "no customer" in response.json()["error"]


@pytest.mark.django_db
def test_a_superuser_without_membership_acts_for_the_default_customer() -> None:
    started(default_customer())
    started(customer())
    root = User.objects.create_superuser("root")
    assert seen_by(signed_in(root)) == ["echo"]
    assert Customer.objects.filter(slug=DEFAULT_CUSTOMER_SLUG).count() == 1


@pytest.mark.django_db
def test_a_superuser_is_admin_where_they_are_a_member() -> None:
    root = member(customer(), Role.VIEWER, is_superuser=True)
    run = started(customer())
    assert signed_in(root).post(f"/executions/{run.pk}/cancel").status_code == 202


@pytest.mark.django_db
def test_bad_tokens_are_refused() -> None:
    user = member(customer(), Role.ADMIN)
    ghost, nameless, odd = AccessToken.for_user(user), AccessToken(), AccessToken()
    ghost["user_id"] = "999999"
    odd["user_id"] = "not a number"
    expired = AccessToken.for_user(user)
    expired["exp"] = 1
    refresh = RefreshToken.for_user(user)
    for token in (ghost, nameless, odd, expired, refresh, "x.y.z", ""):
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        assert client.get("/executions").status_code == 401, repr(token)
    user.is_active = False
    user.save()
    assert signed_in(user).get("/executions").status_code == 401


def as_token(change: dict[str, Any] | None = None, key: str = "", algorithm: str = "HS256") -> str:
    """An access token of a member, with other claims, another key or another algorithm."""
    token = AccessToken.for_user(member(customer(), Role.ADMIN))
    signing: Any = None if algorithm == "none" else key or api_settings.SIGNING_KEY
    return jwt.encode(token.payload | (change or {}), signing, algorithm=algorithm)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "made, says",
    [
        (lambda: as_token({"exp": 1}), "The token has expired"),
        (
            lambda: as_token(key="another key, which is as long as it has to be for this"),
            "The token's signature is wrong",
        ),
        (lambda: as_token()[:-6] + "AAAAAA", "The token's signature is wrong"),
        (lambda: as_token(algorithm="none"), "The token is not signed with HS256"),
        (lambda: as_token({"token_type": "refresh"}), "The token is of another type: expected the access token"),
        (lambda: "x.y.z", "This is no token: expected a JSON Web Token"),
    ],
)
def test_what_is_wrong_with_a_token_is_told(made: Callable[[], str], says: str) -> None:
    answer = APIClient().get("/executions", headers={"Authorization": f"Bearer {made()}"})
    assert answer.status_code == 401
    assert answer.json() == {"error": says}


@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_name_of_the_scheme_counts_in_any_case(scheme: str) -> None:
    assert APIClient().get("/executions", headers={"Authorization": f"{scheme} {as_token()}"}).status_code == 200
    assert APIClient().get("/executions", headers={"Authorization": f"{scheme}s {as_token()}"}).status_code == 401


@pytest.mark.django_db
def test_the_session_of_the_pages_works_too_and_wants_its_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(member(customer(), Role.ADMIN))
    run = started(customer())
    assert client.get(f"/executions/{run.pk}").status_code == 200
    refused = client.post(f"/executions/{run.pk}/cancel", {}, content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["error"]


@pytest.mark.django_db
def test_sign_in_and_customer_cost_one_query(django_assert_num_queries: Any) -> None:
    client = signed_in(member(customer(), Role.VIEWER))
    with django_assert_num_queries(1):
        assert client.get("/activities").status_code == 200
