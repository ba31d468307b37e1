"""A chat model in a benchmark: it makes chunks, answers questions, and is counted."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from chunk_model import chunk_model, inputs_of
from zibaldone.bench.base import Cost
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.reader import Reader
from zibaldone.bench.report import make_rows
from zibaldone.bench.runner import run
from zibaldone.cli.bench import bench_app
from zibaldone.models import Asker, ChatReply, Meter
from zibaldone.testing import ScriptedModel


def answering(answer):
    """A model that gives every question of a reader this answer, and does chunks as a good one."""
    chunks = chunk_model()

    def reply(request):
        if request.task == "bench.read":
            return ChatReply(answer(request), prompt_tokens=100, completion_tokens=2)
        return chunks._answers(request)

    return ScriptedModel(reply)


@pytest.fixture
def benchmark(locomo_path):
    """The small conversations."""
    return LoCoMoQuestions(locomo_path)


def rows(benchmark, tools, model, systems=("bm25", "chunks")):
    """A report of these systems with the model as reader."""
    tools = replace(tools, chat=model)
    reader = Reader(Asker(model, Meter(None), tools.tokenizer))
    records = run(benchmark, systems, [200], tools, reader=reader)
    return make_rows(benchmark, records), records, reader


def test_answers_are_scored(benchmark, tools):
    """The reader gets the recalled text and the question; its answer is scored against the gold one."""
    seen = []

    def answer(request):
        seen.append(request.turns[1].content)
        return "Comet" if "dog" in request.turns[1].content else "no idea"

    (row, _), records, _ = rows(benchmark, tools, answering(answer))
    dog = next(record for record in records if "dog" in record.question)
    assert (dog.scored.prediction, dog.scored.f1, dog.scored.f1_set) == ("Comet", 1.0, 1.0)
    assert "Question: What is Ann's dog called?" in seen[0]
    assert "greyhound called Comet" in seen[0]
    assert 0 < row.f1.value < 1


def test_a_reader_without_an_answer_scores_nothing(benchmark, tools):
    """A refusal is counted, and the run goes on."""
    model = answering(lambda _: "x")
    refusing = ScriptedModel(lambda request: ChatReply("no", finish="refusal"))
    _, records, reader = rows(benchmark, tools, refusing, ("bm25",))
    assert reader.failed == sum(record.answer is not None for record in records)
    assert {record.scored.f1 for record in records if record.scored} == {0.0}
    assert model.requests == []


def test_without_a_model_nothing_costs_anything(benchmark, tools):
    """Offline rows have no calls and no answers."""
    records = run(benchmark, ["bm25", "chunks"], [200], tools)
    assert {(record.cost, record.ingest) for record in records} == {(Cost(), Cost())}
    assert {record.scored for record in records} == {None}


def test_calls_are_told_per_turn_and_per_question(tmp_path, tools, samples):
    """What taking in the conversation cost stands apart from what the questions cost, for each system."""
    conversation = samples[0]["conversation"]
    for number in range(3, 200):
        fact = f"On day {number} I repaired clock number {number} in the cellar of house {number}."
        conversation["session_2"].append({"speaker": "Ben", "dia_id": f"D2:{number}", "text": fact})
    path = tmp_path / "long.json"
    path.write_text(json.dumps(samples[:1]))
    model = answering(lambda _: "Comet")
    (bm25, chunks), records, _ = rows(LoCoMoQuestions(path), tools, model)
    assert (bm25.calls_per_1000_turns, bm25.calls_per_question) == (0, 0)
    tasks = [request.task for request in model.requests]
    of_ingest = [task for task in tasks if task in ("chunks.compress", "chunks.joint_compact")]
    turns = records[0].turns
    assert turns == 201
    assert chunks.calls_per_1000_turns == pytest.approx(1000 * len(of_ingest) / turns)
    assert chunks.tokens_per_1000_turns > 0
    assert json.dumps(inputs_of(model.requests[0]))


def test_a_run_from_recordings(tmp_path, locomo_path):
    """Without a model --record leaves the questions open and says how many."""
    folder = tmp_path / "recorded"
    done = CliRunner().invoke(
        bench_app,
        ["locomo", str(locomo_path), "--systems", "bm25", "--budget", "100", "--record", str(folder)],
    )
    assert done.exit_code == 0, done.output
    left = len(list(folder.rglob("*.md")))
    assert left > 0
    assert f"{left} questions are open in" in done.output
    assert "have no answer from the model, and score 0" in done.output
