"""A whole installation at work for tests that act from outside: web, worker and clock, clients, commands, examples."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings

from poimen_client import Client
from workflows.tests.chaos.installation import ROOT
from workflows.tests.live.house import House, Web

CLIENTS = Path(settings.BASE_DIR) / "clients" / "python"
PASSWORD = "correct horse battery"  # as the house gives them


class Place:
    """A house at work: ``web`` answers, a worker and a clock run; ``key`` is an API key of an operator."""

    def __init__(self, house: House, web: Web, upstream: int) -> None:
        self.house, self.web = house, web
        self.upstream = upstream  # the port of this machine that activities may call
        admin = {"username": "amy", "password": PASSWORD}
        token = httpx.post(f"{web.url}/auth/token", json=admin, timeout=30).json()["access"]
        asked = {"name": "tests", "scopes": ["read", "run", "write"], "role": "operator"}
        made = httpx.post(f"{web.url}/api-keys", json=asked, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        self.key: str = made.json()["key"]

    def client(self, person: str = "", **options: Any) -> Client:
        """A client with the API key, or as a person with a password."""
        if person:
            return Client(self.web.url, username=person, password=PASSWORD, **options)
        return Client(self.web.url, api_key=self.key, **options)

    def example(self, name: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start an example."""
        environment = {"POIMEN_URL": self.web.url, "POIMEN_API_KEY": self.key, "PYTHONPATH": str(CLIENTS)}
        return subprocess.Popen(
            [sys.executable, str(CLIENTS / "examples" / name), *arguments],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def command(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start ``manage.py`` with these arguments."""
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=os.environ | self.house.installation.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
