"""Sequential: steps one after the other, each reading what those before it gave; started and waited for.

POIMEN_URL=http://127.0.0.1:8080 POIMEN_API_KEY=pk_... python sequential.py https://example.org/web.git
"""

import os
import sys

from poimen_client import Client, ExecutionFailed

REPORT = {
    "name": "report-of-a-repository",
    "states": [
        {"name": "Clone", "type": "Task", "resource": "CloneRepoActivity",
         "parameters": {"repo": "${workflow.input.repo}"}, "next": "Analyze"},
        {"name": "Analyze", "type": "Task", "resource": "AnalyzeCodeActivity",
         "parameters": {"path": "${Clone.output.path}"}, "next": "Scan"},
        {"name": "Scan", "type": "Task", "resource": "SecurityScanActivity",
         "parameters": {"path": "${Clone.output.path}"}, "next": "Report"},
        {"name": "Report", "type": "Task", "resource": "GenerateReportActivity",
         "parameters": {"analysisResult": "${Analyze.output}", "securityResult": "${Scan.output}"}, "end": True},
    ],
}  # fmt: skip


def main(repo: str) -> int:
    """Run the four steps on a repository and print where its report is."""
    with Client(os.environ["POIMEN_URL"], api_key=os.environ["POIMEN_API_KEY"]) as poimen:
        ended = poimen.submit_and_wait(spec=REPORT, inputs={"repo": repo}, timeout=600)
        try:
            outputs = poimen.result(ended)
        except ExecutionFailed as failure:
            print(failure)
            return 1
        for state, output in outputs["stepResults"].items():
            print(f"{state}: {output}")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
