"""The same chains of trivial steps on DBOS Transact: ``python -m benchmarks.dbos_steps URL TOTAL STEPS...``.

Prints ``{steps: steps a second}``. Workflows run one after another in one process, which is DBOS at its quickest.
"""

import json
import sys
import time

from dbos import DBOS


@DBOS.step()
def echo(value: int) -> int:
    """Give back the value."""
    return value


@DBOS.workflow()
def chain(steps: int) -> int:
    """``steps`` trivial steps, one after another."""
    for step in range(steps):
        echo(step)
    return steps


def main() -> None:
    """Measure each length after a warm-up."""
    url, total, *lengths = sys.argv[1:]
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})
    DBOS.launch()
    chain(5)
    rates = {}
    for steps in map(int, lengths):
        workflows = max(1, int(total) // steps)
        began = time.perf_counter()
        for _ in range(workflows):
            chain(steps)
        rates[steps] = steps * workflows / (time.perf_counter() - began)
    DBOS.destroy()
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
