"""Which turns of a request the log has: what is new is stored once, whatever became of the history."""

import time

import httpx2
import pytest
from upstream import Reply

from zibaldone import Memory

ROLES = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}


def turn(said):
    """A message of a request, of "u:hello"."""
    role, content = said.split(":")
    linked = {"tool_call_id": content.partition("-")[0]} if role == "t" else {}
    return {"role": ROLES[role], "content": content, **linked}


@pytest.fixture
def request_(gateway, upstream, logged):
    """Sends a history, which is answered so or refused; gives what is new in the log, as "u:hello a:hi"."""
    with httpx2.Client(base_url=gateway) as client:

        def stored():
            return " ".join(f"{message.role[0]}:{message.content}" for message in logged())

        def request_(history, answer="", **reply):
            before = stored()
            said = answer.partition(":")[2]
            upstream.replies(Reply(said, **reply) if answer else Reply(status=500, error={}))
            memory = {"user": "ann", "session": "s", "enable_retrieval": False}
            body = {"model": "fake", "messages": list(map(turn, history.split())), "memory": memory}
            if not reply:
                client.post("/v1/chat/completions", json=body)
            else:  # it breaks off, for the client as well
                with pytest.raises(httpx2.RemoteProtocolError):
                    client.post("/v1/chat/completions", json={**body, "stream": True})
                while "a:" not in stored().removeprefix(before):
                    time.sleep(0.02)
            now = stored()
            assert now.startswith(before)
            return now.removeprefix(before).strip()

        yield request_


# What happens, by name: histories with their answers, and what of both is new. An empty answer is none.
TALKS = {
    "a growing history gives only what is new, and no system prompt": (
        ("s:rules u:one", "a:1", "u:one a:1"),
        ("s:rules u:one a:1 u:two", "a:2", "u:two a:2"),
        ("s:other u:one a:1 u:two a:2 u:three", "a:3", "u:three a:3"),
    ),
    "the same words twice are two turns": (
        ("u:ok", "a:1", "u:ok a:1"),
        ("u:ok a:1 u:ok", "a:1", "u:ok a:1"),
        ("u:ok a:1 u:ok a:1 u:ok", "a:1", "u:ok a:1"),
    ),
    "a request sent again stores nothing, with an answer or without one": (
        ("u:one", "", "u:one"),
        ("u:one", "a:1", "a:1"),
        ("u:one", "a:1", ""),
        ("u:one a:1 u:two", "", "u:two"),
        ("u:one a:1 u:two", "", ""),
    ),
    "an answer given anew is stored and its question is not; the talk goes on from either": (
        ("u:one", "a:1", "u:one a:1"),
        ("u:one", "a:uno", "a:uno"),
        ("u:one a:uno u:two", "a:2", "u:two a:2"),
        ("u:one a:1 u:zwei", "", "u:zwei"),
    ),
    "a question put in other words is a branch, whose history is known": (
        ("u:one", "a:1", "u:one a:1"),
        ("u:one a:1 u:tow", "a:what?", "u:tow a:what?"),
        ("u:one a:1 u:two", "a:2", "u:two a:2"),
        ("u:one a:1 u:two a:2 u:three", "", "u:three"),
    ),
    "the same words on another branch are new": (
        ("u:one", "a:1", "u:one a:1"),
        ("u:one a:1 u:ok", "a:2", "u:ok a:2"),
        ("u:ein", "a:eins", "u:ein a:eins"),
        ("u:ein a:eins u:ok", "a:zwei", "u:ok a:zwei"),
    ),
    "a turn edited inside the history is stored; what comes after it is known": (
        ("u:one", "a:1", "u:one a:1"),
        ("u:one a:1 u:two", "a:2", "u:two a:2"),
        ("u:one a:1 u:zwei a:2 u:three", "", "u:zwei u:three"),
        ("u:one a:1 u:zwei a:2 u:three", "", ""),
    ),
    "without history each request is a turn, unless it was sent again before it was answered": (
        ("u:hello", "a:1", "u:hello a:1"),
        ("u:ok", "a:2", "u:ok a:2"),
        ("u:ok", "", "u:ok"),
        ("u:ok", "a:3", "a:3"),
    ),
    "without history the words that began a session may be said again in it": (
        ("u:hello", "a:1", "u:hello a:1"),
        ("u:ok", "a:2", "u:ok a:2"),
        ("u:hello", "", "u:hello"),
        ("u:hello", "a:3", "a:3"),
    ),
    "a client that keeps history after all: what came without it is known": (
        ("u:hello", "a:1", "u:hello a:1"),
        ("u:ok", "a:2", "u:ok a:2"),
        ("u:hello a:1 u:ok a:2 u:more", "a:3", "u:more a:3"),
    ),
    "a summary in place of many turns is not stored": (
        ("u:0", "a:0", "u:0 a:0"),
        ("u:0 a:0 u:1", "a:1", "u:1 a:1"),
        ("u:0 a:0 u:1 a:1 u:2", "a:2", "u:2 a:2"),
        ("u:SUMMARY u:2 a:2 u:next", "a:3", "u:next a:3"),
        ("u:SUMMARY u:2 a:2 u:next a:3 u:more", "", "u:more"),
    ),
    "an answer that was not stored comes with the next request": (
        ("u:one", "", "u:one"),
        ("u:one a:1 u:two", "a:2", "a:1 u:two a:2"),
    ),
    "results of tools are known by their calls, also shortened ones": (
        ("u:one", "a:call", "u:one a:call"),
        ("u:one a:call t:c1-long t:c2-long", "", "t:c1-long t:c2-long"),
        ("u:one a:call t:c1-long t:c2-long", "a:done", "a:done"),
        ("u:one a:call t:c1-cleared t:c2-long a:done u:two", "", "u:two"),
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_what_is_new_is_stored_once(request_, name):
    """Each request, and its answer, after what the log has already."""
    for history, answer, new in TALKS[name]:
        assert request_(history, answer) == new


@pytest.mark.parametrize("kept", [1, 2, 3, 6])
def test_a_client_that_drops_its_oldest_turns(request_, kept):
    """However many it keeps; also when the same short words come again and again."""
    history = []
    for number in range(7):
        history.append("u:ok" if number % 2 else f"u:{number}")
        window = " ".join(history[-kept:])
        assert request_(window, f"a:{number}") == f"{history[-1]} a:{number}"
        history.append(f"a:{number}")


def test_what_was_forgotten_does_not_come_back(request_, memory_path, logged):
    """A client that still has it in its history does not store it again."""
    request_("u:one", "a:1")
    request_("u:one a:1 u:secret", "a:hush")
    request_("u:one a:1 u:secret a:hush u:three", "a:3")
    with Memory(memory_path) as memory:
        memory.forget(user="ann", seqs=[3, 4])
    assert [m.content for m in logged()] == ["one", "1", "three", "3"]
    assert request_("u:one a:1 u:secret a:hush u:three a:3 u:four") == "u:four"


def test_an_answer_that_broke_off_is_known_in_any_length(request_):
    """The client may have seen less of it than was stored."""
    assert request_("u:one", "a:partial-answer", break_after=3) == "u:one a:partial-an"
    assert request_("u:one a:part u:two") == "u:two"


def test_a_conversation_that_memory_comes_to_late_is_stored_whole(request_, logged):
    """Nobody knows when the earlier turns were."""
    assert request_("u:one a:1 u:ok a:2 u:ok", "a:3") == "u:one a:1 u:ok a:2 u:ok a:3"
    assert [message.is_dated for message in logged()] == [False] * 4 + [True] * 2
