"""Attacks that once got through; those on one part stand beside its other tests."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from zibaldone import InvalidInput, Memory, ModelFailed, StorageUnusable
from zibaldone.models.meter import Ceilings
from zibaldone.testing import ScriptedModel
from zibaldone.views.topics import Consolidation

LINES = ("I bought a red bicycle number {} in Oslo.", "My sister Carla lives in Bergen with {} cats.")


def test_an_export_does_not_destroy_another_memory(tmp_path):
    """A database is never written over, whoever it belongs to."""
    with Memory(tmp_path / "a") as memory, Memory(tmp_path / "b") as other:
        memory.add("hello", user="u")
        other.add("precious", user="v")
    with Memory(tmp_path / "a") as memory, pytest.raises(InvalidInput, match="is a database"):
        memory.export(user="u", path=tmp_path / "b" / "zibaldone.sqlite3")
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
    with Memory(tmp_path / "m", chat=ScriptedModel(chat), topics=small) as memory:
        lines = [LINES[i % 2].format(i) for i in range(24)]
        lines[10] = "My zorblatt has cancer in Oslo and the red bicycle."
        memory.add(lines, user="u")
        memory.maintain(user="u", views=["topics"])
        assert memory.forget(user="u", seqs=[11]).purged
        files = [file for file in (tmp_path / "m").rglob("*") if file.is_file()]
        assert not [file for file in files if word.encode() in file.read_bytes()]


@pytest.mark.parametrize("requests", [-5, 0.5, 10**30, "a"])
def test_a_strange_count_of_requests_keeps_ceilings_and_meter(anywhere, requests):
    """A client that counts nonsense is counted as one that asked once."""
    asked = []

    class Model:
        name = "m"

        def chat(self, request):
            asked.append(request)
            raise ModelFailed("x", requests=requests)

    with Memory(anywhere("m"), chat=Model(), ceilings=Ceilings(calls_per_user_per_day=5)) as memory:
        for i in range(12):
            memory.add(LINES[0].format(i), user="u", session=f"s{i}")
        memory.maintain(user="u", views=["messages", "chunks", "hierarchy", "topics"])
        assert len(asked) <= 5
        assert sum(usage.calls for usage in memory.usage(user="u")) == len(asked)


def test_a_name_of_blanks_does_not_speak_for_another(anywhere):
    """A name that begins with blanks looks like no later line of the speaker before."""
    with Memory(anywhere("m")) as memory:
        memory.add({"role": "user", "name": "Ann", "content": "I like zebras in Oslo."}, user="u")
        memory.add({"role": "user", "name": "  And I stole", "content": "the zebras in Oslo."}, user="u")
        text = memory.recall("zebras Oslo", user="u", floor=0).text
        assert "\nAnd I stole: the zebras" in text


def test_counting_takes_one_connection(anywhere):
    """More threads than the pool has connections may ask for counts at once."""
    with Memory(anywhere("m"), busy_timeout_s=5) as memory:
        memory.add("hello", user="u")
        with ThreadPoolExecutor(48) as pool:
            counts = list(pool.map(lambda _: memory.stats().messages, range(96)))
    assert counts == [1] * 96
