"""Readers of a live log: ``python -m benchmarks.log_readers PORT EXECUTION READERS TOKEN``.

Prints a line when all of them are there, and in the end the milliseconds that each line of the log took to each.
"""

import asyncio
import json
import sys
import time

from websockets.asyncio.client import connect


async def read(address: str, token: str, taken: list[float], arrived: asyncio.Semaphore) -> None:
    """Follow to the end."""
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(address, additional_headers=headers, open_timeout=60, max_size=None, compression=None) as socket:
        await socket.recv()
        arrived.release()
        async for message in socket:
            now = time.time()
            for frame in json.loads(message):
                if frame["type"] == "error":
                    raise RuntimeError(frame["message"])
                said_at = frame.get("fields", {}).get("saidAt")
                if said_at is not None:
                    taken.append(round((now - said_at) * 1_000, 1))


async def main() -> None:
    """Run every reader."""
    port, execution, readers, token = sys.argv[1:]
    address = f"ws://127.0.0.1:{port}/ws/executions/{execution}/logs?batch=1"
    taken: list[float] = []
    arrived = asyncio.Semaphore(0)
    reading = asyncio.gather(*(read(address, token, taken, arrived) for _ in range(int(readers))))
    for _ in range(int(readers)):
        await asyncio.wait({asyncio.ensure_future(arrived.acquire()), reading}, return_when=asyncio.FIRST_COMPLETED)
    print("ready", flush=True)
    await reading
    json.dump(taken, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
