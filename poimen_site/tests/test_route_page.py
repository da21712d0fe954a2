"""``/ui/route``: a sentence is reviewed before anything happens; the box on the home page leads there."""

import json
import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client

from agents.demo_llm.server import DemoServer
from agents.tests.conftest import model, server
from workflows.models import Execution, Role, Workflow
from workflows.spec.cron_validator import validate_cron_spec
from workflows.tests.people import customer, member

__all__ = ["model", "server"]

pytestmark = pytest.mark.django_db
SCAN = "scan https://git.example.org/acme/shop.git and mail the report to ann@example.org"


def visitor(role: Role = Role.OPERATOR) -> Client:
    client = Client()
    client.force_login(member(customer(), role))
    return client


def review(message: str, by: Client | None = None, code: int = 200, **answers: str) -> str:
    query = {"message": message} | {f"answer.{name}": value for name, value in answers.items()}
    answer = (by or visitor()).get(f"/ui/route?{urlencode(query)}")
    assert answer.status_code == code
    return answer.content.decode()


def test_the_home_page_asks_editors_what_should_happen() -> None:
    assert "What should happen?" in visitor(Role.EDITOR).get("/").content.decode()
    assert "What should happen?" not in visitor(Role.VIEWER).get("/").content.decode()


def test_steps_inputs_and_reasons_are_shown_and_nothing_is_saved() -> None:
    page = review(SCAN)
    boxes = re.findall(r'<g class="box (\w+)".*?<text[^>]*>([^<]+)', page)
    assert boxes == [("start", "Start"), ("activity", "Clone"), ("activity", "SecurityScan"), ("activity", "Report"),
                     ("activity", "Notify"), ("end", "End")]  # fmt: skip
    assert "ann@example.org" in page
    assert "read from the words alone" in page
    assert "Save and run" in page
    assert not Workflow.objects.exists()
    assert not Execution.objects.exists()


def test_a_schedule_is_read_out_with_its_next_runs() -> None:
    page = review(SCAN + " every weekday at 7:30 in Berlin")
    assert "At 07:30" in page
    assert len(re.findall(r"<li><span>\w{3} \d\d \w{3} \d{4}, 07:30</span>", page)) == 5
    assert page.count("data-relative=ahead") == 5
    assert "Make a schedule" in page
    shown = re.search(r'<pre[^>]*id="spec"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert shown is not None
    assert validate_cron_spec(json.loads(unescape(shown.group(1)))).valid


def test_a_drawing_wider_than_the_page_shrinks_to_fit_and_a_very_wide_one_says_that_it_goes_on() -> None:
    def width(page: str) -> int:
        found = re.search(r'<svg(?: class="shrinks")? width="(\d+)"', page)
        assert found is not None
        return int(found.group(1))

    short, long = review(SCAN), review(SCAN + ", analyse it, run the tests and get an approval first")
    assert width(short) < 1_100 < width(long) < 1_600
    assert [('<svg class="shrinks"' in page, "scroll it" in page) for page in (short, long)] == [
        (False, False), (True, False),
    ]  # fmt: skip
    wide = review(
        SCAN + ", https://git.example.org/b.git, https://git.example.org/c.git and https://git.example.org/d.git"
    )
    assert width(wide) > 1_600
    assert "scroll it" in wide


def test_what_is_missing_is_asked_and_the_answer_completes_it() -> None:
    page = review("scan our repository every 45 minutes")
    assert 'name="answer.repo"' in page
    assert 'name="answer.schedule"' in page
    assert "every 30 minutes" in page
    assert 'id="decide"' not in page
    half = review("scan our repository every 45 minutes", repo="https://git.example.org/a.git")
    assert '<input type="hidden" name="answer.repo" value="https://git.example.org/a.git">' in half
    whole = review("scan our repository every 45 minutes", repo="https://git.example.org/a.git", schedule="every hour")
    assert "0 * * * *" in whole
    assert 'id="decide"' in whole


def test_roles_decide_what_is_offered() -> None:
    assert "needs the role editor" in review(SCAN, visitor(Role.VIEWER))
    page = review(SCAN, visitor(Role.EDITOR))
    assert "Save as a draft" in page
    assert "Save and run" not in page


def test_what_people_write_is_shown_as_text() -> None:
    page = review("post \"<script>alert(1)</script>\" to slack and call it '<b>x</b>'")
    assert "<script>alert" not in page
    assert "<b>x" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []


def test_a_message_that_is_too_long_is_refused_with_a_sentence() -> None:
    assert "at most 4,000 characters" in review("x" * 4_001, code=400)


def test_a_link_from_elsewhere_asks_no_model(model: DemoServer) -> None:
    by = visitor()
    answer = by.get(f"/ui/route?{urlencode({'message': SCAN})}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert not model.seen
    review(SCAN, by)
    assert len(model.seen) >= 1


def test_a_saved_draft_offers_the_inputs_of_the_sentence() -> None:
    by = visitor()
    body = by.post("/route", {"message": SCAN}, content_type="application/json").json()
    page = unescape(by.get(f"/ui/workflows/{body['workflowId']}").content.decode())
    assert '"repo": "https://git.example.org/acme/shop.git"' in page
