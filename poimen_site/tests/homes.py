"""Throwaway installations whose commands are run as processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

from poimen_site.embedded_postgres import EmbeddedPostgres

ROOT = Path(__file__).resolve().parent.parent.parent


class Home:
    """One installation with its own embedded server."""

    def __init__(self, path: Path) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("POIMEN_", "DJANGO_"))}
        kept = {key: value for key, value in kept.items() if key not in ("DATABASE_URL", "REDIS_URL")}
        self.path = path
        self.environment = kept | {"POIMEN_HOME": str(path), "DJANGO_SETTINGS_MODULE": "poimen_site.settings"}
        self.postgres = EmbeddedPostgres(path)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=60)

    def must(self, *arguments: str | Path) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout
