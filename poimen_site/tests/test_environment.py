"""Wrong settings: one sentence that names the setting, what was given and what was expected; never a password."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from poimen_site.environment import Environment, SettingError, without_password

FILE = str(Path(__file__).resolve())


def read_all(values: dict[str, str]) -> None:
    """Run the settings module in a process with just these variables."""
    done = manage("--version", **values)
    if done.returncode:
        assert done.returncode == 2, done.stderr
        raise SettingError(done.stderr.strip())


def manage(*arguments: str, **values: str) -> "subprocess.CompletedProcess[str]":
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POIMEN", "DJANGO", "DATABASE", "REDIS"))}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=inherited | {"POIMEN_HOME": os.environ["POIMEN_HOME"]} | values,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "name, given, expected",
    [
        ("PORT", "abc", "a whole number from 1 to 65535"),
        ("PORT", "0", "a whole number from 1 to 65535"),
        ("ENVIRONMENT", "prod", "one of development, production"),
        ("LOG_LEVEL", "loud", "one of debug, info, warning, error"),
        ("POIMEN_HOME", FILE, "a directory that can be made and written, and this is a file"),
        ("POIMEN_HOME", f"{FILE}/home", "a directory that can be made and written, and a part of its path is a file"),
        ("POIMEN_WORKERS", "0", "a whole number from 1 to 256"),
        ("POIMEN_WORKERS", "abc", "a whole number from 1 to 256"),
        ("POIMEN_DB_POOL", "-1", "a whole number from 1 to 1000"),
        ("POIMEN_PUMP_THREADS", "1.5", "a whole number from 1 to 1000"),
        ("POIMEN_PUMP_CAPACITY", "0", "a whole number from 1 to 100000"),
        ("POIMEN_ACTIVITY_PROCESSES", "many", "a whole number from 1 to 256"),
        ("POIMEN_LEASE_SECONDS", "nan", "a number from 1 to 3600"),
        ("POIMEN_LEASE_SECONDS", "0.1", "a number from 1 to 3600"),
        ("POIMEN_RETENTION_DAYS", "month", "a whole number from -36500 to 36500"),
        ("POIMEN_ACCESS_TOKEN_MINUTES", "0", "a whole number from 1 to 525600"),
        ("POIMEN_REFRESH_TOKEN_DAYS", "99999999999999999999", "a whole number from 1 to 3650"),
        ("POIMEN_AUTO_APPROVE", "maybe", "one of 1, true, yes, on for yes, 0, false, no, off for no"),
        ("POIMEN_TEST_ACTIVITIES", "2", "one of 1, true, yes, on for yes, 0, false, no, off for no"),
        ("POIMEN_ALLOWED_HOSTS", "http://x", "a list, separated by commas, of host names without scheme and port"),
        ("POIMEN_TRUSTED_ORIGINS", "example.org", "a list, separated by commas, of origins like https://"),
        ("POIMEN_CORS_ORIGINS", "https://a.org,https://b.org/path", "'https://b.org/path' is none"),
        ("POIMEN_REPO_ROOTS", "sources", "a list, separated by commas, of absolute paths of directories"),
        ("POIMEN_ALLOWED_PRIVATE_HOSTS", "http://intranet", "hosts, each perhaps with a port"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, given: str, expected: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_all({name: given})
    said = str(refused.value)
    assert said.startswith(f"{name} is '{given}'; expected ")
    assert expected in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "given, shown",
    [
        ("sesame", "***"),
        ("poimen:sesame@db/poimen", "***"),
        ("mysql://poimen:sesame@db/poimen", "mysql://poimen@db/poimen"),
        ("postgresql://poimen:sesame@db", "postgresql://poimen@db"),
        ("postgresql://poimen:sesame@db:99999/poimen", "postgresql://poimen@db:99999/poimen"),
        ("postgresql://poimen:ses/ame@db/poimen", "postgresql://***"),
        ("postgresql://poimen:ses#ame@db/poimen", "postgresql://***"),
        ("postgresql://poimen:ses?ame@db/poimen", "postgresql://***"),
        ("postgresql://poimen:sesame@db/poimen?sslmod=require", "postgresql://poimen@db/poimen"),
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(given: str, shown: str) -> None:
    for read, name in ((Environment.database, "DATABASE_URL"), (redis_address, "REDIS_URL")):
        with pytest.raises(SettingError) as refused:
            read(Environment({name: given}), name, default=str)
        assert str(refused.value).startswith(f"{name} is '{shown}'; expected ")
        assert not {"sesame", "ses", "ame"} & set(re.findall(r"\w+", str(refused.value)))


def redis_address(environment: Environment, name: str, default: type[str]) -> str:
    return environment.redis(name) or default()


def test_addresses_that_are_fine() -> None:
    url = "postgresql://poimen:p%40ss@db:5433/poimen?sslmode=require"
    config = Environment({"DATABASE_URL": url}).database("DATABASE_URL", default=str)
    assert (config["USER"], config["PASSWORD"], config["HOST"], config["PORT"]) == ("poimen", "p@ss", "db", 5433)
    assert config["OPTIONS"] == {"sslmode": "require"}
    assert Environment({"REDIS_URL": "redis://:key@cache:6379/1"}).redis("REDIS_URL") == "redis://:key@cache:6379/1"
    assert without_password(url) == "postgresql://poimen@db:5433/poimen"


def test_an_empty_value_counts_as_none() -> None:
    environment = Environment({"PORT": "", "POIMEN_ALLOWED_HOSTS": " "})
    assert environment.whole_number("PORT", default=8080, least=1, most=65535) == 8080
    assert environment.words("POIMEN_ALLOWED_HOSTS", default=["here"], each=bool, expected="hosts") == ["here"]


def test_a_database_that_lets_nobody_in_is_told_in_a_sentence() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, but not listening
        done = manage("showmigrations", DATABASE_URL=f"postgresql://u:sesame@127.0.0.1:{closed.getsockname()[1]}/x")
    assert done.returncode == 2
    assert done.stderr.startswith("DATABASE_URL is 'postgresql://u@127.0.0.1:")
    assert "Connection refused" in done.stderr
    assert "sesame" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_host_that_is_none_of_ours() -> None:
    done = manage("web", HOST="nowhere.invalid")
    assert done.returncode == 2
    assert "HOST is 'nowhere.invalid'; expected a name or an address of this machine" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_file_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "secret-key").write_text("\n")
    done = manage("--version", POIMEN_HOME=str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path / 'secret-key'} is empty" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = manage("--version", POIMEN_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "and this user may not" in done.stderr
