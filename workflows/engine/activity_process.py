"""The child process in which process-isolated activities run, one at a time: ``python -m`` this module.

It leads a process group of its own. Frames (4-byte length, JSON) come on stdin and go to a private copy of stdout;
what the activity prints goes to stderr. When the pump is gone stdin ends, and the whole group goes with it.
"""

import json
import os
import queue
import signal
import struct
import threading
from pathlib import Path
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")


def write_frame(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one message."""
    data = json.dumps(message, ensure_ascii=True, default=str).encode()
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    data = stream.read(_LENGTH.unpack(head)[0])
    message: dict[str, Any] = json.loads(data)
    return message


class Child:
    """Reads requests, runs them on the main thread, and answers."""

    def __init__(self) -> None:
        self._out: BinaryIO = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # a print in an activity must not break the frames
        self._in: BinaryIO = os.fdopen(os.dup(0), "rb")
        os.close(0)
        os.open(os.devnull, os.O_RDONLY)
        self._requests: queue.Queue[dict[str, Any]] = queue.Queue()
        self._cancelled = threading.Event()
        self._writing = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Answer, from any thread."""
        with self._writing:
            write_frame(self._out, message)

    def read_forever(self) -> None:
        """Take requests and cancellations; end the process group when the pump is gone."""
        while (message := read_frame(self._in)) is not None:
            if message["type"] == "cancel":
                self._cancelled.set()
            else:
                self._requests.put(message)
        os.killpg(0, signal.SIGKILL)

    def serve(self) -> None:
        """Run requests until the pump goes."""
        while True:
            request = self._requests.get()
            self._cancelled.clear()
            self.send(self.run(request))

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one activity; the answer says what came of it."""
        from workflows.activities.context import (
            ActivityContext,
            Identity,
            Report,
            Resumption,
        )
        from workflows.activities.registry import registry
        from workflows.engine import driving
        from workflows.errors import WorkflowError

        def report(item: Report) -> None:
            self.send(
                {
                    "type": "report",
                    "level": item.level,
                    "message": item.message,
                    "fields": dict(item.fields),
                    "percent": item.percent,
                    "at": item.at.isoformat(),
                }
            )

        try:
            activity = registry.get(request["activity"])
            resumed = request["resumed"]
            identity = Identity(**request["identity"] | {"reused": tuple(request["identity"]["reused"])})
            driving.driven.set(identity)
            context = ActivityContext(
                identity,
                home=Path(request["home"]),
                sink=report,
                resumed=Resumption(**resumed) if resumed else None,
                cancelled=self._cancelled,
                config=request["config"],
            )
            output = activity.dump_output(activity.function(activity.parse_input(request["parameters"]), context))
            return {"type": "result", "output": output}
        except WorkflowError as error:
            return {"type": "error", **error.as_json()}
        except Exception as error:
            import traceback

            traceback.print_exc()
            return {
                "type": "error", "name": "ActivityError", "message": f"{type(error).__name__}: {error}",
                "retryable": True,
            }  # fmt: skip


def main() -> None:
    """Set Django up without a database connection, say ready, serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = Child()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")
    import django

    django.setup()
    threading.Thread(target=child.read_forever, daemon=True).start()
    child.send({"type": "ready"})
    child.serve()


if __name__ == "__main__":
    main()
