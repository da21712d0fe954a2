"""Whoever follows an execution sees every line once and in order, what becomes of it, and its end."""

import httpx
import pytest

from workflows.tests.live.house import House, Web, closing, frames, said, say

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
        assert closing(socket)[0] == 1000


def test_lines_have_the_keys_of_rest(house: House, web: Web) -> None:
    execution = house.execution()
    with house.database() as connection:
        say(connection, execution, "with fields", fields={"size": 3, "token": "s3cr3t-value"})
    with web.follow(execution) as socket:
        frame = frames(socket, until="with fields")[-1]
    *_, line = web.rest(f"/executions/{execution}/logs").json()["logs"]
    assert frame == {"type": "log", **line}
    assert "s3cr3t-value" not in str(frame)


def test_a_line_that_is_committed_late_comes_in_its_place(house: House, web: Web) -> None:
    execution = house.execution()
    with web.follow(execution) as follower, house.database() as early, house.database() as late:
        frames(follower, kind="state")
        with early.transaction():
            say(early, execution, "early, committed late")
            say(late, execution, "late, committed early")
            with web.follow(execution) as newcomer:
                # Both must wait: what was begun earlier may still say something.
                with pytest.raises(AssertionError, match="not within"):
                    frames(follower, until="late, committed early", within=2)
                found = said(frames(newcomer, kind="state"))
                assert "late, committed early" not in found
        assert said(frames(follower, until="late, committed early")) == [
            "early, committed late",
            "late, committed early",
        ]


def test_an_end_waits_for_lines_that_were_begun_before_it(house: House, web: Web) -> None:
    execution = house.execution()
    with web.follow(execution) as follower, house.database() as slow:
        frames(follower, kind="state")
        with slow.transaction():
            say(slow, execution, "begun before the end")
            house.finish(execution)
            with pytest.raises(AssertionError, match="not within"):
                frames(follower, kind="end", within=2.5)
        assert said(frames(follower, kind="end")) == ["begun before the end"]


def test_levels_and_nodes_are_chosen_but_states_are_always_told(house: House, web: Web) -> None:
    execution = house.execution()
    house.say(execution, "chatter", level="debug")
    house.say(execution, "A started", node="A", event="state.started")
    house.say(execution, "careful", level="warn", node="A")
    house.say(execution, "elsewhere", level="error", node="B")
    house.finish(execution)
    with web.follow(execution, level="warn", node="A") as socket:
        found = frames(socket, kind="end")
    assert said(found) == ["careful"]
    assert ("A", "started") in [(frame["nodeId"], frame["status"]) for frame in found if frame["type"] == "state"]
    with web.follow(execution, level="debug") as socket:
        assert "chatter" in said(frames(socket, kind="end"))
    with web.follow(execution) as socket:
        assert "chatter" not in said(frames(socket, kind="end"))


def test_progress_has_its_percent(house: House, web: Web) -> None:
    execution = house.execution()
    with web.follow(execution) as socket, house.database() as connection:
        frames(socket, kind="state")
        say(connection, execution, "half", event="activity.progress", fields={"percent": 50})
        frame = frames(socket, until="half")[-1]
    assert (frame["type"], frame["percent"], frame["nodeId"]) == ("progress", 50, "Hold")


def test_a_burst_is_paged_and_may_come_in_arrays(house: House, web: Web) -> None:
    execution = house.execution()
    with web.follow(execution) as one_by_one, web.follow(execution, batch="1") as in_arrays:
        frames(one_by_one, kind="state")
        messages = [f"line {number}" for number in range(3_000)]
        house.say(execution, *messages)
        house.finish(execution)
        assert said(frames(one_by_one, kind="end")) == messages
        assert said(frames(in_arrays, kind="end")) == messages


def test_every_cursor_is_a_place_to_go_on_from_in_any_web_process(house: House, web: Web) -> None:
    execution = house.execution()
    house.say(execution, "A started", node="A", event="state.started")
    house.say(execution, "in A", node="A")
    with house.database() as connection, connection.transaction():
        say(connection, execution, "together", "with another")
    house.finish(execution)
    with web.follow(execution) as socket:
        whole = frames(socket, kind="end")
    with house.web() as other:
        for number, frame in enumerate(whole[:-1]):
            with other.follow(execution, after=frame["cursor"]) as socket:
                rest = frames(socket, kind="end")
            assert said(rest) == said(whole[number + 1 :]), f"after {frame}"
            missing = [one for one in whole[number + 1 :] if one["type"] == "state" and one["nodeId"]]
            assert all(one in rest for one in missing)


def test_what_is_asked_of_an_execution_is_told_at_once(house: House, web: Web) -> None:
    execution = house.execution()
    with web.follow(execution) as socket:
        frames(socket, kind="state")
        answer = httpx.post(
            f"{web.url}/executions/{execution}/cancel", headers={"Authorization": f"Bearer {web.tokens['eve']}"}
        )
        assert answer.status_code == 202
        last = frames(socket, kind="end", within=3)
    assert last[-1]["status"] == "cancelled"


def test_a_log_can_be_downloaded_as_text(house: House, web: Web) -> None:
    execution = house.execution()
    with house.database() as connection, connection.transaction():
        say(connection, execution, *(f"line {number}" for number in range(4_500)))
        say(connection, execution, "with fields", level="error", fields={"size": 3, "token": "s3cr3t-value"})
    answer = web.rest(f"/executions/{execution}/logs?format=text")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    lines = answer.text.splitlines()
    assert [line.partition("Hold: ")[2] for line in lines[-4_501:-1]] == [f"line {number}" for number in range(4_500)]
    assert lines[-1].partition("Z ")[2] == 'error Hold: with fields {"size":3,"token":"***"}'
    assert len(web.rest(f"/executions/{execution}/logs?format=text&level=error").text.splitlines()) == 1
    assert web.rest(f"/executions/{execution}/logs?format=text", person="bob").status_code == 404
