"""Await-Task-Complete: hand a task over, then ask every 5 seconds until it is done, for 30 minutes at most.

    POIMEN_URL=http://127.0.0.1:8080 POIMEN_API_KEY=pk_... python await_task_complete.py TASK-7 "Fix the login page"

The task is done elsewhere: whoever does it sends the signal ``done`` with what came of it.
"""

import os
import sys

from poimen_client import Client, WaitTimeout, every

TASK = {
    "name": "implementation-task",
    "states": [
        {"name": "Announce", "type": "Task", "resource": "EchoActivity",
         "parameters": {"value": "${workflow.input.description}"}, "next": "Work"},
        {"name": "Work", "type": "WaitForSignal", "signal": "done", "next": "Result"},
        {"name": "Result", "type": "Task", "resource": "EchoActivity",
         "parameters": {"value": "${Work.output}"}, "end": True},
    ],
}  # fmt: skip
TIMEOUT = 30 * 60.0
POLL = every(5.0)


def main(task_id: str, description: str) -> int:
    """Submit the task under its own id, so that starting this program again awaits the same one."""
    with Client(os.environ["POIMEN_URL"], api_key=os.environ["POIMEN_API_KEY"]) as poimen:
        begun = poimen.submit(spec=TASK, inputs={"description": description}, idempotency_key=task_id)
        print(f"submitted {begun['id']}", flush=True)
        try:
            ended = poimen.wait_for_completion(begun["id"], timeout=TIMEOUT, polling=POLL)
        except WaitTimeout as late:
            print(late)
            return 1
        print(f"{ended['status']}: {ended['outputs'].get('output')}")
        return 0 if ended["status"] == "success" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
