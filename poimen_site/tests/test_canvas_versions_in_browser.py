"""Versions and drafts in a real browser: two who save, a draft that goes on elsewhere, the history, and the roles."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from poimen_site.tests.browsing import PATIENCE, Account, Site, Team
from poimen_site.tests.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

SERVER_KEEPS = "not saved; draft kept on the server"


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """These stories wait for what the editor does in seconds."""
    expect.set_options(timeout=PATIENCE)
    yield
    expect.set_options(timeout=None)


@pytest.fixture
def team(site: Site) -> Team:
    """Of a customer of their own."""
    return site.team()


@pytest.fixture
def ann(site: Site, team: Team) -> Account:
    """The editor, as a program."""
    return site.account(team.editor)


def node(key: str, x: int, value: str = "", **more: Any) -> dict[str, Any]:
    data = {"label": key, "activity": "EchoActivity", "config": {"value": value}} | more
    return {"id": key, "type": "activity", "position": {"x": x, "y": 0}, "data": data}


def edge(source: str, target: str) -> dict[str, Any]:
    return {"id": f"{source}-{target}", "source": source, "target": target}


def drawn(account: Account, *keys: str) -> str:
    """A workflow of these steps in a row."""
    nodes = [node(key, 280 * index) for index, key in enumerate(keys)]
    edges = [edge(one, other) for one, other in pairwise(keys)]
    return str(account.post("/workflows", name="Drawn", nodes=nodes, edges=edges)["id"])


def edited(page: Page, workflow: str) -> Page:
    page.goto(f"/ui/workflows/{workflow}/edit")
    expect(steps(page).first).to_be_visible()
    return page


def steps(page: Page, label: str = "") -> Locator:
    shown = page.locator(".surface .react-flow__node")
    return shown.filter(has_text=label) if label else shown


def label_of(page: Page, old: str, new: str) -> None:
    steps(page, old).click()
    page.get_by_label("Label").fill(new)
    page.get_by_label("Label").blur()
    expect(steps(page, new)).to_have_count(1)


def saved(page: Page, text: str | re.Pattern[str] = "saved") -> None:
    expect(page.locator(".saved")).to_have_text(text)


def labels(account: Account, workflow: str) -> dict[str, str]:
    return {one["id"]: one["data"]["label"] for one in account.get(f"/workflows/{workflow}")["nodes"]}


def draft_of(account: Account, workflow: str) -> Any:
    """The draft on the server, None if there is none."""
    answer = account.api.get(f"/workflows/{workflow}/draft")
    return None if answer.status_code == 204 else answer.json()


def test_two_who_change_one_workflow_bring_it_together(
    open_page: Callable[..., Page], team: Team, ann: Account
) -> None:
    workflow = drawn(ann, "First", "Second", "Third")
    mine, theirs = edited(open_page(team.editor), workflow), edited(open_page(team.admin), workflow)
    label_of(theirs, "First", "Theirs")
    label_of(theirs, "Third", "Last")
    theirs.keyboard.press("Control+s")
    saved(theirs)

    label_of(mine, "First", "Mine")
    label_of(mine, "Second", "Middle")
    mine.keyboard.press("Control+s")
    dialog = mine.get_by_role("dialog", name="Two versions")
    expect(dialog).to_contain_text(f"{team.admin} saved version 2")
    expect(dialog.get_by_role("tab", name="They: 2 changed")).to_be_visible()
    expect(dialog.get_by_role("tab", name="You: 2 changed")).to_be_visible()
    clash = dialog.locator(".clash")
    expect(clash).to_have_count(1)
    expect(clash).to_contain_text("data.label")
    expect(dialog.get_by_role("button", name="Merge and save")).to_be_disabled()
    assert labels(ann, workflow) == {"First": "Theirs", "Second": "Second", "Third": "Last"}
    clash.get_by_label("Yours").check()
    dialog.get_by_role("button", name="Merge and save").click()
    saved(mine)
    assert labels(ann, workflow) == {"First": "Mine", "Second": "Middle", "Third": "Last"}
    mine.keyboard.press("Control+z")  # what was drawn here alone
    expect(steps(mine, "Third")).to_have_count(1)
    mine.keyboard.press("Control+Shift+z")  # and both again
    expect(steps(mine, "Last")).to_have_count(1)
    saved(mine)

    # Who only looks is told, and goes on with it; who changes something meanwhile is told as well.
    theirs.evaluate("dispatchEvent(new Event('focus'))")
    expect(theirs.locator(".notice")).to_contain_text(f"{team.editor} saved version 3")
    theirs.get_by_role("button", name="Go on with it").click()
    expect(steps(theirs, "Middle")).to_have_count(1)
    saved(theirs)
    label_of(theirs, "Middle", "Unsaved")
    ann.put(f"/workflows/{workflow}", description="from a program")
    theirs.evaluate("dispatchEvent(new Event('focus'))")
    theirs.get_by_role("button", name="Look at both").click()
    theirs.get_by_role("button", name="Merge and save").click()  # nothing that both changed
    saved(theirs)
    now = ann.get(f"/workflows/{workflow}")
    assert (now["version"], now["description"]) == (5, "from a program")
    assert labels(ann, workflow)["Second"] == "Unsaved"


def test_a_reload_in_the_middle_of_it_loses_nothing_and_the_draft_can_be_let_go(
    open_page: Callable[..., Page], team: Team, ann: Account
) -> None:
    workflow = drawn(ann, "First", "Second")
    page = edited(open_page(team.editor), workflow)
    label_of(page, "Second", "Changed")
    page.reload()  # before anything reached the server
    saved(page, "not saved: your draft was restored")
    expect(steps(page, "Changed")).to_have_count(1)
    notice = page.locator(".notice")
    expect(notice).to_contain_text(
        re.compile("kept (in this browser|on the server)")
    )  # whichever was quicker than the reload
    notice.get_by_role("button", name="Show differences").click()
    sheet = page.get_by_role("dialog", name="Differences")
    expect(sheet.locator(".step-node.how-changed")).to_have_count(1)
    page.keyboard.press("n")
    expect(sheet.locator(".field-changes")).to_contain_text('"Second"')
    expect(sheet.locator(".field-changes")).to_contain_text('"Changed"')
    page.keyboard.press("Escape")
    notice.get_by_role("button", name="Discard").click()
    saved(page)
    expect(steps(page, "Second")).to_have_count(1)
    until(lambda: draft_of(ann, workflow) is None, 20)
    for combo, label in (("Control+z", "Changed"), ("Control+Shift+z", "Second"), ("Control+z", "Changed")):
        page.keyboard.press(combo)
        expect(steps(page, label)).to_have_count(1)
    assert ann.get(f"/workflows/{workflow}")["version"] == 1


def test_a_draft_goes_on_in_another_browser_and_after_a_time_without_the_network(
    open_page: Callable[..., Page], team: Team, ann: Account
) -> None:
    workflow = drawn(ann, "First", "Second")
    here = edited(open_page(team.editor), workflow)
    here.context.set_offline(True)
    label_of(here, "Second", "On the train")
    saved(here, "offline; your draft is kept in this browser")
    here.context.set_offline(False)
    saved(here, SERVER_KEEPS)
    here.context.close()

    there = edited(open_page(team.editor), workflow)
    expect(there.locator(".notice")).to_contain_text("kept on the server")
    expect(steps(there, "On the train")).to_have_count(1)
    colleague = edited(open_page(team.admin), workflow)
    saved(colleague)  # a draft is nobody else's
    label_of(there, "First", "At home")
    saved(there, SERVER_KEEPS)
    there.keyboard.press("Control+s")
    saved(there)
    assert labels(ann, workflow) == {"First": "At home", "Second": "On the train"}
    until(lambda: draft_of(ann, workflow) is None, 20)


def test_two_tabs_of_one_person_do_not_write_over_each_others_draft(
    open_page: Callable[..., Page], team: Team, ann: Account
) -> None:
    workflow = drawn(ann, "First", "Second")
    one = edited(open_page(team.editor), workflow)
    label_of(one, "First", "In one tab")
    saved(one, SERVER_KEEPS)
    other = edited(one.context.new_page(), workflow)
    expect(other.locator(".notice")).to_contain_text("in another tab or browser")
    label_of(other, "First", "In the other")
    saved(other, "not saved; draft kept here")
    label_of(one, "In one tab", "Still in one tab")
    saved(one, SERVER_KEEPS)
    assert draft_of(ann, workflow)["nodes"][0]["data"]["label"] == "Still in one tab"
    other.reload()
    expect(steps(other, "In the other")).to_have_count(1)  # its own, not the other's
    other.get_by_role("button", name="Keep this one instead").click()
    saved(other, re.compile("restored|on the server"))
    until(lambda: draft_of(ann, workflow)["nodes"][0]["data"]["label"] == "In the other", 20)
    label_of(one, "Still in one tab", "And again")
    expect(one.locator(".notice")).to_contain_text("in another tab or browser")
    one.get_by_role("button", name="Take the other draft").click()
    expect(steps(one, "In the other")).to_have_count(1)
    one.keyboard.press("Control+z")
    expect(steps(one, "And again")).to_have_count(1)


def test_every_version_is_there_to_look_at_compare_and_restore(
    open_page: Callable[..., Page], team: Team, ann: Account
) -> None:
    workflow = drawn(ann, "First", "Second")
    secret = node("Third", 560, token="not to be shown")
    ann.put(
        f"/workflows/{workflow}",
        nodes=[node("First", 0, "x" * 500), secret],
        edges=[edge("First", "Third")],
        changeReason="second was wrong",
    )
    page = edited(open_page(team.editor), workflow)
    page.keyboard.press("h")
    sheet = page.get_by_role("dialog", name="Versions")
    expect(sheet.locator(".version-list li")).to_have_count(2)
    newest, oldest = sheet.locator(".version-list li").all()
    expect(newest).to_contain_text("second was wrong")
    expect(newest).to_contain_text("added Third; removed Second; changed First (value)")
    expect(oldest).to_contain_text("created")
    expect(newest).to_contain_text(team.editor)

    # What is gone is drawn as a ghost, and everything is told by a word as well as by its colour.
    for how, name in (("added", "Third"), ("removed", "Second"), ("changed", "First")):
        expect(sheet.locator(f".step-node.how-{how}")).to_contain_text(name)
        expect(sheet.locator(f".step-node.how-{how} .how")).to_contain_text(how)
    expect(sheet.locator(".react-flow__edge.how-removed")).to_have_count(1)
    page.keyboard.press("n")
    expect(sheet.locator(".step-node.at")).to_contain_text("First")
    expect(sheet.locator(".field-changes .is")).to_contain_text("(502 characters)")
    page.keyboard.press("Shift+N")
    expect(sheet.locator(".difference-list button[aria-current]")).to_contain_text("First → Second")
    oldest.get_by_role("button").click()
    expect(sheet).to_contain_text("It is the first version.")
    sheet.get_by_label("Compared with").select_option("what is drawn now")
    expect(sheet.locator(".step-node.how-removed")).to_contain_text("Third")
    expect(sheet).not_to_contain_text("not to be shown")

    sheet.get_by_role("button", name="Restore version 1").click()
    saved(page)
    expect(steps(page, "Second")).to_have_count(1)
    now, *before = ann.get(f"/workflows/{workflow}/versions")
    assert (now["version"], now["reason"]) == (3, "restored from version 1")
    assert [one["version"] for one in before] == [2, 1]
    assert now["checksum"] == before[1]["checksum"]
    page.keyboard.press("Control+z")
    expect(steps(page, "Third")).to_have_count(1)


def test_each_role_is_shown_what_it_can_use_and_told_what_it_cannot(
    open_page: Callable[..., Page], site: Site, team: Team
) -> None:
    ann = site.account(team.operator)
    workflow = ann.workflow()
    run = ann.post(f"/workflows/{workflow}/execute", inputs={"text": "hello"})["id"]
    until(lambda: ann.get(f"/executions/{run}")["status"] == "waiting", 60)
    changing = re.compile("^(Save|Undo|Redo|Arrange)")

    viewer = edited(open_page(team.viewer), workflow)
    saved(viewer, "read only")
    expect(viewer.locator(".saved")).to_have_attribute("title", re.compile("needs the role editor"))
    expect(viewer.get_by_role("button", name=changing)).to_have_count(0)
    expect(viewer.get_by_role("button", name=re.compile("^Run"))).to_have_count(0)
    expect(viewer.locator(".palette")).to_have_count(0)
    steps(viewer, "Say").click()
    expect(viewer.get_by_label("Label")).to_be_disabled()
    viewer.keyboard.press("Delete")
    expect(steps(viewer)).to_have_count(3)
    viewer.keyboard.press("h")
    expect(viewer.get_by_role("dialog", name="Versions")).to_contain_text("needs the role editor")
    expect(viewer.get_by_role("button", name=re.compile("^Restore"))).to_have_count(0)

    editor = edited(open_page(team.editor), workflow)
    expect(editor.get_by_role("button", name=changing)).to_have_count(4)
    expect(editor.get_by_role("button", name=re.compile("^Run"))).to_have_count(0)
    label_of(editor, "Say", "Say it")
    editor.keyboard.press("Control+s")
    saved(editor)

    operator = edited(open_page(team.operator), workflow)
    expect(operator.get_by_role("button", name=re.compile("^Run"))).to_have_count(1)
    for who, may in ((team.operator, 0), (team.approver, 1)):
        page = open_page(who)
        page.goto(f"/ui/workflows/{workflow}/edit?run={run}")
        expect(page.locator(".run-strip")).to_have_attribute("data-status", "waiting")
        page.get_by_role("button", name="A decision is asked for").click()
        expect(page.locator(".gate-card")).to_contain_text("Approve" if may else "needs the role approver")
        expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(may)

    # The same over REST.
    paths = {"draft": ("PUT", f"/workflows/{workflow}/draft", {"baseVersion": 1}),
             "save": ("PUT", f"/workflows/{workflow}", {"description": "d"}),
             "run": ("POST", f"/workflows/{workflow}/execute", {}),
             "restore": ("PATCH", f"/workflows/{workflow}", {"changeReason": "r"})}  # fmt: skip
    allowed: dict[str, set[str]] = {
        team.viewer: set(),
        team.editor: {"draft", "save", "restore"},
        team.operator: set(paths),
    }
    for who, deeds in allowed.items():
        account = site.account(who)
        assert account.get(f"/workflows/{workflow}/versions")
        for deed, (method, path, body) in paths.items():
            answer = account.api.request(method, path, json=body)
            assert (answer.status_code < 300) == (deed in deeds), (who, deed, answer.text)
            assert answer.status_code < 300 or "role" in answer.json()["error"]
