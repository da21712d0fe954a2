"""A run on the canvas in a real browser: watched, decided and run again in place, and followed without a connection."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, Route, WebSocketRoute, expect

from poimen_site.tests.browsing import Site
from poimen_site.tests.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]


def step(page: Page, label: str) -> Locator:
    return page.locator(".react-flow__node", has_text=label)


def ended(page: Page, status: str) -> None:
    expect(page.locator(".run-strip")).to_have_attribute("data-status", status)


def test_a_run_is_decided_where_it_waits_and_run_again_from_a_step(open_page: Callable[..., Page], site: Site) -> None:
    page = open_page()
    page.goto(f"/ui/workflows/{site.workflow()}/edit")
    expect(step(page, "Say")).to_be_visible()
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Run")
    dialog.get_by_role("button", name="Run").click()
    expect(dialog).to_contain_text("has no default")  # what is read must be given
    dialog.locator('[name="text"]').fill("hello")
    dialog.get_by_role("button", name="Run").click()
    expect(step(page, "Ask").locator(".fate")).to_contain_text("waits for a decision")
    first = parse_qs(urlparse(page.url).query)["run"][0]

    page.get_by_role("button", name="A decision is asked for").click()
    gate = page.get_by_role("region", name="Decision: release-7")
    expect(gate).to_contain_text("0 of 1 approval")
    gate.get_by_role("button", name="Reject").click()
    expect(gate.get_by_role("alert")).to_contain_text("needs a reason")
    gate.get_by_role("button", name="Approve").click()
    ended(page, "success")
    expect(page.locator(".fate[data-status=success]")).to_have_count(3)
    expect(page.locator(".react-flow__edge.taken")).to_have_count(2)

    expect(page.locator(".bar-row")).to_have_count(3)
    page.get_by_role("tree", name=re.compile("Timeline")).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Run again from here").click()
    expect(page).not_to_have_url(re.compile(first))
    ended(page, "success")
    again = parse_qs(urlparse(page.url).query)["run"][0]
    states = site.get(f"/executions/{again}/states")["states"]
    assert [(run["state"], run["reused"]) for run in states] == [("Say", True), ("Ask", True), ("Done", False)]

    page.get_by_role("link", name="Compare with another run").click()
    expect(page.get_by_role("heading", name="Two runs side by side")).to_be_visible()
    expect(page.locator("tr[data-state]")).to_have_count(3)


def test_a_connection_that_is_lost_in_the_middle_of_a_run_loses_nothing(
    open_page: Callable[..., Page], site: Site
) -> None:
    run = site.waiting_run()
    page = open_page()
    sockets: list[WebSocketRoute] = []
    is_cut = False

    def connect(socket: WebSocketRoute) -> None:
        if is_cut:
            socket.close()
        else:
            socket.connect_to_server()
            sockets.append(socket)

    def answer(route: Route) -> None:
        if is_cut:
            route.abort()
        else:
            route.continue_()

    page.route_web_socket(re.compile("/ws/"), connect)
    page.route(re.compile(r"/(executions|approvals)\b"), answer)
    page.goto(f"/ui/executions/{run}#canvas")
    strip = page.locator(".run-strip")
    expect(strip).to_have_attribute("data-connection", "live")
    expect(step(page, "Ask").locator(".fate")).to_contain_text("waits for a decision")

    is_cut = True
    for socket in sockets:
        socket.close()
    expect(strip).to_have_attribute("data-connection", "lost")
    (gate,) = site.get(f"/approvals?executionId={run}")
    site.post(f"/approvals/{gate['id']}/approve")
    until(lambda: site.get(f"/executions/{run}")["status"] == "success", 60)
    expect(strip).to_have_attribute("data-status", "waiting")  # what it knew last
    is_cut = False
    ended(page, "success")
    expect(page.locator(".fate[data-status=success]")).to_have_count(3)

    page.get_by_role("tab", name="Log", exact=True).click()
    said = [line["message"] for line in site.get(f"/executions/{run}/logs")["logs"] if line["level"] != "debug"]
    expect(page.locator(".log-row > span:last-child")).to_have_text(said)
    page.reload()
    expect(page.locator(".fate[data-status=success]")).to_have_count(3)
    page.get_by_role("tab", name="States and log").click()
    expect(page.locator("#states")).to_be_visible()


def test_who_may_only_look_decides_and_stops_nothing(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Lookers")
    run = site.account(team.operator).waiting_run()
    page = open_page(team.viewer)
    page.goto(f"/ui/executions/{run}#canvas")
    expect(page.locator(".gate-card")).to_contain_text("Deciding needs the role approver")
    workflow = site.account(team.operator).get(f"/executions/{run}")["workflowId"]
    page.goto(f"/ui/workflows/{workflow}/edit?run={run}")
    expect(page.locator(".run-strip")).to_have_attribute("data-status", "waiting")
    expect(page.get_by_role("button", name=re.compile("Pause|Cancel|Approve|Reject"))).to_have_count(0)
