"""Whole runs: records, reports, floor, speed, command line."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

import pytest
from typer.testing import CliRunner

from zibaldone.bench import floor, speed, workload
from zibaldone.bench.base import ContextUnit, Example, RecalledContext
from zibaldone.bench.cold import resident_bytes
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.longmemeval import LongMemEvalQuestions
from zibaldone.bench.report import make_rows
from zibaldone.bench.runner import Judge, run
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidInput

EXAMPLE = Example(
    "q", "u", "Who?", "red greyhound", "multi-hop", ("My red greyhound", "A blue cello"), ("1", "2")
)


def test_a_record_names_what_was_missed(tools):
    """One of two turns, one of two sessions, and what the answer's words cost."""
    context = RecalledContext("Ann: My red greyhound", (ContextUnit("My red greyhound", "1", 1),), 7)
    record = Judge(tools).record(EXAMPLE, "bm25", context, 500, 1.0)
    assert record.missed == ("A blue cello",)
    assert (record.evidence_recall, record.session_recall, record.answer_coverage) == (0.5, 0.5, 1.0)
    assert record.density.cover_tokens == tools.count_tokens("My red greyhound") + 1


def test_an_empty_context_finds_nothing(tools):
    """What a relevance floor empties counts as missed."""
    record = Judge(tools).record(EXAMPLE, "messages", RecalledContext("", (), 0), 500, 1.0)
    assert (record.evidence_recall, record.session_recall, record.answer_coverage) == (0.0, 0.0, 0.0)


def test_every_answerable_question_is_asked_of_every_system_at_every_budget(locomo_path, tools):
    """A system without budgets is asked once per question."""
    records = run(LoCoMoQuestions(locomo_path), ["bm25", "full"], [30, 60], tools)
    assert len(records) == 4 * (2 + 1)
    assert {record.category for record in records} == {"multi-hop", "temporal", "single-hop"}
    assert {record.budget_tokens for record in records if record.system == "full"} == {None}


def test_limit_takes_the_first_questions(locomo_path, tools):
    """For a quick look."""
    assert {record.id for record in run(LoCoMoQuestions(locomo_path), ["full"], [30], tools, limit=2)} == {
        "locomo_1_qa0",
        "locomo_1_qa1",
    }


def test_full_context_finds_all_evidence(locomo_path, tools):
    """Or else metric and importer disagree about what a turn says."""
    benchmark = LoCoMoQuestions(locomo_path)
    (row,) = make_rows(benchmark, run(benchmark, ["full"], [1], tools))
    assert row.evidence_recall.value == row.all_evidence.value == 1.0
    assert row.evidence_recall.questions == 3  # one question has no evidence
    assert row.by_category["open-domain"] is None


def test_figures_are_given_without_the_faulted_questions_too(locomo_path, write, tools):
    """Only when an audit is at hand."""
    benchmark = LoCoMoQuestions(locomo_path)
    records = run(benchmark, ["full"], [1], tools)
    assert make_rows(benchmark, records)[0].without_faulted is None
    write([{"question_id": "locomo_1_qa1"}], "locomo-errors.json")
    benchmark = LoCoMoQuestions(locomo_path)
    (row,) = make_rows(benchmark, run(benchmark, ["full"], [1], tools))
    assert (row.questions, row.without_faulted.questions) == (4, 3)
    assert (row.evidence_recall.questions, row.without_faulted.evidence_recall.questions) == (3, 2)


def test_longmemeval_is_judged_by_sessions(haystack_path, tools):
    """The added question has a session and no marked turn."""
    benchmark = LongMemEvalQuestions(haystack_path)
    (row,) = make_rows(benchmark, run(benchmark, ["full"], [1], tools))
    assert row.session_recall.questions == 2
    assert row.evidence_recall.questions == 1


def test_the_engine_is_judged_by_whole_messages(tools):
    """Passages of one message stand in one line of the text, so they are one unit."""
    from zibaldone.bench.engine import to_context
    from zibaldone.core import Evidence, Trace
    from zibaldone.recalled import Recall

    one = Evidence("Red.", "Ann", (1,), datetime(2024, 1, 1, tzinfo=UTC), "s", "messages", "passage", 1.0, 3)
    parts = (one, replace(one, text="Green.", place=50, score=9.0), replace(one, sources=(2,), score=5.0))
    context = to_context(Recall("?", "text", 9, parts, (), Trace((), (), 1.0, 0.0, 0.0)))
    assert [(unit.text, unit.rank) for unit in context.units] == [("Red. Green.", 1), ("Red.", 2)]


def test_renaming_swaps_whole_names_only():
    """So that a stranger's question speaks of the people of this memory."""
    assert (
        floor.rename("Did Ann see Anna's Ben?", ["Ann", "Ben"], ["Cleo", "Dan"]) == "Did Cleo see Anna's Dan?"
    )


def test_the_floor_asks_four_kinds_of_question(locomo_path, tools):
    """Only answerable ones have evidence to lose."""
    asked, _ = floor.evaluate(LoCoMoQuestions(locomo_path), tools)
    assert {one.kind for one in asked} == set(floor.KINDS)
    assert {one.kind for one in asked if one.recall is not None} == {"answerable"}


def test_a_floor_empties_what_is_below_it():
    """And an emptied answerable question counts as nothing found."""
    asked = [
        floor.FloorProbe("a", "u", "answerable", "?", 0.9, 1.0),
        floor.FloorProbe("b", "u", "answerable", "?", 0.2, 1.0),
        floor.FloorProbe("c", "u", "foreign", "?", 0.1, None),
    ]
    (point,) = floor.curve(asked, [0.5])
    assert point.emptied == {"answerable": 0.5, "foreign": 1.0}
    assert point.evidence_recall == 0.5


def test_confidence_is_held_against_what_is_answerable():
    """Half of all weight on answerable questions, however many there are of the others."""
    asked = [
        floor.FloorProbe("a", "u", "answerable", "?", 0.9, 1.0),
        floor.FloorProbe("b", "u", "answerable", "?", 0.1, 0.0),
        floor.FloorProbe("c", "u", "foreign", "?", 0.1, None),
        floor.FloorProbe("d", "u", "foreign", "?", 0.15, None),
        floor.FloorProbe("e", "u", "foreign-renamed", "?", 0.85, None),
        floor.FloorProbe("f", "u", "adversarial", "?", 0.85, None),
    ]
    low, high = floor.reliability(asked)
    assert (low.least, low.below, low.questions, low.true) == (0.05, 0.2, 3, 0.5)
    assert low.stated == pytest.approx((0.1 * 0.25 + 0.1 * 0.125 + 0.15 * 0.125) / 0.5)
    assert (high.questions, high.true) == (2, 0.5)


def test_repeated_turns_have_other_names_each_time(talk):
    """Lap by lap, in sessions of their own, without the ids of the first."""
    first, again = islice(workload.repeated(talk), 0, 61, 60)
    assert first.name == "Ann"
    assert again.name.startswith("Ann")
    assert again.name != "Ann"
    assert again.session != first.session
    assert again.id is None


def test_made_up_turns_are_the_same_every_time():
    """A seed makes them."""
    assert workload.made_up_turns(20) == workload.made_up_turns(20)


@pytest.mark.wide
def test_speed_has_a_figure_beside_every_yardstick(tools, talk, monkeypatch):
    """All of them above nothing, and growth over two sizes."""
    for name in ("SINGLES", "RECALLS", "WARM_UPS", "COLD_OPENS"):
        monkeypatch.setattr(speed, name, 1)
    results = [speed.evaluate(size, talk, tools, lambda *_: None) for size in (20, 120)]
    for one in results:
        assert min(one.add_one_ratio, one.add_batch_ratio, one.recall_ratio, one.cold_recall_ms) > 0
        assert one.memory_bytes > one.memory_before_bytes
        assert one.disk_bytes > one.text_bytes
    assert speed.growth_of(results)["disk_bytes"] is not None
    assert speed.table(results).row_count > 10


def test_speed_of_an_encrypted_folder_stands_below_that_of_a_plain_one(tools, talk, monkeypatch):
    """Each call beside itself; what it leaves in the folder says no word."""
    pytest.importorskip("sqlcipher3")
    for name in ("SINGLES", "RECALLS", "WARM_UPS", "COLD_OPENS"):
        monkeypatch.setattr(speed, name, 1)
    result = speed.evaluate(20, talk, tools, lambda *_: None, [(speed.ENCRYPTED, None)])
    labels = [str(cell) for cell in speed.table([result]).columns[0].cells]
    assert [labels[place - 1] for place, label in enumerate(labels) if label == "  encrypted"] == [
        "add one message, ms",
        "add 20 messages, ms",
        "recall p50, ms",
        "cold open to first recall, ms",
    ]
    assert all(getattr(result.elsewhere[0], name) > 0 for name in ("add_one_ms", "cold_recall_ms"))
    assert (tools.folder / "speed-20" / "encrypted" / "encryption.json").exists()


def test_resident_memory_is_told():
    """In bytes: a Python process has megabytes."""
    assert resident_bytes() > 5_000_000


@pytest.fixture
def bench():
    def bench(*arguments):
        return CliRunner().invoke(
            bench_app, [str(argument) for argument in arguments], catch_exceptions=False
        )

    return bench


def test_the_command_prints_a_row_per_system_and_budget(bench, locomo_path):
    """And the same figures go to a file, with a record per question."""
    out = locomo_path.parent / "out.json"
    done = bench("locomo", locomo_path, "--budget", "30,60", "--systems", "bm25,full", "--output", out)
    assert done.exit_code == 0
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("bm25", "full"))]
    assert rows[:3] == [["bm25", "30"], ["bm25", "60"], ["full", "all"]]
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["benchmark"] == "locomo"
    assert report["data"] == "talks.json"
    assert len(report["records"]) == 12


def test_longmemeval_runs_with_the_engine(bench, haystack_path):
    """The whole way through a memory in a temporary folder."""
    done = bench("longmemeval", haystack_path, "--systems", "messages", "--budget", "200", "--floor", "0")
    assert done.exit_code == 0
    assert "messages" in done.stdout


def test_the_floor_command_marks_the_default(bench, locomo_path):
    """So that the choice can be seen on the curve."""
    done = bench("floor", locomo_path)
    assert done.exit_code == 0
    assert " *" in done.stdout


@pytest.mark.parametrize("budget", ["", "many", "0", "-5"])
def test_a_bad_budget_names_the_fix(bench, locomo_path, budget):
    """Before anything is loaded."""
    with pytest.raises(InvalidInput, match="--budget"):
        bench("locomo", locomo_path, "--budget", budget)


def test_a_file_of_unanswerable_questions_is_refused(bench, write, samples):
    """There would be nothing to divide by."""
    with pytest.raises(InvalidInput, match="nothing to measure"):
        bench("locomo", write([{**samples[0], "qa": samples[0]["qa"][3:]}]), "--systems", "full")
