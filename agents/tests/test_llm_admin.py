"""The admin of language models: who sees which exchanges, who writes prices and budgets, how prompts are edited."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents import llm
from agents.demo_llm.server import DemoServer
from agents.models import Budget, Exchange, Price, PromptVersion
from agents.prompts import rendering
from workflows.models import Role
from workflows.tests.people import customer, member

pytestmark = pytest.mark.django_db

LISTS = [
    f"/admin/agents/{name}/" for name in ("exchange", "price", "budget", "promptversion", "usagetally", "modeltrait")
]


def signed_in(role: Role, slug: str = "acme") -> Client:
    client = Client()
    client.force_login(member(customer(slug), role, is_staff=True))
    return client


def root() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def asked(text: str = "hello", slug: str = "acme") -> Exchange:
    context = llm.CallContext(customer=str(customer(slug).pk), state="Ask")
    request = llm.ChatRequest("reasoning", [{"role": "user", "content": text}], context=context)
    return Exchange.objects.get(pk=llm.complete_now(request).exchange)


@pytest.mark.parametrize("path", LISTS)
def test_every_list_opens_for_superusers(model: DemoServer, path: str) -> None:
    asked()
    rendering.edit("router/system.j2", "Be brief", author=None)
    Budget.objects.create(hard_limit=1)
    Price.objects.create(model="reasoning", kind="prompt", amount=1, effective_from=datetime.now(UTC))
    response = root().get(path)
    assert response.status_code == 200
    assert Client().get(path).status_code == 302


@pytest.mark.parametrize("path", LISTS)
def test_every_add_page_opens_or_is_refused(path: str) -> None:
    is_written = path.split("/")[3] in ("price", "budget", "promptversion")
    assert root().get(f"{path}add/").status_code == (200 if is_written else 403)
    assert signed_in(Role.ADMIN).get(f"{path}add/").status_code == 403


def test_exchanges_are_those_of_ones_customer_and_read_only(model: DemoServer) -> None:
    mine, other = asked("about mine"), asked("about others", "other")
    viewer = signed_in(Role.VIEWER)
    page = viewer.get(f"/admin/agents/exchange/{mine.pk}/change/").content.decode()
    assert "about mine" in page
    listed = viewer.get("/admin/agents/exchange/").content.decode()
    assert str(mine.pk) in listed
    assert str(other.pk) not in listed
    assert viewer.get(f"/admin/agents/exchange/{other.pk}/change/").status_code == 302  # there is none for them
    everything = root()
    assert everything.post(f"/admin/agents/exchange/{mine.pk}/change/", {"alias": "x"}).status_code == 403
    assert everything.post(f"/admin/agents/exchange/{mine.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_budget_shows_what_is_spent_of_it(model: DemoServer) -> None:
    now = datetime.now(UTC)
    for kind in ("prompt", "completion"):
        Price.objects.create(model="reasoning", kind=kind, amount=Decimal(1000), effective_from=now)
    row = asked()
    Budget.objects.create(customer=customer(), hard_limit=1)
    Budget.objects.create(hard_limit=1000)
    listed = signed_in(Role.VIEWER).get("/admin/agents/budget/").content.decode()
    assert row.cost is not None
    assert f"{row.cost.normalize():f} USD" in listed
    assert listed.count("USD") < 8, "the budget of everybody is not theirs to see"


def test_a_budget_is_written_by_superusers(model: DemoServer) -> None:
    form = {"period": "month", "unit": "USD", "soft_limit": "5", "hard_limit": "1", "is_active": "on"}
    response = root().post("/admin/agents/budget/add/", form)
    assert response.status_code == 200
    assert "The soft limit warns first: it is at most the hard limit" in response.content.decode()
    client = Client()
    client.force_login(User.objects.get(username="root"))
    for limits, words in (({"soft_limit": "", "hard_limit": ""}, "or both"), ({"soft_limit": "-1"}, "0 or more")):
        page = client.post("/admin/agents/budget/add/", form | limits).content.decode()
        assert (words in page, "is violated" in page) == (True, False)
    assert client.post("/admin/agents/budget/add/", form | {"hard_limit": "10"}).status_code == 302
    assert Budget.objects.get().hard_limit == 10
    assert signed_in(Role.ADMIN).post("/admin/agents/budget/add/", form).status_code == 403


def test_saving_a_prompt_makes_a_version_and_earlier_ones_come_back() -> None:
    client = root()
    page = client.get("/admin/agents/promptversion/add/?name=router/system.j2").content.decode()
    assert "CloneRepoActivity comes first" in page
    form: dict[str, Any] = {"name": "router/system.j2", "note": "shorter"}
    wrong = client.post("/admin/agents/promptversion/add/", {**form, "source": "{% if %}"})
    assert wrong.status_code == 200
    assert "line 1" in wrong.content.decode()
    endless = client.post("/admin/agents/promptversion/add/", {**form, "source": "{{ 'a'*10**9 }}"})
    assert (endless.status_code, "a repetition is too long" in endless.content.decode()) == (200, True)
    for source in ("first text", "second text"):
        assert client.post("/admin/agents/promptversion/add/", {**form, "source": source}).status_code == 302
    first, second = PromptVersion.objects.order_by("number")
    assert (first.number, second.number, second.author and second.author.username) == (1, 2, "root")
    shown = client.get(f"/admin/agents/promptversion/{first.pk}/change/").content.decode()
    assert "first text" in shown
    assert f"add/?from={first.pk}" in shown
    assert "first text" in client.get(f"/admin/agents/promptversion/add/?from={first.pk}").content.decode()
    again = {"action": "use_again", "_selected_action": [str(first.pk)]}
    client.post("/admin/agents/promptversion/", again)
    assert rendering.render("router/system.j2").text == "first text"
    client.post("/admin/agents/promptversion/", {"action": "use_builtin", "_selected_action": [str(first.pk)]})
    assert "CloneRepoActivity comes first" in rendering.render("router/system.j2").text
    assert client.get("/admin/agents/promptversion/add/?from=nonsense").status_code == 200


def test_an_earlier_text_that_cannot_be_rendered_does_not_come_back() -> None:
    old = PromptVersion.objects.create(name="router/system.j2", number=1, source="{{ 'a'*10**9 }}")
    again = {"action": "use_again", "_selected_action": [str(old.pk)]}
    answer = root().post("/admin/agents/promptversion/", again, follow=True)
    assert "This text cannot be used any more: the prompt cannot be rendered" in answer.content.decode()
    assert PromptVersion.objects.count() == 1
