"""Scanning for secrets and dangerous code: what is found, how bad it is, and that no secret is repeated."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as installed
from pytest_django import Settings

from workflows.errors import Canceled, InvalidInput, PermanentError
from workflows.tests.activity_case import Case

# In parts, so that no scanner of this repository takes them for real ones.
AWS_KEY = "AKIA" + "Q3EGRIDIE5VXZ2NT"
GITHUB_TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
PASSWORD = "hunter2-" + "correct-horse"
PASS, SECRET, KEY = "pass" + "word", "sec" + "ret", "api" + "_key"
PRIVATE_KEY = "-----BEGIN RSA PRIV" + "ATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIV" + "ATE KEY-----\n"


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


@pytest.fixture
def tree(case: Case) -> Path:
    tree = case.context().workspace / "tree"
    tree.mkdir()
    return tree


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def scan(case: Case, **parameters: Any) -> dict[str, Any]:
    output: dict[str, Any] = case.run("SecurityScanActivity", {"path": "tree"} | parameters)
    return output


def found(output: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(f["file"], f["line"], f["severity"]) for f in output["vulnerabilities"]]


def test_a_clean_file_is_clean(case: Case, tree: Path) -> None:
    write(tree, {"main.go": "package main\n\nfunc main() {}\n"})
    output = scan(case)
    assert output["vulnerabilities"] == []
    assert (output["securityScore"], output["riskLevel"]) == (100.0, "low")
    assert output["filesScanned"] == 1


def test_the_patterns_of_the_contract_are_found_with_their_lines_in_any_case(case: Case, tree: Path) -> None:
    lines = [
        f'x {PASS}="a1b2"', f'{PASS.upper()}="a1b2"', f'{SECRET}="a1b2"', f'{KEY}="a1b2"', 'apikey="a1b2"',
        'private_key = "a1b2"', 'AWS_SECRET_ACCESS_KEY = "a1b2"',
    ]  # fmt: skip
    write(tree, {"a.rb": "\n".join(lines) + "\n"})
    assert [(line, severity) for _, line, severity in found(scan(case))] == [(n, "high") for n in range(1, 8)]


def test_bare_values_are_secrets_and_references_are_mild(case: Case, tree: Path) -> None:
    write(tree, {"a.sh": f"{PASS}={PASSWORD}\n", "b.go": f"// {PASS}=hunter2\n"})
    assert found(scan(case)) == [("a.sh", 1, "high"), ("b.go", 1, "high")]
    references = [
        f"login({PASS}={PASS})", f"login({PASS}=user.{PASS})", f'x({PASS}=os.environ["X"])', f"x({PASS}=None)",
        f'x({PASS}="")', f"if x.{PASS}=='':", f"{SECRET}=$TOKEN", f"{SECRET}=${{TOKEN}}", f"f({KEY}=get_key())",
    ]  # fmt: skip
    write(tree, {"a.sh": "", "b.go": "", "c.rb": "\n".join(references) + "\n"})
    assert found(scan(case)) == []
    assert [line for _, line, _ in found(scan(case, severity="low"))] == list(range(1, len(references) + 1))


def test_tokens_and_keys_are_critical_in_code_and_in_settings(case: Case, tree: Path) -> None:
    write(
        tree,
        {
            "a.py": f"KEY = '{AWS_KEY}'\n",
            "conf.yaml": f"x: 1\ntoken: {GITHUB_TOKEN}\n",
            ".env": f"GH={GITHUB_TOKEN}\n",
            "b/key.go": f"var k = `{PRIVATE_KEY}`\n",
        },
    )
    assert found(scan(case, severity="critical")) == [
        (".env", 1, "critical"), ("a.py", 1, "critical"), ("b/key.go", 1, "critical"), ("conf.yaml", 2, "critical"),
    ]  # fmt: skip


def test_bandit_finds_dangerous_python(case: Case, tree: Path) -> None:
    code = "import subprocess\n\n\ndef run(x):\n    subprocess.call(x, shell=True)\n    return eval(x)\n"
    write(tree, {"a.py": code})
    output = scan(case, severity="low")
    assert ("a.py", 5, "high") in found(output)
    assert ("a.py", 6, "medium") in found(output)
    assert any("(bandit B602)" in f["description"] for f in output["vulnerabilities"])
    assert "bandit" in output["tools"]
    assert ("a.py", 6, "medium") not in found(scan(case, severity="high"))


@pytest.mark.skipif(shutil.which("gosec") is None, reason="there is no gosec on this machine")
def test_gosec_finds_dangerous_go(case: Case, tree: Path) -> None:
    code = 'package main\n\nimport ("crypto/md5"; "fmt")\n\nfunc main() { fmt.Println(md5.Sum(nil)) }\n'
    write(tree, {"go.mod": "module x\n\ngo 1.20\n", "main.go": code})
    assert ("main.go", 5, "medium") in found(scan(case))


def test_the_secret_is_nowhere_in_what_comes_out(case: Case, tree: Path) -> None:
    write(
        tree,
        {
            "a.py": f"{PASS} = '{PASSWORD}'\n\n\ndef f({PASS}='{PASSWORD}'):\n    g({PASS}='{PASSWORD}')\n",
            "only-bandit.py": f"token = '{PASSWORD}'\n",
            "b.js": f"const {PASS}='{PASSWORD}';\nconst url = 'https://me:{PASSWORD}@example.org/';\n",
            "c.env": f"{KEY.upper()}={PASSWORD}\nAWS={AWS_KEY}\n",
            f"d-{PASS}.yml": f"{PASS}: {PASSWORD}\n",
        },
    )
    output = scan(case, severity="low")
    assert len(output["vulnerabilities"]) >= 7
    assert ("only-bandit.py", 1, "high") in found(output)
    for value in (PASSWORD, AWS_KEY):
        assert value not in json.dumps(output)
        assert value not in case.said


def test_one_line_is_one_finding_whoever_found_it(case: Case, tree: Path) -> None:
    write(tree, {"a.py": f"{PASS}='{PASSWORD}'\n"})
    output = scan(case)
    assert found(output) == [("a.py", 1, "high")]
    assert output["vulnerabilities"][0]["id"] == "SEC-1"


@pytest.mark.parametrize(
    "findings, score, risk", [(0, 100, "low"), (1, 80, "medium"), (2, 80, "medium"), (3, 50, "high"), (9, 50, "high"),
                              (10, 20, "critical"), (30, 20, "critical")],
)  # fmt: skip
def test_the_score_follows_the_number_of_findings(
    case: Case, tree: Path, findings: int, score: float, risk: str
) -> None:
    write(tree, {"a.rb": f"x\n{PASS}='{PASSWORD}'\n" * findings or "x\n"})
    output = scan(case)
    assert (output["securityScore"], output["riskLevel"]) == (score, risk)
    assert [f["id"] for f in output["vulnerabilities"]] == [f"SEC-{n + 1}" for n in range(findings)]


def test_the_worst_come_first_and_the_filter_comes_before_the_score(case: Case, tree: Path) -> None:
    write(tree, {"a.rb": f"{PASS}='{PASSWORD}'\n", "z.rb": f"x = '{AWS_KEY}'\n"})
    assert [severity for _, _, severity in found(scan(case))] == ["critical", "high"]
    assert scan(case)["securityScore"] == 80
    assert [severity for _, _, severity in found(scan(case, severity="critical"))] == ["critical"]


def test_git_dependencies_binaries_and_large_files_are_skipped(case: Case, tree: Path, tmp_path: Path) -> None:
    bad = f"{PASS}='{PASSWORD}'\n"
    write(tree, {".git/config.py": bad, "vendor/a.py": bad, "node_modules/a.js": bad, "large.py": bad + "#" * 2**20})
    (tree / "binary.py").write_bytes(b"\0" + bad.encode())
    write(tmp_path, {"outside.py": bad})
    (tree / "link.py").symlink_to(tmp_path / "outside.py")
    output = scan(case)
    assert output["vulnerabilities"] == []
    assert (output["filesScanned"], output["filesSkipped"]) == (0, 2)


def test_lock_files_and_very_long_lines_do_not_take_long(case: Case, tree: Path) -> None:
    write(
        tree, {"bundle.js": "var a=" + "'x1y2z3'+" * 100_000 + "1;", "package-lock.json": f'{{"{PASS}": "{PASSWORD}"}}'}
    )
    write(tree, {"tokens.js": f"{PASS} " * 100_000})
    began = time.monotonic()
    assert scan(case)["vulnerabilities"] == []
    assert time.monotonic() - began < 20


def test_the_repository_cannot_run_code_in_the_scanner_or_switch_it_off(case: Case, tree: Path, tmp_path: Path) -> None:
    owned = f"open({str(tmp_path / 'owned')!r}, 'w')\n"
    write(
        tree,
        {"bandit.py": owned, "yaml.py": owned, "stevedore/__init__.py": owned, ".bandit": "[bandit]\nskips: B307\n"},
    )
    write(tree, {"a.py": "x = eval('1')\n"})
    assert ("a.py", 1, "medium") in found(scan(case))
    assert not (tmp_path / "owned").exists()


def test_python_that_cannot_be_parsed_does_not_hurt(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "def (:\n", "b.py": f"{PASS}='{PASSWORD}'\n", "c.py": "(" * 5000})
    assert found(scan(case)) == [("b.py", 1, "high")]


def test_wrong_inputs_are_named(case: Case, tree: Path) -> None:
    with pytest.raises(InvalidInput, match="severity"):
        scan(case, severity="terrible")
    with pytest.raises(PermanentError, match="does not exist"):
        scan(case, path="nothing")
    with pytest.raises(PermanentError, match="outside the allowed directories"):
        scan(case, path="/etc")


def test_cancelling_stops_it(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "x = 1\n"})
    case.cancelled.set()
    with pytest.raises(Canceled):
        scan(case)


@pytest.mark.slow
def test_this_checkout_is_scanned_in_reasonable_time(case: Case, settings: Settings) -> None:
    settings.POIMEN_REPO_ROOTS = [installed.BASE_DIR]
    began = sum(os.times()[:4])  # seconds of the processor, its children's too: others may keep it busy
    output = scan(case, path=str(installed.BASE_DIR))
    assert sum(os.times()[:4]) - began < 60
    assert output["filesScanned"] > 100
