"""What all ways to deliver a notification share: how a failure is called, and how long one may take.

Refuses to wait longer for a client that has no deadline of its own (contract-activities 6).
"""

import contextvars
import threading
from collections.abc import Callable

from workflows.errors import ActivityError

DELIVERY_SECONDS = 10.0


class DeliveryFailed(ActivityError):
    """The notification did not arrive; ``retryable`` says whether another attempt may help."""

    name = "DeliveryFailed"


def in_time(call: Callable[[], None], what: str, *, abandon: Callable[[], None] = lambda: None) -> None:
    """Run ``call`` and raise what it raises, or :class:`DeliveryFailed` after ``DELIVERY_SECONDS``.

    A server that trickles keeps timeouts of single reads from passing. ``abandon`` should make the call end; it runs
    on in its thread until then, and the thread keeps no process alive.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            raised.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join(DELIVERY_SECONDS)
    if thread.is_alive():
        abandon()
        raise DeliveryFailed(f"{what} did not answer within {DELIVERY_SECONDS:g} s")
    if raised:
        raise raised[0]
