"""bench kv-locomo at its smallest: every arm is asked, and paired with the same turns as text."""

import json
from dataclasses import replace
from itertools import groupby

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from zibaldone.bench.kv import locomo, toy
from zibaldone.bench.kv.arms import BASE, FIRST, arms, by_pool
from zibaldone.bench.kv.pretrained import load_pretrained
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import KVLoCoMoOptions
from zibaldone.errors import InvalidInput, MissingExtra

SAID = [f"name{i} attribute{i} value{i} value{i + 1} and no more" for i in range(8)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a random Llama, and a tokenizer of words that mostly knows none."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=toy.tokenizer(), pad_token=toy.PAD, bos_token=toy.BOS, eos_token=toy.SEP
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(toy.VOCABULARY),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
        )
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def options(model, tmp_path_factory):
    """Two questions about the first of two sessions."""
    turns = [
        {"speaker": "Ann" if i % 2 else "Bo", "dia_id": f"D{1 + i // 4}:{1 + i % 4}", "text": text}
        for i, text in enumerate(SAID)
    ]
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns[:4],
            "session_2_date_time": "1:56 pm on 9 May, 2023",
            "session_2": turns[4:],
        },
        "qa": [
            {"question": "What of name1?", "answer": "value1 value2", "evidence": ["D1:2"], "category": 4},
            {"question": "What of name3?", "answer": "value3", "evidence": ["D1:4"], "category": 4},
            {"question": "What of name6?", "answer": "value6", "evidence": ["D2:3"], "category": 4},
        ],
    }
    folder = tmp_path_factory.mktemp("data")
    (folder / "locomo.json").write_text(json.dumps([sample]))
    return KVLoCoMoOptions(
        path=folder / "locomo.json",
        model=model,
        conversations=1,
        history=60,
        budget=40,
        answer=2,
        heads=(20, 40),
        keep=folder / "asked.jsonl",
    )


@pytest.fixture(scope="module")
def measured(options, tmp_path_factory):
    """The whole run."""
    return locomo.run(options, Run("bench", tmp_path_factory.mktemp("run")))


def test_every_arm_answers_every_question(measured):
    """Of whole sessions as far as the history goes: the third question's evidence is not in it."""
    rows = {row.arm: row for row in measured.figures["rows"]}
    assert list(rows) == [arm.name for arm in arms()]
    assert {row.questions for row in rows.values()} == {2}
    assert rows[BASE].against == rows[FIRST].against_keys == 0
    assert rows["none"].against - rows["none"].against_keys == pytest.approx(rows[FIRST].against)
    assert rows["none"].memory_tokens == rows["none"].evidence == 0
    assert rows["oracle-kv"].evidence == rows["whole-text"].evidence == 1
    assert rows["paper"].evidence is None
    assert 0 < rows[FIRST].memory_tokens <= 40


def test_the_same_turns_cost_no_prefill_as_keys(measured):
    """As text all of them go through the model, as KV the question alone."""
    rows = {row.arm: row for row in measured.figures["rows"]}
    assert rows[FIRST].evidence == rows[BASE].evidence
    assert rows[BASE].prefill_tokens == rows[FIRST].prefill_tokens + rows[FIRST].memory_tokens
    asked = {(one.arm, one.question): one.seqs for one in measured.figures["answers"]}
    assert all(seqs == asked[BASE, question] for (arm, question), seqs in asked.items() if arm == FIRST)


def test_arms_of_one_question_have_the_same_turns_in_sight(measured):
    """Whatever they stand behind, in whatever order; what is computed again is said as prefill."""
    rows = {row.arm: row for row in measured.figures["rows"]}
    first = rows[FIRST]
    for name in ("best-last", "no-sink", "alone", "segment", "sinks"):
        row = rows[f"recall-kv-{name}"]
        assert (row.memory_tokens, row.prefill_tokens) == (first.memory_tokens, first.prefill_tokens), name
        assert row.evidence == first.evidence
        if name != "segment":  # these sessions are shorter than the context before a turn
            assert row.log_probability != first.log_probability, name
    ordered = rows["recall-text-best-last"]
    assert ordered.prefill_tokens == rows[BASE].prefill_tokens
    assert ordered.log_probability != rows[BASE].log_probability
    again = rows["recall-kv-reread-4"]
    assert again.prefill_tokens > first.prefill_tokens
    assert again.prefill_tokens + again.memory_tokens == first.prefill_tokens + first.memory_tokens


def test_no_pool_is_made_twice():
    """Arms of one pool are asked one after the other: a user has one pool at a time."""
    pools = [
        (arm.config.stored, arm.config.layers, arm.pinned) for together in by_pool(arms()) for arm in together
    ]
    assert len(list(groupby(pools))) == len(set(pools))


def test_heads_are_beside_chance(measured):
    """Random weights have no good head: turns at random alone are there, at both budgets."""
    (row,) = measured.figures["heads"]
    assert row.head == "turns at random"
    assert 0 <= row.turns[0] <= row.turns[1] <= 1
    assert len(measured.tables) == 2


def test_a_run_that_was_cut_off_goes_on(options, measured, tmp_path, monkeypatch):
    """What was asked is read from the file, and no model is asked again; other settings are asked anew."""
    lines = len(options.keep.read_text().splitlines())
    with monkeypatch.context() as patch:
        patch.setattr(locomo, "attached", None)
        again = locomo.run(options, Run("bench", tmp_path / "a"))
    assert again.figures["rows"] == measured.figures["rows"]
    one = replace(options, arms=(FIRST,), answer=0)
    figures = locomo.run(one, Run("bench", tmp_path / "b")).figures
    (row,) = figures["rows"]
    assert row.f1 is None
    assert figures["heads"] == []
    assert len(options.keep.read_text().splitlines()) == lines + 2


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"model": None}, "--model is needed"), ({"arms": ("best",)}, "no arm is called best")],
)
def test_what_cannot_be_run_is_refused(options, tmp_path, wrong, reason):
    """By name."""
    with pytest.raises(InvalidInput, match=reason):
        locomo.run(replace(options, **wrong), Run("bench", tmp_path))


def test_where_no_model_is(tmp_path, monkeypatch):
    """A path without a model says what is wanted, and a missing reader which package to install."""
    with pytest.raises(InvalidInput, match=r"config.json.*\.gguf"):
        load_pretrained(tmp_path)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    with pytest.raises(InvalidInput, match=r"config.json.*\.gguf"):
        load_pretrained(tmp_path / "other.gguf")

    def missing(*_, **__):
        raise ImportError("no gguf")

    monkeypatch.setattr("zibaldone.bench.kv.pretrained.AutoTokenizer.from_pretrained", missing)
    with pytest.raises(MissingExtra, match="the packages gguf and accelerate"):
        load_pretrained(tmp_path / "m.gguf")
