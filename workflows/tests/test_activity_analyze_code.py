"""Analysing code: what is counted, what the linters find, and what is left alone."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as installed
from pytest_django import Settings

from workflows.activities import analyze_code, code_files
from workflows.errors import ActivityError, Canceled, InvalidInput, PermanentError
from workflows.tests.activity_case import Case

MANY_BRANCHES = (
    "def tangled(x):\n" + "".join(f"    if x == {n}:\n        return {n}\n" for n in range(20)) + "    return x\n"
)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


@pytest.fixture
def tree(case: Case) -> Path:
    """An empty directory in the workspace, called tree."""
    tree = case.context().workspace / "tree"
    tree.mkdir()
    return tree


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def analyze(case: Case, **parameters: Any) -> dict[str, Any]:
    output: dict[str, Any] = case.run("AnalyzeCodeActivity", {"path": "tree"} | parameters)
    return output


def test_files_and_lines_are_counted_by_language(case: Case, tree: Path) -> None:
    write(
        tree,
        {"a.py": "x = 1\ny = 2\n", "b/c.js": "let x;\n", "d.go": "package d", "readme.md": "#\n", "e.PY": "z = 1\n"},
    )
    output = analyze(case)
    metrics = output["metrics"]
    assert (metrics["totalFiles"], metrics["totalLines"]) == (4, 5)
    assert metrics["languages"] == {
        "go": {"files": 1, "lines": 1}, "javascript": {"files": 1, "lines": 1}, "python": {"files": 2, "lines": 3},
    }  # fmt: skip
    assert output["quality"] == 1.0
    assert output["summary"] == "Analysed 4 files with 5 lines of code: 0 issues, quality 1.00."


def test_a_go_module_is_counted_whether_there_is_a_go_or_not(case: Case, tree: Path) -> None:
    write(tree, {"go.mod": "module x\n\ngo 1.20\n", "main.go": "package main\n\nfunc main() {}\n"})
    output = analyze(case)
    assert output["metrics"]["totalFiles"] == 1
    assert output["quality"] > 0
    assert output["metrics"]["goVetRan"] is (shutil.which("go") is not None)


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no go on this machine")
def test_go_vet_finds_what_is_wrong_and_headers_do_not_count(case: Case, tree: Path) -> None:
    code = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Printf("%d", "x") }\n'
    write(tree, {"go.mod": "module x\n\ngo 1.20\n", "main.go": code})
    output = analyze(case)
    assert output["metrics"]["goVetRan"]
    assert [issue.partition(": ")[0] for issue in output["issues"]] == ["main.go:5"]


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no go on this machine")
def test_modules_that_are_not_at_hand_are_no_issue_of_the_code(case: Case, tree: Path) -> None:
    code = 'package main\n\nimport "example.org/missing"\n\nfunc main() { missing.Run() }\n'
    write(tree, {"go.mod": "module x\n\ngo 1.20\n\nrequire example.org/missing v1.0.0\n", "main.go": code})
    output = analyze(case)
    assert output["issues"] == []
    assert "go vet" in output["metrics"]["toolsFailed"]


@pytest.mark.skipif(shutil.which("eslint") is None, reason="there is no eslint on this machine")
def test_eslint_finds_what_is_wrong_and_runs_nothing_of_the_repository(case: Case, tree: Path, tmp_path: Path) -> None:
    owned = f'require("fs").writeFileSync("{tmp_path}/owned", "");module.exports = [];'
    write(tree, {"a.js": "const x = 1;\nx = 2;\n", "eslint.config.js": owned})
    assert any(issue.startswith("a.js:2: ") for issue in analyze(case)["issues"])
    assert not (tmp_path / "owned").exists()


def test_quality_loses_a_tenth_for_each_issue_per_file(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "import os\nimport sys\n", "b.py": "x = 1\n"})
    output = analyze(case)
    assert len(output["issues"]) == 2
    assert output["quality"] == pytest.approx(0.9)
    write(tree, {f"a{n}.py": "".join(f"import m{i}\n" for i in range(20)) for n in range(3)})
    assert analyze(case)["quality"] == 0.0


def test_nothing_to_analyse_is_neither_good_nor_bad(case: Case, tree: Path) -> None:
    assert analyze(case)["quality"] == 0.5


def test_issues_say_where_what_and_who(case: Case, tree: Path) -> None:
    write(tree, {"pkg/a.py": "import os\n\n\ndef f():\n    return undefined\n", "broken.py": "def (:\n"})
    issues = analyze(case)["issues"]
    assert any(issue.startswith("broken.py:1: ") and "(ruff " in issue for issue in issues)
    assert "pkg/a.py:1: `os` imported but unused (ruff F401)" in issues
    assert "pkg/a.py:5: Undefined name `undefined` (ruff F821)" in issues
    assert issues == sorted(issues)


def test_depth_decides_how_closely_to_look(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "import os\n" + MANY_BRANCHES + "\n\ndef g(x=[]):\n    return undefined, x\n"})
    counts = [len(analyze(case, depth=depth)["issues"]) for depth in range(1, 6)]
    assert counts[0] == 1  # only what cannot run: the undefined name
    assert counts == sorted(counts)
    assert counts[1] == 2
    assert any("cyclomatic complexity of 21" in issue for issue in analyze(case, depth=3)["issues"])
    assert not any("complexity" in issue for issue in analyze(case, depth=2)["issues"])


def test_complexity_is_measured_in_many_languages(case: Case, tree: Path) -> None:
    write(
        tree,
        {
            "a.py": MANY_BRANCHES,
            "b.go": "package b\n\nfunc f(x int) int {\n\tif x > 1 {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
            "c.ts": "function g(x: number) { if (x) { return 1; } return 2; }\n",
            "D.java": "class D { int h(int x) { return x > 0 ? 1 : 2; } }\n",
            "e.rs": "fn i(x: i32) -> i32 { if x > 0 { 1 } else { 2 } }\n",
        },
    )
    metrics = analyze(case)["metrics"]
    assert metrics["functions"] == 5
    assert metrics["maxComplexity"] == 21
    assert metrics["mostComplex"][0] == {
        "function": "tangled", "file": "a.py", "line": 1, "complexity": 21, "lines": 42,
    }  # fmt: skip
    assert metrics["averageComplexity"] == pytest.approx((21 + 2 * 4) / 5, abs=0.01)


@pytest.mark.parametrize("language, files", [("python", 1), ("py", 1), ("Go", 1), ("golang", 1), ("rust", 0)])
def test_only_the_language_asked_for_is_looked_at(case: Case, tree: Path, language: str, files: int) -> None:
    write(tree, {"a.py": "import os\n", "b.go": "package b\n"})
    output = analyze(case, language=language)
    assert output["metrics"]["totalFiles"] == files


@pytest.mark.parametrize(
    "wrong", [{"language": "klingon"}, {"depth": 0}, {"depth": 6}, {"depth": "deep"}, {"path": ""}]
)
def test_wrong_inputs_are_named(case: Case, tree: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        analyze(case, **wrong)


def test_a_missing_path_does_not_exist_and_others_are_outside(case: Case, tree: Path, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="does not exist"):
        analyze(case, path="no/such")
    for path in ("/etc", str(tmp_path), ".."):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            analyze(case, path=path)


def test_dependencies_hidden_and_built_directories_are_skipped(case: Case, tree: Path) -> None:
    for name in (".git", ".venv", "vendor", "node_modules", "var", "__pycache__", "a/node_modules", "mine/.cache"):
        write(tree, {f"{name}/x.py": "import os\n"})
    write(tree, {"env/pyvenv.cfg": "", "env/x.py": "import os\n", "kept/x.py": "y = 1\n"})
    assert analyze(case)["metrics"]["totalFiles"] == 1


def test_a_root_with_a_hidden_name_is_analysed(case: Case) -> None:
    write(case.context().workspace / ".hidden", {"a.py": "x = 1\n"})
    assert analyze(case, path=".hidden")["metrics"]["totalFiles"] == 1


def test_one_file_can_be_analysed(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "import os\n", "b.py": "import os\n"})
    output = analyze(case, path="tree/a.py")
    assert output["metrics"]["totalFiles"] == 1
    assert output["issues"] == ["a.py:1: `os` imported but unused (ruff F401)"]


def test_symlinks_are_not_followed(case: Case, tree: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.py": "import os\n"})
    (tree / "directory").symlink_to(tmp_path / "outside")
    (tree / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (tree / "loop").symlink_to(tree)
    assert analyze(case)["metrics"]["totalFiles"] == 0


def test_other_executions_are_not_part_of_a_root_above_them(case: Case, tmp_path: Path, settings: Settings) -> None:
    settings.POIMEN_REPO_ROOTS = [tmp_path]
    other = Case(case.home, execution="other").context()
    write(other.workspace, {"theirs.py": "x = 1\n"})
    write(tmp_path, {"mine.py": "x = 1\n"})
    assert analyze(case, path=str(tmp_path))["metrics"]["totalFiles"] == 1


def test_files_that_are_no_code_in_spite_of_their_name_do_not_hurt(case: Case, tree: Path) -> None:
    (tree / "binary.py").write_bytes(b"\x00\x01" * 100)
    (tree / "latin.js").write_bytes("// caf\xe9\nlet x = 1;\n".encode("latin-1"))
    (tree / "large.c").write_text("int x;\n" * 200_000)
    (tree / "nested.js").write_text("(" * 50_000)
    os.mkfifo(tree / "pipe.py")
    output = analyze(case)
    assert output["metrics"]["totalFiles"] == 4
    assert output["metrics"]["filesNotRead"] == 2
    assert output["metrics"]["totalLines"] == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_that_cannot_be_read_is_said(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "x = 1\n"})
    (tree / "a.py").chmod(0)
    assert analyze(case)["metrics"]["filesNotRead"] == 1
    assert "a.py cannot be read" in case.said


def test_names_that_look_like_options_are_only_names(case: Case, tree: Path) -> None:
    write(tree, {"--config=x.py": "import os\n", "-h.py": "import os\n"})
    assert len(analyze(case)["issues"]) == 2


def test_the_repository_cannot_switch_the_linter_off_or_run_code_in_it(case: Case, tree: Path, tmp_path: Path) -> None:
    owned = f"open({str(tmp_path / 'owned')!r}, 'w')\n"
    write(tree, {"pyproject.toml": '[tool.ruff.lint.per-file-ignores]\n"*" = ["F401"]\n', "a.py": "import os\n"})
    write(tree, {"ruff.py": owned, "json.py": owned, "ruff/__init__.py": owned, "ruff/__main__.py": owned})
    assert "a.py:1: `os` imported but unused (ruff F401)" in analyze(case)["issues"]
    assert not (tmp_path / "owned").exists()


def test_many_issues_are_all_counted_and_a_thousand_listed(
    case: Case, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze_code, "MAX_ISSUES_LISTED", 3)
    write(tree, {"a.py": "".join(f"import m{n}\n" for n in range(5))})
    output = analyze(case)
    assert (len(output["issues"]), output["metrics"]["totalIssues"]) == (3, 5)


def test_a_linter_that_breaks_fails_the_activity(case: Case, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze_code, "RUFF_RULES", dict.fromkeys(range(1, 6), "NO-SUCH-RULE"))
    write(tree, {"a.py": "x = 1\n"})
    with pytest.raises(ActivityError, match="ruff broke off with exit code 2"):
        analyze(case)


def test_cancelling_stops_it(case: Case, tree: Path) -> None:
    write(tree, {"a.py": "x = 1\n"})
    case.cancelled.set()
    with pytest.raises(Canceled):
        analyze(case)


def test_a_huge_file_costs_no_more_than_its_first_part(case: Case, tree: Path) -> None:
    with (tree / "sparse.py").open("wb") as file:
        file.truncate(5 * 2**30)
    began = time.monotonic()
    assert analyze(case)["metrics"]["filesNotRead"] == 1
    assert time.monotonic() - began < 20
    assert code_files.MAX_FILE_BYTES == 2**20


def test_this_checkout_is_analysed_in_reasonable_time(case: Case, settings: Settings) -> None:
    settings.POIMEN_REPO_ROOTS = [installed.BASE_DIR]
    began = sum(os.times()[:4])  # seconds of the processor, its children's too: others may keep it busy
    output = analyze(case, path=str(installed.BASE_DIR))
    assert sum(os.times()[:4]) - began < 60
    assert output["metrics"]["tools"][:2] == ["lizard", "ruff"]
    assert output["metrics"]["totalFiles"] > 50
    assert output["metrics"]["filesNotMeasured"] <= 1  # the bundle of the canvas editor is no code to measure
