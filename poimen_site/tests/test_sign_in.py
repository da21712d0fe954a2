"""Signing in over HTTP: tokens, the customer they are for, and what is said when it does not work."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from workflows.models import Customer, Membership, Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Customer:
    return Customer.objects.create(slug="acme", name="Acme")


@pytest.fixture
def ada(acme: Customer) -> Any:
    user = get_user_model().objects.create_user("ada", password="difference engine")
    Membership.objects.create(user=user, customer=acme, role=Role.EDITOR)
    return user


def sign_in(**body: Any) -> Any:
    return Client().post("/auth/token", body, content_type="application/json")


def test_a_token_opens_the_api_for_the_users_customer(ada: Any, acme: Customer) -> None:
    answer = sign_in(username="ada", password="difference engine")
    assert answer.status_code == 200
    assert set(answer.json()) == {"access", "refresh"}
    assert AccessToken(answer.json()["access"])["customer_id"] == str(acme.pk)
    bearer = {"Authorization": f"Bearer {answer.json()['access']}"}
    assert Client(headers=bearer).get("/workflows").status_code == 200
    assert Client().get("/workflows").status_code == 401


def test_a_refreshed_token_is_for_the_same_customer(ada: Any, acme: Customer) -> None:
    tokens = sign_in(username="ada", password="difference engine").json()
    answer = Client().post("/auth/refresh", {"refresh": tokens["refresh"]}, content_type="application/json")
    assert answer.status_code == 200
    assert AccessToken(answer.json()["access"])["customer_id"] == str(acme.pk)


def test_a_member_of_several_customers_says_which(ada: Any, acme: Customer) -> None:
    other = Customer.objects.create(slug="other", name="Other")
    Membership.objects.create(user=ada, customer=other)
    assert "customer_id" not in AccessToken(sign_in(username="ada", password="difference engine").json()["access"])
    chosen = sign_in(username="ada", password="difference engine", customer="other").json()
    assert AccessToken(chosen["access"])["customer_id"] == str(other.pk)
    refused = sign_in(username="ada", password="difference engine", customer="third")
    assert refused.status_code == 400
    assert "'third'" in refused.json()["error"]


@pytest.mark.parametrize("name, password", [("ada", "wrong"), ("nobody", "difference engine")])
def test_a_wrong_name_or_password_is_refused_alike(ada: Any, name: str, password: str) -> None:
    answer = sign_in(username=name, password=password)
    assert answer.status_code == 401
    assert answer.json() == {"error": "No active account found with the given credentials"}


def test_someone_who_was_locked_out_gets_no_new_token(ada: Any) -> None:
    tokens = sign_in(username="ada", password="difference engine").json()
    ada.is_active = False
    ada.save()
    answer = Client().post("/auth/refresh", {"refresh": tokens["refresh"]}, content_type="application/json")
    assert answer.status_code == 401
    assert "error" in answer.json()


def test_what_is_wrong_with_a_refresh_token_is_told(ada: Any) -> None:
    def refused(token: object) -> str:
        answer = Client().post("/auth/refresh", {"refresh": str(token)}, content_type="application/json")
        assert answer.status_code == 401
        return str(answer.json()["error"])

    over = RefreshToken.for_user(ada)
    over["exp"] = 1
    assert refused(over) == "The token has expired"
    assert refused(f"{str(over)[:-6]}AAAAAA") == "The token's signature is wrong"
    assert refused(AccessToken.for_user(ada)) == "The token is of another type: expected the refresh token"


def test_a_missing_field_is_named() -> None:
    answer = sign_in(username="ada")
    assert answer.status_code == 400
    assert answer.json()["error"] == "password: This field is required."
    assert answer.json()["details"] == {"password": ["This field is required."]}
