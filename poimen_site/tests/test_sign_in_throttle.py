"""Guessing passwords: slowed down by name and address, for a minute, at both doors; long passwords are not hashed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.test import Client
from redis.exceptions import ConnectionError as RedisAway

from poimen_site.sign_in_throttle import SignInThrottle

pytestmark = pytest.mark.django_db

RIGHT = "difference engine"
MOST = 10


@pytest.fixture(autouse=True)
def nobody_failed_before() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def ada() -> Any:
    return get_user_model().objects.create_superuser("ada", password=RIGHT)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The throttle's clock, to be moved by hand."""
    now = [1_000_000.0]
    monkeypatch.setattr(SignInThrottle, "timer", lambda self: now[0])
    return now


def at_the_api(password: Any, name: Any = "ada", address: str = "192.0.2.1", **headers: str) -> Any:
    body = {"username": name, "password": password}
    return Client(headers=headers).post("/auth/token", body, content_type="application/json", REMOTE_ADDR=address)


def at_the_admin(password: str, name: str = "ada", address: str = "192.0.2.1") -> Any:
    body = {"username": name, "password": password, "next": "/admin/"}
    return Client().post("/admin/login/", body, REMOTE_ADDR=address)


DOORS = pytest.mark.parametrize("door, welcome", [(at_the_api, 200), (at_the_admin, 302)])


def fail(times: int, door: Any = at_the_api, **more: Any) -> set[int]:
    return {door(f"wrong {n}", **more).status_code for n in range(times)}


@DOORS
def test_after_too_many_failures_not_even_the_right_password_is_tried(
    door: Any, welcome: int, clock: list[float]
) -> None:
    assert fail(MOST, door) == {401 if door is at_the_api else 200}
    clock[0] += 20
    answer = door(RIGHT)
    assert answer.status_code == 429
    assert answer["Retry-After"] == "40"
    assert answer.json()["error"] == (
        "Too many failed sign-ins with this user name from your address. Expected available in 40 seconds."
    )
    clock[0] += 41
    assert door(RIGHT).status_code == welcome, "nobody is locked out for good"


def test_being_refused_does_not_prolong_it(clock: list[float]) -> None:
    fail(MOST)
    for _ in range(50):
        clock[0] += 1
        assert at_the_api(RIGHT).status_code == 429
    clock[0] += 11
    assert at_the_api(RIGHT).status_code == 200


def test_both_doors_count_together() -> None:
    fail(MOST // 2)
    fail(MOST // 2, at_the_admin)
    assert at_the_api(RIGHT).status_code == at_the_admin(RIGHT).status_code == 429


@DOORS
def test_others_and_other_addresses_are_not_concerned(door: Any, welcome: int) -> None:
    get_user_model().objects.create_superuser("bob", password=RIGHT)
    fail(MOST)
    assert door(RIGHT, name="bob").status_code == welcome
    assert door(RIGHT, address="192.0.2.2").status_code == welcome


@DOORS
def test_whoever_signs_in_starts_anew(door: Any, welcome: int) -> None:
    for _ in range(3):
        fail(MOST - 1)
        assert door(RIGHT).status_code == welcome


def test_signing_in_does_not_count() -> None:
    assert {at_the_api(RIGHT).status_code for _ in range(3 * MOST)} == {200}


@pytest.mark.parametrize("spelling", [" ada", "ada\t", "\uff41da", "ADA"])
def test_another_spelling_is_no_other_name(spelling: str) -> None:
    fail(MOST - 1, name=spelling)
    fail(1)
    assert at_the_api(RIGHT).status_code == 429


def test_an_invented_address_does_not_help(settings: Any) -> None:
    for number in range(MOST):
        at_the_api("wrong", **{"X-Forwarded-For": f"198.51.100.{number}"})
    assert at_the_api(RIGHT, **{"X-Forwarded-For": "198.51.100.99"}).status_code == 429
    assert settings.REST_FRAMEWORK["NUM_PROXIES"] == 0


@pytest.mark.parametrize("length, is_hashed", [(4096, True), (4097, False), (1_000_000, False)])
@pytest.mark.parametrize("door", [at_the_api, at_the_admin])
def test_a_long_password_is_refused_before_it_is_hashed(
    door: Any, length: int, is_hashed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[int] = []
    encode = MD5PasswordHasher.encode

    def spied(self: Any, password: str, salt: str) -> str:
        hashed.append(len(password))
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", spied)
    answer = door("x" * length)
    assert (length in hashed) is is_hashed
    if not is_hashed:
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("password: ")


def test_names_that_are_no_text_are_refused() -> None:
    for name in (5, True, ["ada"], {"a": 1}, None, "x" * 151):
        answer = at_the_api(RIGHT, name=name)
        assert answer.status_code == 400, name
        assert answer.json()["error"].startswith("username: ")


@DOORS
def test_without_the_cache_people_still_come_in(
    door: Any, welcome: int, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = "redis://redis:6379"

    def away(*_: Any, **__: Any) -> None:
        raise RedisAway("Error 111 connecting to redis:6379. Connection refused.")

    for method in ("get", "set", "delete"):
        monkeypatch.setattr(cache, method, away)
    assert fail(MOST + 2, door) == {401 if door is at_the_api else 200}
    assert door(RIGHT).status_code == welcome
