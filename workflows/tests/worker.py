"""A real worker inside a test process: one pump on a thread, and waiting for what it does."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workflows.engine.pump import Pump
from workflows.models import Execution, ExecutionStatus
from workflows.models.execution import TERMINAL


@contextmanager
def working() -> Iterator[Pump]:
    """Run a pump for the length of the block; needs a test database that commits (``transaction=True``)."""
    pump = Pump(threads=4)
    thread = threading.Thread(target=pump.run, name="pump", daemon=True)
    thread.start()
    try:
        yield pump
    finally:
        pump.stop()
        thread.join(20)
        assert not thread.is_alive(), "the pump did not stop"


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Poll until ``condition`` holds; fails with ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(0.02)


def wait_for(execution: Execution, *statuses: ExecutionStatus) -> Execution:
    """Wait until the execution has one of ``statuses`` (any end, if none is named) and return it as it is then."""
    wanted = statuses or tuple(TERMINAL)

    def reached() -> bool:
        execution.refresh_from_db()
        return execution.status in wanted

    wait_until(reached, f"{execution.name} to be {' or '.join(wanted)}")
    return execution
