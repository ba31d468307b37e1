"""The line that tells of a turn: which turns have one, and which of their words it is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from zibaldone.core import Message
from zibaldone.views.timeline.lines import MOST_WORDS, line_of, lines_of

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
REPLY = Message(
    "Here is a plan: stretch every morning, run three times a week, eat oats and join a running club.",
    role="assistant",
    time=NOON,
)
TOLD = {
    # the words are the user's, less how they are opened and closed
    "I'm trying to decide between a sales job in Porto and my studio in Lisbon, can you help me?": (
        "… decide between a sales job in Porto and my studio in Lisbon …"
    ),
    "Hi! I finished the first draft of my thesis on Tuesday. Thanks!": (
        "I finished the first draft of my thesis on Tuesday."
    ),
    "I had to decline a meeting with Stephen on March 14, do you think that was rude?": (
        "I had to decline a meeting with Stephen on March 14 …"
    ),
    "My mentor, Wendy, who's 80, taught me discipline": "My mentor, Wendy, who's 80, taught me discipline",
    "Can you explain what a Sturm-Liouville problem is?": "… what a Sturm-Liouville problem is?",
    "> where are you now\nI moved to Oslo with Bea": "I moved to Oslo with Bea",
    # what stands before or behind may take it back
    "In my dream, my brother lives in Toronto.": "… my brother lives in Toronto.",
    "If it rains, I take the car to work in Leipzig.": "… I take the car to work in Leipzig.",
    # code and captions are none of it
    'I wrote my first Rust program today:\n```rust\nfn main() { println!("hi"); }\n```': (
        "I wrote my first Rust program today"
    ),
    "I painted the lake at sunrise. [image: a painting of a lake]": "I painted the lake at sunrise.",
    # another language has its line, too
    "Ich habe gestern in Wien ein Klavier gekauft.": "Ich habe gestern in Wien ein Klavier gekauft.",
    "昨日、京都で友達に会いました。": "昨日、京都で友達に会いました。",
}
NOT_TOLD = (
    "Thanks, that sounds great!",
    "You are so kind, and you always cheer everybody up.",
    "Always include prices when I ask about restaurants.",
    "   ",
    "```\nprint(1)\n```",
    "ok",
)


@pytest.mark.parametrize(("content", "expected"), TOLD.items())
def test_the_words_of_a_line(content: str, expected: str) -> None:
    """Clauses of the message, word for word."""
    line = line_of(Message(content, time=NOON), ())
    assert line is not None
    assert line.text == expected
    assert content[line.start :].startswith(line.text.removeprefix("… ")[:12])


@pytest.mark.parametrize("content", NOT_TOLD)
def test_a_turn_that_tells_nothing(content: str) -> None:
    """Has no line."""
    assert line_of(Message(content, time=NOON), ()) is None


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "editor"])
def test_only_people_have_lines(role: str) -> None:
    """What an assistant or a tool says, and what an editor corrects, is nobody's doing."""
    assert line_of(Message("I moved to Lisbon in March 2024.", role=role, time=NOON), ()) is None


def test_a_long_turn_is_cut_to_what_says_most() -> None:
    """At most so many words; what is left out between two clauses is marked."""
    content = (
        "So I was thinking, you know, that it might be good, or maybe not, to tell you first, before all"
        " else, that I sold the boat to Pavel for 12,000 euros, which was hard, and that, well, in the end,"
        " all things considered, as one does, I signed up for the marathon in Valencia on 1 December 2024."
    )
    line = line_of(Message(content, time=NOON), ())
    assert line is not None
    assert "I sold the boat to Pavel for 12,000 euros" in line.text
    assert "I signed up for the marathon in Valencia on 1 December 2024." in line.text
    assert " … " in line.text
    assert len(line.text.replace("…", "").split()) <= MOST_WORDS


def test_one_endless_sentence_is_cut() -> None:
    """A clause longer than a line is cut at a word."""
    line = line_of(Message("I met Anna and " + "then somebody called Otto and " * 50, time=NOON), ())
    assert line is not None
    assert line.text.endswith(" …")
    assert len(line.text.split()) == MOST_WORDS + 1


def test_a_reply_that_only_agrees_goes_on_with_the_episode() -> None:
    """It has no line, whatever it repeats of the answer."""
    before = (Message("How do I get fit for the summer?", time=NOON), REPLY)
    agrees = "Yeah, that sounds good. I'll stretch every morning and join a running club."
    assert line_of(Message(agrees, time=NOON), before) is None


def test_a_step_within_an_episode_has_a_line() -> None:
    """Somebody did or decided something that was not heard yet."""
    before = (Message("How do I get fit for the summer?", time=NOON), REPLY)
    step = "Sounds good. I've signed up at the pool in Graz for Thursdays."
    line = line_of(Message(step, time=NOON), before)
    assert line is not None
    assert line.text == "I've signed up at the pool in Graz for Thursdays."


def test_another_question_on_the_same_words_waits_for_a_pause() -> None:
    """What was just said is not told twice; after a pause it is told again."""
    first = Message("I'm training for the Valencia marathon in December.", time=NOON)
    again = "The Valencia marathon is in December, and I'm training."
    assert line_of(Message(again, time=NOON + timedelta(minutes=5)), (first,)) is None
    assert line_of(Message(again, time=NOON + timedelta(hours=2)), (first,)) is not None


def test_sessions_do_not_hear_each_other() -> None:
    """The same words in two sessions are two lines."""
    twice = [Message("I sold my boat to Pavel.", session=session, time=NOON) for session in ("1", "2", "1")]
    assert [message.session for message, _ in lines_of(twice)] == ["1", "2"]
