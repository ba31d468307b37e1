"""Each command's smallest run: what it judges, and the file that it writes."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import read, recall, results, serving, speed
from benchmarks.data import Conversation, Question, load
from benchmarks.scores import bleu1, f1_original
from zibaldone import InvalidInput, Message
from zibaldone.cli.compare.systems import Equipment, Recalled
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.testing import ScriptedModel

MODULES = {"speed": speed, "serving": serving}
EMBEDDER = shared_static_embedder()


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Run one; what it wrote."""

    def run(name, *words):
        output = tmp_path / "out.json"
        monkeypatch.setattr(sys, "argv", [name, *map(str, words), "--output", str(output)])
        if name in MODULES:
            MODULES[name].main()
        else:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        return json.loads(output.read_text())

    return run


@pytest.mark.parametrize("data", ["locomo", "beam", "longmemeval", "realmem", "mab"])
def test_a_data_set_is_measured(command, paths, data, capsys):
    """A row for each system and budget, with what made it; the engine finds all of so little."""
    written = command(
        data, paths[data], "--systems", "hybrid,messages", "--budgets", "300", "--min-confidence", "0"
    )
    assert [(row["system"], row["budget_tokens"]) for row in written["rows"]] == [
        ("hybrid", 300),
        ("messages", 300),
    ]
    found = written["rows"][1]["answer" if data == "mab" else "evidence"]
    assert found["value"] == 1.0
    assert written["date"]
    assert "messages" in capsys.readouterr().out


def test_a_reranker_is_taken_by_its_name(command, paths):
    """One that asks a chat model says where to name it."""
    with pytest.raises(InvalidInput, match="chat"):
        command("locomo", paths["locomo"], "--systems", "messages", "--reranker", "chat")


def test_a_question_sees_only_what_was_said_before_it(tmp_path):
    """Else the first question would find its answer in what follows."""
    said = [Message("Comet is my dog.", seq=1), Message("Comet the dog is in Graz now.", seq=2)]
    questions = [
        Question(f"q{seen}", "Where is Comet the dog?", "k", None, seen, evidence=(2,)) for seen in (2, 1)
    ]
    talk = Conversation("locomo", "c", tuple(said), tuple(questions))
    judged = recall.measure([talk], ["messages"], [200], Equipment(EMBEDDER, tmp_path, floor=0.0))
    assert [(each.id, each.evidence) for each in judged] == [("q1", 0.0), ("q2", 1.0)]


def test_what_is_judged_of_one_recall():
    """Evidence by units, an answer in any accepted form, nuggets by their words in the text."""
    talk = Conversation("locomo", "c", (Message("I adopted a greyhound.", seq=1),), ())
    nuggets = ("a greyhound", "a violet giraffe")
    question = Question("q", "?", "k", None, 1, (1,), answers=("Comet", "the dog"), nuggets=nuggets)
    given = Recalled("Ann: I adopted a greyhound. The\n Dog ran.", ("I adopted a greyhound.",), 9)
    judged = recall.judge(talk, question, "s", 100, given, 1.0)
    assert (judged.evidence, judged.answer, judged.nuggets) == (1.0, 1.0, 0.5)


def asker(*replies):
    """One whose model says this."""
    return Asker(ScriptedModel(list(replies)), Meter(None), EMBEDDER)


def question(**more):
    """One with a reference."""
    return Question("q1", "Who?", "k", None, 1, answers=("Ann",), **more)


@pytest.mark.parametrize(
    ("given", "verdict", "score"),
    [
        (question(), '{"reason": "so", "correct": true}', 1.0),
        (question(), '{"correct": false}', 0.0),
        (question(nuggets=("a", "b")), '{"scores": [1, 0.5]}', 0.75),
        (question(known=False), '{"abstains": true}', 1.0),
    ],
)
def test_a_judge_s_verdict_becomes_a_score(given, verdict, score):
    """By the reference, the nuggets, or that nobody knows."""
    assert read.score(given, "Ann, I think.", asker(verdict)) == score


def test_a_judge_who_cannot_count_is_asked_again():
    """One score of 0, 0.5 and 1 for each nugget."""
    wanted = question(nuggets=("a", "b"))
    assert read.score(wanted, "Ann", asker('{"scores": [1]}', '{"scores": [0, 1]}')) == 0.5


def test_answers_are_read_and_judged(paths, tmp_path):
    """Every question has a score, or says why not; thoughts are no answer."""
    talks = read.sample(load("locomo", paths["locomo"]), 2)
    assert sum(len(talk.questions) for talk in talks) == 2
    assert talks == read.sample(load("locomo", paths["locomo"]), 2)
    model = asker("<think>hm</think> Comet", '{"correct": true}', "Comet", "no JSON", "no JSON")
    answers = read.answer_all(talks, ["hybrid"], [200], Equipment(EMBEDDER, tmp_path), model, workers=1)
    assert [(each.answer, each.score) for each in answers] == [("Comet", 1.0), ("Comet", None)]
    (row,) = read.make_rows(answers)
    assert (row.score.value, row.not_scored) == (1.0, 1)
    assert answers[1].why


def test_views_are_consolidated_by_the_model(paths, tmp_path):
    """What the model wrote is what is read."""
    (talk,) = read.sample(load("bundled", paths["bundled"]), 1)
    talk = replace(
        talk,
        messages=talk.messages[:3],
        questions=(replace(talk.questions[0], text="What job has Leonie?", visible=3),),
    )
    note = {"kind": "constraint", "text": "Leonie is a data analyst.", "sources": [3]}
    writer = ScriptedModel(lambda _: json.dumps({"notes": [note], "ended": []}))
    tools = Equipment(EMBEDDER, tmp_path, chat=writer)
    reader = ScriptedModel(["Alone.", '{"correct": true}'])
    asked = Asker(reader, Meter(None), EMBEDDER)
    read.answer_all([talk], ["zibaldone"], [200], tools, asked, workers=1, consolidate=True)
    assert {request.task for request in writer.requests} == {"notes.take"}
    assert "Leonie is a data analyst." in reader.requests[0].turns[-1].content


def test_f1_in_the_forms_that_papers_quote():
    """LoCoMo's own, by stems and parts; BLEU-1 with its brevity penalty."""
    assert f1_original("the dogs", "dog", "single-hop") == 1.0
    assert f1_original("Ann", "Ann, Ben", "multi-hop") == 0.5
    assert f1_original("not mentioned", "", "adversarial") == 1.0
    assert bleu1("red", "red car") == pytest.approx(0.3679, abs=1e-4)


@pytest.mark.wide
def test_speed_has_a_row_for_each_size(command, monkeypatch, paths):
    """Beside yardsticks; a new process opens the folder."""
    for name, count in (("CALLS", 4), ("_WARM_UPS", 1), ("_OPENS", 1)):
        monkeypatch.setattr(speed, name, count)
    written = command("speed", paths["locomo"], "--sizes", "20")
    (row,) = written["rows"]
    assert row["messages"] == 20
    assert all(row[name] > 0 for name in speed.Speed.__slots__)


@pytest.mark.wide
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_gateway_is_measured_and_its_log_counted(command, paths):
    """Beside the upstream alone; nothing that was acknowledged is lost."""
    written = command(
        "serving", paths["locomo"], "--concurrency", "1", "--requests", "4", "--history", "2", "--rate", "900"
    )
    assert [(row["arm"], row["failures"]) for row in written["rows"]] == [
        ("session", 0),
        ("gateway", 0),
        ("same", 0),
    ]
    assert written["log"]["acknowledged"] > 0
    assert written["log"]["lost"] == written["log"]["doubled"] == 0


def test_what_a_prefix_cache_has_of_a_prompt():
    """Of each request after the first turn what it shares with the one before, rounds of a turn included."""
    row = serving.prefix_row("tool", [["aaaa", "aaaabbbb"], ["aaaacccc"], ["aaaaccccdddddddd"]])
    assert (row.requests, row.prompt_tokens, row.cached) == (2, 6, 0.5)
    assert row.computed_tokens_per_turn == 1


def test_an_audit_counts_what_is_lost_and_doubled(tmp_path):
    """Turns that the gateway acknowledged, in the log of their session."""
    from zibaldone import Memory

    sample = serving.Sample("r", "ann", "s", "hello", "hi", 0.0, 0.1, "ok", 1.0, None)
    with Memory(tmp_path / "memory") as memory:
        memory.add([Message("hello", session="s"), Message("hello", session="s")], user="ann")
    assert serving.audit(tmp_path / "memory", [sample]) == {"acknowledged": 2, "lost": 1, "doubled": 1}


def test_results_say_what_made_them(tmp_path, monkeypatch):
    """The command with file names in place of paths."""
    monkeypatch.setattr(sys, "argv", ["/x/locomo.py", "/somewhere/data.json", "--limit", "3"])
    results.write(tmp_path / "new" / "r.json", {"rows": []})
    written = json.loads((tmp_path / "new" / "r.json").read_text())
    assert written["command"] == "python -m benchmarks.locomo data.json --limit 3"
    assert isinstance(results.RESULTS, Path)
