"""The key of a home: one for all its processes, readable by its owner only."""

import os
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


def test_what_an_earlier_key_encrypted_and_signed_is_read_with_its_fallback(tmp_path: Path) -> None:
    program = """
import os, django
django.setup()
from django.core import signing
from workflows import secrets
if os.environ["POIMEN_SECRET_KEY"] == "old":
    print(signing.dumps("ann"), secrets._fernet().encrypt(b"sesame").decode())
else:
    signed, sealed = os.environ["MADE"].split()
    print(signing.loads(signed), secrets._fernet().decrypt(sealed).decode())
"""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("POIMEN")}

    def run(**changes: str) -> "subprocess.CompletedProcess[str]":
        home = {"POIMEN_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "poimen_site.settings"}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=inherited | home | changes, capture_output=True, text=True, timeout=60)

    made = run(POIMEN_SECRET_KEY="old").stdout
    assert run(POIMEN_SECRET_KEY="new", MADE=made, POIMEN_SECRET_KEY_FALLBACKS="older, old").stdout == "ann sesame\n"
    assert "BadSignature" in run(POIMEN_SECRET_KEY="new", MADE=made).stderr
