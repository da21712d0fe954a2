"""Requests whose body comes in chunks, with nothing that says how long it is: what they say is read, never lost."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from workflows.tests.live.house import WAITING, House, Web


def in_chunks(text: str, size: int = 7) -> Iterator[bytes]:
    """``text`` piece by piece, which makes a client say ``Transfer-Encoding: chunked``."""
    data = text.encode()
    for start in range(0, len(data), size):
        yield data[start : start + size]


def post(web: Web, path: str, content: Iterator[bytes]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {web.tokens['eve']}", "Content-Type": "application/json"}
    return httpx.post(f"{web.url}{path}", content=content, headers=headers, timeout=60)


def test_what_comes_in_chunks_is_what_runs(web: Web) -> None:
    body: Any = {"spec": WAITING | {"description": "ö" * 70_000}, "inputs": {"text": "said in pieces"}}
    answer = post(web, "/specs/execute", in_chunks(json.dumps(body, ensure_ascii=False), 1000))
    assert answer.status_code == 201, answer.text
    assert web.rest(f"/executions/{answer.json()['id']}").json()["inputs"] == {"text": "said in pieces"}


@pytest.mark.parametrize("size", [10_000_000, 60_000_000])
def test_chunks_without_end_are_too_large(web: Web, size: int) -> None:
    answer = post(web, "/specs/execute", in_chunks('"' + "x" * size + '"', 100_000))
    assert answer.status_code == 413
    assert "larger than" in answer.json()["error"]


def test_no_chunk_at_all_is_no_body(web: Web) -> None:
    answer = post(web, "/specs/execute", iter(()))
    assert answer.status_code == 400


def test_who_leaves_in_the_middle_starts_nothing(house: House, web: Web) -> None:
    with house.database() as connection:
        count = "SELECT count(*) FROM workflows_execution"
        before = connection.execute(count).fetchone()
        with socket.create_connection(("127.0.0.1", web.port)) as raw:
            head = (
                "POST /specs/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Authorization: Bearer {web.tokens['eve']}\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            raw.sendall(head.encode() + b"8\r\n" + b'{"spec":' + b"\r\n")
        assert web.rest("/executions").status_code == 200  # which came later, and was served
        assert connection.execute(count).fetchone() == before
