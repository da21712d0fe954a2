"""What a new home gets: the example workflows, and one real run - the check-up of this very checkout.

Done once a home; afterwards people own the examples and may change or delete them.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connections

from canvas.saving import save_workflow
from canvas.starting import start_workflow
from workflows.access import default_customer
from workflows.models import Execution, StateRun, Workflow

EXAMPLES = "examples"
CHECK_UP = "Repository check-up"
MARKER = "first-run"
CREATOR = "poimen"
TEST_FOLDERS = {"test", "tests"}


def load_examples() -> int:
    """Save the example workflows of the checkout, if this home has never had them; returns how many."""
    customer = default_customer()
    if Workflow.objects.filter(customer=customer).exists() or (Path(settings.POIMEN_HOME) / MARKER).exists():
        return 0
    loaded = 0
    for path in sorted((settings.BASE_DIR / EXAMPLES).glob("*.json")):
        drawn = json.loads(path.read_text())
        save_workflow(
            customer,
            name=drawn["name"],
            description=drawn["description"],
            nodes=drawn["nodes"],
            edges=drawn["edges"],
            status=drawn["status"],
            created_by=CREATOR,
        )
        loaded += 1
    return loaded


class FirstRun:
    """Runs the check-up once a home, through the engine like any other run, and tells how it went."""

    def __init__(self, home: Path, say: Callable[[str], None]) -> None:
        self._marker = home / MARKER
        self._say = say
        self._execution: UUID | None = None
        self._done = self._marker.exists()

    def advance(self) -> None:
        """Do the next part, if there is one: start it, or look whether it has ended. Never blocks."""
        if self._done:
            return
        try:
            if self._execution is None:
                self._start()
            else:
                self._look(Execution.objects.get(pk=self._execution))
        finally:
            connections.close_all()

    def _start(self) -> None:
        customer = default_customer()
        known = Execution.objects.filter(customer=customer, idempotency_key=MARKER).first()
        if known is not None:  # started before, perhaps by an older version whose spec was another
            self._execution = known.pk
            return
        workflow = Workflow.objects.filter(customer=customer, name=CHECK_UP).first()
        if workflow is None:
            self._finish("")
            return
        if not (settings.BASE_DIR / ".git").exists():
            self._finish("")
            self._say(
                f'{settings.BASE_DIR} is not a git repository, so the example "{CHECK_UP}" is not run on it. Run it '
                "on one of yours: its input is repo, an address or a path in POIMEN_REPO_ROOTS."
            )
            return
        execution, _ = start_workflow(
            workflow.pk,
            customer,
            inputs={"repo": str(settings.BASE_DIR)},
            idempotency_key=MARKER,
            by=CREATOR,
        )
        self._execution = execution.pk
        self._say(f'Running the example "{CHECK_UP}" on {settings.BASE_DIR}')

    def _look(self, execution: Execution) -> None:
        if execution.ended_at is None:
            return
        self._finish(str(execution.pk))
        if execution.status != "success":
            reason = (execution.error or {}).get("message", "see its log")
            self._say(f"{CHECK_UP}: {execution.status} - {reason} (execution {execution.pk})")
            return
        results = dict(
            StateRun.objects.filter(execution=execution, status="success").order_by("id").values_list("state", "output")
        )
        for line in _told(results):
            self._say(line)
        seconds = (execution.ended_at - execution.created_at).total_seconds()
        self._say(f"{CHECK_UP}: success in {seconds:.0f} s (execution {execution.pk})")

    def _finish(self, text: str) -> None:
        self._done = True
        self._marker.write_text(text + "\n")


def _told(results: dict[str, Any]) -> list[str]:
    """What the run found, in a few lines."""
    lines = []
    for output in results.values():
        if not isinstance(output, dict):
            continue
        if "summary" in output:
            lines.append(f"  analysis: {output['summary']}")
        if "securityScore" in output:
            lines += _security_told(output)
        if "reportPath" in output:
            lines.append(f"  report: {output['reportPath']}")
    return lines


def _security_told(output: dict[str, Any]) -> list[str]:
    """The verdict, and how it comes about: it goes by the number of findings, wherever they are."""
    listed, total = output["vulnerabilities"], output["totalFindings"]
    of_tests = sum(not TEST_FOLDERS.isdisjoint(Path(finding["file"] or "").parts) for finding in listed)
    worst = Counter(finding["severity"] for finding in listed)
    counted = ", ".join(f"{count} {severity}" for severity, count in worst.items()) or "none"
    lines = [f"  security: score {output['securityScore']:g}, risk {output['riskLevel']}, {total} findings ({counted})"]
    if of_tests:
        lines.append(
            f"  {of_tests} of them are in tests; risk goes by their number (10 or more: critical), read the report"
        )
    return lines
