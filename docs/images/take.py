"""Takes the screenshots of the documentation: ``PYTHONPATH=. .venv/bin/python docs/images/take.py [VIEW...]``.

Starts an installation of its own in a throwaway home, runs workflows in it, and lets some have ended on earlier days.
"""  # noqa: INP001 - a script, no package

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings_test")

import django
import psycopg
from playwright.sync_api import Page, sync_playwright

django.setup()

from poimen_site.embedded_postgres import EmbeddedPostgres  # noqa: E402
from poimen_site.tests.browsing import CHROMIUM, Site, sign_in  # noqa: E402
from poimen_site.tests.polling import until  # noqa: E402
from poimen_site.tests.test_up import Installation  # noqa: E402

IMAGES = Path(__file__).parent
EXAMPLES = IMAGES.parent.parent / "examples"
SIZE = {"width": 1280, "height": 800}
# Ended runs of earlier days: which of ten failed, and on which of the last two weeks' days each was.
_AGED = """
UPDATE workflows_execution e SET created_at = e.created_at - aged.by, started_at = e.started_at - aged.by,
    ended_at = e.ended_at - aged.by
FROM (SELECT id, ((row_number() OVER (ORDER BY id) * 7) % 13 + 1) * interval '1 day' AS by
      FROM workflows_execution WHERE ended_at IS NOT NULL) aged
WHERE aged.id = e.id
"""


def furnish(site: Site) -> str:
    """Fill the home with runs; returns one that waits for an approval."""
    echo = {"label": "Say", "activity": "EchoActivity", "config": {"value": "${workflow.input.text}"}}
    call = {"label": "Call", "activity": "HTTPRequestActivity", "config": {"url": f"{site.address}/nowhere"}}
    for name, data, count in (("Nightly import", echo, 60), ("Publish the site", call, 9)):
        node = {"id": data["label"], "type": "activity", "position": {"x": 0, "y": 0}, "data": data}
        made = site.post("/workflows", name=name, status="active", nodes=[node], edges=[])
        for _ in range(count):
            site.post(f"/workflows/{made['id']}/execute", inputs={"text": "hello"})
    until(lambda: not site.get("/executions?status=running") and not site.get("/executions?status=pending"), 90)
    with psycopg.connect(EmbeddedPostgres(site.installation.home).url) as connection:
        connection.execute(_AGED)
    site.post(f"/workflows/{made['id']}/execute", inputs={})
    until(lambda: not site.get("/executions?status=running") and not site.get("/executions?status=pending"), 60)
    return site.waiting_run()


def draw(site: Site, repository: Path) -> dict[str, str]:
    """Draw what is looked at, and run it; returns the addresses of the canvases, and of those with a run, by name."""
    (repository / "deploy.py").write_text("import subprocess\n\nsubprocess.call('ls ' + input(), shell=True)\n")
    identity = ("-c", "user.name=Example", "-c", "user.email=example@example.org")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Begin")):
        subprocess.run(["git", "-C", str(repository), *command], check=True)
    seen = {}
    for name, status in (("repository-check-up", "success"), ("approved-report", "waiting")):
        drawn = json.loads((EXAMPLES / f"{name}.json").read_text())
        workflow = site.post("/workflows", **drawn)["id"]
        run = site.post(f"/workflows/{workflow}/execute", inputs={"repo": str(repository)})["id"]
        until(lambda run=run, status=status: site.get(f"/executions/{run}")["status"] == status, 120)  # type: ignore[misc]
        seen |= {name: f"/ui/workflows/{workflow}/edit", f"{name}-run": f"/ui/workflows/{workflow}/edit?run={run}"}
    drawn = json.loads((EXAMPLES / "repository-check-up.json").read_text()) | {"name": "Check-up"}
    loose = [edge for edge in drawn["edges"] if "Scan" not in (edge["source"], edge["target"])]
    unconnected = site.post("/workflows", **(drawn | {"edges": loose, "status": "draft"}))["id"]
    changed = site.post("/workflows", **drawn)["id"]
    nodes = [node | {"data": node["data"] | {"label": "Look for secrets"}} if node["id"] == "Scan" else node
             for node in drawn["nodes"]]  # fmt: skip
    wait = {
        "id": "Pause",
        "type": "wait",
        "position": {"x": 784, "y": 20},
        "data": {"label": "Pause", "duration": "30s"},
    }
    edges = [*drawn["edges"], {"id": "p1", "source": "Analyze", "target": "Pause"}]
    edges.append({"id": "p2", "source": "Pause", "target": "end"})
    version = site.get(f"/workflows/{changed}")["version"]
    body = {"nodes": [*nodes, wait], "edges": edges, "version": version, "changeReason": "Wait before the end"}
    site.put(f"/workflows/{changed}", **body)
    return seen | {"unconnected": f"/ui/workflows/{unconnected}/edit", "changed": f"/ui/workflows/{changed}/edit"}


def take(site: Site, waiting: str, seen: dict[str, str], only: list[str]) -> None:
    """Write ``<view>-light.png`` and ``<view>-dark.png`` of all views, or of those whose names are given."""
    failed = site.get("/executions?status=failed")[0]["id"]
    check_up, check_up_run = seen["repository-check-up"], seen["repository-check-up-run"]
    views: dict[str, tuple[str, Callable[[Page], None]]] = {
        "home": ("/", lambda page: None),
        "executions": ("/ui/executions", lambda page: None),
        "run": (f"/ui/executions/{waiting}", _opened),
        "failed": (f"/ui/executions/{failed}", lambda page: None),
        "approvals": ("/admin/workflows/approvalgate/", lambda page: None),
        "editor": (check_up, _chosen("Write the report")),
        "reference": (check_up, _picking),
        "canvas-run": (check_up_run, _chosen("Analyse code")),
        "decision": (seen["approved-report-run"], _asked),
        "suggestions": (seen["unconnected"], _suggested),
        "history": (seen["changed"], _compared),
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(base_url=site.address, color_scheme=scheme, viewport=SIZE)  # type: ignore[arg-type]
            page = context.new_page()
            sign_in(page)
            for name, (path, prepare) in views.items():
                if only and name not in only:
                    continue
                page.goto(path)
                page.wait_for_timeout(1500)
                prepare(page)
                page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
        browser.close()


def _suggested(page: Page) -> None:
    page.keyboard.press("s")
    page.locator(".suggested").first.wait_for()
    page.wait_for_timeout(1500)


def _compared(page: Page) -> None:
    page.keyboard.press("h")
    page.locator(".difference-list").wait_for()
    page.wait_for_timeout(1500)


def _opened(page: Page) -> None:
    page.locator("#states summary", has_text="Say").click()
    page.locator("#states .loaded pre").first.wait_for()


def _chosen(label: str) -> Callable[[Page], None]:
    def prepare(page: Page) -> None:
        page.locator(".react-flow__node", has_text=label).click()
        page.locator(".panel h2", has_text=label).wait_for()
        page.wait_for_timeout(800)

    return prepare


def _picking(page: Page) -> None:
    _chosen("Scan for problems")(page)
    page.get_by_role("button", name="Take path from an input or an earlier step").click()
    page.get_by_role("option").first.wait_for()
    page.wait_for_timeout(800)


def _asked(page: Page) -> None:
    page.get_by_role("button", name="A decision is asked for").click()
    page.locator(".gate-card").get_by_role("button", name="Approve").wait_for()
    page.wait_for_timeout(800)


def main() -> None:
    """Start, furnish, take, and leave nothing."""
    installation = Installation()
    installation.prepare()
    try:
        installation.start()
        site = Site(installation)
        waiting = furnish(site)
        repository = installation.home / "shop"
        repository.mkdir()
        take(site, waiting, draw(site, repository), sys.argv[1:])
        site.close()
    finally:
        if installation.process is not None:
            installation.stop()
        EmbeddedPostgres(installation.home).destroy()
        shutil.rmtree(installation.home)


if __name__ == "__main__":
    main()
