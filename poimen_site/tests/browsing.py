"""A running Poimen for stories told in a browser, shared by all of them, and the people who act in them.

It refuses nothing to be left behind that could be met by the next story: each makes its own workflows and people.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from poimen_site.tests.polling import until
from poimen_site.tests.test_up import PASSWORD, Installation

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 20_000  # ms
PEOPLES_PASSWORD = "correct horse"  # as workflows.tests.people gives it

# Runs what it is sent, a line of JSON each, in the installation: starting Django anew each time takes seconds.
INTERPRETER = """
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    said, error = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(json.loads(line), "<test>", "exec"), {})
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([said.getvalue(), error]), flush=True)
"""
TEAM = """
import json
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from workflows.models import Customer, Membership, Role
customer = Customer.objects.create(slug=slug, name=name)
password = make_password(password)
for role in Role:
    user = User.objects.create(username=f"{role}-{slug}", password=password, is_staff=True)
    Membership.objects.create(user=user, customer=customer, role=role)
"""
TOKEN = """
from django.contrib.auth.models import User
from rest_framework_simplejwt.tokens import RefreshToken
print(RefreshToken.for_user(User.objects.get(username=username)).access_token)
"""
SESSION = """
from importlib import import_module
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest
request = HttpRequest()
request.session = import_module(settings.SESSION_ENGINE).SessionStore()
login(request, User.objects.get(username=username), "django.contrib.auth.backends.ModelBackend")
request.session.save()
print(request.session.session_key)
"""


class Account:
    """The REST API of a running installation as one person uses it."""

    def __init__(self, address: str, token: httpx.Auth) -> None:
        self.address = address
        self.api = httpx.Client(base_url=address, timeout=60, auth=token)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.api.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def put(self, path: str, **body: Any) -> Any:
        answer = self.api.put(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self.api.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def workflow(self, name: str = "Release") -> str:
        """Says something, asks a person, says something else."""
        ask = {"workflowId": "release-7", "description": "Ship it?", "timeoutMinutes": 60}
        steps = [
            ("Say", "EchoActivity", {"value": "${workflow.input.text}"}),
            ("Ask", "ApproveWorkflowActivity", ask),
            ("Done", "EchoActivity", {"value": "${Ask.output.approved}"}),
        ]
        nodes = [
            {
                "id": key,
                "type": "activity",
                "position": {"x": 200 * index, "y": 0},
                "data": {"label": key, "activity": activity, "config": config},
            }
            for index, (key, activity, config) in enumerate(steps)
        ]
        edges = [{"id": "1", "source": "Say", "target": "Ask"}, {"id": "2", "source": "Ask", "target": "Done"}]
        made = self.post("/workflows", name=name, status="active", nodes=nodes, edges=edges)
        return str(made["id"])

    def waiting_run(self) -> str:
        """A run that waits for a person."""
        run = str(self.post(f"/workflows/{self.workflow()}/execute", inputs={"text": "hello"})["id"])
        until(lambda: self.get(f"/executions/{run}")["status"] == "waiting", 60)
        return run


class Team:
    """A customer of one's own with a person in each role; the attributes are their user names."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.viewer, self.editor, self.operator, self.approver, self.admin = (
            f"{role}-{slug}" for role in ("viewer", "editor", "operator", "approver", "admin")
        )


class Site(Account):
    """A running installation, and its REST API as the administrator ``admin`` of the first customer."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self._interpreter = subprocess.Popen(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", INTERPRETER],
            env=installation.environment, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        super().__init__(f"http://127.0.0.1:{installation.port}", _Token(self, "admin"))

    def close(self) -> None:
        """End what runs for the stories; not the installation."""
        self._interpreter.kill()
        self._interpreter.communicate()

    def shell(self, code: str, **given: Any) -> str:
        """Run Python in the installation, with the names ``given``; returns what it printed."""
        assert self._interpreter.stdin is not None
        assert self._interpreter.stdout is not None
        code = "".join(f"{name} = {value!r}\n" for name, value in given.items()) + code
        self._interpreter.stdin.write(json.dumps(code) + "\n")
        self._interpreter.stdin.flush()
        said, error = json.loads(self._interpreter.stdout.readline())
        assert not error, error
        return str(said)

    def team(self, name: str = "Acme") -> Team:
        """A new customer and its people, whose password is ``PEOPLES_PASSWORD``."""
        made = Team(f"{name.lower().replace(' ', '-')}-{uuid4().hex[:8]}")
        self.shell(TEAM, slug=made.slug, name=name, password=PEOPLES_PASSWORD)
        return made

    def account(self, username: str) -> Account:
        """The REST API as this person."""
        return Account(self.address, _Token(self, username))

    def token(self, username: str) -> str:
        """An access token of this person."""
        return self.shell(TOKEN, username=username).strip()

    def session(self, username: str) -> str:
        """The key of a new session of this person; the form to sign in has a story of its own."""
        return self.shell(SESSION, username=username).strip()


class _Token(httpx.Auth):
    """A bearer token that is made anew when it has run out."""

    def __init__(self, site: Site, username: str) -> None:
        self._site, self._username, self._token = site, username, ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
            if (yield request).status_code != 401:
                return
        self._token = self._site.token(self._username)
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


@contextmanager
def window(browser: Browser, site: Site, username: str = "", **options: Any) -> Iterator[BrowserContext]:
    """A browser window of somebody new, signed in as ``username`` if given; ``options`` are Playwright's.

    Fails at its end if a page broke its own rules, or asked anybody but the installation for anything, or if
    something went wrong in it; that a request was refused is for the story to tell.
    """
    context = browser.new_context(**{"base_url": site.address, "viewport": {"width": 1280, "height": 800}} | options)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)  # of a machine that is busy with other tests
    wrong: list[str] = []
    context.on("request", lambda r: None if r.url.startswith(_own(site)) else wrong.append(f"asked for {r.url}"))
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("console", lambda line: wrong.append(line.text) if _is_fault(line) else None)
    if username:
        context.add_cookies([{"name": "sessionid", "value": site.session(username), "url": site.address}])
    try:
        yield context
    finally:
        context.close()
    assert not wrong, wrong


def _is_fault(line: ConsoleMessage) -> bool:
    if "Content Security" in line.text:
        return True
    return line.type == "error" and not line.text.startswith(("Failed to load resource", "WebSocket connection to"))


def _own(site: Site) -> tuple[str, ...]:
    return (site.address, f"blob:{site.address}", "data:")


def sign_in(page: Page, name: str = "admin", password: str = PASSWORD) -> None:
    """Through the form; most stories begin with a window of somebody who is signed in instead."""
    page.goto("/ui/executions")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/ui/executions$"))
    page.get_by_role("link", name="Home").click()
