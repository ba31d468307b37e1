"""Forgetting: exactly what was chosen goes, everywhere, and a receipt says what went."""

import itertools
import random

import pytest

from faulty_models import FailingEmbedder
from traces import Traceable, serial, serials
from zibaldone import Counted, InvalidInput, Memory, Receipt, Removed, StorageUnusable
from zibaldone.storage.objects import FileObjects
from zibaldone.testing import HashEmbedder

LONG = " ".join(f"On day {i} we climbed hill {i * 7}." for i in range(120))
TALK = [
    {"content": "My dentist is Dr. Moss.", "session": "a", "time": "2024-01-02T09:00Z"},
    {"content": "I bake rye bread.", "session": "b", "time": "2024-01-03T09:00Z"},
    {"content": LONG, "session": "a", "time": "2024-01-01T09:00Z"},
    {"content": "Rye needs a sourdough.", "session": "b", "time": "2024-01-03T09:00:00.000001Z"},
]
SELECTORS = {"seqs": [1], "session": "a", "before": "2024-01-03", "everything": True}
CASES = [
    ({"seqs": [3, 1, 1, 99]}, (1, 3)),
    ({"seqs": []}, ()),
    ({"seqs": range(2, 4)}, (2, 3)),
    ({"session": "a"}, (1, 3)),
    ({"session": "none"}, ()),
    ({"before": "2024-01-03T09:00Z"}, (1, 3)),
    ({"before": "2024-01-03T11:00+02:00"}, (1, 3)),
    ({"before": 1704272400.000001}, (1, 2, 3)),
    ({"everything": True}, (1, 2, 3, 4)),
]


@pytest.fixture
def filled(memory):
    """Ann's talk, and one message of Bea's."""
    memory.add(TALK, user="ann")
    memory.add("My dentist is Dr. Pike.", user="bea")
    return memory


@pytest.fixture(scope="module")
def unchanged(shared_memory):
    """Ann's talk, of which nothing goes."""
    shared_memory.add(TALK, user="ann")
    return shared_memory


def durable(folder):
    """The bytes of the database and of its log; the third file is shared memory, which reading changes."""
    return [path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.endswith("-shm")]


def units(memory, user):
    """How many units the messages view holds for the user."""
    return memory.admin.stats(user=user).views[0].counts[0].rows


@pytest.mark.parametrize(("selector", "seqs"), CASES)
def test_exactly_what_was_chosen(filled, selector, seqs):
    """What a selector says goes, the rest is recalled, and the receipt counts; a dry run counts it before.

    And changes no byte of the files.
    """
    before, files = units(filled, "ann"), durable(filled.path)
    dry = filled.forget(user="ann", dry_run=True, **selector)
    assert durable(filled.path) == files
    receipt = filled.forget(user="ann", **selector)
    left = [m.seq for m in filled.messages(user="ann")]
    assert left == [s for s in range(1, 5) if s not in seqs]
    gone = before - units(filled, "ann")
    (first, *others) = receipt.views
    assert first == Removed("messages", (Counted("units", gone), Counted("vectors", gone)))
    assert not any(counted.rows for one in others for counted in one.counts)  # nothing is made there yet
    assert receipt == Receipt("ann", False, seqs, receipt.views, purged=True)
    assert dry == Receipt("ann", True, seqs, receipt.views, purged=False)
    assert receipt.messages == len(seqs)
    found = filled.recall(
        "dentist, rye bread, sourdough, hill", user="ann", min_confidence=0, budget_tokens=9000
    )
    assert {s for e in found.evidence for s in e.sources} == set(left)
    assert len(filled.messages(user="bea")) == 1
    assert filled.admin.check().ok


BAD = [
    *(
        (options, "exactly one of seqs=")
        for options in ({}, {"everything": False}, {"seqs": None, "session": None}, {"dry_run": True})
    ),
    *(
        ({name: SELECTORS[name] for name in pair}, "2 were given")
        for pair in itertools.combinations(SELECTORS, 2)
    ),
    *(({"seqs": given}, "seq") for given in ("1", 1, [0], ["1"], [1.0], [True])),
    ({"session": ""}, "session"),
    ({"before": "soon"}, "before"),
    *(({"everything": given}, "everything") for given in (1, "no")),
    *(({"everything": True, "dry_run": given}, "dry_run") for given in (None, 1, "yes")),
]


@pytest.mark.parametrize(("options", "says"), BAD, ids=str)
def test_bad_selectors(unchanged, options, says):
    """Nothing is deleted by leaving something out, by two selectors at once, or by one of a wrong type."""
    with pytest.raises(InvalidInput, match=says):
        unchanged.forget(user="ann", **options)
    assert len(unchanged.messages(user="ann")) == 4


def test_before_the_view_has_read(opened):
    """A message that the view has not embedded yet is forgotten all the same, and does not come later."""
    embedder = FailingEmbedder(HashEmbedder())
    memory = opened(embedder=embedder)
    memory.add(TALK, user="ann")
    receipt = memory.forget(user="ann", seqs=[1])
    assert receipt.views[0].counts[0].rows == 0
    embedder.failing = False
    memory.add("It rained.", user="ann")
    assert {e.sources for e in memory.recall("dentist rained", user="ann", min_confidence=0).evidence} >= {
        (5,)
    }
    assert not any(1 in e.sources for e in memory.recall("dentist", user="ann", min_confidence=0).evidence)
    assert memory.admin.check().ok


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        ({"seqs": [2]}, {0, 2, 3}),
        ({"session": "a"}, {1, 3}),
        ({"before": 2}, {2, 3}),
        ({"everything": True}, set()),
    ],
    ids=["one", "session", "before", "everything"],
)
@pytest.mark.parametrize("repeats", [2, 40, 700, 3000], ids="of {}".format)
def test_no_byte_is_left(memory, selector, left, repeats):
    """No file of the folder has twelve bytes in a row of a forgotten text, short or of many pages."""
    make = Traceable(10**6)
    texts = [make.text(repeats) for _ in range(4)]
    for user in ("ann", "bea"):
        memory.add([make.text(3) for _ in range(50)], user="cid")
        texts_of_user = texts if user == "ann" else [make.text(repeats) for _ in range(4)]
        memory.add(
            [{"content": t, "session": "ab"[i % 2], "time": i} for i, t in enumerate(texts_of_user)],
            user=user,
        )
    memory.recall("something", user="ann")
    assert {serial(t) for t in texts} <= serials(memory.path)
    assert memory.forget(user="ann", **selector).purged
    assert {serial(t) for t in texts} & serials(memory.path) == {serial(texts[i]) for i in left}


def test_no_byte_is_left_beside_the_content(memory):
    """Names, ids, sessions, roles and metadata of a forgotten message go with it."""
    make = Traceable()
    fields = ("content", "name", "id", "session", "role")
    given = [
        {field: make.text(5) for field in fields} | {"metadata": {make.text(5): [make.text(5)]}}
        for _ in range(60)
    ]
    memory.add(given, user="ann")
    assert len(serials(memory.path)) == 7 * 60
    memory.forget(user="ann", seqs=range(1, 60))
    assert len(serials(memory.path)) == 7


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1, 2))])
@pytest.mark.wide
def test_no_byte_is_left_after_pages_moved(opened, seed):
    """Thousands of messages of four users, forgotten at random between adds: no trace of any of them.

    SQLite moves rows between pages when some are deleted, and leaves copies behind.
    """
    chance = random.Random(seed)
    make = Traceable(chance.randrange(10**6))
    memory = opened(embedder=HashEmbedder(8))
    alive, gone = {}, set()
    for _ in range(14):
        for _ in range(6):
            user = f"user {chance.randrange(4)}"
            texts = [make.text(chance.choice([2, 2, 4, 12, 60])) for _ in range(chance.randint(1, 40))]
            for message in memory.add(texts, user=user, session=f"s{chance.randrange(5)}"):
                alive[user, message.seq] = serial(message.content)
        user = f"user {chance.randrange(4)}"
        mine = [seq for name, seq in alive if name == user]
        if chance.random() < 0.7 and mine:
            receipt = memory.forget(user=user, seqs=chance.sample(mine, chance.randint(1, len(mine))))
        else:
            receipt = memory.forget(user=user, session=f"s{chance.randrange(5)}")
        gone |= {alive.pop((user, seq)) for seq in receipt.seqs}
        left = serials(memory.path)
        assert not left & gone
        assert left >= set(alive.values())


def test_what_a_broken_off_forgetting_left_goes_with_the_next(tmp_path, monkeypatch):
    """A saved index that cannot be deleted is not told to be gone, and goes when one asks again."""
    with Memory(tmp_path) as memory:
        memory.add([f"On day {day} I baked rye bread." for day in range(1024)], user="ann")
        assert (saved := [path for path in (tmp_path / "index").rglob("*") if path.is_file()])
        with monkeypatch.context() as patch:
            patch.setattr(FileObjects, "delete", unable)
            assert not memory.forget(user="ann", seqs=[1]).purged
            assert not memory.forget(user="ann", seqs=[1]).purged
        assert memory.forget(user="ann", seqs=[1]).purged
        assert not any(path.exists() for path in saved)


def unable(*_):
    """Delete nothing, as where a disk fails."""
    raise StorageUnusable("the disk fails")
