"""Plugins: found when installed, run as any activity, set up and switched off for every process, and told apart."""

import importlib
import os
import sys
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from workflows import plugins, secrets
from workflows.activities.knowledge_base import knowledge_base
from workflows.activities.plugin_packages import parse_address
from workflows.activities.registry import registry
from workflows.engine import claims
from workflows.models import AuditRecord, MetricTally, Plugin, StateRun
from workflows.spec.validator import validate_spec
from workflows.tests.people import customer, member
from workflows.tests.pumping import Engine, failure_of, messages, output_of, task

EXAMPLE = Path(settings.BASE_DIR) / "examples" / "markdown-links"
BROKEN = "raise RuntimeError('no library')\n"
TALKATIVE = '''
from pydantic import Field
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields


class Config(Fields):
    api_key: str = Field(description="Key")
    greeting: str = "hello"


class Nothing(Fields):
    pass


class Said(Fields):
    text: str


def speak(input: Nothing, context: ActivityContext) -> Said:
    """Says what it was set up with."""
    context.info("the key is " + context.config["apiKey"])
    return Said(text=context.config["greeting"] + " " + context.config["apiKey"])


async def speak_too(input: Nothing, context: ActivityContext) -> Said:
    """Says it on the loop."""
    return Said(text=context.config["greeting"])


activity("SpeakActivity", category="testing", config=Config)(speak)
activity("SpeakTooActivity", category="testing", config=Config)(speak_too)
'''


def install(
    target: Path, name: str, version: str, entry: tuple[str, str], *, summary: str = "", author: str = ""
) -> None:
    """Lay out what an installer leaves of a package beside its modules: metadata and entry points."""
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\nAuthor: {author}\n"
    (info / "METADATA").write_text(about)
    (info / "entry_points.txt").write_text(f"[poimen.activities]\n{entry[0]} = {entry[1]}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, one that cannot be loaded and one that talks, installed where Python looks for modules."""
    site = tmp_path / "site"
    site.mkdir()
    about = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((slug, module),) = about["entry-points"]["poimen.activities"].items()
    (site / "poimen_markdown_links").symlink_to(EXAMPLE / "poimen_markdown_links")
    install(
        site,
        about["name"],
        about["version"],
        (slug, module),
        summary=about["description"],
        author=about["authors"][0]["name"],
    )
    (site / "broken_plugin.py").write_text(BROKEN)
    install(site, "broken-plugin", "0.1", ("broken", "broken_plugin"))
    (site / "talkative.py").write_text(TALKATIVE)
    install(site, "talkative", "2.0", ("talkative", "talkative"))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv(
        "PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )  # of activities' processes
    known = dict(registry.all())
    before_plugins = dict(registry.plugins)
    importlib.invalidate_caches()
    registry._discovered = False
    plugins.forget_known()
    yield
    registry._activities.clear()
    registry._activities.update(known)
    registry.plugins.clear()
    registry.plugins.update(before_plugins)
    for name in [m for m in sys.modules if m.split(".")[0] in ("poimen_markdown_links", "broken_plugin", "talkative")]:
        del sys.modules[name]
    claims._PROGRAMS.clear()
    plugins.forget_known()


def problems(resource: str) -> list[tuple[str, str]]:
    found = validate_spec({"name": "x", "states": [task(resource, path="x")]}, activities=registry.all()).problems
    return [(problem.code, problem.message) for problem in found if problem.severity == "error"]


def test_a_plugin_runs_as_a_state_by_its_address_and_by_the_name_of_its_activity(
    installed: None, engine: Engine, tmp_path: Path, settings: Any
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n[good](b.md#b) [bad](c.md)\n")
    (docs / "b.md").write_text("# B\n[x](old.md)")
    settings.POIMEN_REPO_ROOTS = [tmp_path]
    os.environ["POIMEN_REPO_ROOTS"] = str(tmp_path)
    engine.pump()
    for resource in ("plugin://markdown-links", "plugin://markdown-links@1.0.0", "MarkdownLinksActivity"):
        assert problems(resource) == []
    try:
        ended = engine.run({"name": "docs", "states": [task("plugin://markdown-links", "Links", path=str(docs))]})
        assert ended.status == "success", failure_of(ended)
        found = output_of(ended.pk, "Links")
        assert (found["files"], found["links"]) == (2, 3)
        assert [link["target"] for link in found["broken"]] == ["c.md", "old.md"]
        assert StateRun.objects.get(execution=ended).activity == "MarkdownLinksActivity"
        plugins.note_installed()
        row = Plugin.objects.get(slug="markdown-links")
        row.config = secrets.encrypted({"ignore": ["b*"]})
        row.save()
        again = engine.run({"name": "docs", "states": [task("MarkdownLinksActivity", "Links", path=str(docs))]})
        assert output_of(again.pk, "Links")["files"] == 1, "it is set up anew without a restart"
    finally:
        del os.environ["POIMEN_REPO_ROOTS"]


@pytest.mark.django_db
def test_what_is_not_installed_broken_or_another_version_is_refused_with_the_reason(installed: None) -> None:
    (wrong,) = problems("plugin://nothing")
    assert wrong[0] == "plugin-unavailable"
    assert wrong[1] == "there is no plugin 'nothing'; installed are: broken, markdown-links, talkative"
    assert "cannot be loaded: RuntimeError: no library" in problems("plugin://broken")[0][1]
    assert "is installed in version 1.0.0, not 2.0" in problems("plugin://markdown-links@2.0")[0][1]
    assert "name the one you mean: SpeakActivity, SpeakTooActivity" in problems("plugin://talkative")[0][1]
    assert "expected plugin://name" in problems("plugin://")[0][1]
    assert problems("SpeakActivity") == []


@pytest.mark.parametrize(
    "text", ["plugin://", "plugin://A", "plugin://a/b", "plugin://a@", "http://a", "plugin://a@1@2", "plugin://-a"]
)
def test_an_address_has_one_form(text: str) -> None:
    with pytest.raises(ValueError, match="expected plugin://name"):
        parse_address(text)
    assert parse_address("plugin://a.b-c_1@1.0+x") == ("a.b-c_1", "1.0+x")


def test_at_run_an_unknown_plugin_is_the_states_failure(engine: Engine) -> None:
    engine.pump()
    error = failure_of(engine.run({"name": "x", "states": [task("plugin://gone", "A")]}))
    assert error["name"] == "UnknownActivity"
    assert "there is no plugin 'gone'" in error["message"]


def test_a_disabled_plugin_is_refused_offered_nowhere_and_fails_where_it_runs(installed: None, engine: Engine) -> None:
    plugins.note_installed()
    assert "MarkdownLinksActivity" in {item["name"] for item in knowledge_base()["activities"]}
    Plugin.objects.filter(slug="markdown-links").update(enabled=False)
    plugins.forget_known()
    for resource in ("plugin://markdown-links", "MarkdownLinksActivity"):
        assert problems(resource) == [
            ("plugin-unavailable", "the plugin 'markdown-links' is disabled; an administrator can enable it")
        ]
    assert "MarkdownLinksActivity" not in {item["name"] for item in knowledge_base()["activities"]}
    engine.pump()
    error = failure_of(engine.run({"name": "x", "states": [task("MarkdownLinksActivity", "A", path="x")]}))
    assert (error["name"], error["retryable"]) == ("PluginDisabled", False)
    Plugin.objects.update(enabled=True)
    error = failure_of(engine.run({"name": "x", "states": [task("MarkdownLinksActivity", "A", path="nowhere")]}))
    assert error["name"] != "PluginDisabled", "it counts from the next run on"
    assert "MarkdownLinksActivity: " in Plugin.objects.get(slug="markdown-links").run_error


def test_secrets_of_a_configuration_are_encrypted_and_shown_nowhere(installed: None, engine: Engine) -> None:
    engine.pump()
    plugins.note_installed()
    spec = {"name": "x", "states": [task("SpeakActivity", "Say"), task("SpeakTooActivity", "Too")]}
    missing = failure_of(engine.run(spec))
    assert (missing["name"], "apiKey: Field required" in missing["message"]) == ("PluginNotConfigured", True)
    row = Plugin.objects.get(slug="talkative")
    row.config = secrets.encrypted({"apiKey": "hunter22-and-more", "greeting": "hi"})
    row.save()
    assert b"hunter22" not in bytes(row.config)
    ended = engine.run(spec)
    assert output_of(ended.pk, "Say")["text"] == "hi ***"
    assert output_of(ended.pk, "Too")["text"] == "hi"
    assert "the key is ***" in messages(ended.pk)


@pytest.mark.django_db
def test_an_administrator_sets_up_enables_and_disables(installed: None) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    listed = client.get("/admin/workflows/plugin/").content.decode()
    assert all(text in listed for text in ("markdown-links", "1.0.0", "RuntimeError: no library"))
    page = "/admin/workflows/plugin/talkative/change/"
    refused = client.post(page, {"enabled": "on", "configuration": '{"greeting": 5, "other": 1}'}).content.decode()
    assert "unknown: other; known are: apiKey, greeting" in refused
    assert client.post(page, {"enabled": "on", "configuration": '{"apiKey": "hunter22-and-more"}'}).status_code == 302
    assert "hunter22" not in client.get(page).content.decode()
    kept = {"configuration": '{"apiKey": "***", "greeting": "hi"}'}
    assert client.post(page, kept).status_code == 302
    row = Plugin.objects.get(slug="talkative")
    assert (row.enabled, plugins.config_of(row)) == (False, {"apiKey": "hunter22-and-more", "greeting": "hi"})
    client.post("/admin/workflows/plugin/", {"action": "enable", "_selected_action": ["talkative"]})
    assert Plugin.objects.get(slug="talkative").enabled
    acts = list(
        AuditRecord.objects.filter(action__startswith="plugin.").order_by("seq").values_list("action", flat=True)
    )
    assert acts == ["plugin.configured", "plugin.disabled", "plugin.configured", "plugin.enabled"]
    staff = Client()
    staff.force_login(member(customer(), is_staff=True))
    assert staff.get("/admin/workflows/plugin/").status_code == 403


@pytest.mark.django_db
def test_figures_are_those_of_the_plugins_own_runs(installed: None) -> None:
    plugins.note_installed()
    for label, status, count in (
        ("SpeakActivity", "success", 3),
        ("SpeakTooActivity", "failed", 1),
        ("EchoActivity", "success", 9),
    ):
        MetricTally.objects.create(
            metric="run", label=label, kind="Task", status=status, bucket=0, count=count, seconds=count
        )
    row = Plugin.objects.get(slug="talkative")
    assert plugins.figures_of(row) == {"runs": 4, "succeeded": 3, "failed": 1, "average_seconds": 1.0}
    assert plugins.figures_of(Plugin.objects.get(slug="broken"))["average_seconds"] is None


@pytest.mark.django_db
def test_another_version_is_noted_and_what_was_decided_stays(installed: None) -> None:
    plugins.note_installed()
    Plugin.objects.filter(slug="talkative").update(
        enabled=False, version="1.0", loaded_at=timezone.now() - timedelta(days=9)
    )
    plugins.note_installed()
    row = Plugin.objects.get(slug="talkative")
    assert (row.version, row.enabled, row.reload_count) == ("2.0", False, 1)
    assert row.loaded_at is not None
    assert row.loaded_at > timezone.now() - timedelta(minutes=5)
    plugins.note_installed()
    assert Plugin.objects.get(slug="talkative").reload_count == 1


def test_of_two_packages_with_one_name_only_one_is_loaded(installed: None, tmp_path: Path) -> None:
    second = TALKATIVE.replace("SpeakActivity", "SecondActivity").replace("SpeakTooActivity", "SecondTooActivity")
    (tmp_path / "site" / "second_plugin.py").write_text(second)
    install(tmp_path / "site", "second", "1", ("talkative", "second_plugin"))
    importlib.invalidate_caches()
    assert ("SpeakActivity" in registry.all()) != ("SecondActivity" in registry.all())
    assert registry.plugins["talkative"].error == ""
    sys.modules.pop("second_plugin", None)
