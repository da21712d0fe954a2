"""The other end of ``sandbox``: a process that evaluates JSONata for its parent, one request at a time.

Runs with an address-space limit and an alarm of the kernel's, so that nothing it is asked to do can outlast either.
"""

import json
import resource
import signal
import socket
import struct
import sys
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from workflows.spec.jsonata_ast import Analysis, TooDeep, analyse
from workflows.spec.jsonata_library import Jsonata
from workflows.spec.jsonata_results import ResultRefused, explain, plain_json

LENGTH = struct.Struct("!Q")
_RECURSION_LIMIT = 6000
# The library looks at the time between steps and answers with an error; the kernel's alarm comes a little later and
# ends the process wherever it is, in the middle of a regular expression too.
_ALARM_GRACE_SECONDS = 0.15


def serve(connection: socket.socket, memory_bytes: int) -> None:
    """Answer requests until the parent closes its end."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.setrecursionlimit(_RECURSION_LIMIT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connection.sendall(LENGTH.pack(0))
    while True:
        header = _receive(connection, LENGTH.size)
        if header is None:
            return
        body = _receive(connection, LENGTH.unpack(header)[0])
        if body is None:
            return
        try:
            answer, is_spent = _answer(json.loads(body))
        except MemoryError:
            answer, is_spent = {"error": "it needs more memory than an expression may use"}, True
        payload = json.dumps({**answer, "is_spent": is_spent}).encode()
        connection.sendall(LENGTH.pack(len(payload)) + payload)
        if is_spent:
            return


def _receive(connection: socket.socket, size: int) -> bytearray | None:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(min(size - len(received), 1 << 20))
        if not chunk:
            return None
        received += chunk
    return received


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the answer, and whether this process had better not be used again."""
    signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _ALARM_GRACE_SECONDS)
    try:
        expression, analysis = _parse(request["text"])
        if "document" not in request:
            return {"analysis": asdict(analysis)}, False
        frame = Jsonata.Frame(None)
        frame.set_runtime_bounds(int(request["seconds"] * 1000), request["depth"])
        return {"value": plain_json(expression.evaluate(request["document"], frame), request["max_bytes"])}, False
    except (ResultRefused, TooDeep) as error:
        return {"error": str(error)}, False
    except MemoryError:
        return {"error": "it needs more memory than an expression may use"}, True
    except Exception as error:  # noqa: BLE001 - the library raises whatever Python raised below it
        return {"error": explain(error)}, False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[Any, Analysis]:
    expression = Jsonata(text)
    expression.set_validate_input(False)
    expression.set_output_convert_nulls(False)
    return expression, analyse(expression.ast)


def main() -> None:
    """Serve the socket that is standard input; the argument is the memory limit in bytes."""
    serve(socket.socket(fileno=0), int(sys.argv[1]))


if __name__ == "__main__":
    main()
