"""Schemathesis against the served document: whatever is sent, no endpoint fails or answers what it does not document.

Bounded: a few examples for each operation and kind of request, always the same ones.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from rest_framework_simplejwt.tokens import RefreshToken
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks as openapi_checks

from poimen_site.tests.test_api_permissions import RULES, Things
from workflows.models import Role
from workflows.tests.people import customer, member, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

EXAMPLES = 3
OPERATIONS = sorted([*RULES, ("post", "auth/token"), ("post", "auth/refresh")])
CHECKS = [
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
]


@lru_cache(maxsize=1)
def served_document() -> str:
    answer = signed_in(member(customer(), Role.VIEWER)).get("/schema?format=json")
    assert answer.status_code == 200
    return str(answer.content, "utf-8")


def operation_of(method: str, route: str) -> Any:
    schema: Any = schemathesis.openapi.from_dict(json.loads(served_document()))
    schema.app = get_wsgi_application()
    return schema["/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)][method.upper()]


@contextmanager
def one_connection() -> Iterator[None]:
    """Let requests of this process keep the test's connection, as those of Django's own test client do."""
    ends = (signals.request_started, signals.request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield
    for signal in ends:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("method, route", OPERATIONS)
def test_nothing_fails_and_every_answer_is_documented(method: str, route: str, mode: GenerationMode) -> None:
    load_all_checks()
    things = Things("acme")
    token = RefreshToken.for_user(member(customer("acme"), Role.ADMIN)).access_token
    known = {re.sub(r"<\w+:(\w+)>", r"\1", placeholder): value for placeholder, value in things.values.items()}
    asked: list[int] = []

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation_of(method, route).as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        # With ids that exist requests come further; what invented ones are answered is in test_api_rules.py.
        case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
        response = case.call(headers={"Authorization": f"Bearer {token}"})
        asked.append(response.status_code)
        case.validate_response(response, checks=CHECKS)

    with one_connection():
        ask()
    assert asked
