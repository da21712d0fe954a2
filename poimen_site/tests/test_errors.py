"""What bad requests get: a 4xx that says what is wrong, as JSON for programs and as a page for browsers."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from poimen_site.errors import error_body

JSON = "application/json"


def post(body: str | bytes, content_type: str = JSON) -> Any:
    return Client(raise_request_exception=False).post("/auth/token", body, content_type=content_type)


@pytest.mark.parametrize(
    "body, said",
    [
        ("", "username: This field is required."),
        ('{"username": ', "Invalid JSON: Expecting value: line 1 column 14"),
        ('{"username": NaN}', "Invalid JSON: NaN is not a JSON value"),
        (b'{"username": "\xff"}', "Invalid JSON: byte 14 is not UTF-8 text."),
        ("[" * 100_000, "Invalid JSON: nested more than"),
        ("[" * 300 + "]" * 300, "Invalid JSON: nested more than 200 levels deep."),
        ('{"a": [{"b": "x\\u0000"}]}', "a[0].b: the character U+0000 cannot be stored; remove it."),
        ('{"a": "\\ud800"}', "a: half of a surrogate pair at character 0."),
        ('{"a": ' + "9" * 5000 + "}", "Invalid JSON: a number has 5,000 digits; 4,300 are the most that is taken."),
    ],
)
def test_a_body_that_is_not_usable_json_is_refused_with_the_place(body: str | bytes, said: str) -> None:
    answer = post(body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(said)


def test_a_body_of_ten_megabytes_is_too_large() -> None:
    answer = post('{"username": "' + "a" * 10_000_000 + '"}')
    assert answer.status_code == 413
    assert str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) in answer.json()["error"]


def test_another_media_type_is_named() -> None:
    answer = post("username=ada", "application/x-www-form-urlencoded")
    assert answer.status_code == 415
    assert "application/x-www-form-urlencoded" in answer.json()["error"]


def test_an_unknown_route_is_json_for_programs_and_a_page_for_browsers() -> None:
    answer = Client().get("/nowhere")
    assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})
    page = Client(headers={"Accept": "text/html,*/*"}).get("/nowhere")
    assert page.status_code == 404
    assert page["Content-Type"].startswith("text/html")


def test_a_wrong_method_is_405_and_says_which_are_right() -> None:
    answer = Client().put("/auth/token")
    assert (answer.status_code, answer.json()) == (405, {"error": "Method not allowed"})
    assert "POST" in answer["Allow"]


@pytest.mark.parametrize(
    "path", ["/health", "/health/live", "/health/ready", "/workflow/health", "/metrics", "/workflow/metrics"]
)
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_what_only_answers_says_so_before_it_asks_for_a_csrf_token(path: str, method: str) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)
    assert (answer.status_code, answer.json()) == (405, {"error": "Method not allowed"})
    assert answer["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("address", ["/workflows/%00", "/workflows?status=a%00", "/%00"])
def test_a_nul_character_in_the_address_matches_nothing(address: str) -> None:
    answer = Client().get(address)
    assert answer.status_code == 400
    assert "NUL" in answer.json()["error"]


def test_each_request_leaves_one_line_without_its_query(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="poimen.requests"):
        Client().get("/nowhere%0A?token=secret")
        Client().get("/health/live")
    lines = [record.getMessage() for record in caplog.records if record.name == "poimen.requests"]
    assert len(lines) == 1
    assert lines[0].startswith("GET /nowhere%0A 404 in ")


def test_an_unlisted_host_is_refused() -> None:
    answer = Client(headers={"Host": "evil.example"}).get("/health/live")
    assert answer.status_code == 400
    assert "add 'evil.example' to POIMEN_ALLOWED_HOSTS." in answer.json()["error"]


def test_options_on_any_path_answers_before_routing_and_names_what_is_allowed() -> None:
    for path in ("/workflows", "/nowhere"):
        answer = Client().options(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer["Access-Control-Allow-Methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        allowed = answer["Access-Control-Allow-Headers"].split(", ")
        assert allowed == ["Content-Type", "Authorization", "X-API-Key", "X-Customer", "Idempotency-Key", "If-Match"]
        assert answer["Access-Control-Expose-Headers"] == "ETag, Retry-After, X-Request-Id, X-Total-Count"


def test_other_origins_are_told_whether_they_may_read(settings: Any) -> None:
    def allowed(origin: str) -> str | None:
        return Client().get("/health/live", headers={"Origin": origin}).headers.get("Access-Control-Allow-Origin")

    settings.POIMEN_CORS_ORIGINS = ["*"]
    assert allowed("https://a.example") == "*"
    settings.POIMEN_CORS_ORIGINS = ["https://a.example"]
    assert allowed("https://a.example") == "https://a.example"
    assert allowed("https://b.example") is None


def test_every_answer_carries_the_security_headers() -> None:
    answer = Client().get("/health/live")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    "detail, body",
    [
        ({"detail": "Gone"}, {"error": "Gone"}),
        ({"detail": "Bad token", "code": "x", "messages": [1]}, {"error": "Bad token", "details": {"messages": [1]}}),
        ({"error": "Kept", "details": {"a": 1}}, {"error": "Kept", "details": {"a": 1}}),
        ({"nodes": [{}, {"id": ["Missing"]}]}, {"error": "nodes[1].id: Missing"}),
        (["First", "Second"], {"error": "First"}),
    ],
)
def test_details_of_any_shape_become_one_sentence(detail: Any, body: dict[str, Any]) -> None:
    made = error_body(Exception(), detail)
    assert made | body == made
