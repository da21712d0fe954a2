"""Readers of a live log: ``python -m benchmarks.log_readers PORT EXECUTION READERS TOKEN``.

Prints a line when all of them are there, and in the end the milliseconds that each line of the log took to each. What
comes is only kept with its moment while the log runs, and looked into afterwards: 50 readers share one process here.
"""

import asyncio
import json
import sys
import time

from websockets.asyncio.client import connect

Received = list[tuple[float, str | bytes]]


async def read(address: str, token: str, received: Received, arrived: asyncio.Semaphore) -> None:
    """Follow to the end."""
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(address, additional_headers=headers, open_timeout=60, max_size=None, compression=None) as socket:
        await socket.recv()
        arrived.release()
        async for message in socket:
            received.append((time.time(), message))


def latencies(received: Received) -> list[float]:
    """The milliseconds that each line took which says when it was said; raises ``RuntimeError`` for an error frame."""
    taken = []
    for at, message in received:
        for frame in json.loads(message):
            if frame["type"] == "error":
                raise RuntimeError(frame["message"])
            said_at = frame.get("fields", {}).get("saidAt")
            if said_at is not None:
                taken.append(round((at - said_at) * 1_000, 1))
    return taken


async def main() -> None:
    """Run every reader."""
    port, execution, readers, token = sys.argv[1:]
    address = f"ws://127.0.0.1:{port}/ws/executions/{execution}/logs?batch=1"
    received: Received = []
    arrived = asyncio.Semaphore(0)
    reading = asyncio.gather(*(read(address, token, received, arrived) for _ in range(int(readers))))
    for _ in range(int(readers)):
        await asyncio.wait({asyncio.ensure_future(arrived.acquire()), reading}, return_when=asyncio.FIRST_COMPLETED)
    print("ready", flush=True)
    await reading
    json.dump(latencies(received), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
