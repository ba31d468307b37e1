"""Which turns of a request the log has: what is new is stored once, whatever became of the history."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Message
from zibaldone.server.gateway.alignment import SessionLog, align, answer_messages
from zibaldone.server.gateway.turns import as_partial, wire_turns


class Conversation:
    """A session's log, and requests to it, written as "u:hello a:hi"."""

    def __init__(self):
        self.log = SessionLog()
        self.messages: list[Message] = []

    def add(self, messages):
        """Store messages as the log does: an id once."""
        for message in messages:
            if message.id not in {m.id for m in self.messages}:
                self.messages.append(replace_seq(message, len(self.messages) + 1))
        self.log.extend(self.messages)

    def request(self, history, answer=None, *, is_partial=False, **options):
        """Send a history and store what is new, and the answer if there is one; gives what was new."""
        aligned = align(self.log, turns(history), session="s", **options)
        self.add(aligned.new)
        if answer is not None:
            said = [as_partial(turn) if is_partial else turn for turn in turns(answer)]
            self.add(answer_messages(aligned.leaf, said, session="s"))
        return text(aligned.new)

    @property
    def stored(self):
        """All of it."""
        return text(self.messages)


def replace_seq(message, seq):
    """The message as it is stored."""
    return replace(message, seq=seq)


def turns(history):
    """The turns of "u:a a:b t:c"."""
    roles = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}
    made = []
    for place, said in enumerate(history.split()):
        role, content = said.split(":")
        shape = {"role": roles[role], "content": content}
        if role == "t":
            shape["tool_call_id"] = content.partition("-")[0]
        made += wire_turns(shape, place)
    return made


def text(messages):
    """Messages as "u:a a:b"."""
    return " ".join(f"{message.role[0]}:{message.content}" for message in messages)


@pytest.fixture
def talk():
    """A session that begins."""
    return Conversation()


# What happens, by name: histories with what is answered and what of them is new, then all that is stored. An
# empty answer is none.
TALKS = {
    "a growing history gives only what is new, and no system prompt": (
        ("s:rules u:one", "a:1", "u:one"),
        ("s:rules u:one a:1 u:two", "a:2", "u:two"),
        ("s:other u:one a:1 u:two a:2 u:three", "a:3", "u:three"),
        "u:one a:1 u:two a:2 u:three a:3",
    ),
    "the same words twice are two turns": (
        ("u:ok", "a:1", "u:ok"),
        ("u:ok a:1 u:ok", "a:1", "u:ok"),
        ("u:ok a:1 u:ok a:1 u:ok", "a:1", "u:ok"),
        "u:ok a:1 u:ok a:1 u:ok a:1",
    ),
    "a request sent again stores nothing, with an answer or without one": (
        ("u:one", "", "u:one"),
        ("u:one", "a:1", ""),
        ("u:one", "a:1", ""),
        ("u:one a:1 u:two", "", "u:two"),
        ("u:one a:1 u:two", "", ""),
        "u:one a:1 u:two",
    ),
    "an answer given anew is stored and its question is not; the talk goes on from either": (
        ("u:one", "a:1", "u:one"),
        ("u:one", "a:uno", ""),
        ("u:one a:uno u:two", "a:2", "u:two"),
        ("u:one a:1 u:zwei", "", "u:zwei"),
        "u:one a:1 a:uno u:two a:2 u:zwei",
    ),
    "a question put in other words is a branch, whose history is known": (
        ("u:one", "a:1", "u:one"),
        ("u:one a:1 u:tow", "a:what?", "u:tow"),
        ("u:one a:1 u:two", "a:2", "u:two"),
        ("u:one a:1 u:two a:2 u:three", "", "u:three"),
        "u:one a:1 u:tow a:what? u:two a:2 u:three",
    ),
    "the same words on another branch are new": (
        ("u:one", "a:1", "u:one"),
        ("u:one a:1 u:ok", "a:2", "u:ok"),
        ("u:ein", "a:eins", "u:ein"),
        ("u:ein a:eins u:ok", "a:zwei", "u:ok"),
        "u:one a:1 u:ok a:2 u:ein a:eins u:ok a:zwei",
    ),
    "a turn edited inside the history is stored; what comes after it is known": (
        ("u:one", "a:1", "u:one"),
        ("u:one a:1 u:two", "a:2", "u:two"),
        ("u:one a:1 u:zwei a:2 u:three", "", "u:zwei u:three"),
        ("u:one a:1 u:zwei a:2 u:three", "", ""),
        "u:one a:1 u:two a:2 u:zwei u:three",
    ),
    "without history each request is a turn, unless it was sent again before it was answered": (
        ("u:hello", "a:1", "u:hello"),
        ("u:ok", "a:2", "u:ok"),
        ("u:ok", "", "u:ok"),
        ("u:ok", "a:3", ""),
        "u:hello a:1 u:ok a:2 u:ok a:3",
    ),
    "without history the words that began a session may be said again in it": (
        ("u:hello", "a:1", "u:hello"),
        ("u:ok", "a:2", "u:ok"),
        ("u:hello", "", "u:hello"),
        ("u:hello", "a:3", ""),
        "u:hello a:1 u:ok a:2 u:hello a:3",
    ),
    "a client that keeps history after all: what came without it is known": (
        ("u:hello", "a:1", "u:hello"),
        ("u:ok", "a:2", "u:ok"),
        ("u:hello a:1 u:ok a:2 u:more", "a:3", "u:more"),
        "u:hello a:1 u:ok a:2 u:more a:3",
    ),
    "a summary in place of many turns is not stored": (
        ("u:0", "a:0", "u:0"),
        ("u:0 a:0 u:1", "a:1", "u:1"),
        ("u:0 a:0 u:1 a:1 u:2", "a:2", "u:2"),
        ("u:SUMMARY u:2 a:2 u:next", "a:3", "u:next"),
        ("u:SUMMARY u:2 a:2 u:next a:3 u:more", "", "u:more"),
        "u:0 a:0 u:1 a:1 u:2 a:2 u:next a:3 u:more",
    ),
    "an answer that was not stored comes with the next request": (
        ("u:one", "", "u:one"),
        ("u:one a:1 u:two", "a:2", "a:1 u:two"),
        "u:one a:1 u:two a:2",
    ),
    "results of tools are known by their calls, also shortened ones": (
        ("u:one", "a:call", "u:one"),
        ("u:one a:call t:c1-long t:c2-long", "", "t:c1-long t:c2-long"),
        ("u:one a:call t:c1-long t:c2-long", "a:done", ""),
        ("u:one a:call t:c1-cleared t:c2-long a:done u:two", "", "u:two"),
        "u:one a:call t:c1-long t:c2-long a:done u:two",
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_what_is_new_is_stored_once(talk, name):
    """Each request gives what is new of it, and the log has all of it in its order."""
    *requests, stored = TALKS[name]
    for history, answer, new in requests:
        assert talk.request(history, answer or None) == new
    assert talk.stored == stored


@pytest.mark.parametrize("kept", range(1, 8))
def test_a_client_that_drops_its_oldest_turns(talk, kept):
    """However many it keeps; also when the same short words come again and again."""
    history = []
    for number in range(10):
        history.append("u:ok" if number % 2 else f"u:{number}")
        window = history[-kept:]
        assert talk.request(" ".join(window), f"a:{number}") == history[-1]
        assert talk.request(" ".join(window)) in ("", history[-1] if kept == 1 else "")
        history.append(f"a:{number}")
    assert [part for part in talk.stored.split() if part.startswith("a")] == history[1::2]
    if kept > 1:
        assert talk.stored.split() == history


def test_a_client_that_says_that_it_tries_again(talk):
    """Nothing is new then, even where it could be."""
    talk.request("u:hello", "a:1")
    talk.request("u:ok", "a:2")
    assert talk.request("u:ok", is_retry=True) == ""


def test_a_turn_id_says_which_turn_it_is(talk):
    """The same id is the same turn, another id another one, whatever the words."""
    assert talk.request("u:ok", "a:1", turn_id="t1") == "u:ok"
    assert talk.request("u:ok", "a:1", turn_id="t1") == ""
    assert talk.request("u:ok", "a:2", turn_id="t2") == "u:ok"
    assert talk.request("u:ok a:1 u:ok a:2 u:three", turn_id="t3") == "u:three"
    assert talk.stored == "u:ok a:1 u:ok a:2 u:three"


def test_what_was_forgotten_does_not_come_back(talk):
    """A client that still has it in its history does not store it again."""
    talk.request("u:one", "a:1")
    talk.request("u:one a:1 u:secret", "a:hush")
    talk.request("u:one a:1 u:secret a:hush u:three", "a:3")
    talk.log = SessionLog()
    kept = [m for m in talk.messages if m.content not in ("secret", "hush")]
    talk.log.extend(kept)
    assert talk.request("u:one a:1 u:secret a:hush u:three a:3 u:four") == "u:four"


def test_an_answer_that_broke_off_is_known_in_any_length(talk):
    """The client may have seen less of it than was stored."""
    talk.request("u:one", "a:partial-answer", is_partial=True)
    assert talk.request("u:one a:partial u:two") == "u:two"


def test_a_conversation_that_memory_comes_to_late_is_stored_whole(talk):
    """Nobody knows when the earlier turns were."""
    assert talk.request("u:one a:1 u:ok a:2 u:ok", "a:3") == "u:one a:1 u:ok a:2 u:ok"
    assert [m.is_dated for m in talk.messages] == [False] * 4 + [True] * 2


def test_two_requests_at_once_store_their_turns_once(talk):
    """Each was aligned before the other was stored: the ids are the same."""
    talk.request("u:one", "a:1")
    both = [align(talk.log, turns("u:one a:1 u:two"), session="s") for _ in range(2)]
    other = align(talk.log, turns("u:one a:1 u:zwei"), session="s")
    for aligned in (*both, other):
        talk.add(aligned.new)
    assert talk.stored == "u:one a:1 u:two u:zwei"


def test_the_same_words_in_another_session_are_others():
    """Ids are of one session."""
    (one,) = align(SessionLog(), turns("u:ok"), session="s").new
    (other,) = align(SessionLog(), turns("u:ok"), session="t").new
    assert one.id != other.id


@given(st.lists(st.sampled_from(["ok", "yes", "no", "why"]), min_size=1, max_size=12), st.data())
def test_whatever_is_said_is_stored_once_in_its_order(texts, data):
    """Windows of two turns and more, each request sent once or twice, and words that come again."""
    talk = Conversation()
    history = []
    for number, said in enumerate(texts):
        history.append(f"u:{said}")
        kept = data.draw(st.integers(min_value=min(2, len(history)), max_value=len(history)))
        for _ in range(data.draw(st.integers(min_value=1, max_value=2))):
            talk.request(" ".join(history[-kept:]), f"a:{number}-{said}")
        history.append(f"a:{number}-{said}")
    assert talk.stored.split() == history
