"""The cast of the tests about access: customers, people in their roles, and executions that belong to them."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from rest_framework.test import APIClient
from rest_framework_simplejwt.tokens import RefreshToken

from workflows.access import CUSTOMER_CLAIM
from workflows.models import Customer, Execution, Membership, Role
from workflows.submission import start_execution, store_spec

ECHO: dict[str, Any] = {
    "name": "echo",
    "states": [{"name": "Say", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "hello"}}],
}


def customer(slug: str = "acme") -> Customer:
    """A customer of that slug, made if need be."""
    return Customer.objects.get_or_create(slug=slug, defaults={"name": slug.title()})[0]


def member(of: Customer, role: Role = Role.VIEWER, name: str = "", **more: Any) -> User:
    """A new person in that role."""
    user = User.objects.create_user(name or f"{role}-{uuid4().hex[:8]}", password="correct horse", **more)
    Membership.objects.create(user=user, customer=of, role=role)
    return user


def signed_in(user: User, claim: Customer | None = None) -> APIClient:
    """A client with a bearer token of the user, tied to ``claim`` if given."""
    token = RefreshToken.for_user(user)
    if claim is not None:
        token[CUSTOMER_CLAIM] = str(claim.pk)
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token.access_token}")
    return client


def started(of: Customer, spec: dict[str, Any] = ECHO, by: str = "", **inputs: Any) -> Execution:
    """An execution that waits for a worker."""
    document = store_spec(spec)
    return start_execution(customer=of, spec=document, inputs=inputs, name=spec["name"], created_by=by)[0]
