"""Asks the web process whether it still answers, without waiting for it.

It refuses to judge what the answer says: any HTTP status is a sign of life.
"""

import http.client
import threading

ASK_SECONDS = 10.0
FAILURES = 3  # in a row, before a process counts as deaf


class WebProbe:
    """``is_deaf`` is true once the last three questions to ``host:port`` got no answer within ten seconds each."""

    def __init__(self, host: str, port: int) -> None:
        # What listens on every address is asked on loopback.
        self._host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
        self._port = port
        self._asking: threading.Thread | None = None
        self._failures = 0
        self.has_answered = False  # ever

    @property
    def is_deaf(self) -> bool:
        """Whether it is time for another process."""
        return self._failures >= FAILURES

    def ask(self) -> None:
        """Ask once more, in the background, unless the last question is still open."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(target=self._ask, daemon=True)
            self._asking.start()

    def forget(self) -> None:
        """Start counting anew, for a new process."""
        self._failures = 0

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=ASK_SECONDS)
        try:
            connection.request("GET", "/health/live")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self._failures += 1
        else:
            self._failures = 0
            self.has_answered = True
        finally:
            connection.close()
