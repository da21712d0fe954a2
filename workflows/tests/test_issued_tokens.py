"""Tokens of another issuer: taken when everything about them is right, refused with 401 and the reason otherwise."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from poimen_site.environment import Environment, SettingError
from poimen_site.token_issuer import token_issuer
from workflows.models import Membership, Role
from workflows.tests.people import customer, member, started

ISSUER, AUDIENCE = "https://login.example.org", "poimen"
SECRET = "a shared secret that is long enough, 2 x 16"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NO_KEY: Any = None
EC = ec.generate_private_key(ec.SECP256R1())


def public(key: Any, kid: str) -> dict[str, Any]:
    algorithm: Any = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    found: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    return found | {"kid": kid, "use": "sig"}


class Issuer:
    """A server of keys on loopback that counts questions."""

    def __init__(self) -> None:
        self.answer: tuple[int, bytes] = (200, json.dumps({"keys": [public(RSA, "r1"), public(EC, "e1")]}).encode())
        self.asked = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                code, body = issuer.answer
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


def configured(**more: str) -> dict[str, Any]:
    values = {"POIMEN_JWT_ISSUER": ISSUER, "POIMEN_JWT_AUDIENCE": AUDIENCE, **more}
    found = token_issuer(Environment(values))
    assert found is not None
    return found


def claims(**more: Any) -> dict[str, Any]:
    made = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 60, "sub": "ann", "customer_id": "acme"}
    return {key: value for key, value in (made | more).items() if value is not None}


def shared(secret: str = SECRET, algorithm: str = "HS256", **more: Any) -> str:
    return jwt.encode(claims(**more), secret, algorithm=algorithm)


def ask(token: str, path: str = "/executions", **headers: str) -> Any:
    client = APIClient(raise_request_exception=False)
    return client.get(path, headers={"Authorization": f"Bearer {token}", **headers})


@pytest.mark.django_db
def test_a_token_with_a_shared_secret_stands_for_its_user_and_customer(settings: Any) -> None:
    settings.POIMEN_TOKEN_ISSUER = configured(POIMEN_JWT_SHARED_SECRET=SECRET)
    ann = member(customer("acme"), Role.VIEWER, "ann")
    Membership.objects.create(user=ann, customer=customer("beta"), role=Role.ADMIN)
    mine, theirs = started(customer("acme")), started(customer("beta"))
    assert ask(shared(), f"/executions/{mine.pk}").status_code == 200
    assert ask(shared(), f"/executions/{theirs.pk}").status_code == 404
    assert ask(shared(customer_id=str(customer("beta").pk)), f"/executions/{theirs.pk}").status_code == 200
    assert ask(shared(), "/executions", **{"X-Customer": "beta"}).status_code == 403
    assert ask(shared(), "/api-keys").status_code == 403
    assert ask(shared(customer_id=None), f"/executions/{mine.pk}").status_code == 200, "the oldest, if none is named"
    assert ask(shared(customer_id=None), f"/executions/{theirs.pk}", **{"X-Customer": "beta"}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "token, says",
    [
        (lambda: shared(exp=int(time.time()) - 60), "expired"),
        (lambda: shared(exp=None), "exp"),
        (lambda: shared(aud="somebody else"), "udience"),
        (lambda: shared(aud=None), "aud"),
        (lambda: shared(nbf=int(time.time()) + 600), "not yet valid"),
        (lambda: shared("another secret, which is as long as it gets"), "ignature"),
        (lambda: shared()[:-4] + "AAAA", "ignature"),
        (lambda: jwt.encode(claims(), NO_KEY, algorithm="none"), "alg"),
        (lambda: jwt.encode(claims(), RSA, algorithm="RS256"), "alg"),
        (lambda: shared(sub=None), "claim sub"),
        (lambda: shared(sub=5), ""),
        (lambda: shared(sub="x" * 200), "claim sub"),
        (lambda: shared(sub="bob"), "nobody here"),
        (lambda: shared(customer_id="beta"), "nobody here"),
        (lambda: shared(customer_id={"a": 1}), "customer_id"),
        (lambda: shared(sub="root"), "superuser"),
        (lambda: shared(iss="https://evil.example"), ""),
    ],
)
def test_a_token_that_is_not_right_is_refused(settings: Any, token: Any, says: str) -> None:
    settings.POIMEN_TOKEN_ISSUER = configured(POIMEN_JWT_SHARED_SECRET=SECRET)
    member(customer("acme"), Role.VIEWER, "ann")
    member(customer("acme"), Role.VIEWER, "root", is_superuser=True)
    answer = ask(token())
    assert answer.status_code == 401, answer.json()
    assert says in answer.json()["error"]


@pytest.mark.django_db
def test_without_configuration_only_own_tokens_are_taken() -> None:
    member(customer("acme"), Role.VIEWER, "ann")
    assert ask(shared()).status_code == 401


@pytest.mark.django_db
def test_public_keys_are_fetched_once_and_secrets_made_of_them_do_not_pass(settings: Any, issuer: Issuer) -> None:
    settings.POIMEN_TOKEN_ISSUER = configured(POIMEN_JWT_JWKS_URL=issuer.url)
    member(customer("acme"), Role.VIEWER, "ann")
    for key, kid, algorithm in ((RSA, "r1", "RS256"), (EC, "e1", "ES256")):
        for _ in range(3):
            token = jwt.encode(claims(), key, algorithm=algorithm, headers={"kid": kid})
            assert ask(token).status_code == 200
    assert issuer.asked == 1
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header, body = (
        jwt.utils.base64url_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "r1"}, claims())
    )
    signed = header + b"." + body
    confused = (
        signed
        + b"."
        + jwt.utils.base64url_encode(
            jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed, pem)
        )
    )
    for forged in (
        confused.decode(),
        jwt.encode(claims(), OTHER_RSA, algorithm="RS256", headers={"kid": "r1"}),
        jwt.encode(claims(), OTHER_RSA, algorithm="RS256", headers={"kid": "unknown"}),
        jwt.encode(claims(), RSA, algorithm="RS256"),
        jwt.encode(claims(), RSA, algorithm="PS256", headers={"kid": "r1"}),
        jwt.encode(claims(), NO_KEY, algorithm="none", headers={"kid": "r1"}),
    ):
        assert ask(forged).status_code == 401
    assert issuer.asked == 1  # unknown keys do not make every request a question


@pytest.mark.django_db
@pytest.mark.parametrize(
    "answer",
    [(500, b""), (302, b""), (200, b"no json"), (200, b"[]"), (200, b'{"keys": 5}'), (200, b" " * 300_000)],
)
def test_keys_that_cannot_be_fetched_are_503_and_not_an_open_door(settings: Any, issuer: Issuer, answer: Any) -> None:
    settings.POIMEN_TOKEN_ISSUER = configured(POIMEN_JWT_JWKS_URL=issuer.url)
    member(customer("acme"), Role.VIEWER, "ann")
    issuer.answer = answer
    refused = ask(jwt.encode(claims(), RSA, algorithm="RS256", headers={"kid": "r1"}))
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert issuer.asked == 1


@pytest.mark.django_db
def test_where_the_issuer_tells_roles_people_come_and_change_with_their_tokens(settings: Any) -> None:
    settings.POIMEN_TOKEN_ISSUER = configured(
        POIMEN_JWT_SHARED_SECRET=SECRET, POIMEN_JWT_ROLE_CLAIM="poimen_role", POIMEN_JWT_USER_CLAIM="email"
    )
    customer("acme")
    who = {"email": "ann@example.org"}
    assert ask(shared(**who, poimen_role="admin"), "/api-keys").status_code == 200
    user = User.objects.get(username="ann@example.org")
    assert not user.has_usable_password()
    assert ask(shared(**who, poimen_role="viewer"), "/api-keys").status_code == 403
    assert Membership.objects.get(user=user).role == Role.VIEWER
    for wrong in ({"poimen_role": "god"}, {}, {"poimen_role": "viewer", "customer_id": None}):
        assert ask(shared(**who, **wrong)).status_code == 401
    assert "does not exist" in ask(shared(**who, poimen_role="viewer", customer_id="nowhere")).json()["error"]
    User.objects.create_superuser("root@example.org")
    assert ask(shared(email="root@example.org", poimen_role="viewer")).status_code == 401
    assert not Membership.objects.filter(user__username="root@example.org").exists()


@pytest.mark.parametrize(
    "values, says",
    [
        ({"POIMEN_JWT_ISSUER": ISSUER}, "exactly one of"),
        ({"POIMEN_JWT_ISSUER": ISSUER, "POIMEN_JWT_AUDIENCE": "x"}, "exactly one of"),
        ({"POIMEN_JWT_SHARED_SECRET": SECRET}, "exactly one of"),
        ({"POIMEN_JWT_ROLE_CLAIM": "role"}, "exactly one of"),
        ({"POIMEN_JWT_ISSUER": ISSUER, "POIMEN_JWT_SHARED_SECRET": SECRET}, "exactly one of"),
        (
            {
                "POIMEN_JWT_ISSUER": ISSUER,
                "POIMEN_JWT_AUDIENCE": "x",
                "POIMEN_JWT_SHARED_SECRET": SECRET,
                "POIMEN_JWT_JWKS_URL": "https://login.example.org/keys",
            },
            "exactly one of",
        ),
        (
            {"POIMEN_JWT_ISSUER": ISSUER, "POIMEN_JWT_AUDIENCE": "x", "POIMEN_JWT_SHARED_SECRET": "short-canary"},
            "at least 32",
        ),
        (
            {"POIMEN_JWT_ISSUER": ISSUER, "POIMEN_JWT_AUDIENCE": "x", "POIMEN_JWT_JWKS_URL": "http://example.org/k"},
            "https://",
        ),
    ],
)
def test_half_a_configuration_does_not_start(values: dict[str, str], says: str) -> None:
    with pytest.raises(SettingError, match=says) as refused:
        token_issuer(Environment(values))
    assert SECRET not in str(refused.value)
    assert "canary" not in str(refused.value)


def test_no_configuration_is_one_too() -> None:
    assert token_issuer(Environment({})) is None
