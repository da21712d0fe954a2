"""The side panel in a real browser: fields by their type, JSON, secrets, failures, conditions tried, their history."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from poimen_site.tests.browsing import Account, Site
from poimen_site.tests.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]


def node(key: str, activity: str, x: int, label: str = "", **config: Any) -> dict[str, Any]:
    data = {"label": label or key.capitalize(), "activity": activity, "config": config}
    return {"id": key, "type": "activity", "position": {"x": x, "y": 0}, "data": data}


def drawn(by: Account, *nodes: dict[str, Any]) -> str:
    ids = [one["id"] for one in nodes]
    edges = [{"id": f"{a}-{b}", "source": a, "target": b} for a, b in pairwise(ids)]
    made: str = by.post("/workflows", name="Panel", nodes=list(nodes), edges=edges)["id"]
    return made


def choose(page: Page, label: str) -> None:
    page.locator(".react-flow__node", has_text=label).click()
    expect(page.locator(".panel h2")).to_have_text(label)


def choose_edge(page: Page, edge: str) -> None:
    page.locator(f'.react-flow__edge[data-id="{edge}"]').dispatch_event("click")


def field(page: Page, name: str) -> Locator:
    return page.locator(f'[data-field="{name}"]')


def stored(by: Account, workflow: str, key: str) -> dict[str, Any]:
    nodes = by.get(f"/workflows/{workflow}")["nodes"]
    found: dict[str, Any] = next(one["data"] for one in nodes if one["id"] == key)
    return found


def save(page: Page) -> None:
    page.keyboard.press("Control+s")
    expect(page.locator(".saved")).to_have_text("saved")


def test_every_kind_of_field_is_edited_and_what_is_wrong_is_told(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Fields")
    ann = site.account(team.editor)
    call = node(
        "call", "HttpRequestActivity", 300, url="https://example.org", headers={"Authorization": "Bearer abc-123456"}
    )
    tell = node("tell", "NotifyStatusActivity", 600, channel="email", status="info", message="x", own={"kept": [1]})
    check = node("check", "AnalyzeCodeActivity", 900, path="x")
    workflow = drawn(ann, node("say", "EchoActivity", 0, value={"a": 1}), call, tell, check)
    page = open_page(team.editor, viewport={"width": 1440, "height": 900})
    page.goto(f"/ui/workflows/{workflow}/edit")

    choose(page, "Say")
    text = field(page, "value").locator(".cm-content")
    text.fill('{"a": [1, 2}')
    expect(field(page, "value")).to_contain_text("Line 1, column 12")
    expect(field(page, "value")).to_contain_text("Not taken over yet.")
    text.press("End")
    text.press("ArrowLeft")
    text.press_sequentially("]")
    expect(field(page, "value")).not_to_contain_text("Not taken over yet.")
    text.press("Control+z")  # of the text, not of the canvas
    expect(text).not_to_have_text('{"a": [1, 2]}')
    text.press("Control+Shift+Z")
    expect(text).to_have_text('{"a": [1, 2]}')
    text.press("Escape")
    text.press("Tab")
    expect(text).not_to_be_focused()
    page.locator(".react-flow__pane").click(position={"x": 300, "y": 30})
    page.keyboard.press("Control+z")  # the whole of what was typed is one step of the canvas
    choose(page, "Say")
    expect(text).to_contain_text('"a": 1')

    choose(page, "Check")
    field(page, "depth").get_by_role("textbox").fill("9")
    expect(field(page, "depth")).to_contain_text("Expected a whole number, 1 to 5.")
    field(page, "depth").get_by_role("textbox").fill("4")
    expect(field(page, "depth")).not_to_contain_text("Expected")

    choose(page, "Tell")
    field(page, "to").get_by_role("button", name="Add").click()
    page.keyboard.type("a@example.org")
    page.keyboard.press("Enter")
    page.keyboard.type("b@example.org")

    choose(page, "Call")
    expect(field(page, "headers").locator(".held-secret")).to_contain_text("Authorization")
    field(page, "headers").get_by_role("button", name="Add").click()
    page.keyboard.type("Accept")
    page.keyboard.press("Tab")
    page.keyboard.type("text/plain")
    choose(page, "Tell")
    field(page, "channel").get_by_role("button", name="Put a secret into channel").click()
    page.get_by_label("Search: Secrets").fill("author")
    page.keyboard.press("Enter")
    expect(field(page, "channel")).to_contain_text("Authorization")

    # As JSON it shows keys that no form knows, and takes more of them; the form leaves them alone.
    page.get_by_role("tab", name="JSON").click()
    raw = page.locator(".cm-content")
    expect(raw).to_contain_text('"kept"')
    raw.click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.type('"mine": {"a": 1},')
    expect(page.locator(".panel")).not_to_contain_text("Not taken over yet.")
    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Label").fill("Told")
    save(page)

    assert stored(ann, workflow, "check")["config"] == {"path": "x", "depth": 4}
    config = stored(ann, workflow, "tell")["config"]
    assert config["to"] == ["a@example.org", "b@example.org"]
    assert config["own"] == {"kept": [1]}
    assert [stored(ann, workflow, "tell")[key] for key in ("mine", "label")] == [{"a": 1}, "Told"]
    assert config["channel"] == handle(ann)
    assert stored(ann, workflow, "call")["config"]["headers"]["Accept"] == "text/plain"


def handle(by: Account) -> str:
    (listed,) = by.get("/secrets")
    return str(listed["handle"])


def test_what_is_typed_while_the_editor_of_json_is_loaded_goes_on_in_it(
    open_page: Callable[..., Page], site: Site
) -> None:
    team = site.team("Hasty")
    workflow = drawn(site.account(team.editor), node("say", "EchoActivity", 0, value="x"))
    page = open_page(team.editor)
    asked: list[Route] = []
    page.route("**/JsonEditor*", lambda route: asked.append(route))
    page.goto(f"/ui/workflows/{workflow}/edit")
    choose(page, "Say")
    page.get_by_role("tab", name="JSON").click()
    page.locator("textarea#raw-data").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Backspace")
    until(lambda: bool(asked), 20)
    asked[0].continue_()
    expect(page.locator(".cm-content")).to_be_visible()
    page.keyboard.type(', "more": 7}')
    expect(page.locator(".panel")).not_to_contain_text("Not taken over yet.")
    save(page)
    assert stored(site.account(team.editor), workflow, "say")["more"] == 7


def test_failures_conditions_and_values_of_the_last_run(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Ways")
    ann = site.account(team.operator)
    workflow = drawn(
        ann,
        node("say", "EchoActivity", 0, value={"score": 42}),
        node("use", "EchoActivity", 300),
        node("mend", "EchoActivity", 600),
    )
    run = ann.post(f"/workflows/{workflow}/execute")["id"]
    until(lambda: ann.get(f"/executions/{run}")["status"] == "success")
    page = open_page(team.operator, viewport={"width": 1440, "height": 900})
    page.goto(f"/ui/workflows/{workflow}/edit")

    choose(page, "Use")
    page.get_by_role("button", name="Take value from an input").click()
    page.keyboard.type("say value")
    expect(page.locator(".picked-about")).to_contain_text("42")
    page.keyboard.press("Enter")
    expect(field(page, "value").locator("textarea")).to_have_value("${say.output.value}")

    choose(page, "Say")
    page.get_by_label("Timeout").fill("soon")
    expect(page.locator(".panel")).to_contain_text("This is no duration")
    page.get_by_label("Timeout").fill("90s")
    page.get_by_label("Attempts").fill("3")
    expect(page.locator(".panel")).to_contain_text("Waits 2s, 4s in between.")
    page.get_by_text("Retries in detail").click()
    page.get_by_label("First wait").fill("1m")
    page.get_by_role("button", name="Go to another step instead").click()
    page.get_by_label("Go to").select_option("Mend")
    expect(page.locator(".react-flow__edge.on-error")).to_have_count(1)
    page.locator(".catch").get_by_role("button", name="Timeout").click()

    choose_edge(page, "say-use")
    condition = page.get_by_role("textbox", name="Condition", exact=True)
    condition.fill("value.score > 40")
    page.get_by_text("Try it on sample data").click()
    expect(page.locator(".outcome")).to_contain_text("taken")
    condition.fill("{% say.output.value.score + %}")
    expect(page.locator(".outcome")).to_contain_text("Unexpected end of expression")
    condition.fill("value.score > 50")
    expect(page.locator(".outcome")).to_contain_text("not taken")
    save(page)
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".turns li").first).to_contain_text("value.score > 50")
    expect(page.locator(".turns li")).to_have_count(2)

    assert stored(ann, workflow, "say")["timeout"] == "90s"
    assert stored(ann, workflow, "say")["retry"] == {"maxAttempts": 3, "initialInterval": "1m"}
    edges = {one["id"]: one.get("data", {}) for one in ann.get(f"/workflows/{workflow}")["edges"]}
    assert edges["say-mend"]["on_error"] == ["Timeout"]
    assert edges["say-use"]["condition"] == "value.score > 50"


def test_a_value_of_a_megabyte_and_odd_shapes_are_shown_and_kept(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Large")
    ann = site.account(team.editor)
    large = {"text": "x" * 1_000_000, "more": list(range(500))}
    odd = node("odd", "HttpRequestActivity", 300, "<b>שלום</b>", url=["no", "text"], headers=7, expectStatus={"a": 1})
    workflow = drawn(ann, node("say", "EchoActivity", 0, value=large), odd)
    page = open_page(team.editor, viewport={"width": 1440, "height": 900})
    page.goto(f"/ui/workflows/{workflow}/edit")
    choose(page, "Say")
    expect(page.locator(".large-value")).to_contain_text("Only the beginning")
    page.get_by_label("Label").fill("Said")
    page.get_by_role("button", name="Open as JSON").click()
    text = page.get_by_role("textbox", name="value", exact=True)
    expect(text).to_contain_text('"more"')
    text.press("Control+End")
    expect(text).to_contain_text("xxx")
    choose(page, "<b>שלום</b>")
    expect(field(page, "url")).to_contain_text("Expected text.")
    expect(field(page, "headers")).to_contain_text("Expected an object.")
    page.get_by_label("Label").fill("Odd")
    save(page)
    assert stored(ann, workflow, "say")["config"]["value"] == large
    assert stored(ann, workflow, "odd")["config"] == {"url": ["no", "text"], "headers": 7, "expectStatus": {"a": 1}}
