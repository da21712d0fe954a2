"""Whoever follows an execution sees every line once and in order, what becomes of it, and its end."""

import pytest
from websockets.exceptions import ConnectionClosed

from workflows.tests.live.house import House, Web, frames, said, say

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("live")]


def test_a_log_is_replayed_followed_and_ends(house: House, web: Web) -> None:
    execution = house.execution()
    house.say(execution, "one", "two")
    with web.follow(execution) as socket:
        replayed = frames(socket, until="two")
        assert said(replayed)[-2:] == ["one", "two"]
        assert (replayed[0]["type"], replayed[0]["nodeId"], replayed[0]["status"]) == ("state", "", "pending")
        house.say(execution, "three")
        assert said(frames(socket, until="three")) == ["three"]
        house.say(execution, "four")
        house.finish(execution)
        last = frames(socket, kind="end")
        assert said(last) == ["four"]
        assert [frame["type"] for frame in last] == ["log", "state", "end"]
        assert last[-1]["status"] == "success"
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000


def test_lines_have_the_keys_of_rest(house: House, web: Web) -> None:
    execution = house.execution()
    with house.database() as connection:
        say(connection, execution, "with fields", fields={"size": 3, "token": "s3cr3t-value"})
    with web.follow(execution) as socket:
        frame = frames(socket, until="with fields")[-1]
    (line,) = [
        one for one in web.rest(f"/executions/{execution}/logs").json()["logs"] if one["message"] == "with fields"
    ]
    assert frame == {"type": "log", **line}
    assert "s3cr3t-value" not in str(frame)
