"""Attacks that once got through; those on one part stand beside its other tests."""

import json
import shutil

import pytest
from sqlalchemy import make_url

from memories import open_memory
from zibaldone import (
    Config,
    InvalidInput,
    MemAttention,
    Memory,
    Placement,
    StorageError,
    StorageUnusable,
)
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.topics.config import Consolidation


@pytest.fixture(params=["folder", "postgres"])
def place(request, tmp_path):
    """Where a memory is: a folder, or a database of a server."""
    return tmp_path / "m" if request.param == "folder" else request.getfixturevalue("url")


LINES = ("I bought a red bicycle number {} in Oslo.", "My sister Carla lives in Bergen with {} cats.")


def test_an_export_does_not_destroy_another_memory(tmp_path):
    """A database is never written over, whoever it belongs to."""
    with Memory(tmp_path / "a") as memory, Memory(tmp_path / "b") as other:
        memory.add("hello", user="u")
        other.add("precious", user="v")
    with Memory(tmp_path / "a") as memory, pytest.raises(InvalidInput, match="is a database"):
        memory.user("u").export(path=tmp_path / "b" / "zibaldone.sqlite3")
    with Memory(tmp_path / "b") as other:
        assert other.messages(user="v")


def test_nothing_is_acknowledged_into_a_deleted_write_ahead_log(tmp_path):
    """What SQLite would write into a deleted file is refused; what was durable before is there afterwards."""
    with Memory(tmp_path / "m") as memory:
        memory.add("first", user="u")
        shutil.copytree(tmp_path / "m", tmp_path / "copy")
        (tmp_path / "m" / "zibaldone.sqlite3-wal").unlink()
        with pytest.raises(StorageUnusable, match="write-ahead log"):
            memory.add("second", user="u")
    with Memory(tmp_path / "copy") as again:
        assert [message.content for message in again.messages(user="u")] == ["first"]


@pytest.mark.parametrize("word", ["zorblatts", "zorblatting"])
def test_a_heading_goes_with_the_message_whose_word_it_bends(tmp_path, word):
    """A model's heading in another form of a forgotten word outlives the message in no file."""

    def chat(request):
        given = json.loads(request.turns[1].content)
        new = word if "zorblatt" in request.turns[1].content else "plain"
        if request.task == "topics.plan_updates":
            blocks = [block["block"] for block in given["blocks"]]
            return {"updates": [], "new_documents": [{"title": new, "blocks": blocks}]}
        if request.task.startswith("topics.rewrite"):
            shown = [*given.get("entries", []), *given.get("old", []), *given.get("new", [])]
            lines = [{"entries": [entry["entry"]]} for entry in shown]
            return {"title": f"life {new}", "sections": [{"heading": f"things {new}", "lines": lines}]}
        return "nonsense"

    small = Consolidation(current_threshold_tokens=150, split_tokens=400, merge_tokens=100)
    with Memory(tmp_path / "m", chat=ScriptedModel(chat), config=Config(topics=small)) as memory:
        lines = [LINES[i % 2].format(i) for i in range(24)]
        lines[10] = "My zorblatt has cancer in Oslo and the red bicycle."
        memory.add(lines, user="u")
        memory.maintain(user="u", views=["topics"])
        assert memory.forget(user="u", seqs=[11]).purged
        files = [file for file in (tmp_path / "m").rglob("*") if file.is_file()]
        assert not [file for file in files if word.encode() in file.read_bytes()]


def test_a_name_of_blanks_does_not_speak_for_another(anywhere):
    """A name that begins with blanks looks like no later line of the speaker before."""
    with Memory(anywhere("m")) as memory:
        memory.add({"role": "user", "name": "Ann", "content": "I like zebras in Oslo."}, user="u")
        memory.add({"role": "user", "name": "  And I stole", "content": "the zebras in Oslo."}, user="u")
        text = memory.recall("zebras Oslo", user="u", min_confidence=0).text
        assert "\nAnd I stole: the zebras" in text


NAMES = (
    *("ann", "ANN", "ann ", "ann\0", "ann\x01", "\x02ann", "ann\u0301", "\u202eann", "*", "%", "on", "\\"),
    *("ann' OR '1'='1", "'; SET zibaldone.everybody = 'on'; --", "a" * 500),
)


def test_names_that_bend_the_wall(place):
    """Each user sees the own message, and the list of users is what was given."""
    with Memory(place, embedder=HashEmbedder(16)) as memory:
        for number, name in enumerate(NAMES):
            memory.add(f"The secret of zebra {number}.", user=name)
        for number, name in enumerate(NAMES):
            own = [f"The secret of zebra {number}."]
            assert [message.content for message in memory.messages(user=name)] == own
            recalled = memory.recall("secret zebra", user=name, min_confidence=0)
            assert [evidence.text for evidence in recalled.evidence] == own
        assert sorted(memory.users()) == sorted(NAMES)


def test_a_question_whose_answer_stays(place):
    """Nothing that was made of the answer quotes the question when that is forgotten."""
    views = ("messages", "topics", "hierarchy", "chunks", "notes")
    with Memory(place, embedder=HashEmbedder(16), config=Config(maintained=views)) as memory:
        question = {"role": "user", "content": "Does my zorblatt need a vaccination in Oslo?"}
        memory.add([question, {"role": "assistant", "content": "Yes, twice a year, in spring."}], user="u")
        memory.maintain()
        receipt = memory.forget(user="u", seqs=[1], keep_texts=True)
        assert memory.admin.verify(receipt).ok
        assert "zorblatt" not in memory.recall("zorblatt", user="u", min_confidence=0, views=["topics"]).text


def test_torn_blocks_in_a_server(url):
    """Views that need none go on, what is wrong is told, and all can be made anew."""
    small = {"chunks": MemAttention(chunk_gate_tokens=100), "placement": Placement(block_bytes=512)}
    with open_memory(
        url, embedder=HashEmbedder(16), maintained=("messages", "chunks", "topics"), **small
    ) as memory:
        memory.add([LINES[number % 2].format(number) for number in range(40)], user="u")
        memory.maintain()
        with memory._database.write() as connection:
            torn = "UPDATE stored_objects SET data = substring(data from 1 for 20)"
            assert connection.exec_driver_sql(torn).rowcount
        memory.add([LINES[number % 2].format(number) for number in range(40, 60)], user="u")
        assert memory.maintain().behind == ()  # without a model nobody reads what earlier chunks say
        assert any("torn" in fault for fault in memory.admin.check().faults)
        assert {view.view: view.lag for view in memory.admin.stats().views}["topics"] == 0
        assert memory.recall("bicycle", user="u", views=["chunks", "messages"])
        memory.builds.rebuild("chunks", user="u")
        assert memory.admin.check().ok


def test_a_database_that_is_dropped_while_it_is_open(postgres, url):
    """Nothing is acknowledged, and the error says what cannot be used."""
    with Memory(url, embedder=HashEmbedder(16), config=Config(busy_timeout_s=1)) as memory:
        memory.add("first", user="u")
        name = make_url(url).database
        postgres.run(f'DROP DATABASE "{name}" WITH (FORCE)')
        for used in (lambda: memory.add("second", user="u"), lambda: memory.recall("first", user="u")):
            with pytest.raises(StorageError, match="postgresql"):
                used()
