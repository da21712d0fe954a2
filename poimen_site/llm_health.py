"""Whether the language model answers: asked four times a minute at most, and only if there is one."""

import asyncio
import time
from functools import lru_cache

from agents.llm import configuration, wire

SECONDS = 2.0
_EVERY = 15  # seconds


def problem() -> str | None:
    """Return None while the model's server answers, else what is wrong; ask only where one is configured."""
    return _problem(configuration.endpoint(), int(time.monotonic() // _EVERY))


@lru_cache(maxsize=1)
def _problem(endpoint: configuration.Endpoint, period: int) -> str | None:
    found = asyncio.run(wire.probe(endpoint, SECONDS))
    return f"the language model is not to be had: {found}" if found else None
