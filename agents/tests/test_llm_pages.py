"""The pages about exchanges: beside the attempt of a run, and each on its own; for members of its customer only."""

import re

import pytest
from django.test import Client

from agents.demo_llm.server import DemoServer
from agents.models import Exchange
from workflows.models import Role, StateRun
from workflows.tests.people import customer, member
from workflows.tests.pumping import Engine, task


def visitor(engine: Engine) -> Client:
    client = Client()
    client.force_login(member(engine.customer, Role.VIEWER))
    return client


def test_an_attempt_leads_to_what_it_asked_a_model(engine: Engine, model: DemoServer) -> None:
    engine.pump()
    asking = task("LLMInferenceActivity", model="reasoning", user_prompt="the password: hunter2 and <b>markup</b>")
    ended = engine.run({"name": "ask", "states": [asking]})
    client = visitor(engine)
    row, run = Exchange.objects.get(), StateRun.objects.get(execution=ended.pk)
    whole = client.get(f"/ui/executions/{ended.pk}").content.decode()
    assert f"1 model call, {row.prompt_tokens + row.completion_tokens} tokens, 1 without a price" in whole
    fragment = client.get(f"/ui/executions/{ended.pk}/runs/{run.pk}").content.decode()
    (address,) = re.findall(r'href="(/ui/exchanges/[^"]+)"', fragment)
    page = client.get(address).content.decode()
    assert "reasoning" in page
    assert "no price" in page
    assert "understands nothing" in page
    assert "hunter2" not in page
    assert "<b>markup" not in page
    assert f'href="/ui/executions/{ended.pk}"' in page


@pytest.mark.django_db
def test_an_exchange_of_another_customer_is_not_found(model: DemoServer) -> None:
    from agents import llm

    context = llm.CallContext(customer=str(customer("other").pk))
    asked = llm.complete_now(llm.ChatRequest("reasoning", [{"role": "user", "content": "hello"}], context=context))
    client = Client()
    client.force_login(member(customer(), Role.VIEWER))
    for address in (asked.exchange, "x", "018f0000-0000-7000-8000-000000000001"):
        assert client.get(f"/ui/exchanges/{address}").status_code == 404
