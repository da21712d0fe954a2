"""The demo server as a process, and the settings that lead to a real one."""

import os
import socket
import subprocess
import sys

import httpx
import pytest
from django.conf import settings

from poimen_site import llm_settings
from poimen_site.environment import SettingError
from poimen_site.management.commands.up import _demo_llm
from poimen_site.tests.polling import until


def test_it_serves_on_the_socket_it_is_given_and_ends_when_told() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.demo_llm", "--fd", str(listener.fileno())],
        pass_fds=[listener.fileno()], cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True,
        env={key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"},
    )  # fmt: skip
    listener.close()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"the demo model answers at {url}\n"
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert "reasoning" in {found["id"] for found in httpx.get(f"{url}/v1/models").json()["data"]}
        assert httpx.post(f"{url}/v1/chat/completions", json={"model": "x"}).status_code == 400
        asked = {"model": "x", "messages": [{"role": "user", "content": "hello"}]}
        answer = httpx.post(f"{url}/v1/chat/completions", json=asked).json()
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["usage"]["total_tokens"] > 0
    finally:
        process.terminate()
    assert until(lambda: process.poll() is not None, 20)
    assert process.returncode == 0


def test_the_supervisor_starts_it_and_tells_the_others_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_LLM_BASE_URL", "http://somewhere.else.example")
    monkeypatch.setenv("LOCAL_LLM_API_KEY", "for-somewhere-else")
    service = _demo_llm()
    try:
        process = subprocess.Popen(
            service.argv, pass_fds=service.fds, env=os.environ | dict(service.environment), cwd="/",
            stdout=subprocess.PIPE,
        )  # fmt: skip
    finally:
        for fd in service.fds:
            os.close(fd)
    try:
        url = os.environ["LOCAL_LLM_BASE_URL"]
        assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
        assert os.environ["LOCAL_LLM_API_KEY"] == ""
    finally:
        process.kill()
        process.wait(20)


@pytest.mark.parametrize(
    "given, base",
    [
        ("", ""),
        ("http://localhost:11434", "http://localhost:11434"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("https://llm.example.org/v1", "https://llm.example.org"),
        ("https://llm.example.org/openai/v1/", "https://llm.example.org/openai"),
    ],
)
def test_the_address_may_end_as_people_write_it(given: str, base: str) -> None:
    assert llm_settings.base_url("LOCAL_LLM_BASE_URL", given) == base


@pytest.mark.parametrize(
    "wrong",
    ["localhost:11434", "ftp://a", "http://", "http://u:hunter2@a", "http://a?key=hunter2", "http://a b", "http://a:0"],
)
def test_an_address_that_is_none_ends_the_start_without_telling_passwords(wrong: str) -> None:
    with pytest.raises(SettingError, match=r"LOCAL_LLM_BASE_URL is .* expected an address") as caught:
        llm_settings.base_url("LOCAL_LLM_BASE_URL", wrong)
    assert "hunter2" not in str(caught.value)


def test_names_and_limits() -> None:
    assert llm_settings.models_by_alias(["reasoning=qwen3:32b", "ornith:13b"]) == {
        "reasoning": "qwen3:32b", "ornith:13b": "ornith:13b",
    }  # fmt: skip
    assert llm_settings.limits_by_alias(["8", "reasoning=2"], 16) == {"": 8, "reasoning": 2}
    assert llm_settings.limits_by_alias([], 16) == {"": 16}
    assert [llm_settings.is_limit(text) for text in ("8", "a:1b=0", "-1", "a=", "=3", "a=b")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert [llm_settings.is_model(text) for text in ("a", "a=b/c:1", "a b", "=a", "a=")] == [
        True, True, False, False, False,
    ]  # fmt: skip
