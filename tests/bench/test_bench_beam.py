"""BEAM chats read as questions, and measured."""

import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from zibaldone.bench import report
from zibaldone.bench.base import ContextUnit, RecalledContext
from zibaldone.bench.beam import BEAMQuestions, source_ids
from zibaldone.bench.metrics import nuggets_found
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import BEAMOptions
from zibaldone.bench.report import make_rows
from zibaldone.bench.runner import Judge, run
from zibaldone.bench.systems import make_system
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidImport, InvalidInput


def turn(role, own_id, content, **more):
    return {"role": role, "id": own_id, "content": content, **more}


CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                turn("user", 0, "I keep two hives on the roof. ->-> 1,1", time_anchor="March-15-2024"),
                turn("assistant", 1, "Hives on a roof need shade, and water near the roof."),
            ],
            [
                turn("user", 2, "Always give temperatures in kelvin. ->-> 1,2"),
                turn("assistant", 3, "Noted: kelvin it is."),
            ],
        ],
    },
    {
        "batch_number": 2,
        "turns": [
            [
                turn("user", 4, "I bought a third swarm from Olga.", time_anchor="April-02-2024"),
                turn("assistant", 5, "Congratulations!"),
            ]
        ],
    },
]
QUESTIONS = {
    "abstention": [
        {"question": "What is the queen called?", "ideal_response": "Not said.", "rubric": ["not said"]}
    ],
    "knowledge_update": [
        {
            "question": "How many hives do I keep?",
            "answer": 3,
            "source_chat_ids": {"original_info": [0], "updated_info": [[4], 5]},
            "rubric": ["LLM response should state: three hives", "LLM response should mention: Olga"],
        }
    ],
    "instruction_following": [
        {
            "question": "How warm is a hive?",
            "expected_compliance": "In kelvin.",
            "source_chat_ids": [2],
            "rubric": ["kelvin"],
        }
    ],
    "summarization": [
        {
            "question": "What did you say about shade?",
            "ideal_summary": "Shade.",
            "source_chat_ids": [1],
            "rubric": [],
        },
        {"question": "And next year?", "ideal_summary": "?", "source_chat_ids": [6], "rubric": []},
    ],
}


@pytest.fixture
def chats(tmp_path):
    """Write files, by their paths in a folder, and give the folder."""

    def chats(files):
        root = tmp_path / "beam"
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(json.dumps(content), encoding="utf-8")
        return root

    return chats


@pytest.fixture
def chat(chats):
    """The folder of a folder of one chat."""
    return chats({"7/chat.json": CHAT, "7/probing_questions.json": QUESTIONS})


def by_kind(benchmark):
    return {example.category: example for example in benchmark.examples}


@pytest.mark.parametrize(
    ("sources", "ids"),
    [
        ([3, [4, [5]]], [3, 4, 5]),
        ({"first": [1], "second": {"more": [2]}}, [1, 2]),
        (["24", "26-27"], [24, 26, 27]),
        (None, []),
        (7, [7]),
    ],
)
def test_sources_are_nested(sources, ids):
    """Lists and mappings, as the data has them."""
    assert list(source_ids(sources)) == ids


def test_evidence_is_what_the_user_said(chat):
    """Of the sources, as it is imported; what only the assistant said is none."""
    examples = by_kind(BEAMQuestions(chat))
    assert examples["knowledge_update"].evidence == (
        "I keep two hives on the roof.",
        "I bought a third swarm from Olga.",
    )
    assert examples["summarization"].evidence == examples["abstention"].evidence == ()


def test_a_question_says_what_is_wanted(chat):
    """The nuggets without what opens each, the reference whatever it is called, the day of asking."""
    example = by_kind(BEAMQuestions(chat))["knowledge_update"]
    assert (example.nuggets, example.answer) == (("three hives", "Olga"), "3")
    assert example.now == datetime(2024, 4, 2, tzinfo=UTC)
    assert (example.id, example.user) == ("7_knowledge_update_0", "7")


def test_a_reference_to_nothing_is_no_answer_to_cover(chat):
    """That something was never said needs no evidence."""
    assert by_kind(BEAMQuestions(chat))["abstention"].answer is None


def test_questions_about_what_is_not_there_are_left_out(chat):
    """One of the two summaries has a source behind the last message."""
    assert [
        example.id for example in BEAMQuestions(chat).examples if example.category == "summarization"
    ] == ["7_summarization_0"]


def test_a_chat_s_own_folder_is_enough(chat):
    """It is called by its name there, too."""
    assert {example.user for example in BEAMQuestions(chat / "7").examples} == {"7"}


def test_chats_come_by_their_numbers(chats):
    """Wherever BEAM's repository keeps the questions."""
    benchmark = BEAMQuestions(
        chats(
            {
                "10/chat.json": CHAT,
                "10/probing_questions/probing_questions.json": QUESTIONS,
                "9/chat.json": CHAT,
                "9/probing_questions.json": QUESTIONS,
            }
        )
    )
    assert list(dict.fromkeys(example.user for example in benchmark.examples)) == ["9", "10"]
    assert len(benchmark.messages("10")) == 6


def test_sources_in_plans_are_places_in_the_whole_chat(chats):
    """Ids begin anew in every plan; place 8 is the third message of the second one."""
    asked = {
        "information_extraction": [{"question": "How warm?", "source_chat_ids": [8], "rubric": ["kelvin"]}]
    }
    path = chats({"plan-0/chat.json": CHAT, "plan-1/chat.json": CHAT, "probing_questions.json": asked})
    benchmark = BEAMQuestions(path)
    assert benchmark.messages("beam")[8].session.endswith("plan-1/1")
    assert benchmark.examples[0].evidence == ("Always give temperatures in kelvin.",)


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        ([], "has no object of questions by their kinds"),
        ({"summarization": [{"rubric": []}]}, r"summarization\[0\] has no text under 'question'"),
        ({"abstention": [{"question": "?", "rubric": "x"}]}, r"abstention\[0\] has no list under 'rubric'"),
    ],
)
def test_bad_questions_are_named(chats, questions, says):
    """By file and place."""
    with pytest.raises(InvalidImport, match=says):
        BEAMQuestions(chats({"chat.json": CHAT, "probing_questions.json": questions}))


def test_a_folder_without_questions_is_refused(tmp_path):
    """So is one that is not there, with what to give instead."""
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(
            InvalidInput, match=r"holds no probing_questions\.json: give the folder of a BEAM chat"
        ):
            BEAMQuestions(path)


def test_a_chat_without_days_is_refused(chats):
    """Its messages would be asked for as of no day."""
    chat = [{"batch_number": 1, "turns": [turn("user", 0, "Hello")]}]
    with pytest.raises(InvalidImport, match="names its day"):
        BEAMQuestions(chats({"chat.json": chat, "probing_questions.json": {}}))


def test_nuggets_are_found_by_their_words():
    """Anywhere in the text, in any order; four of five words are enough."""
    nuggets = ["three hives", "a swarm from Olga", "one two three four five", "six seven eight nine zebra"]
    text = "Olga's swarm.\nThree, two, one hives; four, eight, nine, six, zebra!"
    assert nuggets_found(nuggets, text) == 1.0
    assert nuggets_found(["hives", "wasps"], text) == 0.5
    assert nuggets_found([], text) is None


def test_questions_without_evidence_count_for_their_nuggets(chat, tools):
    """And for nothing else; a pooled share counts turns, a mean counts questions."""
    benchmark = BEAMQuestions(chat)
    (row,) = make_rows(benchmark, run(benchmark, ["full"], [1], tools))
    assert (row.questions, row.evidence_recall.questions, row.nuggets.questions) == (4, 2, 3)
    assert row.evidence_recall.value == row.of_all_turns == 1.0
    assert row.by_category["summarization"] is row.by_category["abstention"] is None
    assert row.nuggets_by_category["summarization"] is None
    assert row.nuggets_by_category["knowledge_update"].value == 0.5  # "three" is said nowhere


def test_the_share_of_all_turns_counts_turns(chat, tools):
    """One of three is found: half of one question's and none of another's."""
    benchmark, judge = BEAMQuestions(chat), Judge(tools)
    examples = by_kind(benchmark)
    units = (ContextUnit("I keep two hives on the roof.", "s", 1),)
    records = [
        judge.record(examples[kind], "bm25", RecalledContext("text", units, 7), 500, 1.0)
        for kind in ("knowledge_update", "instruction_following")
    ]
    (row,) = make_rows(benchmark, records)
    assert (row.evidence_recall.value, row.of_all_turns) == (0.25, pytest.approx(1 / 3))


def test_bm25_over_the_user_s_turns_knows_nothing_else(tools, chat):
    """The same ranking as over all turns, where the assistant's would come first."""
    messages = BEAMQuestions(chat).messages("7")
    texts = {}
    for name in ("bm25", "bm25-user"):
        system = make_system(name, tools)
        system.load("u", messages)
        texts[name] = system.recall("u", "Water and shade near the roof?", 200).text
        system.close()
    assert "water near the roof" in texts["bm25"]
    assert "water near the roof" not in texts["bm25-user"]
    assert "user: I keep two hives on the roof." in texts["bm25-user"]


def test_the_command_prints_a_table_by_kind(chat):
    """Kinds that have evidence, nuggets, tokens; the engine beside its baselines."""
    out = chat / "out.json"
    arguments = ["beam", chat, "--budget", "30,60", "--systems", "messages,bm25-user,full", "--output", out]
    done = CliRunner().invoke(bench_app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0
    rows = [
        line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("messages", "bm25", "full"))
    ]
    assert rows[:5] == [
        ["messages", "30"],
        ["messages", "60"],
        ["bm25-user", "30"],
        ["bm25-user", "60"],
        ["full", "all"],
    ]
    heads = done.stdout[: done.stdout.index("messages")].split()
    assert {"update", "instr", "gets"} <= set(heads)
    assert "abst" not in heads
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert {record["nuggets"] for record in figures["records"] if record["category"] == "abstention"} == {0.0}


def test_the_whole_of_a_chat_is_no_context_when_it_is_too_long(chat, monkeypatch):
    """The row is left out, and a line says so."""
    monkeypatch.setattr(report, "LONGEST_FULL_TOKENS", 10)
    outcome = report.run_beam(
        BEAMOptions(path=chat, systems=("bm25", "full"), budget=(50,)), Run("bench beam", chat)
    )
    assert [row.system for row in outcome.figures["rows"]] == ["bm25"]
    assert "without 'full'" in outcome.notes[0]


def test_a_chat_without_questions_is_nothing_to_measure(chats):
    """As with every other data set."""
    path = chats({"chat.json": CHAT, "probing_questions.json": {}})
    with pytest.raises(InvalidInput, match="nothing to measure"):
        report.run_beam(BEAMOptions(path=path), Run("bench beam", path))
