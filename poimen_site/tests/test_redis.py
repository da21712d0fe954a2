"""``REDIS_URL``: django-q2's queue is in Redis; work outlives dying workers and a Redis that goes and comes back."""

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import redis

from poimen_site.tests.polling import until
from poimen_site.tests.test_up import PASSWORD, Installation, free_port, installation  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("up"),
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server (Debian: redis-server)"),
]


class RedisServer:
    """A Redis server of our own, which keeps nothing."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.directory = directory
        self.client = redis.Redis(port=self.port)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.directory)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        until(self.answers)

    def stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path)
    made.start()
    yield made
    made.stop()


class Api:
    """What a user does over REST."""

    def __init__(self, port: int) -> None:
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)
        token = self.post("/auth/token", {"username": "admin", "password": PASSWORD})["access"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def save(self, seconds: int) -> str:
        """A workflow that says hello, waits, and says goodbye."""
        nodes = [
            {"id": "Hello", "data": {"label": "Hello", "activity": "EchoActivity", "config": {"value": "hello"}}},
            {"id": "Wait", "data": {"label": "Wait", "stateType": "Wait", "config": {"duration": f"{seconds}s"}}},
            {"id": "Bye", "data": {"label": "Bye", "activity": "EchoActivity", "config": {"value": "bye"}}},
        ]
        nodes = [{"type": "activity", "position": {"x": 0, "y": 0}} | node for node in nodes]
        edges = [
            {"id": "e1", "source": "Hello", "target": "Wait"},
            {"id": "e2", "source": "Wait", "target": "Bye"},
        ]
        saved = self.post("/workflows", {"name": "Greet", "status": "active", "nodes": nodes, "edges": edges})
        return str(saved["id"])

    def start(self, workflow: str) -> str:
        return str(self.post(f"/workflows/{workflow}/execute", {})["id"])

    def succeeded(self, execution: str) -> bool:
        status = self._client.get(f"/executions/{execution}").json()["status"]
        assert status not in ("failed", "cancelled", "timed_out")
        return bool(status == "success")


def pump_workers(installation: Installation) -> list[psutil.Process]:  # noqa: F811
    """The worker processes of django-q2's cluster: what is below the cluster's own two processes."""
    command = installation.service("qcluster")
    assert command is not None
    clusters = command.children()
    return [worker for cluster in clusters for sentinel in cluster.children() for worker in sentinel.children()]


def test_the_queue_is_in_redis_and_nothing_depends_on_it_staying(
    installation: Installation,  # noqa: F811
    server: RedisServer,
) -> None:
    (installation.home / "first-run").write_text("\n")
    installation.environment["REDIS_URL"] = f"redis://127.0.0.1:{server.port}/3"
    installation.start()
    # The queue is most often empty, and an empty list has no key: what shows is that tasks were put and taken.
    counted = redis.Redis(port=server.port, db=3)
    until(lambda: {"cmdstat_rpush", "cmdstat_blpop"} <= set(counted.info("commandstats")), 30)
    api = Api(installation.port)
    quick, patient = api.save(0), api.save(5)
    until(partial(api.succeeded, api.start(quick)), 30)

    execution = api.start(patient)
    victims = until(lambda: pump_workers(installation))
    for victim in victims:
        victim.kill()
    until(partial(api.succeeded, execution), 60)

    server.stop()
    execution = api.start(quick)  # Redis carries hints only: pumps that are up do not need it
    until(partial(api.succeeded, execution), 60)
    for victim in until(lambda: pump_workers(installation)):
        victim.kill()
    server.start()
    until(partial(api.succeeded, api.start(patient)), 90)
    assert installation.stop() < 10
