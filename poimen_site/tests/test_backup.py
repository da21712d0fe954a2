"""Back up a running installation, restore it elsewhere: everything is there, and secrets can be read."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from poimen_site.tests.homes import Home
from poimen_site.tests.prepared_homes import prepare

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FILL = """
import django; django.setup()
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from workflows import secrets
from workflows.models import Customer
customer = Customer.objects.create(slug="acme", name="Acme")
secrets.write_secret(customer, "a very secret text", name="key")
import psycopg
from workflows.audit import anchor
from workflows.engine.store import connection_parameters
with psycopg.connect(**connection_parameters()) as connection:
    anchor.renew(connection)
    anchor.renew(connection)
default_storage.save("run/report.html", ContentFile(b"<p>whole</p>"))
default_storage.save("run/half.part", ContentFile(b"<p>ha"))
"""
LOOK = """
import django; django.setup()
from django.core.files.storage import default_storage
from workflows import secrets
from workflows.models import Customer, Secret
customer = Customer.objects.get(slug="acme")
print(secrets.reveal(f"secret:{Secret.objects.get().pk}", customer))
print(default_storage.open("run/report.html").read().decode(), default_storage.exists("run/half.part"))
"""
CUT = """
import django; django.setup()
from django.db import connection
with connection.cursor() as cursor:
    for table in ("auditrecord", "audithead"):
        cursor.execute(f"ALTER TABLE workflows_{table} DISABLE TRIGGER USER")
        cursor.execute(f"DELETE FROM workflows_{table} WHERE customer_id = (SELECT id FROM workflows_customer)")
"""


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[tuple[Home, Home]]:
    made = Home(tmp_path / "old"), Home(tmp_path / "new")
    prepare(made[0].path, made[0].environment)
    for home in made:
        home.path.mkdir(exist_ok=True)
        home.postgres.start()
    try:
        yield made
    finally:
        for home in made:
            home.postgres.destroy()


def test_what_was_backed_up_is_there_after_the_restore(homes: tuple[Home, Home], tmp_path: Path) -> None:
    old, new = homes
    kept = tmp_path / "kept"
    old.must("-c", FILL)
    assert "database.dump" in old.must("manage.py", "backup", kept)
    assert kept.stat().st_mode & 0o077 == 0, "others may not read the keys"

    again = old.run("manage.py", "backup", kept)
    assert again.returncode != 0
    assert "exists already" in again.stderr
    assert "Traceback" not in again.stderr
    into_itself = old.run("manage.py", "restore", kept)
    assert into_itself.returncode != 0
    assert "not empty" in into_itself.stderr

    dump = (kept / "database.dump").read_bytes()
    (kept / "database.dump").write_bytes(dump[:-10])
    damaged = new.run("manage.py", "restore", kept)
    assert damaged.returncode != 0
    assert "damaged: database.dump" in damaged.stderr
    (kept / "database.dump").write_bytes(dump)

    address = new.postgres.url
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE elsewhere")
    new.environment["DATABASE_URL"] = urlsplit(address)._replace(path="/elsewhere").geturl()
    # What the PATH has is too old for the server, so the programs that Poimen brings are used.
    for program in ("pg_dump", "pg_restore"):
        old_one = tmp_path / "bin" / program
        old_one.parent.mkdir(exist_ok=True)
        old_one.write_text(f"#!/bin/sh\necho '{program} (PostgreSQL) 12.1'\n")
        old_one.chmod(0o755)
    new.environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{new.environment['PATH']}"
    new.must("manage.py", "restore", kept)
    assert "No planned migration" in new.must("manage.py", "migrate", "--plan")
    assert new.must("-c", LOOK).splitlines() == ["a very secret text", "<p>whole</p> False"]
    # The anchor came along, to where the database of another name looks for it, and is judged by.
    told = new.must("manage.py", "audit_verify")
    assert "acme: 2 records, whole" in told
    assert "Anchored since" in told
    new.must("-c", CUT)
    cut = new.run("manage.py", "audit_verify")
    assert cut.returncode != 0
    assert "records 1 to 2 are missing: the anchor knows of record 2" in cut.stdout
