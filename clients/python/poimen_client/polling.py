"""How often to ask: often at first, then ever less.

Refuses to ask without a pause.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from poimen_client.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Polling:
    """Pauses in seconds between questions: from ``first``, each ``factor`` times the one before, up to ``longest``."""

    first: float = 0.1
    longest: float = 5.0
    factor: float = 1.6

    def __post_init__(self) -> None:
        if self.first <= 0 or self.longest < self.first or self.factor < 1:
            raise InvalidArgument("first must be more than 0, longest at least first, factor at least 1")

    def pauses(self) -> Iterator[float]:
        """Yield them without end."""
        pause = self.first
        while True:
            yield pause
            pause = min(pause * self.factor, self.longest)


def every(seconds: float) -> Polling:
    """Return pauses that stay the same."""
    return Polling(seconds, seconds, 1.0)
