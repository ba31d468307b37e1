"""The hierarchy view inside a Memory: built, asked, forgotten, rebuilt."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from zibaldone import Config, Memory, Message, UnknownName, XMemory
from zibaldone.errors import InvalidInput, ModelFailed
from zibaldone.models.base import ChatReply, ChatRequest
from zibaldone.testing import HashEmbedder, ScriptedModel

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
SUBJECTS = ("bassoon", "garden", "marathon", "bakery", "telescope", "pottery")
SAYINGS = (
    "I bought a {0} from Rosa Diaz in {1}.",
    "My {0} cost {1} dollars at the market.",
    "The {0} club meets on floor {1} with Liam.",
    "I practise with the {0} {1} times a week.",
    "My sister Nora lent her {0} to Omar in {1}.",
)


def conversation(seed: int, talks: int = 12) -> list[Message]:
    """Talks a day apart, each about one subject, six messages long."""
    rng = random.Random(seed)
    made = []
    for place in range(talks):
        subject = rng.choice(SUBJECTS)
        for turn in range(6):
            text = rng.choice(SAYINGS).format(subject, rng.randrange(100, 999))
            time = START + timedelta(days=place, minutes=turn)
            name = ("Ann", "Bea")[turn % 2]
            made.append(Message(text, name=name, time=time, session=str(place % 5)))
    return made


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """With the hierarchy maintained."""
    with Memory(tmp_path / "m", config=Config(maintained=["messages", "hierarchy"])) as opened:
        yield opened


def check(memory: Memory, cap: int = 12) -> None:
    """What always holds: every semantic is in one theme, and no theme is fuller than the cap."""
    themes = memory.user("ann").themes()
    members = [semantic.id for theme in themes for semantic in theme.semantics]
    with memory._database.read() as connection:
        held = {one.kind: one.rows for one in memory._wiring.hierarchy.stats(connection, "ann")}
    assert len(set(members)) == len(members) == held["semantics"]
    assert max((len(theme.semantics) for theme in themes), default=0) <= cap
    assert memory.admin.check().ok


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The view's tables, but for numbers of generations."""
    with closing(sqlite3.connect(folder / "zibaldone.sqlite3")) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if name.startswith("hierarchy_")
        ]
        found = {}
        for name in names:
            columns = [one[1] for one in connection.execute(f"PRAGMA table_info({name})")]
            kept = ", ".join(f'"{one}"' for one in columns if one != "generation")
            found[name] = sorted(connection.execute(f"SELECT {kept} FROM {name}").fetchall())
        return found


@pytest.mark.parametrize("seed", [1, 2])
def test_all_holds_while_messages_come_and_go(memory, seed):
    """Themes partition the semantics, whatever was forgotten."""
    rng = random.Random(seed)
    said = conversation(seed)
    while said:
        size = rng.randrange(1, 20)
        some, said = said[:size], said[size:]
        memory.add(some, user="ann")
        memory.maintain(user="ann")
        if rng.random() < 0.5:
            seqs = [message.seq for message in memory.messages(user="ann")]
            memory.forget(user="ann", seqs=rng.sample(seqs, min(3, len(seqs))))
            check(memory)
            memory.maintain(user="ann")
        check(memory)
    assert memory.user("ann").themes()


def test_one_by_one_or_all_at_once(tmp_path):
    """The same rows come of the same log, however it came."""
    said = conversation(3, talks=6)
    folders = []
    for name, size in (("all", len(said)), ("some", 7), ("one", 1)):
        folders.append(tmp_path / name)
        with Memory(folders[-1], config=Config(maintained=["hierarchy"])) as memory:
            for start in range(0, len(said), size):
                memory.add(said[start : start + size], user="ann")
                memory.maintain(user="ann")
    assert rows(folders[0]) == rows(folders[1]) == rows(folders[2])
    assert rows(folders[0])["hierarchy_semantics"]


def test_a_new_process_goes_on_as_the_old_one_would_have(tmp_path):
    """Closed and opened between any two batches, the same rows come out."""
    said = conversation(4, talks=6)
    with Memory(tmp_path / "whole", config=Config(maintained=["hierarchy"])) as memory:
        memory.add(said, user="ann")
        memory.maintain()
    for start in range(0, len(said), 10):
        with Memory(tmp_path / "parts", config=Config(maintained=["hierarchy"])) as memory:
            memory.add(said[start : start + 10], user="ann")
            memory.maintain()
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")


def test_forgetting_leaves_no_word_and_the_rest_is_told_anew(memory):
    """The forgotten word is in no table; the other messages of its episode come into episodes again."""
    said = conversation(5, talks=4)
    said.insert(
        8,
        Message(
            "My PIN at the bank is Xylophone77 now.", name="Bea", session=said[8].session, time=said[8].time
        ),
    )
    memory.add(said, user="ann")
    memory.maintain()
    assert any("Xylophone77" in one.text for theme in memory.user("ann").themes() for one in theme.semantics)
    (secret,) = [one.seq for one in memory.messages(user="ann") if "Xylophone77" in one.content]
    beside = next(one for one in memory.user("ann").episodes() if secret in one.seqs).seqs
    memory.forget(user="ann", seqs=[secret])
    assert "Xylophone77" not in repr(rows(memory.path))
    assert not any(set(beside) & set(one.seqs) for one in memory.user("ann").episodes())
    left = next(one for one in memory.messages(user="ann") if one.seq in beside)
    found = memory.recall(left.content, user="ann", views=["hierarchy"], budget_tokens=4000)
    assert left.seq in {seq for one in found.evidence for seq in one.sources}  # as a message meanwhile
    memory.maintain()
    told = {seq for one in memory.user("ann").episodes() for seq in one.seqs}
    assert set(beside) - {secret} <= told
    check(memory)


def test_two_users_are_strangers(memory):
    """Nothing of one user changes, or is found by, the other."""
    memory.add(conversation(7), user="ann")
    memory.maintain()
    before = memory.recall("bassoon", user="ann", views=["hierarchy"]), memory.user("ann").themes()
    memory.add(
        [
            Message(f"I bought a bassoon number {i}.", name="Ann", time=START + timedelta(hours=i))
            for i in range(30)
        ],
        user="zoe",
    )
    memory.maintain()
    assert memory.user("ann").themes() == before[1]
    assert memory.recall("bassoon", user="ann", views=["hierarchy"]).text == before[0].text
    texts = {one.text for theme in memory.user("zoe").themes() for one in theme.semantics}
    assert not texts & {one.text for theme in memory.user("ann").themes() for one in theme.semantics}
    memory.forget(user="zoe", everything=True)
    assert memory.user("ann").themes() == before[1]
    assert memory.user("zoe").themes() == memory.user("zoe").episodes() == []


def test_it_is_maintained_only_where_it_is_wanted(tmp_path):
    """By default nothing is spent on it; by name it can be had all the same."""
    with Memory(tmp_path) as memory:
        memory.add(conversation(8), user="ann")
        memory.maintain()
        assert memory.user("ann").themes() == []
        memory.maintain(views=["hierarchy"])
        assert memory.user("ann").themes()
        with pytest.raises(UnknownName, match="no view 'hierarchies'"):
            memory.maintain(views=["hierarchies"])


@pytest.mark.parametrize("wrong", ["hierarchy", [3], 7])
def test_what_cannot_be_maintained_is_refused(tmp_path, wrong):
    """A typed error, before anything is opened for good."""
    with pytest.raises((InvalidInput, UnknownName)):
        Memory(tmp_path, config=Config(maintained=wrong))


def test_another_cap_makes_other_themes(tmp_path):
    """Themes are made anew for another cap, and keep to it; nothing else is."""
    built = []
    for cap in (12, 3):
        with Memory(
            tmp_path, config=Config(hierarchy=XMemory(theme_cap=cap), maintained=["hierarchy"])
        ) as memory:
            if cap == 12:
                memory.add(conversation(9), user="ann")
            memory.maintain()
            check(memory, cap)
            built.append(memory.user("ann").episodes())
    assert built[0] == built[1]


def test_an_embedder_that_fails_leaves_the_view_behind_and_nothing_lost(tmp_path):
    """Maintenance says so; with the embedder back everything is read."""

    class Moody(HashEmbedder):
        failing = False

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if self.failing:
                raise ModelFailed("the embedder is down")
            return super().embed(texts)

    embedder = Moody()
    with Memory(tmp_path, embedder=embedder, config=Config(maintained=["hierarchy"])) as memory:
        memory.add(conversation(10, talks=3), user="ann")
        embedder.failing = True
        assert [one.view for one in memory.maintain().behind if one.view == "hierarchy"] == ["hierarchy"]
        assert memory.recall(
            "bassoon garden bakery pottery", user="ann", views=["hierarchy"], min_confidence=0.0
        )
        embedder.failing = False
        assert memory.maintain().behind == ()
        assert memory.user("ann").episodes()


def test_a_commit_that_is_undone_is_done_again(memory, monkeypatch):
    """What a batch left in memory is not believed when the database has not got it."""
    memory.add(conversation(11, talks=6), user="ann")
    view = memory._wiring.hierarchy
    commit = view.commit

    def undone(*given: object) -> None:
        commit(*given)
        raise RuntimeError("power cut")

    monkeypatch.setattr(view, "commit", undone)
    with pytest.raises(RuntimeError, match="power cut"):
        memory.maintain()
    monkeypatch.undo()
    memory.maintain()
    check(memory)
    assert len({one.id for one in memory.user("ann").episodes()}) == len(memory.user("ann").episodes())


def _failing(request: ChatRequest) -> str | ChatReply:
    raise ModelFailed("not today")


@pytest.mark.parametrize(("reader", "asks"), [("model", True), ("offline", False)])
def test_whether_a_recall_asks_the_model_can_be_set(tmp_path, reader, asks):
    """With the offline reader no question goes to the model."""
    chat = ScriptedModel(_failing)
    config = XMemory(reader=reader)
    with Memory(tmp_path, chat=chat, config=Config(hierarchy=config, maintained=["hierarchy"])) as memory:
        memory.add(conversation(12, talks=3), user="ann")
        memory.maintain()
        before = len(chat.requests)
        assert memory.recall("bassoon", user="ann", views=["hierarchy"], min_confidence=0.0)
        assert (len(chat.requests) > before) is asks


def test_a_reader_that_is_not_known_is_refused():
    """By name."""
    with pytest.raises(InvalidInput, match="reader must be"):
        XMemory(reader="none")


def test_no_fact_is_embedded_twice_in_a_batch(tmp_path):
    """What was embedded to settle a fact is what is stored of it."""
    embedded: list[str] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            embedded.extend(texts)
            return super().embed(texts)

    with Memory(tmp_path, embedder=Counting(), config=Config(maintained=["hierarchy"])) as memory:
        memory.add(conversation(10, talks=3), user="ann")
        memory.maintain(views=["hierarchy"])
        alone = [
            one.text for theme in memory.user("ann").themes() for one in theme.semantics if len(one.seqs) == 1
        ]
        assert alone
        assert {embedded.count(text) for text in alone} == {1}


def test_a_statement_that_quotes_a_question_cites_it(tmp_path):
    """Of a model's fact that was refused the answer's own words stand, which need the question's."""
    invented = {"statements": [{"text": "Bea plays the harp in Linz.", "sources": [4]}]}
    answers = {
        "hierarchy.narrate": {"title": "Music", "narrative": "Ann and Bea talked about music."},
        "hierarchy.distil": invented,
    }

    def answer(request: ChatRequest) -> str:
        if request.task not in answers:
            raise ModelFailed("not today")
        return json.dumps(answers[request.task])

    lines = (
        ("Ann", "My sister Nora lent her bassoon to Omar."),
        ("Bea", "Omar plays in the brass band of Graz."),
        ("Ann", "How long have you been married to Liam?"),
        ("Bea", "Five years already!"),
    )
    talk = [Message(text, name=name, time=START, session="1") for name, text in lines]
    later = Message("The bakery opens at seven.", name="Ann", time=START + timedelta(days=2), session="2")
    settings = XMemory(include=False)  # facts are offered, whatever else is
    with Memory(
        tmp_path, chat=ScriptedModel(answer), config=Config(maintained=["hierarchy"], hierarchy=settings)
    ) as memory:
        memory.add([*talk, later], user="ann")
        memory.maintain()
        recall = memory.recall(
            "How long has Bea been married?", user="ann", views=["hierarchy"], min_confidence=0
        )
        quoting = [one for one in recall.evidence if "married to Liam" in one.text and "Five" in one.text]
        assert quoting
        assert all({3, 4} <= set(one.sources) for one in quoting)
        assert memory.admin.check().faults == ()
        memory.forget(user="ann", seqs=[3])
        memory.maintain()
        again = memory.recall(
            "How long has Bea been married?", user="ann", views=["hierarchy"], min_confidence=0
        )
        assert not any("Liam" in one.text for one in again.evidence)
