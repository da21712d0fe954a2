"""Retry: a step that may fail is tried again by its policy, ever later, while its log is followed.

POIMEN_URL=http://127.0.0.1:8080 POIMEN_API_KEY=pk_... python retry.py https://api.example.org/orders
"""

import os
import sys

from poimen_client import Client

CALL = {
    "name": "call-with-retries",
    "states": [
        {"name": "Call", "type": "Task", "resource": "HttpRequestActivity",
         "parameters": {"url": "${workflow.input.url}"}, "timeout": "30s",
         "retry": {"maxAttempts": 4, "initialInterval": "500ms", "backoffCoefficient": 2, "maxInterval": "10s"},
         "catch": [{"errors": ["*"], "next": "GiveUp"}], "next": "Done"},
        {"name": "Done", "type": "Succeed"},
        {"name": "GiveUp", "type": "Fail", "error": "GaveUp", "cause": "every attempt failed"},
    ],
}  # fmt: skip


def main(url: str) -> int:
    """Call ``url`` until it answers, and print every attempt as it is made."""
    with Client(os.environ["POIMEN_URL"], api_key=os.environ["POIMEN_API_KEY"]) as poimen:
        begun = poimen.submit(spec=CALL, inputs={"url": url})
        for line in poimen.stream_logs(begun["id"]):
            print(f"{line['timestamp']} {line['nodeId'] or '-'}: {line['message']}", flush=True)
        ended = poimen.get_status(begun["id"])
        print(ended["status"])
        return 0 if ended["status"] == "success" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
