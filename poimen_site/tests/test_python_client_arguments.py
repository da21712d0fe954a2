"""What the client for Python refuses itself: one kind of error, and nothing is sent."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from poimen_client import AsyncClient, Client, InvalidArgument, PoimenError, Polling

NOWHERE = "http://127.0.0.1:9"  # no server is needed, since nothing is sent
CALLS: dict[str, Callable[[Client], Any]] = {
    "status": lambda poimen: poimen.get_status("x"),
    "wait": lambda poimen: poimen.wait_for_completion("../customers"),
    "logs": lambda poimen: next(poimen.stream_logs("x")),
    "cancel": lambda poimen: poimen.cancel(""),
    "approve": lambda poimen: poimen.approve("x"),
    "schedule": lambda poimen: poimen.read_schedule("nightly"),
    "submit": lambda poimen: poimen.submit(),
    "sign in": lambda _: Client(NOWHERE),
    "polling": lambda _: Polling(first=-1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_wrong_argument_is_an_error_of_the_client(call: Callable[[Client], Any]) -> None:
    with Client(NOWHERE, token="t", retry_for=0) as poimen, pytest.raises(InvalidArgument) as refused:
        call(poimen)
    assert isinstance(refused.value, PoimenError)
    assert isinstance(refused.value, ValueError)


def test_what_is_no_id_is_named_also_by_the_client_that_awaits() -> None:
    async def ask() -> None:
        async with AsyncClient(NOWHERE, token="t", retry_for=0) as poimen:
            await poimen.get_status("x")

    with pytest.raises(InvalidArgument, match=r"^'x' is no id; expected a UUID"):
        asyncio.run(ask())
