"""Prompts: the built-in text or the newest edited one, rendered strictly, in a sandbox, within bounds."""

import time
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import llm
from agents.demo_llm.server import DemoServer
from agents.models import Exchange, PromptVersion
from agents.prompts import rendering, sandbox
from agents.prompts.samples import SAMPLES
from agents.prompts.sandbox import PromptError

SYSTEM = "router/system.j2"
REQUEST = "router/request.j2"


def request(**more: Any) -> dict[str, Any]:
    activity = {"name": "EchoActivity", "description": "Says", "category": "a", "timeout": "1m", "flaky": False}
    return {"message": "scan it", "context": None, "skills": [], "lessons": [], "activities": [activity], **more}


@pytest.mark.django_db
def test_every_built_in_prompt_is_a_template() -> None:
    assert {SYSTEM, REQUEST} <= set(rendering.builtin_names())
    for name in rendering.builtin_names():
        rendering.check(name, rendering.builtin(name))
    assert set(SAMPLES) == set(rendering.builtin_names())
    assert rendering.render(SYSTEM).number == 0


@pytest.mark.django_db
def test_what_is_given_stands_in_the_text_and_is_no_template() -> None:
    lesson = {"level": "L1", "text": "{{ 7 * 7 }} {% raw %}"}
    text = rendering.render(REQUEST, **request(message="{{ activities }}", lessons=[lesson])).text
    assert "{{ activities }}" in text
    assert "- [L1] {{ 7 * 7 }} {% raw %}" in text
    assert "- EchoActivity: Says (a, 1m, steady)" in text
    assert "skills" not in text


@pytest.mark.django_db
def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(PromptError, match="'message' is undefined"):
        rendering.render(REQUEST, **{k: v for k, v in request().items() if k != "message"})
    with pytest.raises(
        PromptError, match=r"there is no prompt called 'router/other.j2'; there are .*router/request.j2"
    ):
        rendering.render("router/other.j2")


@pytest.mark.django_db
def test_what_a_prompt_may_be_given_and_may_not_is_tried_before_it_is_stored() -> None:
    with pytest.raises(PromptError, match="None"):
        rendering.edit(REQUEST, "{{ context + message }}", author=None)  # good only where there is a context
    rendering.edit(REQUEST, "{{ message }}{% if context %}{{ context + message }}{% endif %}", author=None)


@pytest.mark.django_db
def test_an_edit_takes_effect_at_once_and_can_be_taken_back() -> None:
    author = User.objects.create_user("ada")
    builtin = rendering.render(SYSTEM).text
    first = rendering.edit(SYSTEM, "Do {{ 1 + 1 }} things", author=author, note="shorter")
    second = rendering.edit(SYSTEM, "Do nothing", author=author)
    assert (rendering.render(SYSTEM).text, rendering.render(SYSTEM).number) == ("Do nothing", 2)
    assert rendering.go_back(first, author=author).number == 3
    shown = rendering.render(SYSTEM)
    assert (shown.text, shown.version) == ("Do 2 things", str(PromptVersion.objects.get(number=3).pk))
    rendering.use_builtin(SYSTEM, author=author)
    assert rendering.render(SYSTEM).text == builtin
    assert list(PromptVersion.objects.order_by("number").values_list("number", "author__username", "note")) == [
        (1, "ada", "shorter"), (2, "ada", ""), (3, "ada", "as version 1"), (4, "ada", "as built in"),
    ]  # fmt: skip
    assert second.created_at is not None


@pytest.mark.django_db
def test_the_version_that_was_used_is_on_record(model: DemoServer) -> None:
    version = rendering.edit(SYSTEM, "Be brief", author=None)
    prompt = rendering.render(SYSTEM)
    context = llm.CallContext(prompt_name=prompt.name, prompt_version=prompt.version)
    asked = [{"role": "user", "content": "hello"}]
    llm.complete_now(llm.ChatRequest("reasoning", asked, system=prompt.text, context=context))
    row = Exchange.objects.get()
    assert (row.prompt_name, row.prompt_version) == (SYSTEM, version)


@pytest.mark.parametrize(
    "source, words",
    [
        ("a\n{% if %}", "line 2"),
        ("{{ a", "line 1"),
        ("{% include 'x' %}", "include cannot be used"),
        ("a\n{{ 'a' ~ 'b' }}", "line 2: ~ cannot be used"),
        ("{{ 1 | lipsum }}", "lipsum"),
        ("x" * 20_001, "longer than 20,000"),
        ("{{ 'a'*10**9 }}", "a repetition is too long"),
        ("{{ nobody_gives_this }}", "'nobody_gives_this' is undefined"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "longer than 2 s"),
    ],
)
@pytest.mark.django_db
def test_what_is_no_prompt_is_not_stored(source: str, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        rendering.edit(SYSTEM, source, author=None)
    assert not PromptVersion.objects.exists()


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ 'a' * 10000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 10 ** 1000000 }}",
        "{{ 'a'.center(1000000000) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{% for a in range(100000) %}{{ 'xxxxxxxxxx' }}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% if a %}{% endif %}{% endfor %}{% endfor %}",
        "{% set a = range(99999)|list %}{{ a|join('xxxxxxxxxxxxx')|length }}",
        "{% set x = 'aaaaaaaaaa'.replace('a', 'a' * 40000) %}{% set y = x.replace('a', x) %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ namespace(x=1) }}",
        "{% for a in range(2) %}" * 25 + "{% endfor %}" * 25,
        "{% if 1 %}" * 150 + "{% endif %}" * 150,
        "{{ [1]|dictsort }}",
        "{{ 'a'|truncate(1, leeway='x') }}",
    ],
)
def test_what_would_break_out_or_grow_without_bound_is_stopped(source: str) -> None:
    began = time.monotonic()
    with pytest.raises(PromptError):
        sandbox.render(source, {})
    assert time.monotonic() - began < 15
