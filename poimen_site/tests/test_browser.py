"""The pages in a real browser, against everything as it runs: sign in, start, watch, lose the connection, decide."""

import re
import time
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.tests.browsing import PATIENCE, PEOPLES_PASSWORD, Site, sign_in
from poimen_site.tests.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

LINES = 100_000


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, open_page: Callable[..., Page]) -> Page:
    """Of the administrator."""
    return open_page(color_scheme=request.param)


def says(page: Page, text: str) -> Locator:
    return page.locator("#window .line", has_text=text)


def test_a_run_from_its_start_to_its_end(page: Page, site: Site) -> None:
    workflow = site.workflow()
    page.goto(f"/ui/workflows/{workflow}")
    page.get_by_label("Inputs (JSON)").fill('{"text": "hello"}')
    page.get_by_role("button", name="Run").click()
    expect(page).to_have_url(re.compile("/ui/executions/"))
    run = page.url.rsplit("/", 1)[1]
    connection = page.locator("#connection")
    expect(connection).to_have_text("Live", timeout=PATIENCE)
    expect(page.locator("#about h1")).to_contain_text("waiting", timeout=PATIENCE)
    expect(page.locator("#states")).to_contain_text("waits for a person")

    site.post(f"/executions/{run}/signal", name="first")
    expect(says(page, "signal first received")).to_have_count(1, timeout=PATIENCE)

    page.context.set_offline(True)
    expect(connection).to_contain_text("No connection", timeout=PATIENCE)
    site.post(f"/executions/{run}/signal", name="second")
    site.post(f"/executions/{run}/signal", name="third")
    page.context.set_offline(False)
    expect(connection).to_have_text("Live", timeout=PATIENCE)
    for name in ("first", "second", "third"):
        expect(says(page, f"signal {name} received")).to_have_count(1, timeout=PATIENCE)

    gate = next(gate["id"] for gate in site.get(f"/approvals?executionId={run}"))
    admin = page.context.new_page()
    admin.goto(f"/admin/workflows/approvalgate/{gate}/change/")
    admin.locator("button.approve").click()
    until(lambda: site.get(f"/approvals/{gate}")["status"] == "approved", 20)
    admin.close()

    expect(page.locator("#about h1")).to_contain_text("success", timeout=PATIENCE)
    expect(connection).to_have_text("Complete", timeout=PATIENCE)
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    everything = [line["message"] for line in site.get(f"/executions/{run}/logs?level=info")["logs"]]
    assert page.locator("#window .line .tx").all_inner_texts() == everything


def test_without_a_socket_the_page_asks_and_says_so(page: Page, site: Site) -> None:
    run = site.waiting_run()
    page.context.route_web_socket(re.compile("/ws/"), lambda socket: socket.close())
    page.goto(f"/ui/executions/{run}")
    expect(page.locator("#connection")).to_have_text("Asking every second", timeout=PATIENCE)
    site.post(f"/executions/{run}/signal", name="late")
    expect(says(page, "signal late received")).to_have_count(1, timeout=PATIENCE)
    site.post(f"/executions/{run}/cancel")
    expect(page.locator("#connection")).to_have_text("Complete", timeout=PATIENCE)
    everything = [line["message"] for line in site.get(f"/executions/{run}/logs?level=info")["logs"]]
    assert page.locator("#window .line .tx").all_inner_texts() == everything


def test_a_member_of_two_customers_follows_and_acts_for_either(open_page: Callable[..., Page], site: Site) -> None:
    run, name = site.waiting_run(), f"ada-{time.monotonic_ns()}"
    site.shell(
        "from workflows.access import default_customer as first; from workflows.tests.people import customer, member; "
        "from workflows.models import Membership; "
        f"ada = member(customer('a-first-one'), 'viewer', '{name}'); "
        "Membership.objects.create(user=ada, customer=first(), role='operator')"
    )
    page = open_page("")
    sign_in(page, name, PEOPLES_PASSWORD)
    expect(page.locator("#home")).to_contain_text("Nothing waits")
    page.goto(f"/ui/executions/{run}")
    page.locator("#switch").click()
    expect(page.locator("#connection")).to_have_text("Live", timeout=PATIENCE)
    page.get_by_role("button", name="Cancel").click()
    page.locator("#ask-yes").click()
    expect(page.locator("#about h1")).to_contain_text("cancelled", timeout=PATIENCE)
    assert site.get(f"/executions/{run}")["status"] == "cancelled"


def test_decisions_and_requests_go_through_a_question(page: Page, site: Site) -> None:
    run = site.waiting_run()
    page.goto(f"/ui/executions/{run}")
    about = page.locator("#about")
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason (optional)").fill("lunch")
    page.locator("#ask-yes").click()
    expect(about).to_contain_text("by admin: lunch")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Reject").click()
    page.locator("#ask-yes").click()  # the browser wants the reason first
    expect(page.locator("#ask")).to_be_visible()
    page.get_by_label("Reason", exact=True).fill("not today")
    page.locator("#ask-yes").click()
    until(lambda: site.get(f"/executions/{run}").get("completedAt"), 20)
    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=PATIENCE)
    page.get_by_text("From a state").click()
    page.locator("#about .sheet").get_by_role("button", name="Ask").click()
    expect(page).not_to_have_url(re.compile(run))
    expect(page.locator("#about")).to_contain_text("from Ask")
    page.get_by_role("button", name="Cancel").click()
    page.locator("#ask-yes").click()
    expect(page.locator("#about h1")).to_contain_text("cancelled", timeout=PATIENCE)


def test_what_waits_is_decided_at_home(page: Page, site: Site) -> None:
    run = site.waiting_run()
    gate = site.get(f"/approvals?executionId={run}")[0]["id"]
    page.goto("/")
    page.locator(f"#approve-{gate}").click()
    page.locator("#ask-yes").click()
    expect(page.locator(f"#gate-{gate}")).to_have_count(0, timeout=PATIENCE)
    assert site.get(f"/approvals/{gate}")["votes"][0]["user"] == "admin"


def test_a_page_says_when_it_is_old_and_when_one_is_signed_out(page: Page) -> None:
    page.goto("/")
    page.context.set_offline(True)
    expect(page.locator("#stale")).to_contain_text("may be old", timeout=PATIENCE)
    page.context.set_offline(False)
    expect(page.locator("#stale")).to_have_count(0, timeout=PATIENCE)
    page.context.clear_cookies(name="sessionid")
    expect(page).to_have_url(re.compile("/ui/sign-in"), timeout=PATIENCE)


def test_a_state_shows_what_it_took_and_gave(page: Page, site: Site) -> None:
    run = site.waiting_run()
    page.goto(f"/ui/executions/{run}")
    page.locator("#states summary", has_text="Say").click()
    expect(page.locator("#states .loaded")).to_contain_text('"hello"')
    page.get_by_role("button", name="Only its log lines").click()
    nodes = page.locator("#window .line .of")
    expect(nodes.first).to_have_text("Say")
    assert set(nodes.all_inner_texts()) == {"Say"}
    site.post(f"/executions/{run}/signal", name="x")  # new states and lines close nothing and change no filter
    site.post(f"/executions/{run}/pause")
    expect(page.locator("#about")).to_contain_text("paused", ignore_case=True)
    expect(page.locator("#states .loaded")).to_contain_text('"hello"')
    assert set(nodes.all_inner_texts()) == {"Say"}


def test_everything_can_be_reached_by_keyboard(page: Page, site: Site) -> None:
    run = site.waiting_run()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page).to_have_url(re.compile("/ui/executions$"))
    page.wait_for_load_state()  # its keys
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto(f"/ui/executions/{run}")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("started")
    expect(page.locator("#matches")).to_contain_text("/")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("width", [390, 700, 860])
def test_no_page_is_wider_than_a_narrow_window(page: Page, site: Site, width: int) -> None:
    run = site.waiting_run()
    workflow = site.get(f"/executions/{run}")["workflowId"]
    page.set_viewport_size({"width": width, "height": 844})
    for path in (
        "/",
        "/ui/workflows",
        f"/ui/workflows/{workflow}",
        "/ui/executions",
        f"/ui/executions/{run}",
        "/ui/no",
    ):
        page.goto(path)
        for tool in (page.locator("#theme"), page.locator("#keys"), page.locator(".menu summary").last):
            box = tool.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width, path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.goto(f"/ui/executions/{run}")
    message = says(page, "Say succeeded").locator(".tx")
    expect(message).to_be_visible(timeout=PATIENCE)
    pane = page.locator("#lines").bounding_box()
    assert pane is not None
    # Rows are drawn anew as lines come, so one may go while it is measured.
    until(lambda: (message.bounding_box() or {"x": width})["x"] <= pane["x"] + pane["width"] - 300, 20)
    page.locator(".top .menu summary").click()
    page.locator("#sign-out").click()  # what is clipped cannot be clicked
    expect(page).to_have_url(re.compile("/ui/sign-in"))


def test_the_items_of_a_map_can_be_told_apart(page: Page, site: Site) -> None:
    each = {"name": "S", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${index}"}}
    states = [
        {"name": "Each", "type": "Map", "items": "${workflow.input.list}", "states": [each]},
        {"name": "Rest", "type": "Wait", "duration": "1h"},
    ]
    run = site.post("/specs/execute", spec={"name": "items", "states": states}, inputs={"list": list(range(20))})["id"]
    page.goto(f"/ui/executions/{run}")
    said = says(page, "S succeeded")
    for index in range(20):
        expect(said.locator(".of", has_text=f"[{index}]")).to_have_count(1, timeout=PATIENCE)
    items = page.locator("#states .items")
    expect(items.locator(".counts")).to_have_text("20 success", timeout=PATIENCE)
    items.locator("summary").first.click()
    expect(items.locator(".state")).to_have_count(20, timeout=PATIENCE)


def test_the_admin_counts_down_and_is_read_in_a_narrow_window(page: Page, site: Site) -> None:
    run = site.waiting_run()
    gate = site.get(f"/approvals?executionId={run}")[0]["id"]
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/admin/workflows/approvalgate/")
    row = page.locator("#result_list tr", has=page.locator(f'a[href*="{gate}"]'))
    left = row.locator("[data-until]")
    expect(left).to_have_text(re.compile(r"^5\d min \d\d s$"))
    was = left.inner_text()
    expect(left).not_to_have_text(was, timeout=PATIENCE)
    for cell in (left, row.locator(".field-own_vote")):
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_editor_is_used_in_a_narrow_window(open_page: Callable[..., Page], site: Site) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto(f"/ui/workflows/{site.workflow()}/edit")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    page.get_by_role("button", name="Import, export and more").click()
    for item in page.get_by_role("menu").locator("[role^=menuitem]").all():
        item.hover()  # what something lies over cannot be reached
    page.keyboard.press("Escape")
    page.get_by_placeholder("Add a step").click()
    page.locator(".palette").get_by_role("button", name="Wait", exact=True).click()
    expect(page.locator(".react-flow__node")).to_have_count(4)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="History").click()
    sheet = page.get_by_role("dialog", name="Versions")
    for part in (sheet.locator(".version-list"), sheet.locator(".drawing"), sheet.get_by_label("Compared with")):
        expect(part).to_be_visible()
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
        assert box["width"] > 300
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_hundred_thousand_lines_are_quick(page: Page, site: Site) -> None:
    run = site.waiting_run()
    server = EmbeddedPostgres(site.installation.home)
    with psycopg.connect(server.url) as connection:
        connection.execute(
            "INSERT INTO workflows_logentry (execution_id, node_id, level, event, message) SELECT %s, 'Build', "
            "CASE WHEN n %% 1000 = 0 THEN 'error' ELSE 'info' END, '', "
            "E'\\x1b[32mok\\x1b[0m case ' || n FROM generate_series(1, %s) AS n",
            (run, LINES),
        )
    began = time.monotonic()
    page.goto(f"/ui/executions/{run}")
    expect(says(page, f"case {LINES}")).to_be_visible(timeout=PATIENCE)  # the end is there before all is
    assert time.monotonic() - began < 10
    until(lambda: int(page.get_attribute("#log", "data-lines") or 0) > LINES, 60)
    assert page.locator("#window .line").count() < 200
    expect(says(page, f"case {LINES}").locator(".f2")).to_have_text("ok")
    began = time.monotonic()
    page.locator("#find").fill("case 54321")
    expect(page.locator(".line.current mark").last).to_have_text("case 54321")
    page.locator("#find").fill("")
    page.locator("#level").select_option("errors")
    expect(page.locator("#window .line").first).to_contain_text("error")
    assert time.monotonic() - began < 5
    assert set(page.locator("#window .line .lv").all_inner_texts()) == {"error"}
