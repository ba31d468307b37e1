"""A chat model in a benchmark of recall: it makes chunks, and is counted."""

import json
from dataclasses import replace

import pytest

from chunk_model import chunk_model, inputs_of
from zibaldone.bench.base import Cost
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.report import make_rows
from zibaldone.bench.runner import run


@pytest.fixture
def benchmark(locomo_path):
    """The small conversations."""
    return LoCoMoQuestions(locomo_path)


def test_without_a_model_nothing_costs_anything(benchmark, tools):
    """Offline rows have no calls."""
    records = run(benchmark, ["bm25", "chunks"], [200], tools)
    assert {(record.cost, record.ingest) for record in records} == {(Cost(), Cost())}


def test_calls_are_told_per_turn_and_per_question(tmp_path, tools, samples):
    """What taking in the conversation cost stands apart from what the questions cost, for each system."""
    conversation = samples[0]["conversation"]
    for number in range(3, 200):
        fact = f"On day {number} I repaired clock number {number} in the cellar of house {number}."
        conversation["session_2"].append({"speaker": "Ben", "dia_id": f"D2:{number}", "text": fact})
    path = tmp_path / "long.json"
    path.write_text(json.dumps(samples[:1]))
    model, benchmark = chunk_model(), LoCoMoQuestions(path)
    records = run(benchmark, ["bm25", "chunks"], [200], replace(tools, chat=model))
    bm25, chunks = make_rows(benchmark, records)
    assert (bm25.calls_per_1000_turns, bm25.calls_per_question) == (0, 0)
    tasks = [request.task for request in model.requests]
    of_ingest = [task for task in tasks if task in ("chunks.compress", "chunks.joint_compact")]
    turns = records[0].turns
    assert turns == 201
    assert chunks.calls_per_1000_turns == pytest.approx(1000 * len(of_ingest) / turns)
    assert chunks.tokens_per_1000_turns > 0
    assert json.dumps(inputs_of(model.requests[0]))
