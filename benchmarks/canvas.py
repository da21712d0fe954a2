"""The canvas of 500 nodes: what the server needs to check and compile it, what the browser loads, opens and drags.

The browser's part is left out where Playwright or Chromium is missing.
"""

import gzip
import importlib.util
import math
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from benchmarks import web
from benchmarks.installation import ROOT, START_SECONDS, Installation, wait_until
from benchmarks.pages import sign_in
from benchmarks.results import Results, percentile

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

PORT = 8353
NODES, COLUMNS = 500, 25
BUNDLE = ROOT / "static" / "canvas"
SIZE = {"width": 1440, "height": 900}
DRAG_SECONDS = 3.0
PATIENCE = 120.0  # seconds
NEAR = 1.0  # the zoom at which nodes can be read

# Counts frames from one call to the next.
_FRAMES = """
() => {
  window.frames = [];
  const note = (at) => { window.frames.push(at); window.counting = requestAnimationFrame(note); };
  window.counting = requestAnimationFrame(note);
}
"""
_COUNTED = "() => { cancelAnimationFrame(window.counting); return window.frames; }"


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """Time the server's part over HTTP, weigh the bundle, and use it in a browser."""
    results.heading(f"A canvas of {NODES} nodes")
    url = f"http://127.0.0.1:{PORT}"
    web.make_user()
    with installation.process("manage.py", "web", HOST="127.0.0.1", PORT=str(PORT)):
        wait_until("the web process answers", lambda: web.answers(url), every=0.2, within=START_SECONDS)
        headers = {"Authorization": f"Bearer {web.token(url)}"}
        with httpx.Client(base_url=url, timeout=PATIENCE, headers=headers) as client:
            canvas = drawn()
            made = client.post("/workflows", json={"name": "large", **canvas}).raise_for_status().json()
            times = [_checked(client, canvas) for _ in range(10 if quick else 40)]
            results.add("checked and compiled by the server: p50", percentile(times, 0.5), "ms")
            results.add("checked and compiled by the server: p95", percentile(times, 0.95), "ms", at_most=200)
            del client.headers["Authorization"]
            sign_in(client)
            _in_browser(results, url, client.cookies["sessionid"], made["id"], rounds=2 if quick else 5)


def drawn() -> dict[str, Any]:
    """Steps in rows, each reading what the one before it gave."""
    nodes = [
        {
            "id": f"step-{index}",
            "type": "activity",
            "position": {"x": index % COLUMNS * 260, "y": index // COLUMNS * 130},
            "data": {
                "label": f"Step {index}",
                "activity": "EchoActivity",
                "config": {"value": f"${{step-{index - 1}.output.value}}" if index else "begin"},
            },
        }
        for index in range(NODES)
    ]
    edges = [
        {"id": f"edge-{index}", "source": f"step-{index - 1}", "target": f"step-{index}"} for index in range(1, NODES)
    ]
    return {"nodes": nodes, "edges": edges}


def _checked(client: httpx.Client, canvas: dict[str, Any]) -> float:
    """Milliseconds of one check, which compiles the canvas to a spec as well."""
    began = time.perf_counter()
    answer = client.post("/workflows/validate", json=canvas).raise_for_status().json()
    took = (time.perf_counter() - began) * 1_000
    assert answer["valid"], answer
    return took


def packed(path: Path) -> float:
    """Kilobytes of the file as it is sent compressed."""
    return len(gzip.compress(path.read_bytes(), 9)) / 1_000


def _in_browser(results: Results, url: str, session: str, workflow: str, *, rounds: int) -> None:
    """Open it some times, then drag one node with everything in view, and near."""
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        results.note("in a browser: left out, there is no Playwright or no chromium")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(base_url=url, viewport=SIZE)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE * 1_000)
        context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
        page = context.new_page()
        loaded: set[str] = set()
        page.on("request", lambda request: loaded.add(request.url.rpartition("/")[2]))
        times = [_opened(page, workflow) for _ in range(rounds)]
        page.wait_for_timeout(1_000)  # what is loaded once all is drawn counts as well
        _weigh(results, loaded)
        results.add("in a browser: opened and drawn, median", percentile(times, 0.5), "ms", at_most=2_000)
        page.locator(".react-flow__controls-fitview").click()
        page.wait_for_timeout(1_000)
        _drag(results, page, "with all nodes in view")
        page.locator(".react-flow__pane").click(position={"x": 700, "y": 12})
        _zoom_in(page)
        _drag(results, page, "where nodes can be read")
        browser.close()


def _weigh(results: Results, loaded: set[str]) -> None:
    at_start = [path for path in BUNDLE.iterdir() if path.name in loaded]
    later = [path for path in BUNDLE.iterdir() if path.name not in loaded]
    assert at_start, loaded
    results.add("bundle, compressed: what the start loads", sum(map(packed, at_start)), "kB", at_most=450)
    results.add("bundle, compressed: what is loaded when it is needed", sum(map(packed, later)), "kB")
    largest = sorted(((packed(path), path.name) for path in later), reverse=True)[:3]
    results.note("of that " + ", ".join(f"{name.partition('-')[0]} {size:.0f} kB" for size, name in largest))


def _opened(page: "Page", workflow: str) -> float:
    """Milliseconds from the address to the frame after every node in view is there."""
    began = time.perf_counter()
    page.goto(f"/ui/workflows/{workflow}/edit", wait_until="commit")
    page.wait_for_function(
        "() => document.querySelectorAll('.react-flow__node').length > 0 &&"
        " document.querySelectorAll('.react-flow__edge').length > 0",
        polling="raf",
    )
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return (time.perf_counter() - began) * 1_000


def _zoom_in(page: "Page") -> None:
    """Until nodes can be read."""
    for _ in range(20):
        scale = page.evaluate("() => new DOMMatrix(getComputedStyle("
                              "document.querySelector('.react-flow__viewport')).transform).a")  # fmt: skip
        if scale >= NEAR:
            return
        page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 2)
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(150)


def _drag(results: Results, page: "Page", where: str) -> None:
    """Move the node that is nearest to the middle of the window in circles, as fast as the browser takes it."""
    middle = page.evaluate(
        """() => [...document.querySelectorAll('.react-flow__node')].map((node) => node.getBoundingClientRect())
        .map((box) => [box.x + box.width / 2, box.y + box.height / 2])
        .sort((a, b) => Math.hypot(a[0] - 720, a[1] - 450) - Math.hypot(b[0] - 720, b[1] - 450))[0]"""
    )
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 8, middle[1] + 8)
    before = _spent(session)
    page.evaluate(_FRAMES)
    began = time.perf_counter()
    moves = 0
    while time.perf_counter() - began < DRAG_SECONDS:
        moves += 1
        angle = moves / 10
        page.mouse.move(middle[0] + 90 * math.cos(angle), middle[1] + 90 * math.sin(angle))
    frames = page.evaluate(_COUNTED)
    spent = {name: _spent(session)[name] - before[name] for name in before}
    page.mouse.up()
    shown = len(frames) - 1
    seconds = (frames[-1] - frames[0]) / 1_000
    gaps = [later - one for one, later in pairwise(frames)]
    results.add(f"dragged {where}", shown / seconds, "frames/s", at_least=30)
    results.add(f"dragged {where}: p95 between frames", percentile(gaps, 0.95), "ms")
    parts = ", ".join(f"{name} {1_000 * spent[key] / shown:.1f}" for key, name in _PARTS.items())
    results.note(f"{moves} moves, {page.locator('.react-flow__node').count()} nodes drawn; ms a frame: {parts}")


_PARTS = {"ScriptDuration": "script", "RecalcStyleDuration": "style", "LayoutDuration": "layout", "TaskDuration": "all"}


def _spent(session: "CDPSession") -> dict[str, float]:
    """Seconds that the page's main thread has spent, by kind."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics if metric["name"] in _PARTS}
