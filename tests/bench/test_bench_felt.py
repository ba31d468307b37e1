"""The felt questions: what they name is in the conversation, and how an answer to one is judged."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from zibaldone import Memory
from zibaldone.bench import felt
from zibaldone.bench.felt import NEVER, FeltQuestion, FeltRow, felt_chat, felt_questions, judge
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import FeltOptions
from zibaldone.errors import InvalidInput

SEQS = {"sofa": 1, "price": 2, "later": 3}
CONVERSATION_OF_ONE = (
    {"role": "user", "content": "The terrible sofa stays in the old flat.", "id": "sofa"},
    {"role": "user", "content": "Somebody bought it for eighty euros in cash.", "id": "price"},
    {"role": "user", "content": "The terrible sofa comes along after all.", "id": "later"},
)


def question(*parts, **more):
    return FeltQuestion("What happened to the sofa?", "list", list(parts), **more)


@pytest.fixture(scope="module")
def recall(tmp_path_factory):
    """Everything that there is."""
    with Memory(tmp_path_factory.mktemp("felt") / "memory") as memory:
        memory.add(list(CONVERSATION_OF_ONE), user="ann")
        return memory.recall("sofa", user="ann", budget_tokens=1000, floor=0)


@pytest.fixture
def half(recall):
    """A recall that lacks the message on the price."""
    return replace(recall, evidence=tuple(passage for passage in recall.evidence if 2 not in passage.sources))


@pytest.mark.parametrize("chat", ["demo", "nurse", "workshop", "agent"])
def test_every_phrase_is_in_its_message(chat):
    """Of the parts and of what is outdated."""
    rows = [json.loads(line) for line in felt_chat(chat).read_text(encoding="utf-8").splitlines()]
    contents = {row["id"]: row["content"] for row in rows}
    for felt_question in felt_questions(chat):
        for phrases in (*felt_question.parts, felt_question.outdated):
            for id_, phrase in phrases.items():
                assert phrase in contents[id_], felt_question.question


def test_there_are_forty_of_nine_kinds():
    """Only what was never said has no part to find."""
    every = felt_questions()
    assert Counter(each.kind for each in every) == {
        "typo": 5, "paraphrase": 6, "language": 4, "pronoun": 4, "negation": 4,
        "list": 4, "now": 5, "assistant": 4, "never": 4,
    }  # fmt: skip
    assert all(bool(each.parts) == (each.kind != NEVER) for each in every)


def test_another_chat_is_none():
    """The error names those that there are."""
    with pytest.raises(InvalidInput, match="demo, nurse, workshop, agent"):
        felt_questions("../nurse")


def test_every_part_is_needed(recall, half):
    """One of two that is not there makes the answer wrong, and is named."""
    both = question({"sofa": "terrible sofa stays"}, {"price": "eighty euros"})
    assert judge(both, recall, SEQS, 1000).right
    missed = judge(both, half, SEQS, 1000)
    assert not missed.right
    assert [part.phrases for part in missed.missing] == [{"price": "eighty euros"}]
    assert "price “eighty euros”" in missed.verdict


def test_any_message_of_a_part_will_do(half):
    """Who says the same elsewhere says it."""
    assert judge(question({"price": "eighty euros", "sofa": "terrible sofa"}), half, SEQS, 1000).right


def test_the_words_must_be_in_a_passage_that_cites_the_message(recall):
    """The same words of another message, and a citation without the words, are nothing."""
    assert not judge(question({"price": "terrible sofa stays"}), recall, SEQS, 1000).right
    assert not judge(question({"sofa": "eighty euros"}), recall, SEQS, 1000).right


def test_what_was_never_said_is_right_when_nothing_is_recalled(recall):
    """Anything else is too much."""
    never = question()
    nothing = replace(recall, text="", tokens=0, evidence=(), citations=())
    assert judge(never, nothing, SEQS, 1000).right
    assert not judge(never, recall, SEQS, 1000).right


def test_outdated_values_are_named(recall):
    """They may stand beside the new one, which is needed."""
    updated = question({"later": "comes along"}, outdated={"sofa": "sofa stays", "price": "never said"})
    answer = judge(updated, recall, SEQS, 1000)
    assert answer.right
    assert answer.outdated == ("sofa",)


def test_a_row_counts_a_budget_at_a_time(recall, half):
    """The right ones and their tokens."""
    price = question({"price": "eighty euros"})
    row = FeltRow("list", (judge(price, recall, SEQS, 1000), judge(price, half, SEQS, 300)))
    assert (row.right(1000), row.right(300)) == ((1, 1), (0, 1))
    assert row.tokens(1000) == recall.tokens


def test_a_run_has_a_line_per_kind_and_one_for_all(tmp_path, monkeypatch):
    """And with `questions` one per question and budget."""
    few = [felt_questions()[0], felt_questions()[-1]]
    monkeypatch.setattr(felt, "felt_questions", lambda: few)
    measured = felt.run(FeltOptions(budget=(100, 200), questions=True), Run("felt", tmp_path))
    (table,) = measured.tables
    assert list(table.columns[0].cells) == ["typo", "never", "all"]
    assert len(measured.notes) == 4
    assert all(few[place // 2].question in note for place, note in enumerate(measured.notes))
