"""axe-core on pages, admin and canvas, in light and in dark: no violation that it calls serious or critical."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site
from poimen_site.tests.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

AXE = Axe()
GRAVE = ("serious", "critical")
# Without preloading: axe would put the admin's style sheets into the page once more, which its CSP forbids.
RULES: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
# In the other scheme only colours differ.
COLOURS = RULES | {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
# All operations together would take axe a minute: one that is open, and one of each method.
OPERATION = "#operations-activities-listActivities"
METHODS = ", ".join(f"#operations-schedules-{name} .opblock-summary" for name in (
    "createSchedule", "replaceSchedule", "changeSchedule", "deleteSchedule"))  # fmt: skip
DOCS = f"{OPERATION}, .information-container, .scheme-container, {METHODS}"
PART = "#content"  # of the admin: what is around it is the same on every page
MODAL = "dialog[open]"
EXCHANGE = """
from datetime import UTC, datetime
from agents.models import Exchange
from workflows.models import Execution
now = datetime.now(UTC)
Exchange.objects.create(
    customer=Execution.objects.get(pk=run).customer, execution=run, state="Say", alias="reasoning", model="reasoning",
    started_at=now, expires_at=now, prompt_tokens=5, status="success", is_exact=True,
    request={"messages": [{"role": "user", "content": "What now?"}]},
    answer={"choices": [{"message": {"role": "assistant", "content": "Wait."}}]},
)
"""


class Walk:
    """Looks at one page after the other and keeps what axe finds there; the scheme is changed without a reload."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: list[str] = []

    def to(
        self, path: str, ready: str = "main, #content", prepare: Callable[[Page], None] | None = None, part: str = ""
    ) -> None:
        self.page.goto(path)
        self.page.locator(ready).first.wait_for()
        if prepare:
            prepare(self.page)
        self.look(path, part)

    def look(self, name: str, part: str = "", *, in_the_dark: bool = True) -> None:
        """What is shown now, or only ``part`` of it (a selector), in both schemes."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.axe_script)
        for scheme, options in (("light", RULES), ("dark", COLOURS))[: 2 if in_the_dark else 1]:
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            answer = self.page.evaluate("([part, options]) => axe.run(part || document, options)", [part, options])
            for violation in answer["violations"]:
                if violation["impact"] in GRAVE:
                    self.found += [
                        f"{name} ({scheme}): {violation['id']}: {' '.join(map(str, node['target']))}: "
                        f"{node['failureSummary'].splitlines()[-1].strip()}"
                        for node in violation["nodes"]
                    ]
        self.page.emulate_media(color_scheme="light")


@pytest.fixture
def walk(open_page: Callable[..., Page]) -> Walk:
    """As the administrator."""
    return Walk(open_page())


def shown(text: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator("body")).to_contain_text(text)


def test_an_axe_that_finds_nothing_would_be_seen(walk: Walk) -> None:
    walk.page.goto("/ui/workflows")
    walk.page.evaluate("() => document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button>')")
    walk.look("workflows with a button without a name")
    assert [line for line in walk.found if "button-name" in line]


def test_the_pages_of_those_who_have_nothing_yet(open_page: Callable[..., Page], site: Site) -> None:
    stranger = Walk(open_page(""))
    stranger.to("/ui/sign-in")
    stranger.page.get_by_label("User name").fill("nobody")
    stranger.page.get_by_label("Password").fill("wrong")
    stranger.page.keyboard.press("Enter")
    stranger.page.get_by_role("alert").first.wait_for()
    stranger.look("sign-in refused")
    walk = Walk(open_page(site.team("Nora").operator))
    for path in ("/", "/ui/workflows", "/ui/executions", "/ui/schedules", "/ui/route", "/ui/nothing-here"):
        walk.to(path)
    name = f"homeless-{uuid4().hex[:8]}"
    site.shell("from django.contrib.auth.models import User; User.objects.create_user(name)", name=name)
    homeless = Walk(open_page(name))
    homeless.to("/")
    assert stranger.found + walk.found + homeless.found == []


def test_a_run_of_another_customer_of_mine(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Other")
    run, mine = site.account(team.operator).waiting_run(), site.team("Mine").operator
    site.shell(
        "from django.contrib.auth.models import User; from workflows.models import Customer, Membership;"
        "user = User.objects.get(username=who);"
        "Membership.objects.create(user=user, customer=Customer.objects.get(slug=slug), role='operator')",
        who=mine, slug=team.slug,
    )  # fmt: skip
    walk = Walk(open_page(mine))
    walk.to(f"/ui/executions/{run}", ready="#switch")
    assert walk.found == []


def test_the_pages(walk: Walk, site: Site) -> None:
    waiting = site.waiting_run()
    workflow = site.get(f"/executions/{waiting}")["workflowId"]
    schedule = site.post("/schedules", name=f"Nightly {uuid4().hex[:6]}", schedule="30 7 * * MON-FRI",
                         timezone="Europe/Berlin", workflowId=workflow)  # fmt: skip
    site.shell(EXCHANGE, run=waiting)
    exchange = site.get(f"/executions/{waiting}/exchanges")[0]["id"]
    sentence = "scan https://git.example.org/acme/shop.git and mail the report to ann@example.org every day at 7"

    walk.to("/", prepare=shown("Ship it?"))
    walk.page.keyboard.press("?")
    walk.look("the sheet of shortcuts")
    walk.to("/ui/workflows")
    walk.to(f"/ui/workflows/{workflow}")
    walk.to("/ui/executions")
    walk.to("/ui/executions?status=success&q=nothing")
    walk.to("/ui/schedules")
    walk.to("/ui/schedules/new")
    walk.to(f"/ui/schedules/{schedule['id']}")
    walk.to(f"/ui/schedules/{schedule['id']}/edit")
    walk.to(f"/ui/exchanges/{exchange}")
    walk.to("/ui/route?message=" + sentence.replace(" ", "+"))
    walk.to(f"/ui/executions/{uuid4()}")
    site.api.delete(f"/schedules/{schedule['id']}")
    assert walk.found == []


def test_the_documentation_of_the_api(walk: Walk) -> None:
    walk.to("/docs", ready=".opblock", prepare=_with_an_open_operation, part=DOCS)
    assert walk.found == []


def _with_an_open_operation(page: Page) -> None:
    page.locator(f"{OPERATION} .opblock-summary-control").click()
    page.locator(f"{OPERATION} .opblock-body").wait_for()


def ended(site: Site, spec: dict[str, Any]) -> str:
    """A run of this spec that is over."""
    run = str(site.post("/specs/execute", spec=spec, inputs={})["id"])
    until(lambda: site.get(f"/executions/{run}").get("completedAt"), 60)
    return run


def test_the_pages_of_runs(walk: Walk, site: Site) -> None:
    page, waiting = walk.page, site.waiting_run()
    failed = ended(site, {"name": "fails", "states": [{"name": "No", "type": "Fail", "error": "Broken", "cause": "x"}]})
    rest = {"name": "Rest", "type": "Wait", "duration": "1h"}
    running = site.post("/specs/execute", spec={"name": "long", "states": [rest]}, inputs={})["id"]

    walk.to(f"/ui/executions/{running}", prepare=shown("Rest"))
    site.post(f"/executions/{running}/cancel")
    walk.to(f"/ui/executions/{waiting}", prepare=_with_an_open_state)
    page.locator("#cancel").click()
    walk.look("a question before a deed", "dialog[open]")
    walk.to(f"/ui/executions/{failed}", part="main")
    workflow = site.get(f"/executions/{waiting}")["workflowId"]
    other = site.post(f"/workflows/{workflow}/execute", inputs={"text": "good morning"})["id"]
    walk.to(f"/ui/executions/{other}/compare?with={waiting}", ready="tr[data-state]", part="main")
    walk.to(f"/ui/executions/{waiting}#canvas", ready=".run-view .react-flow__node")
    page.get_by_role("tab", name="Log", exact=True).click()
    walk.look("the log of a run below its canvas", ".run-dock")
    assert walk.found == []


def _with_an_open_state(page: Page) -> None:
    expect(page.locator("#connection")).to_have_text("Live")
    page.locator("#states summary", has_text="Say").click()
    expect(page.locator("#states .loaded")).to_contain_text('"hello"')


def test_the_admin_of_what_runs(walk: Walk, site: Site) -> None:
    page, run = walk.page, site.waiting_run()
    gate = site.get(f"/approvals?executionId={run}")[0]["id"]
    walk.to("/admin/")
    walk.to("/admin/workflows/schedule/")
    walk.to(f"/admin/workflows/execution/{run}/change/", prepare=_with_the_spec, part=PART)
    for path in ("execution/?status=waiting", f"execution/{run}/cancel/", "auditrecord/",
                 f"approvalgate/{gate}/change/", "approvalgate/"):  # fmt: skip
        walk.to(f"/admin/workflows/{path}", part=PART)
    page.locator(f'input[name="_selected_action"][value="{gate}"]').check()
    page.locator('select[name="action"]').select_option("reject_selected")
    page.locator('button[name="index"]').click()
    page.locator('input[name="apply"]').wait_for()
    walk.look("a deed of the admin that needs a reason", PART)
    assert walk.found == []


def _with_the_spec(page: Page) -> None:
    page.get_by_text("Spec", exact=True).click()
    expect(page.locator("pre", has_text="ApproveWorkflowActivity")).to_be_visible()


def test_the_forms_of_the_admin(walk: Walk) -> None:
    page = walk.page
    for path in ("agents/budget", "agents/promptversion", "workflows/customer", "workflows/membership", "auth/group"):
        walk.to(f"/admin/{path}/add/", part=PART)
    walk.to("/admin/workflows/apikey/add/", part=PART)
    page.locator("#id_customer").select_option(index=1)
    page.locator("#id_name").fill(f"Key {uuid4().hex[:6]}")
    page.locator('input[name="scopes"]').first.check()
    page.locator('input[name="apply"]').click()
    page.locator("#key-text").wait_for()
    walk.look("a key that was made", PART)

    page.goto("/admin/workflows/secret/add/")
    page.locator('input[name="_save"]').click()
    page.locator(".errornote").wait_for()
    walk.look("a form with errors", PART)
    page.locator("#id_customer").select_option(index=1)
    page.locator("#id_name").fill("Mail")
    page.locator("#id_value").fill(uuid4().hex)
    page.locator('input[name="_continue"]').click()
    page.locator(".messagelist .success").wait_for()
    walk.look("what was saved", f"{PART}, .messagelist")
    page.locator(".historylink").click()
    page.locator("#change-history").wait_for()
    walk.look("the history of a row", PART)
    page.go_back()
    page.locator(".deletelink").click()
    page.locator(".cancel-link").wait_for()
    walk.look("a question before a row is deleted", PART)
    page.locator('#content input[type="submit"]').click()
    page.locator(".messagelist .success").wait_for()
    assert walk.found == []


def test_what_the_editor_offers_by_itself(walk: Walk, site: Site) -> None:
    page = walk.page
    empty = site.post("/workflows", name="Empty")["id"]
    gone = {"id": "a", "type": "activity", "position": {"x": 0, "y": 0}, "data": {"label": "A", "activity": "Gone"}}
    blank = {"id": "b", "type": "activity", "position": {"x": 300, "y": 0}, "data": {"activity": "CloneRepoActivity"}}
    scan = {"id": "c", "type": "activity", "position": {"x": 600, "y": 0}, "data": {"activity": "SecurityScanActivity"}}
    edges = [{"id": "1", "source": "a", "target": "b"}, {"id": "2", "source": "b", "target": "nowhere"}]
    broken = site.post("/workflows", name="Broken", nodes=[gone, blank, scan], edges=edges)["id"]

    walk.to(f"/ui/workflows/{empty}/edit", ready=".empty-canvas")
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Describe it")
    dialog.get_by_label("What should happen").fill("scan https://git.example.org/acme/shop.git every day at 7")
    dialog.get_by_role("button", name="Show me").click()
    dialog.locator(".preview").wait_for()
    walk.look("a sentence that becomes a drawing", MODAL)
    walk.to(f"/ui/workflows/{broken}/edit", ready=".react-flow__node")
    page.keyboard.press("p")
    page.locator(".problem-list li").first.wait_for()
    walk.look("the list of problems", ".problem-list")
    page.keyboard.press("p")
    page.locator(".react-flow__node", has_text="Clone").click()
    walk.look("a node without what it needs", ".panel")
    page.keyboard.press("s")
    page.get_by_label("Suggested connections").get_by_role("listitem").first.wait_for()
    walk.look("suggested connections", ".surface")
    assert walk.found == []


def test_the_panel_and_the_menus_of_the_editor(walk: Walk, site: Site) -> None:
    """Most of it is looked at in the dark by ``test_canvas_in_the_dark_in_browser``."""
    page = walk.page
    walk.to(f"/ui/workflows/{site.workflow('Accessible')}/edit", ready=".react-flow__node")
    page.locator(".react-flow__node", has_text="Ask").click()
    page.locator(".panel [data-field]").first.wait_for()
    walk.look("a node's settings", ".panel", in_the_dark=False)
    page.get_by_role("tab", name="JSON").click()
    page.locator(".cm-content").wait_for()
    walk.look("a node's JSON", ".panel", in_the_dark=False)
    page.locator(".react-flow__edge").first.focus()
    page.keyboard.press("Enter")
    page.get_by_label(re.compile("^Condition")).first.wait_for()
    walk.look("a connection's settings", ".panel", in_the_dark=False)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+f")
    page.locator(".finder li").first.wait_for()
    walk.look("several chosen, and finding a node", ".surface, .panel", in_the_dark=False)
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+F10")
    page.get_by_role("menu").wait_for()
    walk.look("what can be done with what is chosen", "[role=menu]", in_the_dark=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Import, export and more").click()
    page.get_by_role("menu").wait_for()
    walk.look("what can be done with the canvas", "[role=menu]")
    page.keyboard.press("Escape")
    assert walk.found == []


def test_the_dialogs_of_the_editor_and_its_run(walk: Walk, site: Site) -> None:
    page, workflow = walk.page, site.workflow("Accessible")
    page.goto(f"/ui/workflows/{workflow}/edit")
    page.locator(".react-flow__node").first.wait_for()
    page.keyboard.press("?")
    walk.look("the editor's sheet of shortcuts", MODAL, in_the_dark=False)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Run")
    dialog.get_by_role("textbox", name="text").fill("hello")
    walk.look("the dialog of a run", MODAL, in_the_dark=False)
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".run-strip")).to_have_attribute("data-status", "waiting")
    page.get_by_role("button", name="A decision is asked for").click()
    page.locator(".gate-card").wait_for()
    walk.look("a run on the canvas", in_the_dark=False)
    page.locator(".react-flow__node", has_text="Say").click()
    page.get_by_role("tab", name="Run").click()
    walk.look("what a node did in a run", ".panel", in_the_dark=False)

    site.put(f"/workflows/{workflow}", description="by somebody else")
    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Label").fill("Tell")
    page.get_by_label("Label").blur()
    page.keyboard.press("Control+s")
    page.get_by_role("dialog", name="Two versions").wait_for()
    walk.look("two versions to be brought together", MODAL)
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.get_by_role("dialog", name="Versions").locator(".version-list li").first.wait_for()
    walk.look("the history", MODAL, in_the_dark=False)
    assert walk.found == []
