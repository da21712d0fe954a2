"""HTTP requests: what is sent, what comes back, which hosts are refused on every hop, and what may be tried again."""

import datetime
import gzip
import ipaddress
import json
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django import Settings

from workflows.activities import http_request, pinned_http
from workflows.activities.network_guard import ForbiddenTarget
from workflows.errors import ActivityError, InvalidInput, PermanentError, WorkflowError
from workflows.tests.activity_case import Case


@dataclass
class Answer:
    """What the server says on a path."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: int = 1
    breaks_off: bool = False


@dataclass
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """A real HTTP server on loopback with prepared answers, which remembers what it was asked."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[Seen] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.seen.append(Seen(self.command, self.path, headers, self.rfile.read(length)))
                answer = server.answers.get(self.path, Answer(404))
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body) * answer.chunks + 10 * answer.breaks_off))
                self.end_headers()
                if self.command != "HEAD":
                    for _ in range(answer.chunks):
                        self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            setattr(Handler, f"do_{method}", Handler.answer)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    server = Server()
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [f"127.0.0.1:{server.port}"]
    yield server
    server.stop()


@pytest.fixture
def other(settings: Settings, server: Server) -> Iterator[Server]:
    """A second server, which is allowed too."""
    other = Server()
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [*settings.POIMEN_ALLOWED_PRIVATE_HOSTS, f"127.0.0.1:{other.port}"]
    yield other
    other.stop()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


def request(case: Case, url: str, method: str = "GET", **parameters: Any) -> dict[str, Any]:
    output: dict[str, Any] = case.run("HttpRequestActivity", {"url": url, "method": method} | parameters)
    return output


def test_json_comes_back_parsed_and_text_as_text(case: Case, server: Server) -> None:
    server.answers["/json"] = Answer(
        headers={"Content-Type": "application/json; charset=utf-8"}, body=b'{"a": [1, null]}'
    )
    server.answers["/problem"] = Answer(headers={"Content-Type": "application/problem+json"}, body=b'"x"')
    server.answers["/text"] = Answer(
        headers={"Content-Type": "text/plain; charset=latin-1"}, body="é".encode("latin-1")
    )
    server.answers["/null"] = Answer(headers={"Content-Type": "application/json"}, body=b"null")
    server.answers["/empty"] = Answer(204)
    output = request(case, f"{server.url}/json")
    assert (output["status"], output["body"]) == (200, {"a": [1, None]})
    assert output["headers"]["content-type"] == "application/json; charset=utf-8"
    assert request(case, f"{server.url}/problem")["body"] == "x"
    assert request(case, f"{server.url}/text")["body"] == "é"
    assert request(case, f"{server.url}/null")["body"] is None
    assert request(case, f"{server.url}/empty")["body"] == ""


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "post"])
def test_every_method_is_sent(case: Case, server: Server, method: str) -> None:
    server.answers["/x"] = Answer()
    request(case, f"{server.url}/x", method)
    assert server.seen[0].method == method.upper()


def test_objects_go_as_json_and_text_as_it_is(case: Case, server: Server) -> None:
    server.answers["/x"] = Answer()
    bodies: list[Any] = [{"ü": [1]}, [], "plain ü", 0, False]
    for body in bodies:
        request(case, f"{server.url}/x", "POST", body=body)
    assert [json.loads(seen.body) for i, seen in enumerate(server.seen) if i != 2] == [{"ü": [1]}, [], 0, False]
    assert server.seen[2].body.decode() == "plain ü"
    assert [seen.headers.get("content-type") for seen in server.seen] == [
        "application/json", "application/json", None, "application/json", "application/json",
    ]  # fmt: skip


def test_a_repeated_write_can_be_recognised(case: Case, server: Server) -> None:
    server.answers["/x"] = Answer()
    for attempt, method in ((1, "POST"), (2, "POST"), (1, "PUT"), (1, "PATCH"), (1, "GET")):
        case.run("HttpRequestActivity", {"url": f"{server.url}/x", "method": method}, attempt=attempt)
    keys = [seen.headers.get("idempotency-key") for seen in server.seen]
    assert keys == [case.context().idempotency_key] * 4 + [None]
    request(case, f"{server.url}/x", "POST", headers={"idempotency-key": "mine"})
    assert server.seen[-1].headers["idempotency-key"] == "mine"


def test_headers_and_credentials_are_sent_and_not_shown(
    case: Case, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers["/x?token=hunter2"] = Answer(500)
    with (
        caplog.at_level(logging.DEBUG, logger="workflows"),
        caplog.at_level(logging.INFO),
        pytest.raises(ActivityError) as failed,
    ):
        request(case, f"http://me:hunter%202@127.0.0.1:{server.port}/x?token=hunter2", headers={"X-Thing": "1"})
    assert server.seen[0].headers["authorization"] == "Basic bWU6aHVudGVyIDI="
    assert server.seen[0].headers["x-thing"] == "1"
    assert server.seen[0].headers["host"] == f"127.0.0.1:{server.port}"
    assert "hunter" not in str(failed.value) + case.said + caplog.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil"},
        {"content-length": "0"},
        {"X": "a\r\nY: b"},
        {"X\n": "a"},
        {"": "a"},
        {"X ": "a"},
        {"ü": "a"},
        {"X": "a\0"},
    ],
)
def test_headers_that_would_change_the_request_are_refused(case: Case, server: Server, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="headers"):
        request(case, f"{server.url}/x", headers=headers)
    assert server.seen == []


def test_header_values_may_be_any_text(case: Case, server: Server) -> None:
    server.answers["/x"] = Answer()
    request(case, f"{server.url}/x", headers={"X-Name": "Zoë €"})
    assert server.seen[0].headers["x-name"].encode("latin-1").decode() == "Zoë €"


@pytest.mark.parametrize(
    "status, retryable",
    [*((final, False) for final in (400, 401, 404, 409, 422)), *((again, True) for again in (408, 425, 429, 500, 503))],
)
def test_client_errors_are_final_and_server_errors_are_tried_again(
    case: Case, server: Server, status: int, retryable: bool
) -> None:
    server.answers["/x"] = Answer(status, body=b"internal detail")
    with pytest.raises(WorkflowError, match=f"GET {server.url}/x answered {status}") as failed:
        request(case, f"{server.url}/x")
    assert (failed.value.name, failed.value.retryable) == ("HttpError", retryable)
    assert failed.value.as_json()["details"] == {"status": status}
    assert "internal detail" not in str(failed.value.as_json())


@pytest.mark.parametrize("expected, status, fine", [(404, 404, True), ([200, 404], 404, True), (201, 200, False),
                                                    ([302], 302, True), (None, 299, True)])  # fmt: skip
def test_another_status_can_be_expected(case: Case, server: Server, expected: Any, status: int, fine: bool) -> None:
    server.answers["/x"] = Answer(status, headers={"Location": "/y"} if status == 302 else {})
    if fine:
        assert request(case, f"{server.url}/x", expectStatus=expected)["status"] == status
    else:
        with pytest.raises(WorkflowError, match=f"answered {status}"):
            request(case, f"{server.url}/x", expectStatus=expected)


def test_redirects_are_followed_five_times(case: Case, server: Server) -> None:
    for number in range(7):
        server.answers[f"/{number}"] = Answer(302, headers={"Location": str(number + 1)})
    server.answers["/5x"] = Answer(body=b"there")
    server.answers["/4"] = Answer(302, headers={"Location": f"{server.url}/5x"})
    assert request(case, f"{server.url}/0")["body"] == "there"
    server.answers["/4"] = Answer(302, headers={"Location": "5"})
    with pytest.raises(WorkflowError, match="redirects more than 5 times") as failed:
        request(case, f"{server.url}/0")
    assert not failed.value.retryable


@pytest.mark.parametrize("status, method, body", [(301, "GET", b""), (302, "GET", b""), (303, "GET", b""),
                                                  (307, "POST", b'{"a": 1}'), (308, "POST", b'{"a": 1}')])  # fmt: skip
def test_a_redirected_write_keeps_its_body_only_where_it_should(
    case: Case, server: Server, status: int, method: str, body: bytes
) -> None:
    server.answers["/a"] = Answer(status, headers={"Location": "/b"})
    server.answers["/b"] = Answer()
    request(case, f"{server.url}/a", "POST", body={"a": 1})
    assert (server.seen[1].method, server.seen[1].body) == (method, body)


@pytest.mark.parametrize("status", [307, 308])
def test_a_body_is_not_sent_on_to_another_origin(case: Case, server: Server, other: Server, status: int) -> None:
    server.answers["/a"] = Answer(status, headers={"Location": f"{other.url}/b"})
    with pytest.raises(WorkflowError, match="the body is not sent to another host") as failed:
        request(case, f"{server.url}/a", "POST", body={"password": "x"})
    assert not failed.value.retryable
    assert other.seen == []
    other.answers["/b"] = Answer()
    assert request(case, f"{server.url}/a", "DELETE")["status"] == 200, "what has no body goes on"


def test_credentials_do_not_follow_to_another_origin(case: Case, server: Server, other: Server) -> None:
    server.answers["/a"] = Answer(302, headers={"Location": f"{other.url}/b", "Set-Cookie": "session=1"})
    other.answers["/b"] = Answer(302, headers={"Location": "/c"})
    other.answers["/c"] = Answer()
    request(case, f"{server.url}/a", headers={"Authorization": "Bearer x", "X-Api-Key": "y", "Accept": "text/plain"})
    assert len(other.seen) == 2
    for seen in other.seen:
        assert not {"authorization", "x-api-key", "cookie"} & set(seen.headers)
        assert seen.headers["accept"] == "text/plain"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://169.254.169.254/",
        "http://[::1]/",
        "//10.0.0.1/",
        "http://2130706433/",
    ],
)
def test_a_redirect_into_the_private_network_is_refused(case: Case, server: Server, location: str) -> None:
    server.answers["/a"] = Answer(302, headers={"Location": location})
    with pytest.raises(ForbiddenTarget):
        request(case, f"{server.url}/a")


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://x/", "javascript:alert(1)", "http://", "http://[bad/"]
)
def test_a_redirect_to_no_web_address_is_refused(case: Case, server: Server, location: str) -> None:
    server.answers["/a"] = Answer(302, headers={"Location": location})
    with pytest.raises(WorkflowError) as failed:
        request(case, f"{server.url}/a")
    assert not failed.value.retryable


def test_private_hosts_are_refused_and_nothing_is_sent(case: Case, server: Server, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = []
    for url in (server.url, f"http://localhost:{server.port}", f"http://[::ffff:127.0.0.1]:{server.port}"):
        with pytest.raises(ForbiddenTarget):
            request(case, url)
    assert server.seen == []


def test_the_address_that_was_checked_is_the_one_that_is_used(
    case: Case, server: Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its address after the check (DNS rebinding) changes nothing."""
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["rebinding.invalid"]
    real, asked = socket.getaddrinfo, []

    def once(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host in ("rebinding.invalid", b"rebinding.invalid"):
            asked.append(host)
            return [(2, 1, 6, "", ("127.0.0.1" if len(asked) == 1 else "10.255.255.1", port))]
        return real(host, port, *rest, **more)

    monkeypatch.setattr("socket.getaddrinfo", once)
    server.answers["/x"] = Answer(body=b"here")
    assert request(case, f"http://rebinding.invalid:{server.port}/x")["body"] == "here"
    assert server.seen[0].headers["host"] == f"rebinding.invalid:{server.port}"
    assert len(asked) == 1


def test_the_next_address_is_tried_when_one_does_not_answer(
    case: Case, server: Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["two.invalid"]
    real = socket.getaddrinfo

    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host == "two.invalid":
            return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]
        return real(host, port, *rest, **more)

    monkeypatch.setattr("socket.getaddrinfo", both)
    server.answers["/x"] = Answer(body=b"here")
    assert request(case, f"http://two.invalid:{server.port}/x")["body"] == "here"


def test_https_is_checked_against_the_name_although_the_address_is_called(
    case: Case, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = _certificate(tmp_path, "pinned.invalid")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    names: list[str | None] = []
    context.sni_callback = lambda _, name, __: names.append(name)
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if str(host).endswith(".invalid"):
            return [(2, 1, 6, "", ("127.0.0.1", port))]
        return real(host, port, *rest, **more)

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    monkeypatch.setattr("certifi.where", lambda: str(certificate))
    pinned_http.tls.cache_clear()
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["pinned.invalid", "other.invalid"]
    server = Server(context)
    try:
        server.answers["/x"] = Answer(body=b"safe")
        assert request(case, f"https://pinned.invalid:{server.port}/x")["body"] == "safe"
        assert names == ["pinned.invalid"]
        with pytest.raises(ActivityError, match="cannot be reached"):
            request(case, f"https://other.invalid:{server.port}/x")
        assert len(server.seen) == 1
    finally:
        server.stop()
        pinned_http.tls.cache_clear()


def _certificate(directory: Path, name: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    file = directory / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


def test_proxies_of_the_environment_are_not_used(case: Case, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.answers["/x"] = Answer()
    assert request(case, f"{server.url}/x")["status"] == 200


def test_a_server_that_is_not_there_may_be_tried_again(case: Case, server: Server, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ActivityError, match="cannot be reached") as failed:
            request(case, f"http://127.0.0.1:{unused.getsockname()[1]}/")
    assert failed.value.retryable


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(
    case: Case, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(http_request, "READ_SECONDS", 0.3)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ActivityError, match="did not answer") as failed,
    ):
        request(case, f"http://127.0.0.1:{silent.getsockname()[1]}/")
    assert failed.value.retryable


def test_an_answer_that_breaks_off_may_be_tried_again(case: Case, server: Server) -> None:
    server.answers["/x"] = Answer(body=b"half", breaks_off=True)
    with pytest.raises(ActivityError, match="broke off its answer") as failed:
        request(case, f"{server.url}/x")
    assert failed.value.retryable


def test_an_answer_that_cannot_be_decompressed_may_be_tried_again(case: Case, server: Server) -> None:
    server.answers["/x"] = Answer(headers={"Content-Encoding": "gzip"}, body=b"no gzip at all")
    with pytest.raises(ActivityError, match="broke off its answer"):
        request(case, f"{server.url}/x")


def test_what_is_not_http_is_an_error_of_the_server(case: Case, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def babble() -> None:
            connection, _ = listening.accept()
            connection.sendall(b"SSH-2.0-nothing\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=babble)
        thread.start()
        with pytest.raises(ActivityError):
            request(case, f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()


@pytest.mark.parametrize("compressed", [False, True])
def test_more_than_ten_mebibytes_are_refused(case: Case, server: Server, compressed: bool) -> None:
    if compressed:
        server.answers["/x"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"\0" * 50_000_000))
    else:
        server.answers["/x"] = Answer(body=b"x" * 2**20, chunks=11)
    with pytest.raises(PermanentError, match="more than 10 MiB"):
        request(case, f"{server.url}/x")


@pytest.mark.parametrize(
    "kind, body, expected",
    [
        ("text/plain", b"a\x00b", "a\ufffdb"),
        ("text/plain", b"\xff\xfe\xfa", "\ufffd\ufffd\ufffd"),
        ("text/plain; charset=klingon", b"abc", "abc"),
        ("text/plain; charset=base64", b"abc", "abc"),
        ("text/plain; charset=idna", b"abc", "abc"),
        ("application/json", b'{"a\\u0000": "\\u0000", "b": "\\ud800"}', {"a\ufffd": "\ufffd", "b": "?"}),
        ("application/json", b"{broken", "{broken"),
        ("application/json", b"", ""),
        ("application/json", b"[NaN, Infinity, 1e999, 1.5]", ["NaN", "Infinity", "1e999", 1.5]),
        ("application/json", b"1" * 5000, "1" * 5000),
        ("application/json", b"[" * 100_000, "[" * 100_000),
    ],
)
def test_whatever_comes_back_can_be_stored(case: Case, server: Server, kind: str, body: bytes, expected: Any) -> None:
    server.answers["/x"] = Answer(headers={"Content-Type": kind}, body=body)
    output = request(case, f"{server.url}/x")
    assert output["body"] == expected
    text = json.dumps(output, allow_nan=False)
    assert "\\u0000" not in text
    text.encode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "BREW"}, {"url": "example.org"}, {"url": "file:///etc/passwd"}, {"url": ""}, {"url": 7},
        {"url": "http://a\nb/"}, {"headers": {"X": 1}}, {"headers": "X: 1"}, {"expectStatus": "fine"},
        {"expectStatus": 99}, {"expectStatus": [200, 1000]}, {"url": "http://" + "a" * 9000},
    ],
)  # fmt: skip
def test_wrong_inputs_are_named(case: Case, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        case.run("HttpRequestActivity", {"url": "https://example.org/"} | wrong)


def test_a_public_address_without_a_route_may_be_tried_again_and_a_name_too(case: Case) -> None:
    assert ipaddress.ip_address("192.0.2.1").is_private
    with pytest.raises(ForbiddenTarget):
        request(case, "http://192.0.2.1/")
    with pytest.raises(ActivityError, match="cannot be resolved"):
        request(case, "http://no-such-host.invalid/")
