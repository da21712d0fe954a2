"""Homes with the database of a new installation: made and migrated once a run, then copied, which takes a second.

It refuses to be used where the making itself is what a test is about.
"""

import fcntl
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.postgres_account import ensure_account


def prepare(home: Path, environment: dict[str, str]) -> None:
    """Lay a migrated database into ``home``, which has none yet; ``environment`` is that of its processes."""
    model = Path(settings.POIMEN_HOME) / "prepared"
    model.mkdir(parents=True, exist_ok=True)
    with (model / "prepared.lock").open("w") as lock:  # another process of the run may want one as well
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (model / "ready").exists():
            _make(model, environment)
    server = EmbeddedPostgres(home)
    home.mkdir(parents=True, exist_ok=True)
    server._make_directory(ensure_account())
    source = EmbeddedPostgres(model).data.resolve()
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(server.directory.resolve() / "data")], check=True)


def _make(model: Path, environment: dict[str, str]) -> None:
    server = EmbeddedPostgres(model)
    server.start()
    try:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--skip-checks", "--verbosity", "0"],
            cwd=settings.BASE_DIR,
            env={k: v for k, v in environment.items() if k != "DATABASE_URL"} | {"POIMEN_HOME": str(model)},
            check=True,
            timeout=300,
        )
    finally:
        server.stop()
    (model / "ready").touch()
