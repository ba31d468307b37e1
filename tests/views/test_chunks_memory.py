"""Chunks: what is remembered and forgotten, and how both can be seen."""

from datetime import timedelta

import pytest
from chunk_talk import FILLER, NOW, OTHERS, has, maintained, recalled, texts

from chunk_model import chunk_model, joint
from zibaldone import MemAttention, Placement

SMALL = MemAttention(chunk_gate_tokens=40)


@pytest.fixture
def memory(opened):
    """With a gate that three sentences reach."""
    return opened(maintained=["chunks"], chunks=SMALL, chat=None)


def best(found):
    """The evidence that ranked first; a recall is in the order of time."""
    return max(found.evidence, key=lambda evidence: evidence.score)


def test_chunks_are_made_of_full_gates_and_found_again(memory):
    """Items are the messages' own words with their seqs; metadata describes them; recall cites them."""
    report = maintained(memory, *FILLER, "It rained.")
    assert (report.users, report.messages, report.behind) == (1, 4, ())
    (chunk,) = memory.user("ann").chunks()
    assert [item.sources for item in chunk.items] == [(1,), (2,), (3,)]
    assert [item.text for item in chunk.items] == FILLER
    assert chunk.entities[0] == "Ann"
    assert {"river", "clocks", "bakery"} <= set(chunk.keywords)
    assert (chunk.first, chunk.last) == (NOW, NOW + timedelta(hours=2))
    assert (chunk.made_by, chunk.degraded, chunk.version, chunk.session) == ("offline", "", 1, None)
    assert 0.9 < chunk.retained_ratio <= 1
    found = recalled(memory, "Who repairs clocks?", budget_tokens=40)
    assert best(found).sources == (2,)
    assert best(found).kind == "item"
    (trace,) = found.trace.views
    assert (trace.view, trace.model_calls, trace.note) == ("chunks", 0, "")


def test_the_active_chunk_is_recallable(memory):
    """Messages of an open gate are found, whether maintained or not."""
    memory.add("The zeppelin museum opens on Sunday.", user="ann")
    for _ in range(2):
        assert best(recalled(memory, "zeppelin museum")).sources == (1,)
        memory.maintain()


def test_a_giant_message_is_several_chunks(opened):
    """No chunk is as long as two gates, and every sentence is in one, word for word."""
    memory = opened(maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=256), chat=None)
    giant = " ".join(f"Fact number {i} is true." for i in range(400))
    maintained(memory, giant)
    said_in = [" ".join(item.text for item in chunk.items) for chunk in memory.user("ann").chunks()]
    assert len(said_in) > 5
    assert all(memory.admin.count_tokens(text) < 512 for text in said_in)
    assert " ".join(said_in) == giant[: len(" ".join(said_in))]


def test_each_sentence_is_kept_once(opened):
    """What somebody says again goes, and what has no content word; what another says stays."""
    memory = opened(maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=60), chat=None)
    talk = [
        ("Ann", "Hi Bea! I moved to Lisbon yesterday."),
        ("Bea", "Where to?"),
        ("Ann", "The rent is 900 euros. I moved to Lisbon yesterday!"),
        ("Bea", "I moved to Lisbon yesterday."),
        ("Ann", "The rent is 900 euros. I bake bread."),
    ]
    memory.add([{"name": name, "content": content} for name, content in talk], user="ann")
    memory.maintain()
    (chunk,) = memory.user("ann").chunks()
    assert [(item.sources, item.text) for item in chunk.items] == [
        ((1,), "Hi Bea! I moved to Lisbon yesterday."),
        ((3,), "The rent is 900 euros."),
        ((4,), "I moved to Lisbon yesterday."),
        ((5,), "I bake bread."),
    ]


def superseding(given):
    """The first item of the first chunk goes for the first new one."""
    gone = {"chunk": 1, "item": 1, "because": [1], "reason": "superseded"}
    return {**joint(given), "deletions": [gone] if any(one["chunk"] == 1 for one in given["related"]) else []}


def test_forgetting_reaches_metadata_history_and_blocks(opened):
    """After forgetting, no file of the folder has the words, and what stood beside them is still there."""
    memory = opened(
        maintained=["chunks"],
        chunks=SMALL,
        chat=chunk_model(joint_compact=superseding),
        placement=Placement(block_bytes=256, staged_blocks=0),
    )
    secret = "My password is Rumpelstilz, which Marguerite knows."
    maintained(memory, secret, *FILLER)
    maintained(memory, "My password is Tarantella now.", *OTHERS)
    assert [secret in one.item.text for one in memory.user("ann").superseded()] == [True]
    assert len(list(memory.path.rglob("*.block"))) > 1
    assert has(memory, "Rumpelstilz", "Marguerite") == ["Rumpelstilz", "Marguerite"]
    foreseen = memory.forget(user="ann", seqs=[1], dry_run=True)
    receipt = memory.forget(user="ann", seqs=[1])
    assert receipt.views == foreseen.views
    assert receipt.purged
    assert has(memory, "Rumpelstilz", "Marguerite") == []
    assert {f"Ann said: {text}" for text in FILLER} <= set(texts(memory))
    assert memory.admin.check().faults == ()
    memory.maintain()
    assert memory.admin.check().faults == ()
    assert memory.forget(user="ann", everything=True).purged
    assert list(memory.path.rglob("*.block")) == []
    assert memory.user("ann").chunks() == memory.user("ann").superseded() == []


def test_why_not_names_the_chunk(opened):
    """A message whose chunk was not selected is told by the rank of its chunk."""
    memory = opened(maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=40, top_p=1), chat=None)
    maintained(memory, *FILLER, *[f"Zebra number {i} eats grass in the zoo of Vienna." for i in range(9)])
    found = recalled(memory, "zebra grass zoo")
    assert "chunk ranked it" in found.why_not(1)
    assert "is in" in found.why(found.evidence[0].sources[0])


def test_a_model_makes_chunks(opened):
    """The model's notes are items with their sources; what made them is told, and the meter has the calls."""
    memory = opened(maintained=["chunks"], chunks=SMALL, chat=chunk_model())
    report = maintained(memory, *FILLER)
    (chunk,) = memory.user("ann").chunks()
    assert chunk.items[1].text == f"Ann said: {FILLER[1]}"
    assert chunk.items[1].sources == (2,)
    assert chunk.items[1].speaker is None
    assert chunk.made_by.startswith("scripted/")
    assert (chunk.summary, chunk.keywords[0]) == ("What was said.", "said")
    assert (report.model_calls, report.degraded) == (1, 0)
    assert [one.task for one in memory.admin.usage(user="ann")] == ["compress"]
    assert best(recalled(memory, "clocks")).text.startswith("Ann said:")


def test_a_model_updates_and_deletes(opened):
    """Updates stand on both messages, deletions go to the history, and the log is as it was."""

    def corrected(given):
        answer = dict(joint(given))
        (first,) = [one for one in given["related"] if one["chunk"] == 1]
        answer["updates"] = [{"chunk": 1, "item": 1, "text": "The river rose, then fell.", "because": [1]}]
        answer["deletions"] = [{"chunk": 1, "item": 2, "because": [2], "reason": "superseded"}]
        assert len(first["items"]) == 3
        return answer

    memory = opened(maintained=["chunks"], chunks=SMALL, chat=chunk_model(joint_compact=corrected))
    maintained(memory, *FILLER)
    maintained(memory, "The river fell again.", "Otto repairs no clocks any more.", "x " * 30)
    first = memory.user("ann").chunks()[0]
    assert [item.id for item in first.items] == [1, 3]
    assert first.items[0].text == "The river rose, then fell."
    assert first.items[0].sources == (1, 4)
    assert (first.summary, first.keywords[0]) == ("What was said.", "said")  # still borne out
    assert {(one.item.id, one.by_sources) for one in memory.user("ann").superseded()} == {
        (1, (4,)),
        (2, (5,)),
    }
    assert [m.content for m in memory.messages(user="ann", limit=3)] == FILLER
    memory.forget(user="ann", seqs=[4])
    first = memory.user("ann").chunks()[0]
    assert f"Ann said: {FILLER[0]}" in [item.text for item in first.items]
    assert memory.admin.check().faults == ()


def test_a_model_that_fails_at_recall_is_done_without(opened):
    """Recall goes on by words and cosine, and the trace says so."""
    model = chunk_model(select_related=lambda _: {"chunks": [99]})
    chunks = MemAttention(chunk_gate_tokens=40, top_p=1, recall_relevance="model")
    memory = opened(maintained=["chunks"], chunks=chunks, chat=model)
    maintained(memory, *[f"{one} {i}" for i in range(4) for one in FILLER])
    found = recalled(memory, "clocks Otto")
    assert found.evidence
    assert "selected offline" in found.trace.views[0].note
