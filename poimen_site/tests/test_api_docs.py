"""The OpenAPI document names every endpoint and its answers; the page that shows it asks no other server."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from rest_framework.test import APIClient
from rest_framework.views import APIView

from workflows.models import Role
from workflows.tests.people import customer, member, signed_in, started


def rest_routes() -> Iterator[tuple[str, type[APIView]]]:
    """Every route of the URL conf that a REST view answers, as in ``executions/<str:execution_id>``."""
    pending: list[tuple[str, Any]] = [("", get_resolver())]
    while pending:
        prefix, item = pending.pop()
        route = prefix + str(item.pattern).lstrip("^").removeprefix("/")
        if isinstance(item, URLResolver):
            pending += [(route, inner) for inner in item.url_patterns]
        elif isinstance(item, URLPattern):
            view = getattr(item.callback, "cls", None) or getattr(item.callback, "view_class", None)
            if isinstance(view, type) and issubclass(view, APIView):
                yield route, view


def methods_of(view: type[APIView]) -> list[str]:
    return [name for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name)]


def document() -> dict[str, Any]:
    generator: Any = SchemaGenerator  # the stubs have no types
    found: dict[str, Any] = generator().get_schema(request=None, public=True)
    return found


def test_every_endpoint_says_what_it_takes_and_answers() -> None:
    GENERATOR_STATS.reset()
    found = document()
    assert not GENERATOR_STATS, f"{GENERATOR_STATS._warn_cache} {GENERATOR_STATS._error_cache}"
    validate: Any = validate_schema
    validate(found)
    known = {(re.sub(r"\{[^}]*\}", "{}", path), method) for path, item in found["paths"].items() for method in item}
    unshown = ("schema", "docs")
    served = {
        ("/" + re.sub(r"<[^>]*>", "{}", route), method)
        for route, view in rest_routes()
        for method in methods_of(view)
        if route not in unshown
    }
    assert known == served
    operations = [operation for item in found["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) == len(served)
    for operation in operations:
        named = operation["operationId"]
        assert "_" not in named, f"{named}: the view does not say what it answers; see workflows.api.documentation"
        assert {"400", "401", "403", "429", "503"} <= set(operation["responses"]), named
        assert operation["description"], named


@pytest.mark.django_db
def test_the_document_is_for_those_who_are_signed_in() -> None:
    assert APIClient().get("/schema").status_code == 401
    visitor = Client()
    assert visitor.get("/docs").headers["Location"] == "/ui/sign-in?next=/docs"
    member(customer(), Role.VIEWER, name="ada")
    signed = visitor.post("/ui/sign-in", {"username": "ada", "password": "correct horse", "next": "/docs"})
    assert visitor.get(signed.headers["Location"]).status_code == 200
    answer = signed_in(member(customer(), Role.VIEWER)).get("/schema?format=json")
    assert answer.status_code == 200
    assert answer.json()["paths"]["/executions/{execution_id}"]["get"]["operationId"] == "readExecution"


@pytest.mark.django_db
def test_a_format_that_there_is_not_is_refused_by_naming_those_there_are() -> None:
    reader = signed_in(member(customer(), Role.VIEWER))
    log = f"/executions/{started(customer()).pk}/logs"
    for path, formats in (("/schema", "yaml, json"), (log, "json, text")):
        refused = reader.get(f"{path}?format=bogus")
        assert refused.status_code == 400
        assert refused.json()["error"] == f"format: expected one of {formats}"
    for path, kind in ((log, "text/plain"), ("/executions", "application/json"), ("/schema", "application/json")):
        refused = reader.get(path, headers={"Accept": "image/png"})
        assert refused.status_code == 406
        assert refused.json()["error"].startswith("Accept: none of these types can be answered; there are ")
        assert kind in refused.json()["error"]
    assert "format: unknown parameter" in reader.get("/executions?format=bogus").json()["error"]


@pytest.mark.django_db
def test_the_page_loads_from_here_alone() -> None:
    client = Client()
    client.force_login(User.objects.create_user("ann"))
    page = client.get("/docs", headers={"Accept": "text/html"})
    assert page.status_code == 200
    text = page.content.decode()
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "<style" not in text
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    addresses = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(addresses) >= 4
    for address in addresses:
        assert address.startswith("/"), address
        found = client.get(address.replace("&amp;", "&"))
        assert found.status_code == 200, address
        if "script" in address:
            assert b"https://" not in b"".join(found) if found.streaming else b"https://" not in found.content
