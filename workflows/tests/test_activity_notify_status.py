"""Notifications: what arrives where, what is told when it does not, and that nothing arrives twice or leaks."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from django.test import Client
from pytest_django import Settings

from workflows.activities import notify_delivery
from workflows.errors import ActivityError, InvalidInput, PermanentError, WorkflowError
from workflows.models import NotificationRecord
from workflows.tests.activity_case import Case
from workflows.tests.people import customer, member, started

pytestmark = pytest.mark.django_db

PATH = "/services/T000/B000/t0k3n-of-the-webhook"


class Hook:
    """A real HTTP server that remembers what was posted, and answers as it is told."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, str], Any]] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.trickles = False
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                hook.posts.append((self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
                self.send_response(hook.statuses.pop(0) if hook.statuses else 200)
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(b"the server's own words, with t0k3n-of-the-webhook")
                    while hook.trickles:
                        self.wfile.write(b".")
                        threading.Event().wait(0.02)
                except OSError:
                    return  # they hung up

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}{PATH}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        self.trickles = False
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Mailbox:
    """What a real SMTP server took; ``answers`` holds what it says to some recipients."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []
        self.texts: list[str] = []
        self.answers: dict[str, str] = {}
        self.data_answers: list[str] = []

    async def handle_RCPT(  # noqa: N802 - as aiosmtpd calls it
        self, server: Any, session: Any, envelope: Envelope, address: str, options: Any
    ) -> str:
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, server: Any, session: Any, envelope: Envelope
    ) -> str:
        if self.data_answers:
            return self.data_answers.pop(0)
        assert isinstance(envelope.content, bytes)
        self.messages.append(envelope)
        self.texts.append(envelope.content.decode())
        return "250 OK"


@pytest.fixture
def hook(settings: Settings) -> Iterator[Hook]:
    hook = Hook()
    settings.POIMEN_WEBHOOKS = {"slack": hook.url, "webhook": hook.url}
    yield hook
    hook.stop()


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.DEFAULT_FROM_EMAIL = "Poimen <poimen@example.org>"
    yield mailbox
    controller.stop()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    owner = customer()
    return Case(tmp_path / "home", str(started(owner).pk), str(owner.pk))


def notify(case: Case, channel: str, message: str = "all is well", status: str = "success", **more: Any) -> Any:
    context = {name: more.pop(name) for name in ("attempt", "visit", "state") if name in more}
    parameters = {"channel": channel, "status": status, "message": message} | more
    return case.run("NotifyStatusActivity", parameters, **context)


def test_slack_gets_the_text_of_the_contract_with_its_markup_escaped(case: Case, hook: Hook) -> None:
    for status, sign in (("success", "✅"), ("failure", "❌"), ("warning", "⚠️"), ("info", "ℹ️")):
        output = notify(case, "slack", "a & b <!channel> <http://x|y>", status, state=status)
        assert output["delivered"] is True
        assert hook.posts[-1][2] == {"text": f"{sign} *{status}*: a &amp; b &lt;!channel&gt; &lt;http://x|y&gt;"}
    assert hook.posts[0][0] == PATH


def test_a_webhook_gets_the_facts_and_the_id_of_the_record(case: Case, hook: Hook) -> None:
    output = notify(case, "webhook", "done\nat last")
    _, headers, body = hook.posts[0]
    assert (body["channel"], body["status"], body["message"]) == ("webhook", "success", "done\nat last")
    assert body["timestamp"].endswith("+00:00")
    record = NotificationRecord.objects.get()
    assert output["notificationId"] == str(record.pk) == body["notificationId"] == headers["idempotency-key"]
    assert (record.status, record.channel, record.attempts, record.state) == ("delivered", "webhook", 1, "State")
    assert record.recipients == ["NOTIFICATION_WEBHOOK_URL"]


def test_mail_goes_to_each_recipient_alone(case: Case, mailbox: Mailbox) -> None:
    notify(case, "email", "grüße\nan alle", to=["a@example.org", "b@example.org", "a@example.org"])
    assert [envelope.rcpt_tos for envelope in mailbox.messages] == [["a@example.org"], ["b@example.org"]]
    text = mailbox.texts[0]
    assert "From: Poimen <poimen@example.org>" in text
    assert "Subject: =?utf-8?" in text
    assert "b@example.org" not in text
    record = NotificationRecord.objects.get()
    assert record.recipients == record.delivered_to == ["a@example.org", "b@example.org"]


def test_a_mail_address_is_a_channel(case: Case, mailbox: Mailbox) -> None:
    notify(case, "team@example.org", subject="Nightly build")
    assert mailbox.messages[0].rcpt_tos == ["team@example.org"]
    assert "Subject: Nightly build" in mailbox.texts[0]


def test_who_has_it_is_left_out_of_the_next_attempt(case: Case, mailbox: Mailbox) -> None:
    mailbox.answers = {"b@example.org": "451 later", "c@example.org": "550 nobody"}
    to = ["a@example.org", "b@example.org", "c@example.org"]
    with pytest.raises(ActivityError, match=r"b@example.org \(the mail server answered 451\)") as failed:
        notify(case, "email", to=to)
    assert failed.value.retryable
    assert "a@example.org" not in str(failed.value)
    mailbox.answers = {}
    assert notify(case, "email", to=to, attempt=2)["delivered"] is True
    assert [envelope.rcpt_tos for envelope in mailbox.messages] == [[address] for address in to]
    record = NotificationRecord.objects.get()
    assert (record.attempts, record.status, record.error) == (2, "delivered", "")


def test_mail_that_nobody_will_ever_take_is_not_tried_again(case: Case, mailbox: Mailbox) -> None:
    mailbox.answers = {"a@example.org": "550 no such person"}
    with pytest.raises(ActivityError, match="answered 550") as failed:
        notify(case, "a@example.org")
    assert (failed.value.name, failed.value.retryable) == ("DeliveryFailed", False)
    assert "no such person" not in failed.value.message
    mailbox.answers, mailbox.data_answers = {}, ["452 full", "554 spam"]
    for code, retryable in (("452", True), ("554", False)):
        with pytest.raises(ActivityError, match=code) as failed:
            notify(case, "a@example.org", visit=2)
        assert failed.value.retryable is retryable


def test_a_mail_server_that_is_away_or_silent_may_be_tried_again(
    case: Case, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    monkeypatch.setattr(notify_delivery, "DELIVERY_SECONDS", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EMAIL_HOST, settings.EMAIL_PORT = silent.getsockname()
        with pytest.raises(ActivityError, match=r"did not answer within 0.4 s") as failed:
            notify(case, "a@example.org")
        assert failed.value.retryable
    with pytest.raises(ActivityError, match="cannot be used") as failed:
        notify(case, "a@example.org", visit=2)
    assert failed.value.retryable


def test_a_message_cannot_smuggle_headers_into_mail(case: Case, mailbox: Mailbox) -> None:
    notify(case, "a@example.org", "hello\r\nBcc: eve@example.org\r\n\r\nx")
    assert [envelope.rcpt_tos for envelope in mailbox.messages] == [["a@example.org"]]
    assert "eve" not in mailbox.texts[0].split("\r\n\r\n")[0]
    for wrong in (
        {"subject": "x\r\nBcc: eve@example.org"},
        {"to": "a@example.org\r\nBcc: eve@example.org"},
        {"to": ["a@example.org", "b@example.org, c@example.org"]},
        {"channel": "a@example.org\nBcc: eve@example.org"},
    ):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            notify(case, **({"channel": "email", "to": "a@example.org"} | wrong))


@pytest.mark.parametrize(
    "status, retryable", [(404, False), (403, False), (429, True), (500, True), (503, True), (302, False)]
)
def test_what_a_webhook_refuses_fails_with_its_status_and_none_of_its_words(
    case: Case, hook: Hook, status: int, retryable: bool
) -> None:
    hook.headers = {"Location": f"http://127.0.0.1:{hook.port}/elsewhere"}
    for channel in ("slack", "webhook"):
        hook.statuses = [status]
        with pytest.raises(ActivityError, match=str(status)) as failed:
            notify(case, channel, state=channel)
        assert (failed.value.name, failed.value.retryable) == ("DeliveryFailed", retryable)
        assert "t0k3n" not in failed.value.message
    assert len(hook.posts) == 2  # the redirect was not followed
    assert {(r.status, r.error.count(str(status))) for r in NotificationRecord.objects.all()} == {("failed", 1)}


def test_slack_must_answer_200_where_a_webhook_may_answer_204(case: Case, hook: Hook) -> None:
    hook.statuses = [204, 204]
    assert notify(case, "webhook")["delivered"] is True
    with pytest.raises(ActivityError, match="Slack answered 204"):
        notify(case, "slack", visit=2)


def test_a_webhook_that_trickles_is_given_up(case: Case, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    hook.trickles = True
    monkeypatch.setattr("workflows.activities.notify_status.DELIVERY_SECONDS", 0.4)
    with pytest.raises(ActivityError, match="did not answer within") as failed:
        notify(case, "webhook")
    assert failed.value.retryable
    assert PATH not in failed.value.message


def test_what_was_delivered_is_not_sent_again(case: Case, hook: Hook) -> None:
    first = notify(case, "slack")
    again = notify(case, "slack", attempt=2)
    assert (again["notificationId"], again["timestamp"]) == (first["notificationId"], first["timestamp"])
    assert len(hook.posts) == 1
    notify(case, "slack", visit=2)
    assert len(hook.posts) == 2


def test_a_notification_that_is_not_required_fails_nothing_after_its_last_attempt(case: Case, hook: Hook) -> None:
    hook.statuses = [500, 500, 500]
    for attempt in (1, 2):
        with pytest.raises(ActivityError, match="500"):
            notify(case, "slack", required=False, attempt=attempt)
    output = notify(case, "slack", required=False, attempt=3)
    assert (output["delivered"], output["error"]) == (False, "Slack answered 500")
    assert NotificationRecord.objects.get().status == "failed"
    hook.statuses = [404]  # no other attempt would follow this one
    assert notify(case, "slack", required=False, visit=2)["delivered"] is False


def test_how_many_attempts_there_are_is_what_the_spec_says(tmp_path: Path, hook: Hook) -> None:
    task = {
        "name": "Tell", "type": "Task", "resource": "NotifyStatusActivity", "retry": {"maxAttempts": 2},
        "parameters": {"channel": "slack", "status": "info", "message": "x", "required": False},
    }  # fmt: skip
    owner = customer()
    case = Case(tmp_path, str(started(owner, {"name": "tell", "states": [task]}).pk), str(owner.pk))
    hook.statuses = [500, 500]
    with pytest.raises(ActivityError):
        notify(case, "slack", required=False, state="Tell")
    assert notify(case, "slack", required=False, state="Tell", attempt=2)["delivered"] is False


@pytest.mark.parametrize(
    "channel, variable",
    [("slack", "SLACK_WEBHOOK_URL"), ("webhook", "NOTIFICATION_WEBHOOK_URL"), ("email", "EMAIL_URL")],
)
def test_what_is_not_configured_is_named(case: Case, settings: Settings, channel: str, variable: str) -> None:
    settings.POIMEN_WEBHOOKS = {"slack": "", "webhook": ""}
    settings.EMAIL_HOST = ""
    with pytest.raises(PermanentError, match=f"{variable} is not set") as failed:
        notify(case, channel, to="a@example.org")
    assert failed.value.name == "NotConfigured"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/x", "http://169.254.169.254/latest", "http://[::1]/", "http://2130706433/"]
)
def test_an_address_of_the_input_must_be_public(case: Case, hook: Hook, url: str) -> None:
    for channel in ("webhook", "slack"):
        with pytest.raises(WorkflowError) as failed:
            notify(case, channel, url=url, state=channel)
        assert (failed.value.name, failed.value.retryable) == ("ForbiddenTarget", False)
    assert not hook.posts


def test_an_address_of_the_input_is_used_where_it_is_allowed(case: Case, hook: Hook, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [f"127.0.0.1:{hook.port}"]
    settings.POIMEN_WEBHOOKS = {"slack": "", "webhook": ""}
    assert notify(case, "webhook", url=hook.url)["delivered"] is True
    assert NotificationRecord.objects.get().recipients == ["127.0.0.1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"channel": "pigeon"}, {"channel": "not@an@address"}, {"channel": "file:///etc/passwd"},
        {"channel": "syslog://localhost"}, {"channel": "mailto://user:pw@example.org"}, {"channel": "discord://"},
        {"channel": "discord://id/token?template=/etc/passwd"}, {"channel": "jsons://host/?verify=no"},
        {"channel": "jsons://host/?attach=/etc/passwd"}, {"status": "great"}, {"message": ""},
        {"message": "x" * 20_001}, {"channel": "email"}, {"to": ["a@example.org"] * 51},
    ],
)  # fmt: skip
def test_wrong_inputs_are_named(case: Case, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong)) if wrong != {"channel": "email"} else "to"):
        notify(case, **({"channel": "slack"} | wrong))
    assert not NotificationRecord.objects.exists()


def test_another_service_is_reached_through_its_address(case: Case, hook: Hook, settings: Settings) -> None:
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [f"127.0.0.1:{hook.port}"]
    address = f"json://127.0.0.1:{hook.port}/hidden-path"
    notify(case, address, "the disk is full", "warning", subject="Storage")
    path, _, body = hook.posts[0]
    assert (path.rstrip("/"), body["title"], body["message"], body["type"]) == (
        "/hidden-path", "Storage", "the disk is full", "warning",
    )  # fmt: skip
    record = NotificationRecord.objects.get()
    assert (record.channel, record.recipients) == ("json", ["JSON"])
    assert "hidden-path" not in case.said
    for code, retryable in ((401, False), (502, True)):
        hook.statuses = [code]
        with pytest.raises(ActivityError, match=f"JSON answered {code}") as failed:
            notify(case, address, state=str(code))
        assert failed.value.retryable is retryable


def test_a_service_cannot_be_used_to_reach_what_is_private(case: Case, hook: Hook, settings: Settings) -> None:
    for number, host in enumerate(("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]")):
        with pytest.raises(WorkflowError) as failed:
            notify(case, f"json://{host}:{hook.port}/x", visit=number + 1)
        assert not failed.value.retryable, host
        assert failed.value.name in ("ForbiddenTarget", "ValidationError"), host
    assert not hook.posts
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [f"localhost:{hook.port}"]
    assert notify(case, f"json://localhost:{hook.port}/x", visit=9)["delivered"] is True


def test_a_name_that_changes_its_mind_is_checked_when_it_is_connected_to(
    case: Case, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = socket.getaddrinfo, []

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host == "rebinding.invalid":
            asked.append(host)
            return [(2, 1, 6, "", ("127.0.0.1", port))]
        return real(host, port, *rest, **more)

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    with pytest.raises(WorkflowError, match="loopback") as failed:
        notify(case, f"json://rebinding.invalid:{hook.port}/x")
    assert failed.value.name == "ForbiddenTarget"
    assert asked
    assert not hook.posts


def test_secrets_in_a_message_are_masked_in_the_record(case: Case, hook: Hook) -> None:
    notify(case, "slack", "see https://bob:hunter2-hunter2@example.org/ and password=hunter2-hunter2")
    assert "hunter2" in json.dumps(hook.posts[0][2])
    assert "hunter2" not in NotificationRecord.objects.get().message


def test_people_see_in_the_admin_what_became_of_it(case: Case, hook: Hook) -> None:
    hook.statuses = [403]
    with pytest.raises(ActivityError):
        notify(case, "slack", "the \x1b[31mdisk\x1b[0m is full", "warning")
    record = NotificationRecord.objects.get()
    staff = Client()
    staff.force_login(member(customer(), is_staff=True))
    for path in ("", f"{record.pk}/change/"):
        page = staff.get(f"/admin/workflows/notificationrecord/{path}").content.decode()
        assert "the disk is full" in page
        assert "failed" in page
        assert "Delete" not in page
    assert "Slack answered 403" in page
    stranger = Client()
    stranger.force_login(member(customer("other"), is_staff=True))
    assert "the disk is full" not in stranger.get("/admin/workflows/notificationrecord/").content.decode()
