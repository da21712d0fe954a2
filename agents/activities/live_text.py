"""An answer that is being written, as lines of the live log: whole lines where it has some, never too many.

Refuses to flood: after so many lines the rest is told when it is all there.
"""

from workflows.activities.context import ActivityContext

MOST_LINES = 60
LONGEST = 300  # characters of a line
SHORTEST = 80  # what is shorter waits for more, unless its line ends


class LiveText:
    """Takes pieces, and logs lines at level info."""

    def __init__(self, context: ActivityContext) -> None:
        self._context = context
        self._rest = ""
        self._lines = self._untold = 0

    def add(self, piece: str) -> None:
        """Take a piece of the answer."""
        self._rest += piece
        while (cut := self._cut()) > 0:
            line, self._rest = self._rest[:cut], self._rest[cut:]
            self._tell(line)

    def end(self) -> None:
        """Tell what is left."""
        if self._rest:
            self._tell(self._rest)
            self._rest = ""
        if self._untold:
            self._context.info(f"the answer goes on for {self._untold} more characters")
            self._untold = 0

    def _cut(self) -> int:
        """Where the next line ends: at a line break, else at the last blank of a long piece; 0 for not yet."""
        at = self._rest.find("\n", 0, LONGEST)
        if at >= 0:
            return at + 1
        if len(self._rest) < LONGEST:
            return 0
        return max(self._rest.rfind(" ", SHORTEST, LONGEST) + 1, 0) or LONGEST

    def _tell(self, line: str) -> None:
        if not line.strip():
            return
        if self._lines >= MOST_LINES:
            self._untold += len(line)
            return
        self._lines += 1
        self._context.info(line.rstrip(), event="answer")
