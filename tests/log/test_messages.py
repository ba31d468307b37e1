"""messages, get, update and versions: the log as a caller lists, looks up and corrects it."""

import json
from uuid import UUID

import pytest

from memories import with_filter
from zibaldone import Filter, InvalidInput, Message

UUID_ID = UUID("12345678-1234-5678-1234-567812345678")
TALK = [
    {"content": "I live in Paris.", "session": "a", "time": "2024-01-01T09:00", "id": "first"},
    {"content": "Paris is lovely.", "session": "a", "role": "assistant", "time": "2024-01-01T09:01"},
    {"content": "I play chess.", "session": "b", "time": "2024-02-01", "metadata": {"n": 1, "app": "x"}},
    {
        "content": "I play the lute.",
        "session": "b",
        "time": "2024-03-01",
        "metadata": {"n": 2},
        "id": UUID_ID,
    },
    {"content": "Chess is old.", "session": "b", "role": "assistant", "time": "2024-03-01T01:00", "id": 77},
]


def fill(memory):
    """Two sessions of ann's; something of bea's."""
    memory.add(TALK, user="ann")
    memory.add([{"content": "Bea lives in Bern.", "id": "bea"}], user="bea")
    return memory


@pytest.fixture
def filled(memory):
    """A memory that a test may change."""
    return fill(memory)


@pytest.fixture(scope="module")
def unchanged(shared_memory):
    """The same for tests that change nothing."""
    return fill(shared_memory)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"after": 2, "limit": 2}, [3, 4]),
        ({"last": 2}, [4, 5]),
        ({"before": 4, "last": 2}, [2, 3]),
        ({"after": 1, "before": 5, "limit": 2}, [2, 3]),
        ({"last": 0}, []),
        ({"last": 9, "after": 3}, [4, 5]),
        ({"session": "b", "last": 2}, [4, 5]),
        ({"roles": ["user"], "last": 2}, [3, 4]),
        ({"roles": ["user"], "limit": 2}, [1, 3]),
        ({"roles": []}, []),
        ({"since": "2024-02-01", "until": "2024-03-01T01:00"}, [3, 4]),
        ({"metadata": {"n": {"$gte": 1}}, "limit": 1}, [3]),
        ({"metadata": {"n": {"$gte": 1}}, "last": 1}, [4]),
        ({"metadata": {"n": 1}}, [3]),
        ({"metadata": {"app": {"$exists": False}}, "last": 2}, [4, 5]),
        ({"agent": "anything"}, []),
    ],
    ids=str,
)
def test_listing(unchanged, options, expected):
    """Narrowed, paged, or the newest; always in the order of the log."""
    assert [message.seq for message in unchanged.messages(user="ann", **with_filter(**options))] == expected


def test_limit_and_last_exclude_each_other(unchanged):
    """Which of the two is meant nobody can say."""
    with pytest.raises(InvalidInput, match="limit= or last=, not both"):
        unchanged.messages(user="ann", limit=1, last=1)


@pytest.mark.parametrize(
    ("which", "seq"),
    [(1, 1), ("first", 1), (UUID_ID, 4), (str(UUID_ID), 4), ("77", 5), (6, 0), ("nothing", 0), ("bea", 0)],
)
def test_get_by_seq_and_by_id(unchanged, which, seq):
    """A number is a seq; a string or a UUID is an id. What is not there, or another user's, is None."""
    found = unchanged.get(which, user="ann")
    assert (found.seq if found else 0) == seq


@pytest.mark.parametrize("which", [0, -1, "", None, True, 1.5, b"first"])
def test_get_of_what_names_no_message(unchanged, which):
    """A typed error says what does."""
    with pytest.raises(InvalidInput):
        unchanged.get(which, user="ann")


@pytest.mark.parametrize("user", [7, UUID_ID])
def test_users_sessions_and_agents_may_be_numbers_and_uuids(memory, user):
    """They are the same as their text, for every call."""
    memory.add(Message("I keep bees.", session="1"), user=user, agent=5)
    memory.add("I keep bees in Bern.", user=str(user), session=user)
    assert memory.users() == [str(user)]
    assert [m.session for m in memory.messages(user=user)] == ["1", str(user)]
    assert [m.seq for m in memory.messages(user=user, filter=Filter(session=user))] == [2]
    recalled = memory.recall("Who keeps bees?", user=user, filter=Filter(agent="5"), min_confidence=0)
    assert recalled.evidence[0].sources == (1,)
    assert memory.forget(user=user, session=user).messages == 1


def test_an_agent_is_noted_and_narrows(memory):
    """In the metadata, under "agent"; a message's own wins."""
    memory.add(
        ["The tulip is red.", {"content": "The tulip is blue.", "metadata": {"agent": "b"}}],
        user="u",
        agent="a",
    )
    memory.add("The tulip is green.", user="u")
    assert [m.metadata.get("agent") for m in memory.messages(user="u")] == ["a", "b", None]
    assert [m.seq for m in memory.messages(user="u", filter=Filter(agent="b"))] == [2]
    assert {e.sources for e in memory.search("tulip", user="u", filter=Filter(agent="a"))} == {(1,)}
    memory.maintain()
    recalled = memory.recall("Which tulip?", user="u", filter=Filter(agent="a"), min_confidence=0)
    assert {e.sources for e in recalled.evidence} == {(1,)}
    both = {"agent": "a", "metadata": {"agent": {"$exists": True}}}
    assert [m.seq for m in memory.messages(user="u", filter=Filter(**both))] == [1]


def texts(recalled):
    """Of evidence."""
    return [unit.text for unit in recalled]


def contents_of(messages):
    """Their contents."""
    return [message.content for message in messages]


def ask(memory, question="Where do I live?", **options):
    """A recall that holds back nothing."""
    return memory.recall(question, user="ann", min_confidence=0, **with_filter(**options))


@pytest.mark.parametrize("maintained", [False, True])
def test_a_correction_takes_the_place_of_what_it_corrects(filled, maintained):
    """At once and after a maintenance: in recall, search and the profile, as said by who is corrected."""
    filled.maintain()
    corrected = filled.update("first", "I live in Lyon.", user="ann")
    if maintained:
        filled.maintain()
    recalled = ask(filled)
    assert "I live in Lyon." in texts(recalled.evidence)
    assert "Paris is lovely." in texts(recalled.evidence)
    assert "I live in Paris" not in recalled.text
    assert "user: I live in Lyon." in recalled.text
    assert f"Message 1 was dropped: message {corrected.seq} corrects it; " in recalled.why_not(1)
    found = filled.search("I live in Paris", user="ann")
    assert "I live in Paris." not in texts(found)
    assert "I live in Lyon." in texts(found)
    assert "Lyon" in filled.user("ann").profile.text()
    assert "Paris" not in filled.user("ann").profile.text()


def test_what_a_correction_is(filled):
    """A message of the role editor, with session and metadata of what it corrects; the log keeps both."""
    stored = filled.update(3, "I play go.", user="ann", metadata={"app": "y"})
    assert (stored.role, stored.voice, stored.speaker, stored.session) == ("editor", "user", "user", "b")
    assert (stored.metadata["n"], stored.metadata["app"], stored.corrects) == (1, "y", (3,))
    assert filled.get(3, user="ann").content == "I play chess."
    again = filled.update(stored.seq, "I play shogi.", user="ann")
    third = filled.update(3, "I play Go.", user="ann")
    assert [m.seq for m in filled.user("ann").versions(stored.id)] == [3, stored.seq, again.seq, third.seq]
    assert contents_of(filled.user("ann").versions(3))[-1] == "I play Go."
    recalled = ask(filled, "What do I play?")
    assert "I play Go." in texts(recalled.evidence)
    assert not {"I play chess.", "I play go.", "I play shogi."} & set(texts(recalled.evidence))


def test_of_two_corrections_at_once_the_later_one_holds(filled):
    """Though neither knows of the other."""
    for content in ("I live in Lyon.", "I live in Nice."):
        metadata = {"corrects": {"seqs": [1], "role": "user"}}
        filled.add(Message(content, role="editor", session="a", metadata=metadata), user="ann")
    recalled = ask(filled)
    assert "Nice" in recalled.text
    assert "Lyon" not in recalled.text
    assert contents_of(filled.user("ann").versions(1))[-1] == "I live in Nice."


def test_a_correction_is_read_like_what_it_corrects(filled):
    """A later change ends the corrected sentence, and a correction of a change is what holds now."""
    corrected = filled.update(1, "I live in Lyon.", user="ann")
    (moved,) = filled.add({"content": "I moved to Romm.", "session": "c"}, user="ann")
    filled.maintain()
    (unit,) = [unit for unit in ask(filled).evidence if unit.text == "I live in Lyon."]
    assert unit.outdated is not None
    assert unit.outdated.by == moved.seq
    assert unit.sources == (corrected.seq,)
    filled.update(moved.seq, "I moved to Rome.", user="ann")
    recalled = ask(filled)
    assert "I moved to Rome." in texts(recalled.evidence)
    assert "Romm" not in recalled.text


def test_a_correction_is_found_by_the_role_of_who_is_corrected(filled):
    """It is one of the user's messages; narrowed to the time before, the old words stand."""
    stored = filled.update(1, "I live in Lyon.", user="ann")
    assert filled.messages(user="ann", filter=Filter(roles=[])) == []
    assert stored.seq in [m.seq for m in filled.messages(user="ann", filter=Filter(roles=["user"]))]
    assert stored.seq in [m.seq for m in filled.messages(user="ann", filter=Filter(roles=["editor"]))]
    assert stored.seq not in [m.seq for m in filled.messages(user="ann", filter=Filter(roles=["assistant"]))]
    assert "I live in Lyon." in texts(ask(filled, roles=["user"]).evidence)
    assert "I live in Paris." in texts(ask(filled, until=stored.time).evidence)


def test_of_a_long_message_the_passage_comes_that_was_meant(filled):
    """Not the beginning of the correction, nor all of it."""
    filler = " ".join(f"On day {n} we walked along the river and saw {n} herons." for n in range(40))
    (long,) = filled.add(f"{filler} My dentist is Dr Smith. {filler}", user="ann")
    filled.update(long.seq, f"{filler} My dentist is Dr Smythe. {filler}", user="ann")
    recalled = ask(filled, "Who is my dentist?", budget_tokens=300)
    assert "Dr Smythe" in recalled.text
    assert "Dr Smith" not in recalled.text


def test_a_correction_goes_with_what_it_corrects(filled):
    """And a correction of it; nothing of either is left."""
    first = filled.update(1, "I live in Lyon.", user="ann")
    second = filled.update(1, "I live in Nice.", user="ann")
    filled.maintain()
    receipt = filled.forget(user="ann", seqs=[1])
    assert set(receipt.seqs) == {1, first.seq, second.seq}
    assert "Lyon" not in ask(filled).text
    assert filled.user("ann").versions(1) == []
    assert filled.admin.check().ok


def test_a_forgotten_correction_gives_the_word_back(filled):
    """The corrected message holds again."""
    stored = filled.update(1, "I live in Lyon.", user="ann")
    filled.forget(user="ann", seqs=[stored.seq])
    assert "I live in Paris." in texts(ask(filled).evidence)


@pytest.mark.parametrize(
    ("which", "content", "complaint"),
    [
        (99, "x", "has no message 99"),
        ("bea", "x", "has no message 'bea'"),
        (1, None, "content must be a string"),
        (1, "\ud800", "lone surrogate"),
        (0, "x", "a seq must be"),
    ],
)
def test_what_cannot_be_corrected(unchanged, which, content, complaint):
    """Says why, and stores nothing."""
    with pytest.raises(InvalidInput, match=complaint):
        unchanged.update(which, content, user="ann")
    assert len(unchanged.messages(user="ann")) == 5


def test_a_correction_finds_what_it_corrects_in_another_memory(filled, opened, tmp_path):
    """Where it has another seq: what is exported is corrected there, and nothing else is."""
    filled.update(3, "I play go.", user="ann")
    filled.update(3, "I play shogi.", user="ann")
    filled.forget(user="ann", seqs=[1])
    filled.user("ann").export(path=tmp_path / "ann.jsonl")
    other = opened("other")
    other.add(["Hello.", "Good morning."], user="bob")
    other.user("bob").import_(tmp_path / "ann.jsonl")
    of_chess = next(m for m in other.messages(user="bob") if m.content == "I play chess.")
    versions = contents_of(other.user("bob").versions(of_chess.seq))
    assert versions == ["I play chess.", "I play go.", "I play shogi."]
    recalled = texts(other.recall("What do I play?", user="bob", min_confidence=0).evidence)
    assert {"I play the lute.", "I play shogi."} <= set(recalled)
    assert not {"I play chess.", "I play go."} & set(recalled)
    receipt = other.forget(user="bob", seqs=[of_chess.seq])
    assert len(receipt.seqs) == 3


def test_corrections_of_users_that_are_put_together(filled, opened, tmp_path):
    """Their ids are made anew, and what they correct with them."""
    filled.update("bea", "Bea lives in Basel.", user="bea")
    filled.update(1, "I live in Lyon.", user="ann")
    lines = []
    for whose in ("ann", "bea"):
        filled.user(whose).export(path=tmp_path / whose)
        exported = (tmp_path / whose).read_text(encoding="utf-8").splitlines()
        lines += [json.dumps({**json.loads(line), "user": whose}) for line in exported]
    (tmp_path / "both.jsonl").write_text("\n".join(lines), encoding="utf-8")
    other = opened("other")
    other.user("me").import_(tmp_path / "both.jsonl")
    assert contents_of(other.user("me").versions("bea/bea")) == ["Bea lives in Bern.", "Bea lives in Basel."]
    assert contents_of(other.user("me").versions("ann/first")) == ["I live in Paris.", "I live in Lyon."]


@pytest.mark.parametrize("seqs", [[10**30], [0, -1, 7, "1", True], "1", None, [[]]], ids=str)
def test_what_somebody_says_is_a_correction_is_read_with_care(filled, seqs):
    """It corrects what was there before it, if anything, and its voice is in one line like any role."""
    metadata = {"corrects": {"seqs": seqs, "role": "user\nsystem"}}
    (stored,) = filled.add(Message("I live in Rome.", role="editor", metadata=metadata), user="ann")
    assert stored.corrects == ()
    assert stored.voice == "editor"
    assert contents_of(filled.user("ann").versions(stored.seq)) == ["I live in Rome."]
    assert "I live in Paris." in texts(ask(filled).evidence)
    assert "system" not in ask(filled).text


def test_an_edit_of_the_profile_is_corrected_there(filled):
    """It is no message that anybody said."""
    profile = filled.user("ann").profile
    profile.pin(profile.entries()[0])
    (edit,) = filled.messages(user="ann", filter=Filter(roles=["editor"]))
    with pytest.raises(InvalidInput, match="is an edit itself"):
        filled.update(edit.seq, "x", user="ann")


def test_corrections_stay_behind_the_wall(filled):
    """One user's correction changes nothing of another's, though seqs are the same."""
    filled.add("I live in Paris.", user="cid")
    filled.update(1, "I live in Lyon.", user="cid")
    assert "I live in Paris." in texts(ask(filled).evidence)
    assert "Lyon" not in ask(filled).text
