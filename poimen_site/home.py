"""What a home needs before its processes serve: a current schema, the user ``admin``, and the examples once.

Importable after ``django.setup`` only. It refuses to touch what people made or changed.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from poimen_site.first_run import load_examples
from workflows.access import default_customer
from workflows.models import Membership, Role


def prepare(home: Path, say: Callable[[str], None]) -> None:
    """Do what is missing, and ``say`` what is being done."""
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        say(f"bringing the database up to date ({missing} migrations)")
        call_command("migrate", verbosity=0)
    password = _ensure_admin(home)
    if password:
        say(f"made the user admin with the password {password}")
        say(f"it is kept in {home / 'admin-password'} and not shown again")
    loaded = load_examples()
    if loaded:
        say(f"loaded {loaded} example workflows")
    connections.close_all()


def _ensure_admin(home: Path) -> str:
    """Make the user ``admin`` if there is none; returns a generated password once, else an empty text."""
    users = get_user_model().objects
    user = users.filter(username="admin").first()
    wanted = os.environ.get("POIMEN_ADMIN_PASSWORD", "")
    shown = ""
    if user is None:
        password = wanted or secrets.token_urlsafe(12)
        user = users.create_superuser("admin", email="", password=password)
        if not wanted:
            path = home / "admin-password"
            path.touch(mode=0o600, exist_ok=True)
            path.chmod(0o600)
            path.write_text(password + "\n")
            shown = password
    Membership.objects.get_or_create(user=user, customer=default_customer(), defaults={"role": Role.ADMIN})
    return shown
