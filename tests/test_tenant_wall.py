"""The wall between users: nothing of one reaches or influences another."""

import json
import random

import pytest

from anywhere import EVERYWHERE
from chunk_model import chunk_model
from memories import with_filter
from zibaldone import Filter, MemAttention, Placement
from zibaldone.api.config import MAINTAINED
from zibaldone.testing import HashEmbedder, ScriptedModel

WORDS = "dentist bread rye tulip Lisbon bassoon river orchestra winter hill bicycle rain red Vienna".split()
QUESTIONS = (
    "Who is the dentist?",
    "What did Ann say about the bassoon in Lisbon?",
    "rye bread",
    "When did it rain?",
    "",
    "犬は好きですか",
    "What happened last month?",
    "quantum chromodynamics",
    "tulip " * 300,
)


@pytest.fixture
def opened(opened_anywhere):
    """Opens memories wherever they are to be."""
    return opened_anywhere


@pytest.fixture
def memory(opened):
    """An empty memory."""
    return opened()


def blocks_of(memory):
    """Every block that is stored, by its key."""
    blocks = memory._database.blocks
    return {key: blocks.get(key) for key, _ in blocks.names()}


def talk(seed, names, count=60):
    """A conversation of these speakers, always the same for a seed, with ids 0, 1 ..."""
    chance = random.Random(seed)
    return [
        {
            "id": str(i),
            "content": " ".join(chance.choices(WORDS, k=chance.choice([3, 8, 20]))).capitalize()
            + chance.choice(".?"),
            "name": chance.choice(names),
            "session": chance.choice("abc"),
            "time": f"2024-0{chance.randint(1, 2)}-{chance.randint(10, 28)}T09:00",
        }
        for i in range(count)
    ]


def everything(memory, user, path):
    """All that a user can get out of a memory, but for milliseconds and the size of the files."""
    recalls = []
    for question in QUESTIONS:
        chunks = {"views": ["chunks"], "min_confidence": 0}
        for options in ({}, {"min_confidence": 0}, {"session": "a", "budget_tokens": 60}, chunks):
            found = memory.recall(question, user=user, **with_filter(**options))
            trace = found.trace
            recalls.append((found.text, found.tokens, found.evidence, found.citations))
            recalls.append(
                (trace.decisions, trace.confidence, [(v.candidates, v.considered) for v in trace.views])
            )
            recalls.append([(found.why(seq), found.why_not(seq)) for seq in range(70)])
        recalls.append(memory.search(question, user=user))
    memory.user(user).export(path=path)
    stats = memory.admin.stats(user=user)
    dry = [memory.forget(user=user, dry_run=True, **s) for s in ({"session": "a"}, {"everything": True})]
    return (
        recalls,
        memory.messages(user=user),
        memory.user(user).sessions(),
        path.read_bytes(),
        dry,
        (stats.users, stats.messages, stats.sessions, stats.views),
        memory.user(user).chunks(),
        memory.user(user).superseded(),
        memory.user(user).profile.entries(),
        memory.admin.usage(user=user),
    )


@pytest.mark.parametrize(
    "embedder",
    [None, pytest.param(HashEmbedder(), marks=pytest.mark.exhaustive)],
    ids=["default", "hash"],
)
def test_another_user_changes_nothing(opened, tmp_path, embedder):
    """Bit-equal answers for Ann, whatever a second user of the same words, names and ids adds and forgets.

    Asked of the object that has Ann in its cache, and of one that has just been opened.
    """
    small = {
        "chunks": MemAttention(chunk_gate_tokens=60),
        "placement": Placement(block_bytes=2000, staged_blocks=0),
        "maintained": [*MAINTAINED, "chunks"],
    }
    memory = opened(embedder=embedder, **small)
    memory.add(talk(1, ["Ann", "Bea"]), user="ann")
    memory.maintain()
    assert len(memory.user("ann").chunks()) > 5
    before = everything(memory, "ann", tmp_path / "out")

    def unchanged(*of):
        for one in of:
            assert everything(one, "ann", tmp_path / "out") == before

    memory.add(talk(2, ["Ann", "Cid"], count=150), user="Ann")
    memory.add(talk(1, ["Ann", "Bea"]), user="ann ")
    memory.maintain()
    unchanged(memory)
    memory.builds.rebuild(user="Ann")
    memory.forget(user="Ann", session="a")
    memory.forget(user="Ann", seqs=range(1, 61))
    unchanged(memory, opened(embedder=embedder, **small))
    memory.forget(user="Ann", everything=True)
    memory.forget(user="ann ", everything=True)
    unchanged(memory)


@EVERYWHERE
def test_the_other_users_words_are_not_found(memory):
    """A user who has nothing recalls nothing, and cites no one else's messages."""
    memory.add("My dentist is Dr. Moss.", user="ann")
    assert not memory.recall("Who is the dentist?", user="bea", min_confidence=0)
    assert memory.messages(user="bea") == []
    assert memory.forget(user="bea", everything=True).seqs == ()
    assert len(memory.messages(user="ann")) == 1


@EVERYWHERE
def test_seqs_are_of_one_user(memory):
    """Forgetting a seq of one user leaves the same seq of another."""
    for user in ("ann", "bea"):
        memory.add(["one", "two"], user=user)
    memory.forget(user="ann", seqs=[1])
    assert [m.seq for m in memory.messages(user="bea")] == [1, 2]
    assert memory.admin.check().ok


@pytest.mark.parametrize(
    "user",
    [
        *("../../etc/passwd", "/", ".", "a/b", "a\\b", "C:\\", "'; DROP TABLE messages; --", '" OR 1=1 --'),
        *("%", "_", "*", "user", "NULL", "0", " ", "\t", "\n", "a\0b", "a\0", "\u202eevil", "ｕｓｅｒ"),
        *("Ä", "A\u0308", "👩‍👩‍👧", "x" * 100_000),
    ],
    ids=lambda user: ascii(user[:12]),
)
def test_user_ids_are_only_ids(memory, tmp_path, user):
    """A user id may look like a path, like SQL or like a pattern: it is text, compared letter by letter."""
    if memory._database.shared and len(user) > 2500:
        pytest.skip("PostgreSQL has no index for a name so long; test_postgres_in_trouble says what happens")
    others = {"ann", user + "x", user.swapcase() + "y", user * 2}
    for one in (user, *others):
        memory.add(f"The tulip of {len(one)}.", user=one, session=one)
    assert set(memory.users()) == {user, *others}
    assert [m.session for m in memory.messages(user=user)] == [user]
    assert len(memory.recall("tulip", user=user, filter=Filter(session=user)).evidence) == 1
    assert memory.forget(user=user, session=user).seqs == (1,)
    assert all(len(memory.messages(user=one)) == 1 for one in others)
    assert [path.name for path in tmp_path.iterdir()] in (["memory"], [])
    assert memory.admin.check().ok


@EVERYWHERE
def test_blocks_are_of_one_user(opened):
    """No block file has two users' words, and forgetting one user leaves the other's blocks as they were."""
    memory = opened(
        chat=None,
        chunks=MemAttention(chunk_gate_tokens=60),
        placement=Placement(block_bytes=2000, staged_blocks=0),
        maintained=["chunks"],
    )
    memory.add([f"The zeppelin flew over the river on day {i}." for i in range(60)], user="ann")
    memory.add([f"The orchestra played in the old mill on day {i}." for i in range(60)], user="bea")
    memory.maintain()
    files = blocks_of(memory)
    assert len(files) >= 4
    assert not any(b"zeppelin" in data and b"orchestra" in data for data in files.values())
    memory.forget(user="ann", everything=True)
    assert blocks_of(memory) == {key: data for key, data in files.items() if b"orchestra" in data}
    assert memory.admin.check().ok


@EVERYWHERE
def test_a_model_is_shown_one_user_s_words(opened):
    """No request to a model has two users' words, in maintenance and at recall; usage is told apart."""
    model = chunk_model()
    chunks = MemAttention(chunk_gate_tokens=60, top_p=1, recall_relevance="model")
    memory = opened(chat=model, chunks=chunks, maintained=["chunks"])
    memory.add([f"The zeppelin flew over the river on day {i}." for i in range(30)], user="ann")
    memory.add([f"The orchestra played in the old mill on day {i}." for i in range(30)], user="bea")
    memory.maintain()
    for user in ("ann", "bea"):
        memory.recall("What happened on day 3?", user=user, views=["chunks"], min_confidence=0)
    shown = ["".join(turn.content for turn in request.turns) for request in model.requests]
    assert len(shown) > 8
    assert not any("zeppelin" in text and "orchestra" in text for text in shown)
    assert {one.user for one in memory.admin.usage(user="ann")} == {"ann"}
    assert sum(one.calls for one in memory.admin.usage()) == len(model.requests)


@EVERYWHERE
def test_a_model_that_asks_sees_one_user_s_words(opened):
    """Whatever it looks for, and whatever it cites, is of the user whose memory it asks."""
    memory = opened()
    memory.add([f"The zeppelin flew over the river on day {i}." for i in range(30)], user="ann")
    memory.add([f"The orchestra played in the old mill on day {i}." for i in range(30)], user="bea")
    asked = [
        {"query": word, "order": order} for word in ("zeppelin", "orchestra") for order in ("first", "last")
    ]
    for user, others in (("ann", "orchestra"), ("bea", "zeppelin")):
        model = ScriptedModel([{"queries": asked}, {"answer": "day 3", "sources": list(range(1, 31))}])
        answer = memory.ask("What happened on day 3?", user=user, chat=model)
        shown = json.loads(model.requests[-1].turns[1].content)["evidence"]
        assert shown
        assert not any(others in entry["text"] for entry in shown)
        assert others not in answer.evidence.text
        assert {each.user for each in memory.admin.usage(user=user)} == {user}
