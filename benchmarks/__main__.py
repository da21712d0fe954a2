"""``python -m benchmarks [PART...] [--quick] [--json FILE]``: measures one installation made for it, and says so.

Exits non-zero only if something could not be measured; a figure below its budget is marked, not fatal.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import canvas, engine, logs, pages, router, steps, web
from benchmarks.installation import Installation
from benchmarks.results import Results

PARTS = {
    "steps": steps.measure,
    "starts": engine.measure_starts,
    "map": engine.measure_map,
    "waiting": engine.measure_waiting,
    "web": web.measure,
    "logs": logs.measure,
    "pages": pages.measure,
    "router": router.measure,
    "canvas": canvas.measure,
}


def main() -> None:
    """Measure the parts that were named, or all."""
    parser = argparse.ArgumentParser(prog="bin/bench", description="Measure Poimen against its budgets.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"of: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a first impression")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    base = os.environ.get("POIMEN_HOME")
    if base:
        Path(base).mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # by way of the clean-up
    results = Results()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=base) as home, Installation(Path(home)) as installation:
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} processors, load {load:.2f} before the start, {time.strftime('%Y-%m-%d %H:%M')}")
        for name in options.parts or PARTS:
            PARTS[name](installation, results, quick=options.quick)
    if options.json:
        results.write(options.json)


if __name__ == "__main__":
    main()
