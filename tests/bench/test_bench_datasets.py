"""LoCoMo and LongMemEval files read as questions."""

from datetime import UTC, datetime

import pytest

from zibaldone.bench.locomo import LoCoMoQuestions, dia_ids
from zibaldone.bench.longmemeval import LongMemEvalQuestions
from zibaldone.errors import InvalidImport, InvalidInput


@pytest.mark.parametrize(
    ("evidence", "turns"),
    [
        (["D1:3", "D1:4"], ("D1:3", "D1:4")),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D"], ()),
        (["D1:3", "D1:3"], ("D1:3",)),
        ([], ()),
    ],
)
def test_malformed_evidence_is_repaired(evidence, turns):
    """As the data has it."""
    assert dia_ids(evidence) == turns


def test_locomo_evidence_is_the_turns_own_text(locomo_path):
    """Neither speaker nor caption; turns that do not exist are dropped."""
    benchmark = LoCoMoQuestions(locomo_path)
    assert benchmark.examples[1].evidence == (
        "We flew to Lisbon and ate custard tarts.",
        "I quit my job at the brewery.",
    )


def test_locomo_ids_count_in_the_full_file(locomo_path):
    """conv-30 is conversation 1 there, wherever it stands here; a stranger's file counts for itself."""
    benchmark = LoCoMoQuestions(locomo_path)
    ids = [example.id for example in benchmark.examples]
    assert ids == ["locomo_1_qa0", "locomo_1_qa1", "locomo_1_qa2", "locomo_1_qa3", "locomo_1_qa0"]


def test_adversarial_questions_are_not_answerable(locomo_path):
    """They have no answer to cover, only a wrong one."""
    example = LoCoMoQuestions(locomo_path).examples[3]
    assert (example.answerable, example.answer, example.category) == (False, None, "adversarial")


def test_answers_are_text(locomo_path):
    """Some are whole numbers in the data."""
    assert LoCoMoQuestions(locomo_path).examples[2].answer == "2023"


def test_locomo_questions_are_asked_after_the_last_message(locomo_path):
    """No figure depends on today's date."""
    assert LoCoMoQuestions(locomo_path).examples[0].now == datetime(2023, 6, 1, 9, tzinfo=UTC)


def test_hidden_annotations_are_not_ingested(locomo_path):
    """The image query of LoCoMo's annotators gives answers away."""
    assert not any(
        "SECRET" in message.content for message in LoCoMoQuestions(locomo_path).messages("conv-30")
    )


def test_the_audit_beside_the_data_marks_faulted_questions(locomo_path, write):
    """It need not be named."""
    write([{"question_id": "locomo_1_qa1"}], "locomo-errors.json")
    benchmark = LoCoMoQuestions(locomo_path)
    assert benchmark.has_faults
    assert [benchmark.examples[i].faulted for i in range(3)] == [False, True, False]


def test_without_an_audit_nothing_is_faulted(locomo_path):
    """And the benchmark says that it does not know."""
    assert not LoCoMoQuestions(locomo_path).has_faults


def test_an_audit_of_another_shape_is_refused(locomo_path, write):
    """The error shows what an id looks like."""
    with pytest.raises(InvalidInput, match="locomo_0_qa1"):
        LoCoMoQuestions(locomo_path, write({"faults": []}, "errors.json"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"qa": None}, "no list 'qa'"),
        ({"qa": [{"question": 3}]}, r"qa\[0\].*'question'"),
        ({"qa": [{"question": "Who?", "category": 7}]}, r"qa\[0\].*category 7"),
    ],
)
def test_a_bad_locomo_question_is_named(write, samples, change, says):
    """By conversation and place."""
    samples[1].update(change)
    with pytest.raises(InvalidImport, match=f"'mine'.*{says}"):
        LoCoMoQuestions(write(samples))


def test_a_missing_file_is_an_input_error(tmp_path):
    """For every benchmark."""
    for benchmark in (LoCoMoQuestions, LongMemEvalQuestions):
        with pytest.raises(InvalidInput, match="nowhere"):
            benchmark(tmp_path / "nowhere.json")


def test_other_json_is_no_benchmark(write):
    """It is said what the file lacks."""
    for benchmark in (LoCoMoQuestions, LongMemEvalQuestions):
        with pytest.raises(InvalidImport):
            benchmark(write([{"some": "thing"}]))
        with pytest.raises(InvalidImport):
            benchmark(write([]))


def test_a_haystack_with_several_questions_asks_them_all(haystack_path):
    """The one with marked turns has the haystack's type; the others were added."""
    benchmark = LongMemEvalQuestions(haystack_path)
    examples = benchmark.examples
    assert [(e.id, e.category) for e in examples] == [("h1_q0", "knowledge-update"), ("h1_q1", "added")]
    assert examples[0].evidence == ("I live in Linz.", "We moved to Graz last week.")
    assert examples[1].evidence == ()
    assert examples[1].evidence_sessions == ("s3",)
    assert benchmark.categories == ("knowledge-update", "added")


def test_the_original_format_asks_one_question(write, haystack):
    """Under the haystack's own id, at its own time."""
    original = {k: v for k, v in haystack.items() if k not in ("questions", "answers")}
    original |= {"question": "Where do I live now?", "answer": 7, "answer_session_ids": ["s2"]}
    example = LongMemEvalQuestions(write([original])).examples[0]
    assert (example.id, example.answer) == ("h1", "7")
    assert example.evidence == ("We moved to Graz last week.",)
    assert example.now == datetime(2023, 12, 18, 4, 17, tzinfo=UTC)


def test_abstention_questions_are_not_answerable(write, haystack):
    """Their id ends in _abs."""
    assert not LongMemEvalQuestions(write([{**haystack, "question_id": "h1_abs"}])).examples[0].answerable


@pytest.mark.parametrize(
    "change", [{"answers": ["Graz"]}, {"answers": None}, {"questions": [1, 2]}, {"question_date": "May"}]
)
def test_a_bad_haystack_is_named(write, haystack, change):
    """By its question id."""
    with pytest.raises(InvalidImport, match="'h1'"):
        LongMemEvalQuestions(write([{**haystack, **change}]))
