"""Takes the screenshots of the documentation: ``PYTHONPATH=. .venv/bin/python docs/images/take.py``.

Starts an installation of its own in a throwaway home, runs workflows in it, and lets some have ended on earlier days.
"""  # noqa: INP001 - a script, no package

import os
import shutil
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings_test")

import django
import psycopg
from playwright.sync_api import Page, sync_playwright

django.setup()

from poimen_site.embedded_postgres import EmbeddedPostgres  # noqa: E402
from poimen_site.first_run import MARKER  # noqa: E402
from poimen_site.tests.browsing import CHROMIUM, Site, sign_in  # noqa: E402
from poimen_site.tests.polling import until  # noqa: E402
from poimen_site.tests.test_up import Installation  # noqa: E402

IMAGES = Path(__file__).parent
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


def take(site: Site, waiting: str) -> None:
    """Write ``<view>-light.png`` and ``<view>-dark.png``."""
    failed = site.get("/executions?status=failed")[0]["id"]
    views: dict[str, tuple[str, Callable[[Page], None]]] = {
        "home": ("/", lambda page: None),
        "executions": ("/ui/executions", lambda page: None),
        "run": (f"/ui/executions/{waiting}", _opened),
        "failed": (f"/ui/executions/{failed}", lambda page: None),
        "approvals": ("/admin/workflows/approvalgate/", lambda page: None),
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(base_url=site.address, color_scheme=scheme, viewport=SIZE)  # type: ignore[arg-type]
            page = context.new_page()
            sign_in(page)
            for name, (path, prepare) in views.items():
                page.goto(path)
                page.wait_for_timeout(1500)
                prepare(page)
                page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
        browser.close()


def _opened(page: Page) -> None:
    page.locator("#states summary", has_text="Say").click()
    page.locator("#states .loaded pre").first.wait_for()


def main() -> None:
    """Start, furnish, take, and leave nothing."""
    installation = Installation()
    (installation.home / MARKER).touch()
    try:
        installation.start()
        site = Site(installation)
        take(site, furnish(site))
    finally:
        if installation.process is not None:
            installation.stop()
        EmbeddedPostgres(installation.home).destroy()
        shutil.rmtree(installation.home)


if __name__ == "__main__":
    main()
