"""JSONata gives plain JSON, and whatever it is given, an answer within its bounds."""

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.errors import ExpressionError
from workflows.spec import limits
from workflows.spec.expressions import compile_expression
from workflows.spec.sandbox import sandbox

SCOPE: dict[str, Any] = {
    "Clone": {"output": {"n": 3, "path": "/x", "files": [{"name": "a", "size": 1}, {"name": "b", "size": 200}]}},
    "a-b": {"output": {"ok": True}},
    "vars": {"i": 2, "none": None, "big": 2**53 + 1, "empty": []},
}


def evaluate(text: str, scope: dict[str, Any] = SCOPE) -> Any:
    return compile_expression(text).evaluate(scope)


@pytest.mark.parametrize(
    "text,expected",
    [
        ("Clone.output.n > 2", True),
        ("Clone.output.n > 2 and vars.i = 2", True),
        ("vars.i + 1", 3),
        ("vars.i / 4", 0.5),
        ("4 / 2", 2),
        ("vars.big", 2**53 + 1),
        ("Clone.output.files.name", ["a", "b"]),
        ("Clone.output.files[size > 100].name", "b"),
        ("Clone.output.files[0]", {"name": "a", "size": 1}),
        ("Clone.output.files[-1].name", "b"),
        ("$count(Clone.output.files)", 2),
        ("$sum(Clone.output.files.size)", 201),
        ("$join(Clone.output.files.name, ', ')", "a, b"),
        ("Clone.output.path & '/' & vars.i", "/x/2"),
        ("`a-b`.output.ok ? 'yes' : 'no'", "yes"),
        ('{"i": vars.i, "l": [1, vars.i]}', {"i": 2, "l": [1, 2]}),
        ("'a' in Clone.output.files.name", True),
        ("nothing.at.all", None),
        ("vars.none", None),
        ("[]", []),
        ("vars.empty", []),
        ("$exists(Later.output)", False),
        ("Later.output ?? 'none'", "none"),
        ("'\\u00fc'", "ü"),
    ],
)
def test_what_is_cheap_is_evaluated_at_once(text: str, expected: Any) -> None:
    assert compile_expression(text).runs_in_process
    result = evaluate(text)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    "text,expected",
    [
        ("$map(Clone.output.files, function($f) { $f.name & '!' })", ["a!", "b!"]),
        ("Clone.output.files{name: size}", {"a": 1, "b": 200}),
        ("[1..4]", [1, 2, 3, 4]),
        ("$replace('abc', /b/, 'x')", "axc"),
        ("Clone.output.files^(>size).name", ["b", "a"]),
        ("($x := vars.i; $x * $x)", 4),
        ("$split('a,b', ',')", ["a", "b"]),
        ("$filter(Clone.output.files, function($f) { $f.size > 5 }).name", "b"),
        ("$merge([{'a': 1}, {'b': null}])", {"a": 1, "b": None}),
        ("Clone ~> |output|{'n': 4}|", {"output": {**SCOPE["Clone"]["output"], "n": 4}}),
        ("$fact := 1", 1),
    ],
)
def test_what_could_run_away_is_evaluated_in_the_sandbox(text: str, expected: Any) -> None:
    assert not compile_expression(text).runs_in_process
    assert evaluate(text) == expected


def test_evaluation_never_changes_what_it_reads() -> None:
    scope = {"x": {"list": [], "lists": [[]]}, "y": {"a": [1, {"b": None}]}}
    for text in (
        "x.list{'a': 1}",
        "x.lists.{'a': 1}",
        "y.a",
        "[y.a, null]",
        "$append(y.a, null)",
        "y ~> |a[1]|{'c': 1}|",
    ):
        evaluate(text, scope)
    assert scope == {"x": {"list": [], "lists": [[]]}, "y": {"a": [1, {"b": None}]}}


FOREVER = "($f := function($x) { $f($x) }; $f(1))"
HOSTILE = {
    "endless tail recursion": FOREVER,
    "endless recursion": "($f := function($x) { 1 + $f($x) }; $f(1))",
    "exponential regex": "$match('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', /(a+)+$/)",
    "exponential regex in replace": "$replace('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', /^(a|a)*$/, '')",
    "ten million numbers": "[1..10000000]",
    "a thousand times a thousand": "$map([1..100000], function($x) { [1..1000] })",
    "a gigabyte of padding": "$pad('', 1000000000)",
    "text that doubles": "($a := 'xxxxxxxxxx'; " + "$a := $a & $a; " * 60 + "$length($a))",
    "lists that double": "[1,1]" + ".[$,$]" * 40,
    "text that doubles step by step": "('x')" + ".($ & $)" * 60,
    "escapes that double": "$string([" * 40 + "'\"'" + "])" * 40,
    "loops in loops": "$map([1..999], function($x) { $map([1..999], function($y) { $map([1..999], $x) }) })",
    "expression in an expression": "$eval('($f := function($x) { $f($x) }; $f(1))')",
    "a large power": "$power(10, 400)",
    "a deep default": "(" * 60 + "a" + " ?? b)" * 60,
    "a deep nest": "(" * 3000 + "1" + ")" * 3000,
    "a regex that takes long to compile": "/" + "[\\x00-\\U0010ffff]" * 300 + "/i",
    "a large result": "$map([1..1000], function($x) { $pad('', 100000) })",
    "sorting by everything": "[1..3000]^($sum([1..3000]))",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_could_run_away_never_runs_in_this_process(name: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert not compile_expression(HOSTILE[name]).runs_in_process


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_an_expression_tries_it_ends_in_time_and_the_next_one_works(name: str) -> None:
    evaluate("[1..2]")  # the sandbox is warm, as it is in a worker
    started = time.monotonic()
    with pytest.raises(ExpressionError) as caught:
        evaluate(HOSTILE[name], {"a": {"b": [[1, 2], {"c": {"d": [3]}}] * 200}})
    assert time.monotonic() - started < limits.EXPRESSION_SECONDS + 1.5
    assert len(caught.value.message) < 400
    assert caught.value.name == "ExpressionError"
    assert not caught.value.retryable
    assert evaluate("[1..2]") == [1, 2]


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("Clone.output.", "Unexpected end of expression (at position 13)"),
        ("(1", "Expected ) before end of expression (at position 2)"),
        ("a b", "Syntax error: b (at position 3)"),
        ("a ! b", "cannot be read"),
        ("/* never closed", "cannot be read"),
        ("/[z-a]/", "regular expression is wrong"),
        ("x" * 10_001, "at most 10000 are allowed"),
    ],
)
def test_what_does_not_parse_says_where(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text)
    assert sentence in caught.value.message


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("1 / 0", "divides by zero"),
        ("Clone.output.path + 1", "must evaluate to a number"),
        ("$sum", "is a function, not a value"),
        ("function($x) { $x }", "is a function, not a value"),
        ("$error('no such repository')", "no such repository"),
        ("$number('1e999')", "out of range"),
        ("'\\u0000'", "cannot be stored"),
        ("'\\ud800'", "cannot be stored"),
        ("$unknown(1)", "non-function"),
    ],
)
def test_what_fails_says_why(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text)
    assert sentence in caught.value.message
    assert text[:20] in caught.value.message


def test_time_is_bounded_on_a_large_document_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXPRESSION_SECONDS", 0.05)
    expression = compile_expression("rows[n > 5 and n < 1000000].n")
    assert expression.runs_in_process
    with pytest.raises(ExpressionError, match=r"takes longer than 0\.05 s"):
        expression.evaluate({"rows": [{"n": n} for n in range(100_000)]})


def test_the_size_of_a_result_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXPRESSION_RESULT_BYTES", 1000)
    for text in ("rows.n", "$map(rows, function($r) { $r.n })"):
        with pytest.raises(ExpressionError, match="larger than 1000 bytes"):
            evaluate(text, {"rows": [{"n": n} for n in range(1000)]})


def test_thirty_two_threads_get_their_own_results() -> None:
    cheap = compile_expression("$now() != '' ? $$.vars.i * 2 + $sum(vars.list) : 0")
    costly = compile_expression("$sum($map(vars.list, function($x) { $x * $$.vars.i }))")
    assert cheap.runs_in_process
    assert not costly.runs_in_process

    def work(number: int) -> bool:
        scope = {"vars": {"i": number, "list": list(range(number))}}
        total = sum(range(number))
        return all(
            cheap.evaluate(scope) == number * 2 + total and costly.evaluate(scope) == total * number for _ in range(20)
        )

    with ThreadPoolExecutor(32) as threads:
        assert all(threads.map(work, range(1, 33)))
    assert len(sandbox.pids()) <= 4


def hang() -> None:
    with pytest.raises(ExpressionError):
        evaluate(FOREVER)


def test_a_thread_that_hangs_in_the_sandbox_holds_up_no_other() -> None:
    hanging = threading.Thread(target=hang)
    hanging.start()
    try:
        for _ in range(20):
            assert evaluate("[1..2]") == [1, 2]
        assert hanging.is_alive()
    finally:
        hanging.join()


def test_a_sandbox_that_was_killed_is_replaced() -> None:
    evaluate("[1..2]")
    for pid in sandbox.pids():
        process = psutil.Process(pid)
        process.kill()
        process.wait()
    assert evaluate("[1..2]") == [1, 2]


def test_a_forked_process_has_a_sandbox_of_its_own_even_if_all_are_taken() -> None:
    """Without, it would wait for ever for children that only its parent can give back."""
    taken = [threading.Thread(target=hang) for _ in range(8)]
    for thread in taken:
        thread.start()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0 if evaluate("[1..3]") == [1, 2, 3] else 1)
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > started + 20:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    assert ended[1] == 0
    for thread in taken:
        thread.join()
    assert evaluate("[1..2]") == [1, 2]


def test_the_time_is_that_of_the_evaluation() -> None:
    clock = compile_expression("$millis()")
    compile_expression("$millis() + 1")
    for _ in range(3):
        time.sleep(0.01)
        before = time.time() * 1000
        assert before - 1 <= clock.evaluate({}) <= time.time() * 1000 + 1


@pytest.mark.parametrize("text", ["[1..2]", FOREVER, HOSTILE["exponential regex"]])
def test_the_sandbox_ends_with_its_parent(text: str) -> None:
    program = (
        "import sys, threading, time, os\n"
        "from workflows.spec.expressions import compile_expression as c\n"
        "from workflows.spec import sandbox\n"
        "c('[1..2]').evaluate({})\n"
        "print(sandbox.sandbox.pids()[0], flush=True)\n"
        f"threading.Thread(target=lambda: c({text!r}).evaluate({{}}), daemon=True).start()\n"
        "time.sleep(0.1)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    pid = int(parent.stdout)
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the sandbox outlived its parent"
        time.sleep(0.02)


def test_the_sandbox_sees_nothing_of_its_parent() -> None:
    evaluate("[1..2]")
    process = psutil.Process(sandbox.pids()[0])
    assert process.environ() == {}
    assert process.cwd() == "/"
    assert process.rlimit(psutil.RLIMIT_AS)[0] < 1 << 30
    assert process.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)


def test_an_expression_tells_what_it_reads() -> None:
    expression = compile_expression(
        "$map(A.output.x, function($v) { $v.y + vars.i })[z > `b-c`.output.q] & $$.D.error.name"
    )
    assert expression.paths == (("A", "output", "x"), ("vars", "i"), ("D", "error", "name"))
    assert expression.roots == {"A", "vars", "D"}


@pytest.mark.parametrize(
    "text",
    [
        "$lookup($$, 'A').output",
        "$lookup('A').output",
        "$eval('A.output')",
        "$keys().A",
        "($all := $; $all.A)",
        "*[A]",
        "$map([1], function($i) { $.A })",
        "$string(A)[$ = $$]",
    ],
)
def test_an_expression_that_takes_the_document_as_a_whole_gets_every_root_it_names(text: str) -> None:
    assert "A" in compile_expression(text).roots


def test_importing_the_library_leaves_the_recursion_limit_alone() -> None:
    program = (
        "import sys; limit = sys.getrecursionlimit(); "
        "import workflows.spec.expressions; print(limit == sys.getrecursionlimit())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "True"


PIECES = st.sampled_from(
    [
        *("a", "b", "Clone.output", "vars.i", "`q`", "$", "$$", "$x", "*", "**", "%", "true", "null", "1", "2.5"),
        *(".", "..", "[", "]", "(", ")", "{", "}", "?", ":", ";", ",", "+", "-", "/", "=", "!=", "<", "<=", "&", "|"),
        *("and", "or", "in", "~>", "^", ":=", "@$x", "#$i", "??", "?:", "!", "~", "\\", "/*", "*/", "/x/", "/(x)/i"),
        *("'text'", '"t"', "$sum(", "$map(", "function($y){ $y }", "λ($z){"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_any_text_evaluates_to_plain_json_or_fails_with_an_expression_error(text: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(ExpressionError):
        check_plain(evaluate(text))
    assert time.monotonic() - started < limits.EXPRESSION_SECONDS + 1.5


def check_plain(value: Any) -> None:
    assert value is None or type(value) in (bool, int, float, str, list, dict)
    if isinstance(value, float):
        assert math.isfinite(value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_plain(part)
