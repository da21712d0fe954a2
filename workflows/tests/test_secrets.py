"""Secrets travel as handles: sealed when they come in, revealed for activities only, masked for eyes."""

import json
import logging
import timeit
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import override_settings
from django.utils import timezone

from workflows import secrets
from workflows.errors import PermanentError
from workflows.models import Secret
from workflows.secret_texts import masked
from workflows.spec.secret_handles import HANDLE
from workflows.tests.people import customer

CANARY = "c4n4ry-5ecret-value"


@pytest.mark.parametrize(
    "name",
    ["token", "secret", "password", "Passwd", "Authorization", "auth_token", "clientSecret", "api_key", "API-Key",
     "private_key", "DB_PASSWORD", "githubToken", "X-Api-Key", "aws.secret.access.key", "Set-Cookie", "passphrase"],
)  # fmt: skip
def test_these_names_hold_secrets(name: str) -> None:
    assert secrets.is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["tokens_used", "max_tokens", "secretary", "author", "passed", "key", "nextPageToken", "tokenizer", ""]
)
def test_these_names_do_not(name: str) -> None:
    assert not secrets.is_secret_name(name)


@pytest.mark.django_db
def test_a_secret_becomes_a_handle_and_comes_back_with_its_type() -> None:
    acme = customer()
    given = {"repo": "https://example.org/x", "auth": [{"password": CANARY}], "pin": {"secret": 1234}}
    sealed = secrets.seal(given, acme)
    assert sealed["auth"][0]["password"].startswith("secret:")
    assert CANARY not in str(sealed)
    assert sealed["pin"]["secret"].startswith("secret:")
    assert given["auth"] == [{"password": CANARY}], "what was given is not changed"
    assert secrets.reveal(sealed, str(acme.pk)) == given


@pytest.mark.django_db
def test_equal_values_share_one_row() -> None:
    acme = customer()
    first = secrets.seal({"a": {"token": CANARY}, "b": {"token": CANARY}}, acme.pk)
    second = secrets.seal({"token": CANARY}, acme.pk)
    assert first["a"]["token"] == first["b"]["token"] == second["token"]
    assert Secret.objects.count() == 1


@pytest.mark.django_db
def test_another_customers_equal_value_has_a_row_of_its_own() -> None:
    one = secrets.seal({"token": CANARY}, customer("one"))
    two = secrets.seal({"token": CANARY}, customer("two"))
    assert one != two


@pytest.mark.django_db
@pytest.mark.parametrize(
    "value",
    [
        {"token": ""}, {"token": None}, {"password": True}, {"secret": {"type": "string"}}, {"tokens_used": 7},
        {"token": "${workflow.input.token}"}, {"password": "{% $lookup(vars, 'p') %}"}, {"token": "***"},
        {"Authorization": "Bearer ${workflow.input.token}"}, {"Authorization": "Basic ${vars.user}:${vars.password}"},
        {"authorization": f"Bearer secret:{uuid4()}"}, "password", ["token", "x"], 5, None, {}, [],
    ],
)  # fmt: skip
def test_what_is_no_secret_passes_through_untouched(value: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert secrets.seal(value, uuid4()) is value


@pytest.mark.django_db
def test_items_of_a_list_under_a_secret_name_are_secrets() -> None:
    acme = customer()
    sealed = secrets.seal({"api_key": [CANARY, [CANARY + "2"], {"note": "plain"}]}, acme)
    assert CANARY not in str(sealed)
    assert sealed["api_key"][2] == {"note": "plain"}
    assert secrets.reveal(sealed, acme) == {"api_key": [CANARY, [CANARY + "2"], {"note": "plain"}]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text, password",
    [
        ("https://ann:c4n4ry@example.org/x.git", "c4n4ry"),
        ("clone https://ann:p%40ss%2Fw@example.org:8443/x, please", "p@ss/w"),
        ("redis://:c4n4ry@cache:6379/0", "c4n4ry"),
        ("postgresql+psycopg://app:c@n4ry@db/app", "c@n4ry"),
        ("https://ghp_0123456789abcdefghij@github.com/x/y.git", "ghp_0123456789abcdefghij"),
        ("https://ghp_0123456789abcdefghij:${vars.rest}@github.com/x", "ghp_0123456789abcdefghij"),
        ('{"repo":"https://ann:c4n4ry@example.org","mail":"bob@example.org"}', "c4n4ry"),
    ],
)
def test_a_password_in_an_address_is_a_secret_whatever_it_stands_under(text: str, password: str) -> None:
    acme = customer()
    for value in (text, {"repo": text}, [{"steps": [text, 1]}]):
        sealed = secrets.seal(value, acme)
        assert password not in str(sealed)
        assert secrets.mask(sealed) == sealed, "handles may be seen"
        assert secrets.seal(sealed, acme) is sealed
        assert secrets.reveal(sealed, acme) == (value if "c@n" not in text else _encoded(value))
        assert "***@" in str(secrets.mask(value)) or "***:" in str(secrets.mask(value))
    handle = secrets.seal({"password": password}, acme)["password"]
    assert handle in secrets.seal(text, acme), "one secret, wherever it was found"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address, sealed_as",
    [
        ("tgram://123:c4n4ry_token/42", "tgram://H"),
        ("ntfys://ann:c4n4ry@ntfy.example.org/x%2Fy?priority=high", "ntfys://H"),
        ("SLACK://c4n4ry/b/c/#ops", "SLACK://H"),
        ("tgram://c4n4ry/${workflow.input.chat}", "tgram://H${workflow.input.chat}"),
    ],
)
def test_the_address_of_a_notification_service_is_a_secret_but_for_its_scheme(address: str, sealed_as: str) -> None:
    acme = customer()
    for value in (address, {"channel": address}, [[address, f" {address}\n"]]):
        sealed = secrets.seal(value, acme)
        assert "c4n4ry" not in str(sealed)
        assert secrets.seal(sealed, acme) is sealed
        assert secrets.mask(sealed) == sealed, "handles may be seen"
        assert "://***" in str(secrets.mask(value))
        assert secrets.reveal(sealed, acme) == value
    assert HANDLE.sub("H", secrets.seal(address, acme)) == sealed_as
    assert "c4n4ry" not in masked(f'cannot reach "{address}", given up')


def _encoded(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("c@n", "c%40n"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a:b@c", "https://ann@example.org/", "git@github.com:x/y.git", "ssh://git@example.org/x",
        "ann:b@example.org", "https://ann:${workflow.input.pw}@example.org/", "https://ann:***@example.org/",
        "https://ann:secret:683caf5d-5442-44d9-9b26-e623c79b046d@example.org/", "http://localhost:8080/x?mail=a@b",
        "see http://[::1]:8080/ @ann", 'http://h:80","mail":"bob@example.org', "http://h:80,bob@example.org", "://:@",
        "https://a:@b", "tgram://${workflow.input.token}/${vars.chat}", "tgram://***", "tgram://{% vars.address %}",
        "tgram://secret:683caf5d-5442-44d9-9b26-e623c79b046d/42", "write to tgram://token/chat", "tgram://",
    ],
)  # fmt: skip
def test_what_is_no_password_in_an_address_stays(text: str, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert secrets.seal({"note": text}, uuid4())["note"] is text
    assert secrets.mask(text) is text


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["sk-live-17${vars.rest}", "${vars.half}c4n4ry", "c4n4ry ${vars.a} c4n4ry"])
def test_a_reference_beside_a_secret_does_not_keep_it_in_the_open(text: str) -> None:
    assert secrets.seal({"token": text}, customer())["token"].startswith("secret:")


@pytest.mark.django_db
def test_a_password_is_encoded_where_an_address_is_put_together() -> None:
    acme = customer()
    handle = secrets.seal({"password": "p@ss/w"}, acme)["password"]
    body = {"remote": f"https://ann:{handle}@example.org/", "note": f"it is {handle}"}
    assert secrets.reveal(body, acme) == {"remote": "https://ann:p%40ss%2Fw@example.org/", "note": "it is p@ss/w"}


def test_looking_for_addresses_takes_no_time_that_grows_out_of_hand() -> None:
    for text in (
        "://" * 100_000 + "@",
        "://a:" * 60_000 + "@",
        "https://" + "a" * 300_000 + ":@",
        ("x:" * 150_000) + "://@",
    ):
        assert timeit.timeit(lambda: secrets.mask({"text": text}), number=1) < 5, text[:20]  # noqa: B023


@pytest.mark.django_db
def test_a_handle_inside_a_longer_text_is_revealed_in_place() -> None:
    acme = customer()
    handle = secrets.seal({"token": CANARY}, acme)["token"]
    assert secrets.reveal({"headers": {"Authorization": f"Bearer {handle}"}}, acme) == {
        "headers": {"Authorization": f"Bearer {CANARY}"}
    }


@pytest.mark.django_db
def test_a_handle_of_another_customer_is_refused() -> None:
    handle = secrets.seal({"token": CANARY}, customer("one"))["token"]
    with pytest.raises(secrets.SecretError, match=f"no secret with the handle {handle}") as caught:
        secrets.reveal({"x": handle}, customer("two"))
    assert isinstance(caught.value, PermanentError)
    assert caught.value.name == "SecretError"
    assert not caught.value.retryable


@pytest.mark.django_db
def test_an_expired_handle_is_refused_and_sealing_the_value_again_renews_it() -> None:
    acme = customer()
    handle = secrets.seal({"token": CANARY}, acme)["token"]
    Secret.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(secrets.SecretError, match="expired"):
        secrets.reveal(handle, acme)
    assert secrets.seal({"token": CANARY}, acme)["token"] == handle
    assert secrets.reveal(handle, acme) == CANARY


@pytest.mark.django_db
def test_a_lost_key_is_told_from_a_rotated_one() -> None:
    acme = customer()
    with override_settings(SECRET_KEY="the old key of this installation"):
        handle = secrets.seal({"token": CANARY}, acme)["token"]
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=["the old key of this installation"]):
        assert secrets.reveal(handle, acme) == CANARY
    with override_settings(SECRET_KEY="new"), pytest.raises(secrets.SecretError, match="another POIMEN_SECRET_KEY"):
        secrets.reveal(handle, acme)


@pytest.mark.django_db
def test_neither_row_nor_error_nor_log_shows_the_value(caplog: pytest.LogCaptureFixture) -> None:
    acme = customer()
    with caplog.at_level(logging.DEBUG):
        handle = secrets.seal({"token": CANARY}, acme)["token"]
        with pytest.raises(secrets.SecretError) as caught:
            secrets.reveal([handle, f"secret:{uuid4()}"], acme)
    row = Secret.objects.get()
    seen = (
        f"{row} {row!r} {vars(row)} {bytes(row.ciphertext)!r} {caught.value!r} {caught.value.as_json()} {caplog.text}"
    )
    assert CANARY not in seen


def test_masking_hides_values_and_keeps_handles() -> None:
    handle = f"secret:{uuid4()}"
    shown = secrets.mask({"password": CANARY, "n": [{"token": 5}], "api_key": handle, "count": 3})
    assert shown == {"password": "***", "n": [{"token": "***"}], "api_key": handle, "count": 3}


@pytest.mark.django_db
def test_a_value_nested_deeper_than_the_stack_is_handled() -> None:
    acme = customer()
    deep: Any = {"token": CANARY}
    for _ in range(5000):
        deep = {"x": [deep]}
    revealed = secrets.reveal(secrets.seal(deep, acme), acme)
    for _ in range(5000):
        revealed = revealed["x"][0]
    assert revealed == {"token": CANARY}


@pytest.mark.django_db
def test_writing_a_secret_anew_keeps_its_handle() -> None:
    acme = customer()
    row = secrets.write_secret(acme, "old", name="github")
    secrets.write_secret(acme, CANARY, name="github", secret=row)
    assert secrets.reveal(secrets.handle_of(row), acme) == CANARY


def test_values_without_secrets_cost_almost_nothing() -> None:
    """The engine seals and reveals at every step: a few microseconds at most (the best of several runs is taken)."""
    step = {"path": "/srv/repo", "commit": "0123456789abcdef", "branch": "main", "count": 3, "ok": True}
    for function in (lambda: secrets.seal(step, "-"), lambda: secrets.reveal(step, "-"), lambda: secrets.mask(step)):
        best = min(timeit.repeat(function, number=2000, repeat=7)) / 2000
        assert best < 5e-6, f"{best * 1e6:.1f} µs"
