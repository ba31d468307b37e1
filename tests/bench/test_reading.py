"""Answers read from what systems recall, judged, recorded and replayed."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from zibaldone import settings
from zibaldone.bench.base import Example
from zibaldone.bench.reading.judge import AnswerJudge
from zibaldone.bench.reading.reader import Reader
from zibaldone.bench.reading.sample import sample
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidInput, UnknownName
from zibaldone.models import Asker, Meter, OpenAIChat, StaticEmbedder
from zibaldone.testing import FakeOpenAIServer
from zibaldone.testing.server import Misbehaviour

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]
SYSTEMS = ("messages", "bm25-user", "full")
GOLD = Example("q1", "u", "What is the dog called?", "Comet", "single-hop")
RUBRIC = Example("q2", "u", "How many hives?", None, "update", nuggets=("three", "Olga", "polite"))
NOBODY_KNOWS = Example("q3", "u", "What is the queen called?", None, "abstention", unknown=True)


def is_reader(body):
    return "response_format" not in body


def honest(body):
    """A reader that knows the dog's name when it reads it, and a strict judge."""
    given = body["messages"][1]["content"]
    if is_reader(body):
        asks_for_dog = "dog" in given.rpartition("Question:")[2]
        return "Comet" if asks_for_dog and "greyhound called Comet" in given else "Memory does not know."
    inputs = json.loads(given)
    if "reference" in inputs:
        return {"reason": "", "correct": inputs["reference"] in inputs["answer"]}
    if "nuggets" in inputs:
        return {"scores": [1.0 if nugget in inputs["answer"] else 0.5 for nugget in inputs["nuggets"]]}
    return {"abstains": "not know" in inputs["answer"]}


@pytest.fixture
def server():
    with FakeOpenAIServer(honest) as server:
        yield server


@pytest.fixture
def asker(server):
    """Of a client that waits for half a second, and tries once."""
    chat = OpenAIChat("fake", base_url=server.base_url, api_key="k", timeout_s=0.5, max_retries=0)
    yield Asker(chat, Meter(None), StaticEmbedder())
    chat.close()


@pytest.fixture
def model(server, monkeypatch):
    """The server, as the environment's chat model."""
    monkeypatch.setenv("ZIBALDONE_CHAT_MODEL", "fake-1")
    monkeypatch.setenv("ZIBALDONE_CHAT_BASE_URL", server.base_url)
    monkeypatch.setenv("ZIBALDONE_CHAT_API_KEY", "k")
    make, made = settings.chat, []

    def chat(given):
        made.append(make(given))
        return made[-1]

    monkeypatch.setattr(settings, "chat", chat)
    yield server
    for client in filter(None, made):
        client.close()


@pytest.fixture
def read(tmp_path):
    """Run the command, and give what it prints and its figures."""

    def read(path, *more):
        out = tmp_path / "out.json"
        arguments = ["read", path, "--budget", "60", "--systems", ",".join(SYSTEMS), "--output", out, *more]
        done = CliRunner().invoke(
            bench_app, [str(argument) for argument in arguments], catch_exceptions=False
        )
        return done.output, json.loads(out.read_text(encoding="utf-8"))

    return read


def answer_all(folder, task, answer, model="a person"):
    """Write an answer for every page of a task into one list; how many there were."""
    pages = sorted((folder / task).glob("*.md"))
    rows = [{"id": page.stem, "answer": answer(page.read_text()), "model": model} for page in pages]
    (folder / task / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return len(pages)


# The sample.


def examples(**sizes):
    return [Example(f"{kind}{i}", "u", "?", "!", kind) for kind, size in sizes.items() for i in range(size)]


def test_a_sample_has_every_kind_by_its_share():
    """And it stands in the order of the data."""
    all_of_them = examples(big=60, middle=30, small=9, one=1)
    chosen = sample(all_of_them, 20)
    assert Counter(example.category for example in chosen) == {"big": 12, "middle": 6, "small": 1, "one": 1}
    assert chosen == [example for example in all_of_them if example in chosen]


@pytest.mark.parametrize("questions", [1, 2, 3, 7, 99, 100, 101, None])
def test_a_sample_is_as_large_as_asked_for(questions):
    """Where there are so many."""
    size = len(sample(examples(big=90, small=9, one=1), questions))
    assert size == min(questions or 100, 100)


def test_a_sample_does_not_depend_on_what_stands_around():
    """The same questions of a kind are chosen, whatever the file's order."""
    of_them = examples(one=50)
    assert set(sample(of_them, 10)) == set(sample(of_them[::-1], 10))
    assert sample(of_them, 10) != of_them[:10]


# Reader and judge, over the wire.


def test_the_reader_gets_the_recalled_text_the_day_and_the_question(asker, server):
    """And nothing on who recalled it."""
    answer = Reader(asker).read(GOLD, "Mon 8 May 2023\nAnn: A greyhound called Comet.")
    assert answer.text == "Comet"
    (body,) = server.requests
    assert body["messages"][1]["content"] == (
        "Recalled from memory:\n\nMon 8 May 2023\nAnn: A greyhound called Comet.\n\n"
        "Question: What is the dog called?"
    )


def test_what_a_model_thinks_is_no_part_of_its_answer(asker, server):
    """Some say it in front."""
    server.answer = lambda _: "<think>Bo or Comet?</think>\nComet"
    assert Reader(asker).read(GOLD, "text").text == "Comet"


@pytest.mark.parametrize(
    ("example", "answer", "score"),
    [
        (GOLD, "It is Comet.", 1.0),
        (GOLD, "Rex", 0.0),
        (RUBRIC, "three, from Olga", pytest.approx(2.5 / 3)),
        (NOBODY_KNOWS, "I do not know that.", 1.0),
        (NOBODY_KNOWS, "Maja", 0.0),
    ],
)
def test_an_answer_is_scored_by_what_is_wanted(asker, example, answer, score):
    """Gold answer, nuggets, or that nobody knows."""
    assert AnswerJudge(asker).score(example, answer).score == score


@pytest.mark.parametrize("scores", [[1.0], [1.0, 0.5, 0.7], [1, 1, 1, 1]])
def test_a_malformed_verdict_is_shown_to_the_judge_once(asker, server, scores):
    """Then the corrected one counts."""
    answers = iter([{"scores": scores}, {"scores": [1, 0.5, 0]}])
    server.answer = lambda _: next(answers)
    verdict = AnswerJudge(asker).score(RUBRIC, "three")
    assert (verdict.score, verdict.by_nugget) == (0.5, (1.0, 0.5, 0.0))
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "misbehaviour", [Misbehaviour.INVALID_JSON, Misbehaviour.SCHEMA_VIOLATION, Misbehaviour.REFUSAL]
)
def test_without_a_verdict_there_is_no_score(asker, server, misbehaviour):
    """A judge that cannot judge says nothing about the answer; the next question is asked all the same."""
    server.always = misbehaviour
    judge = AnswerJudge(asker)
    for _ in range(5):
        verdict = judge.score(GOLD, "Comet")
        assert verdict.score is None
        assert verdict.waits
    server.always = None
    assert judge.score(RUBRIC, "three").score is not None


def test_a_refusal_of_the_reader_counts(asker, server):
    """It is what a user would get."""
    server.always = Misbehaviour.REFUSAL
    answer = Reader(asker).read(GOLD, "text")
    assert (answer.text, answer.waits) == (None, "")
    assert "can't help" in answer.refused


@pytest.mark.parametrize("misbehaviour", [Misbehaviour.HANG, Misbehaviour.SERVER_ERROR])
def test_a_reader_that_cannot_be_had_has_said_nothing(asker, server, misbehaviour):
    """Neither right nor wrong."""
    server.always = misbehaviour
    answer = Reader(asker).read(GOLD, "text")
    assert (answer.text, answer.refused) == (None, "")
    assert answer.waits


# The command.


def test_a_model_reads_and_judges(read, locomo_path, model):
    """A row per system, with the score, the kinds, the tokens, and who read and judged."""
    output, figures = read(locomo_path)
    rows = {row["system"]: row for row in figures["rows"]}
    assert set(rows) == set(SYSTEMS)
    # one question of four is about the dog, and the budget holds what is said of it
    assert {(row["questions"], row["score"]["value"]) for row in rows.values()} == {(4, 0.25)}
    assert rows["full"]["by_category"]["single-hop"]["value"] == 0.5
    assert (figures["reader"], figures["judge"]) == ("fake-1", "fake-1")
    assert "reader: fake-1; judge: fake-1" in output
    assert "no score" not in output
    dog = next(record for record in figures["records"] if "dog" in record["question"])
    assert dog["overlap"] == {"f1": 1.0, "f1_set": 1.0, "bleu1": 1.0, "rouge_l": 1.0}
    assert 0 < dog["tokens"] <= 60


def test_a_judge_sees_neither_the_system_nor_the_context(read, locomo_path, model):
    """In no part of what is sent."""
    read(locomo_path)
    judged = [json.dumps(body) for body in model.requests if not is_reader(body)]
    assert len(judged) == 12
    for text in judged:
        for hidden in (*SYSTEMS, "greyhound", "8 May 2023", "Recalled"):
            assert hidden not in text.replace('"messages": [', "")


def test_readers_of_all_systems_get_the_same_prompt(read, locomo_path, model):
    """Only what was recalled differs."""
    read(locomo_path)
    assert len({body["messages"][0]["content"] for body in model.requests if is_reader(body)}) == 1
    assert len({body["max_tokens"] for body in model.requests if is_reader(body)}) == 1


def test_questions_that_nobody_can_answer_are_asked_by_name(read, locomo_path, model):
    """LoCoMo's fifth kind is judged by whether the reader abstains."""
    _, figures = read(locomo_path, "--kinds", "adversarial")
    assert {(row["questions"], row["score"]["value"]) for row in figures["rows"]} == {(1, 1.0)}


def test_longmemeval_is_read(read, haystack_path, model):
    """It is told by its content, and the reader learns the day of the question."""
    _, figures = read(haystack_path)
    assert figures["benchmark"] == "longmemeval"
    assert "Asked on Mon 18 Dec 2023." in model.requests[0]["messages"][1]["content"]


def test_beam_is_read(read, tmp_path, model):
    """By the nuggets, and by abstention; a whole chat that is too long for a reader is left out."""
    chat = [{"batch_number": 1, "turns": [[{"role": "user", "id": 0, "content": "Three hives.",
             "time_anchor": "March-15-2024"}]]}]  # fmt: skip
    questions = {
        "abstention": [{"question": "Who?", "rubric": ["no information"]}],
        "information_extraction": [
            {"question": "How many?", "answer": "3", "source_chat_ids": [0], "rubric": ["three", "hives"]}
        ],
    }
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "chat.json").write_text(json.dumps(chat))
    (tmp_path / "7" / "probing_questions.json").write_text(json.dumps(questions))
    output, figures = read(tmp_path, "--most-full", "1")
    assert {row["system"] for row in figures["rows"]} == {"messages", "bm25-user"}
    assert "without 'full'" in output
    assert figures["rows"][0]["by_category"]["abstention"]["value"] == 1.0
    assert figures["rows"][0]["by_category"]["information_extraction"]["value"] == 0.5


def test_recall_as_it_is_by_default_is_a_system(read, locomo_path, model):
    """After a maintenance, as a user has it."""
    _, figures = read(locomo_path, "--systems", "zibaldone", "--ids", "locomo_1_qa0")
    assert {(row["system"], row["score"]["value"]) for row in figures["rows"]} == {("zibaldone", 0.5)}


def test_a_server_that_is_down_leaves_questions_without_a_score(read, locomo_path, model, monkeypatch):
    """The run ends, counts them and says why."""
    monkeypatch.setenv("ZIBALDONE_CHAT_TIMEOUT_S", "0.2")
    model.always = Misbehaviour.UNAUTHORISED
    output, figures = read(locomo_path, "--workers", "1")
    assert {(row["questions"], row["unanswered"]) for row in figures["rows"]} == {(0, 4)}
    assert "12 of 12 answers have no score yet" in output
    assert "run again; one of the reasons: " in output


def test_a_reader_that_refuses_scores_nothing(read, locomo_path, model):
    """In every row, and a line says how often it was."""
    model.always = Misbehaviour.REFUSAL
    output, figures = read(locomo_path)
    assert {(row["questions"], row["score"]["value"]) for row in figures["rows"]} == {(4, 0.0)}
    assert "12 questions got no answer from the reader, and score 0" in output


def test_a_run_is_recorded_and_answered_by_whoever(read, locomo_path, tmp_path):
    """First the reader's questions are left open, then the judge's; then there is a table."""
    folder = tmp_path / "recorded"
    output, figures = read(locomo_path, "--record", folder)
    assert {(row["questions"], row["unanswered"]) for row in figures["rows"]} == {(0, 4)}
    pages = list((folder / "bench.read").glob("*.md"))
    assert f"{len(pages)} questions are open in {folder / 'bench.read'}" in output.replace("\n", "")
    assert len((folder / "open.txt").read_text().splitlines()) == len(pages)
    assert not any(name in page.read_text().split("## user")[1] for page in pages for name in SYSTEMS)

    answer_all(
        folder, "bench.read", lambda page: "Comet" if "dog" in page.rpartition("Question:")[2] else "-"
    )
    output, figures = read(locomo_path, "--record", folder)
    assert {(row["unanswered"], row["unjudged"]) for row in figures["rows"]} == {(0, 4)}
    # the three systems' answers are alike, and so is what the judge is asked
    verdicts = answer_all(
        folder, "bench.judge_answer", lambda page: {"correct": '"answer": "Comet"' in page}, "a judge"
    )
    assert verdicts == 4

    output, figures = read(locomo_path, "--record", folder)
    assert {(row["questions"], row["score"]["value"]) for row in figures["rows"]} == {(4, 0.25)}
    assert "reader: a person; judge: a judge" in output
    assert not (folder / "open.txt").exists()
    _, figures = read(locomo_path, "--record", folder, "--reader-name", "Ann", "--judge-name", "Ben")
    assert (figures["reader"], figures["judge"]) == ("Ann", "Ben")


def test_partial_answers_are_counted(read, locomo_path, tmp_path):
    """The mean is of what has a score, and the table says how many have none."""
    folder = tmp_path / "recorded"
    read(locomo_path, "--record", folder, "--systems", "full")
    page = next(page for page in (folder / "bench.read").glob("*.md") if "dog" in page.read_text())
    page.with_suffix(".answer.md").write_text("Comet")
    read(locomo_path, "--record", folder, "--systems", "full")
    answer_all(folder, "bench.judge_answer", lambda _: {"correct": True})
    output, figures = read(locomo_path, "--record", folder, "--systems", "full")
    (row,) = figures["rows"]
    assert (row["questions"], row["unanswered"], row["score"]["value"]) == (1, 3, 1.0)
    assert "rows with different questions do not compare" in output


def test_a_malformed_verdict_in_a_recording_is_asked_again(read, locomo_path, tmp_path):
    """On a page that says what is wrong with it."""
    folder, question = tmp_path / "recorded", ("--ids", "locomo_1_qa1", "--systems", "full")
    read(locomo_path, "--record", folder, *question)
    answer_all(folder, "bench.read", lambda _: "Comet")
    read(locomo_path, "--record", folder, *question)
    answer_all(folder, "bench.judge_answer", lambda _: {"correct": "perhaps"})
    read(locomo_path, "--record", folder, *question)
    (name,) = (folder / "open.txt").read_text().splitlines()
    page = folder / name
    assert "This answer cannot be used: correct" in page.read_text()
    page.with_suffix(".answer.md").write_text('{"correct": true}')
    _, figures = read(locomo_path, "--record", folder, *question)
    assert figures["rows"][0]["questions"] == len(figures["records"]) == 1


def test_what_a_model_has_answered_is_not_asked_again(read, locomo_path, model, tmp_path):
    """And the recording says who it was, when there is no model any more."""
    folder = tmp_path / "recorded"
    first = read(locomo_path, "--record", folder)[1]
    asked = len(model.requests)
    second = read(locomo_path, "--record", folder, "--on-miss", "error")[1]
    assert len(model.requests) == asked
    assert (second["rows"], second["reader"]) == (first["rows"], "fake-1")


def test_somebody_must_read(read, locomo_path):
    """Without a model and without a folder there is nobody."""
    with pytest.raises(InvalidInput, match="set ZIBALDONE_CHAT_MODEL, or give --record DIR"):
        read(locomo_path)


@pytest.mark.parametrize(
    ("option", "given", "error", "says"),
    [
        ("--kinds", "multi", UnknownName, "kind 'multi': there are adversarial, multi-hop"),
        ("--ids", "q7", UnknownName, "no question 'q7'"),
        ("--systems", "bm52", UnknownName, "bm25"),
    ],
)
def test_bad_options(read, locomo_path, model, option, given, error, says):
    """Each names what there is."""
    with pytest.raises(error, match=says):
        read(locomo_path, option, given)


def test_a_file_without_questions_is_refused(read, write, model):
    """It is a conversation, and no benchmark."""
    path = write('{"role": "user", "content": "Hello"}\n', "chat.jsonl")
    with pytest.raises(InvalidInput, match="'jsonl', which has no questions"):
        read(path)
