"""Where the open messages of a session are cut into episodes."""

from dataclasses import replace
from datetime import timedelta

from hierarchy_talk import START, talk
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone import Message
from zibaldone.views.hierarchy.episodes import LONGEST, SHORTEST, Cut, OpenEpisodes, closed

GARDEN = (
    "Ann: My garden grows tomatoes and basil this year.",
    "Bob: Which tomatoes grow best in your garden?",
    "Ann: The cherry tomatoes grow best, the basil needs sun.",
    "Bob: Basil and tomatoes need sun and water in any garden.",
    "Ann: I water the garden and the tomatoes every evening.",
    "Bob: Tomatoes with basil from the garden taste of sun.",
)
TRAIN = (
    "Ann: The train to Vienna leaves from platform nine.",
    "Bob: The night train to Vienna has a sleeping carriage.",
    "Ann: A ticket for the sleeping carriage of the train costs sixty.",
    "Bob: I bought a train ticket to Vienna at the platform.",
    "Ann: The train carriage to Vienna was full at the platform.",
    "Bob: Buy the ticket for the night train early.",
)
WORDS = ("tomato", "garden", "basil", "train", "ticket", "platform", "what?", "anyway,", "thanks", "7")


def sizes(messages, *, ended=True):
    return [cut.size for cut in closed(messages, ended=ended)]


def blocks(messages, batches):
    """The seqs of the blocks, with the messages fed in batches of these sizes."""
    episodes, found, start = OpenEpisodes(), [], 0
    for size in [*batches, len(messages)]:
        some = messages[start : start + size]
        for message in some:
            found += episodes.feed(message, closed)
        start += size
    open_ = {session: [one.seq for one in some] for session, some in episodes.pending.items()}
    return [[one.seq for one in block.messages] for block in found], open_


def test_what_is_too_long_is_halved():
    """Up to fifteen messages without a pause are one episode; more are two of about the same size."""
    lines = (*GARDEN, *TRAIN, *GARDEN)
    assert sizes(talk(*lines[:15])) == [15]
    assert sizes(talk(*lines[:17])) == [9, 8]
    assert sizes(talk(*lines), ended=False) == [9]


def test_a_pause_is_always_a_boundary():
    """Thirty-one minutes part even what is about one thing; thirty do not."""
    apart, together = talk(*GARDEN), talk(*GARDEN)
    for place, message in enumerate(apart):
        apart[place] = replace(message, time=START + timedelta(minutes=31 * (place >= 2)))
        together[place] = replace(message, time=START + timedelta(minutes=30 * (place >= 2)))
    assert closed(apart, ended=True)[0] == Cut(2)
    assert sizes(together) == [6]


def test_another_session_s_later_message_ends_an_open_episode():
    """Half an hour later in the log, wherever, nothing more can come without a pause."""
    old = talk(*GARDEN)
    new = [replace(message, session="2", seq=message.seq + 6) for message in talk(*TRAIN[:3])]
    late = [replace(message, time=message.time + timedelta(minutes=60)) for message in new]
    assert blocks([*old, *new], [])[0] == []
    assert blocks([*old, *late], []) == ([[1, 2, 3, 4, 5, 6]], {"2": [7, 8, 9]})


said = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
streams = st.lists(
    st.tuples(said, st.sampled_from(["1", "2"]), st.sampled_from([0, 1, 1, 1, 40])), min_size=1, max_size=70
)


@settings(max_examples=60, deadline=None)
@given(streams, st.lists(st.integers(1, 25), max_size=12))
def test_boundaries_do_not_depend_on_batches(lines, batches):
    """One by one, in any batches or all at once: the same blocks, and the same left open."""
    time, messages = START, []
    for place, (content, session, minutes) in enumerate(lines):
        time += timedelta(minutes=minutes)
        messages.append(Message(content, name="Ann", time=time, session=session, seq=place + 1))
    once = blocks(messages, [])
    assert blocks(messages, [1] * len(messages)) == once
    assert blocks(messages, batches) == once


@settings(max_examples=40, deadline=None)
@given(st.lists(said, min_size=1, max_size=60))
def test_every_message_is_in_exactly_one_block(contents):
    """Blocks follow each other without gaps, and are short only where nothing else was left."""
    messages = talk(*[f"Ann: {content}" for content in contents])
    found = sizes(messages)
    assert sum(found) == len(messages)
    assert all(SHORTEST <= size <= LONGEST for size in found[:-1])
