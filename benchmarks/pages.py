"""The page of a run whose log has 100,000 lines: how long the page takes, its first lines, all of them, a browser.

The browser's part is left out where Playwright or Chromium is missing.
"""

import importlib.util
import shutil
import time
from typing import Any

import httpx

from benchmarks import web
from benchmarks.installation import START_SECONDS, Installation, rows, wait_until
from benchmarks.results import Results, percentile

PORT = 8352
LINES = 100_000
FIRST, PAGE = 500, 10_000  # lines of a request, as static/ui/log_source.js asks for them
PATIENCE = 120.0  # seconds

_FILL = """
INSERT INTO workflows_logentry (execution_id, node_id, level, event, message)
SELECT %s, 'Say', 'info', '', E'\\x1b[32mok\\x1b[0m case ' || n FROM generate_series(1, %s) AS n RETURNING 1
"""


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """Time the page and its log, over HTTP and in a browser."""
    results.heading(f"The page of a run with {LINES:,} log lines")
    url = f"http://127.0.0.1:{PORT}"
    web.make_user()
    with installation.process("manage.py", "web", HOST="127.0.0.1", PORT=str(PORT)), installation.pump():
        wait_until("the web process answers", lambda: web.answers(url), every=0.2, within=START_SECONDS)
        headers = {"Authorization": f"Bearer {web.token(url)}"}
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            made = client.post("/workflows", json=web.WORKFLOW, headers=headers).raise_for_status().json()
            run = client.post(f"/workflows/{made['id']}/execute", json={}, headers=headers).raise_for_status().json()
            rows(_FILL, run["id"], LINES)
            log = f"/executions/{run['id']}/logs"

            def ended() -> bool:
                """Whether the run, and every transaction that wrote its lines, has ended."""
                answer = client.get(log, params={"after": "0-0", "limit": 1}, headers=headers).json()
                status = client.get(f"/executions/{run['id']}", headers=headers).json()["status"]
                return status == "success" and bool(answer["logs"])

            wait_until("the run has ended", ended, every=0.2, within=PATIENCE)
            sign_in(client)
            page = f"/ui/executions/{run['id']}"
            times = [_took(client, page) for _ in range(10 if quick else 50)]
            results.add("page, without its log: p50", percentile(times, 0.5), "ms")
            results.add("page, without its log: p95", percentile(times, 0.95), "ms")
            first = [_took(client, f"{log}?level=debug&limit={FIRST}") for _ in range(10 if quick else 50)]
            results.add(f"its first {FIRST} lines: p50", percentile(first, 0.5), "ms")
            results.add(f"all {LINES:,} lines, {PAGE:,} a request", _read(client, log), "ms")
            _in_browser(results, client, url, page)


def sign_in(client: httpx.Client) -> None:
    """A session, as people have."""
    client.get("/ui/sign-in")
    form = {"username": "bench", "password": web.PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    assert client.post("/ui/sign-in", data=form).status_code == 302


def _took(client: httpx.Client, path: str) -> float:
    """Milliseconds of a request."""
    began = time.perf_counter()
    client.get(path).raise_for_status()
    return (time.perf_counter() - began) * 1_000


def _read(client: httpx.Client, log: str) -> float:
    """Milliseconds for all lines, one page after another."""
    began = time.perf_counter()
    query: dict[str, Any] = {"level": "debug", "limit": PAGE}
    found, more = 0, True
    while more:
        answer = client.get(log, params=query).raise_for_status().json()
        found, more, query["after"] = found + len(answer["logs"]), answer["more"], answer["next"]
    assert found >= LINES
    return (time.perf_counter() - began) * 1_000


def _in_browser(results: Results, client: httpx.Client, url: str, page: str) -> None:
    """From the address to the newest line on the screen, and to the last line in memory."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        results.note("in a browser: left out, there is no Playwright or no chromium")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(base_url=url)
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"], "url": url}])
        tab = context.new_page()
        newest = tab.locator("#window .line", has_text=f"case {LINES}")
        began = time.perf_counter()
        tab.goto(page)
        wait_until("the newest line is shown", newest.count, every=0.01, within=PATIENCE)
        results.add("in a browser: newest line on the screen", (time.perf_counter() - began) * 1_000, "ms")

        def is_whole() -> bool:
            return int(tab.get_attribute("#log", "data-lines") or 0) >= LINES

        wait_until("every line is there", is_whole, every=0.05, within=PATIENCE)
        results.add("in a browser: every line searchable", (time.perf_counter() - began) * 1_000, "ms")
        browser.close()
