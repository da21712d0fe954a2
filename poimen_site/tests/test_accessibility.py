"""axe-core on the pages, in light and in dark: no violation that it calls serious or critical."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from poimen_site.tests.browsing import PATIENCE, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

AXE = Axe()
GRAVE = ("serious", "critical")
RULES = {"resultTypes": ["violations"]}
# In the other scheme only colours differ.
COLOURS = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
# All operations together would take axe a minute: one that is open, and one of each method.
OPERATION = "#operations-activities-listActivities"
METHODS = ", ".join(f"#operations-schedules-{name} .opblock-summary" for name in (
    "createSchedule", "replaceSchedule", "changeSchedule", "deleteSchedule"))  # fmt: skip
DOCS = f"{OPERATION}, .information-container, .scheme-container, {METHODS}"
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

    def look(self, name: str, part: str = "") -> None:
        """What is shown now, or only ``part`` of it (a selector), in both schemes."""
        for scheme, options in (("light", RULES), ("dark", COLOURS)):
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            for violation in AXE.run(self.page, part or None, options).response["violations"]:
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


def test_what_others_draw(browser: Browser, site: Site) -> None:
    """The API's documentation and the admin. Their code tries styles that the CSP blocks, which does no harm."""
    with browser.new_context(base_url=site.address, viewport={"width": 1280, "height": 800}) as context:
        context.set_default_timeout(PATIENCE)
        context.add_cookies([{"name": "sessionid", "value": site.session("admin"), "url": site.address}])
        walk = Walk(context.new_page())
        walk.to("/docs", ready=".opblock", prepare=_with_an_open_operation, part=DOCS)
        walk.to("/admin/")
        walk.to("/admin/workflows/schedule/")
        assert walk.found == []


def _with_an_open_operation(page: Page) -> None:
    page.locator(f"{OPERATION} .opblock-summary-control").click()
    page.locator(f"{OPERATION} .opblock-body").wait_for()


def test_the_editor(walk: Walk, site: Site) -> None:
    empty = site.post("/workflows", name="Empty")["id"]
    gone = {"id": "a", "type": "activity", "position": {"x": 0, "y": 0}, "data": {"label": "A", "activity": "Gone"}}
    blank = {"id": "b", "type": "activity", "position": {"x": 300, "y": 0}, "data": {"activity": "CloneRepoActivity"}}
    edges = [{"id": "1", "source": "a", "target": "b"}, {"id": "2", "source": "b", "target": "nowhere"}]
    broken = site.post("/workflows", name="Broken", nodes=[gone, blank], edges=edges)["id"]
    walk.to(f"/ui/workflows/{empty}/edit", ready=".empty-canvas")
    walk.to(f"/ui/workflows/{broken}/edit", ready=".react-flow__node")
    assert walk.found == []
