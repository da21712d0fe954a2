"""How the tests about workflows over REST ask: as whom, with which canvas, and what every workflow must have."""

from typing import Any

from rest_framework.test import APIClient

from canvas.tests.drawing import edges, node
from workflows.models import Role
from workflows.tests.people import customer, member, signed_in

KEYS = {
    "id", "name", "description", "status", "version", "nodes", "edges", "createdAt", "updatedAt", "createdBy",
}  # fmt: skip
RFC3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
CHAIN: dict[str, Any] = {"name": "chain", "nodes": [node("a"), node("b")], "edges": edges("a b")}


def client(role: Role = Role.EDITOR, slug: str = "acme", **more: Any) -> APIClient:
    return signed_in(member(customer(slug), role, **more))


def post(by: APIClient, path: str, body: Any = None, **headers: Any) -> Any:
    return by.post(path, body, format="json", **headers)


def saved(by: APIClient, **fields: Any) -> dict[str, Any]:
    response = post(by, "/workflows", {**CHAIN, **fields})
    assert response.status_code == 201, response.content
    body: dict[str, Any] = response.json()
    return body
