"""The key of a home: one for all its processes, readable by its owner only."""

import subprocess
import sys
from pathlib import Path

from poimen_site.secret_key import load_or_create_secret_key


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from poimen_site.secret_key import *; "
    code += "print(load_or_create_secret_key(Path(sys.argv[1])))"
    racers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "home")], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    keys = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert keys == {load_or_create_secret_key(tmp_path / "home")}
    assert len(keys.pop()) >= 50
    assert (tmp_path / "home" / "secret-key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["secret-key"]
