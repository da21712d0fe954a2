"""Fixtures of the tests about language models: the project's own server, and settings that lead to it."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from agents.demo_llm.server import DemoServer
from workflows.tests.conftest import engine, misbehaving, quickly_emptied

__all__ = ["engine", "misbehaving", "quickly_emptied"]


@pytest.fixture
def server() -> Iterator[DemoServer]:
    """A running server on a port of its own."""
    made = DemoServer().start()
    yield made
    made.stop()


@pytest.fixture
def model(server: DemoServer, settings: Settings) -> DemoServer:
    """The same, and it is the configured one."""
    settings.LOCAL_LLM_BASE_URL = server.url
    settings.LOCAL_LLM_API_KEY = ""
    settings.POIMEN_LLM_TIMEOUT_SECONDS = 20.0
    return server
