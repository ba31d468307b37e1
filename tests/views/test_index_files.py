"""Saved indexes: what is opened, what is not, and what is left of them."""

import random
import shutil
from unittest.mock import Mock

import pytest

from zibaldone import Memory
from zibaldone.engine.verification.places import inflated
from zibaldone.search import unit_index
from zibaldone.storage import objects, saved_indexes
from zibaldone.storage.objects import FileObjects
from zibaldone.storage.saved_indexes import SavedIndexes
from zibaldone.views import index_files, unit_cache

TEXTS = ["My dentist is Dr. Moss.", "The heron came back to the pond.", "I moved to Lisbon in May 2023."]
QUESTION = "Who is my dentist?"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """An index of three messages is worth a file."""
    monkeypatch.setattr(unit_cache, "_LEAST_SAVED", 2)


@pytest.fixture
def extended(monkeypatch):
    """How many units were indexed from rows or messages since."""
    counts = []
    extend = unit_index.UnitIndex.extend

    def counted(self, units, vectors):
        counts.append(len(units))
        extend(self, units, vectors)

    monkeypatch.setattr(unit_index.UnitIndex, "extend", counted)
    return counts


@pytest.fixture
def filled(opened):
    """A folder of what Ann said, maintained and closed again."""

    def filled(**options) -> Memory:
        memory = opened(**options)
        memory.add(TEXTS, user="ann")
        memory.maintain()
        return memory

    return filled


def files(memory):
    """The saved indexes of a memory."""
    return sorted(memory.path.glob("index/*/*"))


def said_in(path):
    """The bytes of a file, and what is compressed in it."""
    data = path.read_bytes()
    return data + b"\n".join(text for _, text in inflated(data))


def answer(memory, user="ann"):
    """Texts of a recall, with scores."""
    recalled = memory.recall(QUESTION, user=user)
    return recalled.text, [unit.score for unit in recalled.evidence], recalled.confidence


def test_another_process_opens_it(filled, opened, extended):
    """Nothing is indexed again but what came since, and the answer is the same to the bit."""
    memory = filled()
    expected = answer(memory)
    extended.clear()
    assert answer(opened()) == expected
    assert sum(extended) == 0
    memory.add("My dentist moved to Green Lane.", user="ann")
    extended.clear()
    assert "Green Lane" in answer(opened())[0]
    assert 0 < sum(extended) <= 2  # by the messages and the timeline


def test_nothing_forgotten_is_in_a_file(filled, opened):
    """The files go with the message; later ones hold what is left."""
    memory = filled()
    assert any(b"Moss" in said_in(path) for path in files(memory))
    memory.forget(user="ann", seqs=[1])
    assert files(memory) == []
    memory.add(["The kettle whistles.", "Rye bread rises slowly."], user="ann")
    memory.maintain()
    assert files(memory)
    assert not any(b"Moss" in said_in(path) for path in files(memory))
    assert "Moss" not in answer(opened())[0]


def test_what_a_killed_forgetting_left_goes_when_the_folder_is_opened(filled, opened, monkeypatch):
    """The rows are gone, and their index is released: a process that dies then leaves its file."""
    memory = filled()
    with monkeypatch.context() as patch:
        patch.setattr(SavedIndexes, "sweep", Mock(side_effect=RuntimeError("killed")))
        with pytest.raises(RuntimeError):
            memory.forget(user="ann", seqs=[1])
    assert files(memory)
    assert not files(opened())


@pytest.mark.parametrize("where", [(index_files, "save"), (FileObjects, "put")], ids=["before", "amid"])
def test_a_forgetting_while_it_is_written(filled, monkeypatch, where):
    """A message forgotten meanwhile is in no file."""
    memory = filled()
    module, name = where
    write = getattr(module, name)

    def forgets_first(*given, **options):
        monkeypatch.setattr(module, name, write)
        memory.forget(user="ann", seqs=[1])
        return write(*given, **options)

    shutil.rmtree(memory.path / "index")
    monkeypatch.setattr(module, name, forgets_first)
    memory.add("The kettle whistles.", user="ann")
    memory.maintain()
    assert memory.messages(user="ann")[0].seq == 2
    assert not any(b"Moss" in said_in(path) for path in files(memory))


def damaged(path):
    """One letter is another."""
    path.write_bytes(path.read_bytes().replace(b"Moss", b"Mess"))


@pytest.mark.parametrize(
    "damage",
    [
        damaged,
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff" * 64),
        lambda path: path.write_bytes(b"\x02\0\0\0\0\0\0\0{}"),
        lambda path: path.unlink(),
    ],
    ids=["a bit", "its end", "all of it", "its head", "no head", "no file"],
)
def test_a_damaged_file_is_made_anew(filled, opened, extended, damage):
    """It changes no answer; one process that only recalls makes the index anew, and not every one."""
    memory = filled()
    expected = answer(memory)
    memory.close()
    for path in files(memory):
        damage(path)
    reader = opened()
    assert answer(reader) == expected
    reader.close()
    extended.clear()
    assert answer(opened()) == expected
    assert sum(extended) == 0


def test_a_folder_put_back_from_a_copy(filled, opened, tmp_path):
    """An index of messages that are there no more, and whose seqs others have, is not opened."""
    memory = filled()
    memory.close()
    shutil.copytree(memory.path, tmp_path / "copy", ignore=shutil.ignore_patterns("index"))
    with opened() as memory:
        memory.add([f"My dentist is Dr. Wrong {k}." for k in range(5)], user="ann")
        memory.maintain()
    shutil.copytree(memory.path / "index", tmp_path / "copy" / "index")
    with opened("copy") as copy:
        copy.add([f"Rye bread {k}." for k in range(6)], user="ann")
        assert "Wrong" not in answer(copy)[0]


def test_other_code_makes_its_own(filled, opened, extended, monkeypatch):
    """A version that cuts words otherwise opens no file of this one."""
    filled()
    monkeypatch.setattr(index_files, "_code", lambda: "another")
    extended.clear()
    answer(opened())
    assert sum(extended) > 0


def full(*given, **options):
    """A disk without room."""
    raise OSError(28, "No space left on device")


def test_a_full_disk_holds_up_nothing(opened, monkeypatch):
    """Maintenance goes on, and leaves no piece of a file."""
    monkeypatch.setattr(objects, "_open_locked", full)
    memory = opened()
    memory.add(TEXTS, user="ann")
    assert memory.maintain().behind == ()
    assert files(memory) == []
    assert "Moss" in answer(memory)[0]


def test_each_user_has_files_of_their_own(filled):
    """Forgetting one leaves the other's, which holds nothing of the first."""
    memory = filled()
    hers = files(memory)
    memory.add(["My dentist is Dr. Reed.", "I row.", "I swim."], user="bea")
    memory.maintain()
    his = [path for path in files(memory) if path not in hers]
    assert his
    assert not any(b"Moss" in said_in(path) for path in his)
    memory.forget(user="ann", everything=True)
    assert files(memory) == his
    assert "Reed" in answer(memory, "bea")[0]


def test_it_saves_itself(opened, extended):
    """Who adds message by message, never maintains and is killed leaves little to be indexed by the next."""
    memory = opened()
    for number in range(9):
        memory.add([f"The kettle whistles {number} times.", "My dentist is Dr. Moss."], user="ann")
    expected = answer(memory)
    extended.clear()
    assert answer(opened()) == expected
    assert sum(extended) == 0


def test_whoever_closes_saves(opened, extended, monkeypatch):
    """What was too little while somebody waited is saved at the end."""
    monkeypatch.setattr(unit_cache, "_LEAST_SAVED", 4)
    memory = opened()
    for text in [*TEXTS, *TEXTS[1:]]:
        memory.add(text, user="ann")
    memory.close()
    memory.close()
    extended.clear()
    assert "Moss" in answer(opened())[0]
    assert sum(extended) == 0


@pytest.mark.wide
def test_segments_are_few_and_become_one(opened, monkeypatch):
    """Each is written again when three times as much stands behind it."""
    memory = opened()
    counts = []
    for number in range(40):
        memory.add([f"The kettle whistles {number} times.", "Rye bread rises."], user="ann")
        counts.append(len(files(memory)))
    assert 1 in counts[3:]
    assert max(counts) > 3  # whoever adds writes no large one
    memory.maintain()
    assert len(files(memory)) <= 6


@pytest.mark.parametrize("crash", ["put", "publish"])
def test_a_crash_while_a_segment_is_written(filled, opened, crash, monkeypatch):
    """Segments that are there stay, and what was half written goes with the next maintenance."""

    def killed(*given, **options):
        raise KeyboardInterrupt

    memory = filled()
    before = files(memory)
    owner = FileObjects if crash == "put" else SavedIndexes
    with monkeypatch.context() as patched:
        patched.setattr(owner, crash, killed)
        patched.setattr(SavedIndexes, "_release", killed)
        with pytest.raises(KeyboardInterrupt):
            memory.add(TEXTS[1:], user="ann")
    assert set(before) <= set(files(memory))
    memory = opened()
    assert len(memory.messages(user="ann")) == 5
    with monkeypatch.context() as patched:
        patched.setattr(saved_indexes, "_GRACE_S", -1.0)
        memory.maintain()
    assert len(files(memory)) == 2
    assert "Moss" in answer(memory)[0]


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_a_saved_index_answers_as_a_fresh_one(opened, seed, monkeypatch):
    """Adds, forgettings, maintenance, damage and crashes of several processes, in any order."""
    chance, memories = random.Random(seed), [opened(), opened()]
    words = "heron dentist Moss kettle kettles whistling whistled whistles Lisbon pond bassoon rowing".split()
    for _ in range(25):
        memory = chance.choice(memories)
        match chance.choice(["add"] * 6 + ["forget", "maintain", "damage", "anew", "crash"]):
            case "add":
                texts = [" ".join(chance.choices(words, k=5)) + "." for _ in range(chance.randint(1, 4))]
                memory.add(texts, user="ann", session=chance.choice("ab"))
            case "forget" if seqs := [message.seq for message in memory.messages(user="ann")]:
                memory.forget(user="ann", seqs=chance.sample(seqs, min(len(seqs), 2)))
            case "maintain":
                memory.maintain()
            case "damage" if there := files(memory):
                path = chance.choice(there)
                path.write_bytes(path.read_bytes()[: chance.choice([0, 50, -7])])
            case "anew":
                memory.close()
                memories[memories.index(memory)] = opened()
            case "crash":
                with monkeypatch.context() as patched:
                    patched.setattr(SavedIndexes, "publish", full)
                    memory.add("The kettle.", user="ann")
        answers = [answer(each) for each in [*memories, opened()]]
        with monkeypatch.context() as patched:
            patched.setattr(index_files, "segments", lambda *_: {})
            assert answers == [answer(opened())] * 3


@pytest.mark.parametrize("name", ["tmpabc.part", "messages.index"])
def test_a_file_that_no_row_names_goes(filled, name):
    """A part that a killed writer left, or a file of an earlier version: forgetting would not reach it."""
    memory = filled()
    indexes = files(memory)
    shutil.copy(indexes[0], indexes[0].with_name(name))
    memory.maintain()
    assert files(memory) == indexes


def test_what_somebody_writes_now_stays(filled):
    """Maintenance beside a writer takes nothing from it."""
    memory = filled()
    with memory._database.saved.draft("ann", "other", {}, {}) as draft:
        path = memory._database.saved.store.path(draft)
        memory.maintain()
        assert path.exists()
    assert not path.exists()
