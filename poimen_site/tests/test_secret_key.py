"""The key of a home: one for all its processes, readable by its owner only."""

import subprocess
import sys
from pathlib import Path

from poimen_site.secret_key import load_or_create_secret_key

RACER = """
import sys
from pathlib import Path
from poimen_site.secret_key import load_or_create_secret_key
print("ready", flush=True)
sys.stdin.read()
for home in sys.argv[1:]:
    print(load_or_create_secret_key(Path(home)))
"""


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    homes = [tmp_path / f"home-{number}" for number in range(40)]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, *map(str, homes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()  # the starting gun
    answers = [racer.stdout.read().split() for racer in racers if racer.stdout is not None]
    for racer in racers:
        assert racer.wait(timeout=60) == 0
    assert [set(keys) for keys in zip(*answers, strict=True)] == [{load_or_create_secret_key(home)} for home in homes]
    for home in homes:
        assert [path.name for path in home.iterdir()] == ["secret-key"]
        assert (home / "secret-key").stat().st_mode & 0o777 == 0o600
        assert len((home / "secret-key").read_text()) >= 50
