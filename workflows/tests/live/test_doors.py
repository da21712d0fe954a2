"""Who may open a socket, from where, and what the others are told."""

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.typing import Subprotocol

from workflows.tests.live.house import House, Web, closing, frames

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("live")]

NOBODYS = "01936f1e-6b0c-7cc1-a5a0-6d3f3f0d6a11"


def refusal(socket: ClientConnection) -> tuple[int, str]:
    """The code with which the socket is closed, and what the frame before says."""
    with socket:
        code, last = closing(socket)
    assert last["type"] == "error"
    assert last["code"] == code
    return last["code"], last["message"]


@pytest.fixture(scope="module")
def execution(house: House) -> str:
    return house.execution()


def test_nobody_comes_in_without_a_name(web: Web, execution: str) -> None:
    assert refusal(web.follow(execution, person=None))[0] == 4401
    forged = {"headers": {"Authorization": "Bearer e30.e30.e30"}}
    assert refusal(web.follow(execution, person=None, options=forged)) == (
        4401,
        "The token is not signed with HS256",
    )


@pytest.mark.parametrize("id", [NOBODYS, "none-such", "x" * 5000])
def test_what_is_not_there_is_not_found(web: Web, id: str) -> None:
    assert refusal(web.follow(id)) == (4404, "Execution not found")


def test_what_is_anothers_is_not_found_either(web: Web, execution: str) -> None:
    assert refusal(web.follow(execution, person="bob")) == (4404, "Execution not found")


@pytest.mark.parametrize(
    "query, names",
    [({"after": "nowhere"}, "after"), ({"level": "loud"}, "level"), ({"batch": "yes"}, "batch"), ({"x": "1"}, "x")],
)
def test_a_wrong_parameter_is_named(web: Web, execution: str, query: dict[str, str], names: str) -> None:
    code, message = refusal(web.follow(execution, **query))
    assert code == 4400
    assert message.startswith(f"{names}:")


def test_a_browser_sends_its_token_as_a_subprotocol(web: Web, execution: str) -> None:
    offered = [Subprotocol("poimen"), Subprotocol(f"bearer.{web.tokens['ann']}")]
    page = {"subprotocols": offered, "origin": "https://elsewhere.example"}
    with web.follow(execution, person=None, options=page) as socket:
        assert socket.subprotocol == "poimen"
        assert frames(socket, kind="state")
    page["subprotocols"] = offered[1:]
    with web.follow(execution, person=None, options=page) as socket:
        assert socket.subprotocol == offered[1]
        assert frames(socket, kind="state")


def signed_in(web: Web) -> str:
    """The cookie of Ann's session."""
    with httpx.Client(base_url=web.url) as client:
        client.get("/admin/login/")
        form = {
            "username": "ann", "password": "correct horse battery", "next": "/health/live",
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
        }  # fmt: skip
        client.post("/admin/login/", data=form)
        return f"sessionid={client.cookies['sessionid']}"


def test_our_own_pages_come_in_with_their_cookie_and_no_others(web: Web, execution: str) -> None:
    cookie = {"headers": {"Cookie": signed_in(web)}}
    with web.follow(execution, person=None, options={**cookie, "origin": web.url}) as socket:
        assert frames(socket, kind="state")
    foreign = {**cookie, "origin": "https://elsewhere.example"}
    assert refusal(web.follow(execution, person=None, options=foreign))[0] == 4401


def test_pages_of_other_origins_stay_outside(house: House, execution: str) -> None:
    with house.web(POIMEN_CORS_ORIGINS="https://friend.example") as web:
        for origin in ("https://elsewhere.example", "null", f"http://127.0.0.1:{web.port + 1}"):
            with pytest.raises(InvalidStatus) as refused:
                web.follow(execution, options={"origin": origin})
            assert refused.value.response.status_code == 403, origin
        for welcome in ("https://friend.example", web.url, None):
            with web.follow(execution, options={"origin": welcome}) as socket:
                assert frames(socket, kind="state")
        with pytest.raises(InvalidStatus) as refused:
            web.follow(execution, options={"headers": {"Host": "evil.example"}, "origin": "http://evil.example"})
        assert refused.value.response.status_code in (400, 403)


def test_other_addresses_take_no_sockets(web: Web, execution: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        web.follow(f"{execution}/more/and")
    assert refused.value.response.status_code == 403


def test_a_client_that_talks_and_talks_is_shown_out(web: Web, execution: str) -> None:
    with web.follow(execution) as socket:
        for _ in range(200):
            socket.send("hello?")
        assert closing(socket)[0] == 4429
    with web.follow(execution) as socket:
        socket.send("x" * 100_000)
        assert closing(socket)[0] is None, "it is cut off"
    assert web.answers()
