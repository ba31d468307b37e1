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


def test_a_growing_history_gives_only_what_is_new(talk):
    """The system prompt is never among it."""
    assert talk.request("s:rules u:one", "a:1") == "u:one"
    assert talk.request("s:rules u:one a:1 u:two", "a:2") == "u:two"
    assert talk.request("s:other u:one a:1 u:two a:2 u:three", "a:3") == "u:three"
    assert talk.stored == "u:one a:1 u:two a:2 u:three a:3"


def test_the_same_words_twice_are_two_turns(talk):
    """What is new is told by what stands before it."""
    talk.request("u:ok", "a:1")
    talk.request("u:ok a:1 u:ok", "a:1")
    talk.request("u:ok a:1 u:ok a:1 u:ok", "a:1")
    assert talk.stored == "u:ok a:1 u:ok a:1 u:ok a:1"


def test_a_request_sent_again_stores_nothing(talk):
    """With an answer or without one."""
    talk.request("u:one")
    assert talk.request("u:one", "a:1") == ""
    assert talk.request("u:one", "a:1") == ""
    talk.request("u:one a:1 u:two")
    assert talk.request("u:one a:1 u:two") == ""
    assert talk.stored == "u:one a:1 u:two"


def test_an_answer_given_anew_is_stored_and_its_question_is_not(talk):
    """And the conversation goes on from either."""
    talk.request("u:one", "a:1")
    assert talk.request("u:one", "a:uno") == ""
    assert talk.request("u:one a:uno u:two", "a:2") == "u:two"
    assert talk.request("u:one a:1 u:zwei") == "u:zwei"
    assert talk.stored == "u:one a:1 a:uno u:two a:2 u:zwei"


def test_a_question_put_in_other_words_is_a_branch(talk):
    """The history of the branch that was taken is known."""
    talk.request("u:one", "a:1")
    talk.request("u:one a:1 u:tow", "a:what?")
    assert talk.request("u:one a:1 u:two", "a:2") == "u:two"
    assert talk.request("u:one a:1 u:two a:2 u:three") == "u:three"


def test_the_same_words_on_another_branch_are_new(talk):
    """They follow something else."""
    talk.request("u:one", "a:1")
    talk.request("u:one a:1 u:ok", "a:2")
    talk.request("u:ein", "a:eins")
    assert talk.request("u:ein a:eins u:ok", "a:zwei") == "u:ok"


def test_a_turn_edited_inside_the_history_is_stored(talk):
    """It takes the place of one other turn; what comes after it is known."""
    talk.request("u:one", "a:1")
    talk.request("u:one a:1 u:two", "a:2")
    assert talk.request("u:one a:1 u:zwei a:2 u:three") == "u:zwei u:three"
    assert talk.request("u:one a:1 u:zwei a:2 u:three") == ""


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


def test_a_client_without_history(talk):
    """Each request is a turn of its own, the same words too; one sent again before it was answered is not."""
    talk.request("u:hello", "a:1")
    assert talk.request("u:ok", "a:2") == "u:ok"
    assert talk.request("u:ok") == "u:ok"
    assert talk.request("u:ok", "a:3") == ""
    assert talk.stored == "u:hello a:1 u:ok a:2 u:ok a:3"


def test_a_client_without_history_that_begins_again(talk):
    """The words that began the session may be said again in it."""
    talk.request("u:hello", "a:1")
    talk.request("u:ok", "a:2")
    assert talk.request("u:hello") == "u:hello"
    assert talk.request("u:hello", "a:3") == ""
    assert talk.stored == "u:hello a:1 u:ok a:2 u:hello a:3"


def test_a_client_that_keeps_history_after_all(talk):
    """What came without it is known in it."""
    talk.request("u:hello", "a:1")
    talk.request("u:ok", "a:2")
    assert talk.request("u:hello a:1 u:ok a:2 u:more", "a:3") == "u:more"


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


def test_a_summary_in_place_of_many_turns_is_not_stored(talk):
    """The log has the words themselves; what comes after it is known."""
    history = ""
    for number in range(5):
        history += f" u:{number}"
        talk.request(history, f"a:{number}")
        history += f" a:{number}"
    assert talk.request("u:SUMMARY u:4 a:4 u:next", "a:5") == "u:next"
    assert talk.request("u:SUMMARY u:4 a:4 u:next a:5 u:more") == "u:more"


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


def test_an_answer_that_was_not_stored_comes_with_the_next_request(talk):
    """Writing it failed; the history has it."""
    talk.request("u:one")
    assert talk.request("u:one a:1 u:two", "a:2") == "a:1 u:two"
    assert talk.stored == "u:one a:1 u:two a:2"


def test_results_of_tools_are_turns(talk):
    """Each is known by its call; a client that shortens old results stores nothing anew."""
    assert talk.request("u:one", "a:call") == "u:one"
    assert talk.request("u:one a:call t:c1-long t:c2-long") == "t:c1-long t:c2-long"
    assert talk.request("u:one a:call t:c1-long t:c2-long", "a:done") == ""
    assert talk.request("u:one a:call t:c1-cleared t:c2-long a:done u:two") == "u:two"


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
