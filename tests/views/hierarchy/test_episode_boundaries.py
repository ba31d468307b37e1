"""Where the open messages of a session are cut into episodes."""

import random
from dataclasses import replace
from datetime import timedelta

from hierarchy_talk import START, talk, vectors_of
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
NOUNS = ("tomato", "garden", "basil", "train", "ticket", "platform", "violin", "harp", "snow", "skis")
WORDS = ("tomato", "garden", "basil", "train", "ticket", "platform", "what?", "anyway,", "thanks", "7")


def sizes(messages, *, ended=True):
    return [cut.size for cut in closed(messages, vectors_of(messages), ended=ended)]


def blocks(messages, batches):
    """The seqs of the blocks, with the messages fed in batches of these sizes."""
    episodes, found, start = OpenEpisodes(), [], 0
    for size in [*batches, len(messages)]:
        some = messages[start : start + size]
        for message, vector in zip(some, vectors_of(some), strict=True):
            found += episodes.feed(message, vector, closed)
        start += size
    open_ = {session: [one.seq for one in some] for session, some in episodes.pending.items()}
    return [[one.seq for one in block.messages] for block in found], open_


def test_a_change_of_subject_is_a_boundary():
    """Two matters, six messages each, are two episodes."""
    assert sizes(talk(*GARDEN, *TRAIN)) == [6, 6]


def test_a_pause_is_always_a_boundary():
    """Thirty-one minutes part even what is about one thing; thirty do not."""
    apart, together = talk(*GARDEN), talk(*GARDEN)
    for place, message in enumerate(apart):
        apart[place] = replace(message, time=START + timedelta(minutes=31 * (place >= 2)))
        together[place] = replace(message, time=START + timedelta(minutes=30 * (place >= 2)))
    assert closed(apart, vectors_of(apart), ended=True)[0] == Cut(2)
    assert sizes(together) == [6]


def chatter(seed, n):
    """So many messages of a few words each, by chance."""
    chance = random.Random(seed)
    return talk(*[f"Ann: {' '.join(chance.choices(NOUNS, k=4))}" for _ in range(n)])


def test_a_question_stays_with_its_answer():
    """Where an episode would end, a question mark keeps the next message in, if the dip is small."""
    ends, kept = 0, 0
    for seed in range(40):
        messages = chatter(seed, 14)
        end = sizes(messages)[0]
        if end < len(messages):
            ends += 1
            last = messages[end - 1]
            messages[end - 1] = replace(last, content=f"{last.content}?")
            kept += sizes(messages)[0] != end
    assert ends > 20
    assert kept > ends / 4


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
