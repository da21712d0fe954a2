"""Submit and status over HTTP: 20 clients in a closed loop against the real web process, a worker running."""

import random
import threading
import time

import httpx

from benchmarks.installation import START_SECONDS, Installation, wait_until
from benchmarks.results import Results, percentile

PORT = 8351
CLIENTS = 20
THINK_SECONDS = 1.0
PASSWORD = "measured, not guessed"
WORKFLOW = {
    "name": "measured",
    "nodes": [{"id": "say", "type": "activity", "data": {"label": "Say", "activity": "EchoActivity"}}],
    "edges": [],
}


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """Every client submits, thinks, asks for the status, thinks; latencies by kind."""
    seconds = 8 if quick else 30
    results.heading(f"HTTP: {CLIENTS} clients in a closed loop, about {THINK_SECONDS:g} s of thought between requests")
    url = f"http://127.0.0.1:{PORT}"
    make_user()
    with installation.process("manage.py", "web", HOST="127.0.0.1", PORT=str(PORT)), installation.pump():
        wait_until("the web process answers", lambda: answers(url), every=0.2, within=START_SECONDS)
        headers = {"Authorization": f"Bearer {token(url)}"}
        made = httpx.post(f"{url}/workflows", json=WORKFLOW, headers=headers, timeout=30)
        made.raise_for_status()
        submit: list[float] = []
        status: list[float] = []
        ends = time.monotonic() + seconds
        threads = [
            threading.Thread(target=_client, args=(url, headers, made.json()["id"], ends, submit, status))
            for _ in range(CLIENTS)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        passed = time.monotonic() - began
    results.add("offered: requests a second, both kinds", (len(submit) + len(status)) / passed, "/s")
    for name, taken, budget in (("submit", submit, 50), ("status", status, 30)):
        results.add(f"{name} p50", percentile(taken, 0.5), "ms")
        results.add(f"{name} p95", percentile(taken, 0.95), "ms", at_most=budget)
        results.add(f"{name} p99", percentile(taken, 0.99), "ms")


def _client(
    url: str, headers: dict[str, str], workflow: str, ends: float, submit: list[float], status: list[float]
) -> None:
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        client.get("/health/live")  # the connection is made before anything is measured
        time.sleep(random.uniform(0, THINK_SECONDS))
        while time.monotonic() < ends:
            began = time.perf_counter()
            answer = client.post(f"/workflows/{workflow}/execute", json={})
            submit.append((time.perf_counter() - began) * 1_000)
            answer.raise_for_status()
            execution = answer.json()["id"]
            time.sleep(random.uniform(0.5, 1.5) * THINK_SECONDS)
            began = time.perf_counter()
            answer = client.get(f"/executions/{execution}")
            status.append((time.perf_counter() - began) * 1_000)
            answer.raise_for_status()
            time.sleep(random.uniform(0.5, 1.5) * THINK_SECONDS)


def make_user() -> None:
    """The user whose requests are measured, once."""
    from django.contrib.auth.models import User

    from workflows.models import Customer, Membership, Role

    customer, _ = Customer.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    if User.objects.filter(username="bench").exists():
        return
    user = User.objects.create_user("bench", password=PASSWORD)
    Membership.objects.create(user=user, customer=customer, role=Role.ADMIN)


def answers(url: str) -> bool:
    """Whether the web process serves."""
    try:
        return httpx.get(f"{url}/health/live", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def token(url: str) -> str:
    """Sign in."""
    answer = httpx.post(f"{url}/auth/token", json={"username": "bench", "password": PASSWORD}, timeout=30)
    answer.raise_for_status()
    return str(answer.json()["access"])
