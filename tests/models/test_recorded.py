"""Recordings: a run again without the model, byte for byte; open questions answered by hand."""

import json
import re
from dataclasses import replace

import pytest

from zibaldone import RecordedModel, StaticEmbedder
from zibaldone.errors import InvalidInput, ModelUnavailable, QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatReply, ChatRequest, TokenLogprob, Turn
from zibaldone.models.meter import Meter
from zibaldone.testing import ScriptedModel

REQUEST = ChatRequest(
    "tests.ask",
    (Turn("system", "Be brief.\n"), Turn("user", "# Reply\n\n```json\n{}\n```")),
    {"type": "object"},
)


def test_an_answer_is_asked_for_once(tmp_path):
    """What was asked and kept comes again without the model, all of it."""
    reply = ChatReply(
        '{"a": "b"}\n', "stop", 7, 3, (TokenLogprob("{", -0.5, (("[", -1.25),)), TokenLogprob("\n", 0.0)), 2
    )
    inner = ScriptedModel([reply])
    first = RecordedModel(tmp_path, inner)
    assert first.chat(REQUEST) == first.chat(REQUEST) == reply
    assert len(inner.requests) == 1
    assert first.name == "scripted"
    again = RecordedModel(tmp_path, on_miss="error")
    assert again.chat(replace(REQUEST, timeout_s=1)) == reply


def test_a_recording_can_be_read(tmp_path):
    """The page shows the task, the turns word for word, the schema and the answer."""
    model = RecordedModel(tmp_path, ScriptedModel(["Because."]))
    model.chat(REQUEST)
    (path,) = tmp_path.glob("tests.ask/*.md")
    text = path.read_text()
    for part in ("# tests.ask", "Be brief.\n", REQUEST.turns[1].content, '"type": "object"', "Because."):
        assert part in text


@pytest.mark.parametrize(
    "other",
    [
        ChatRequest("tests.other", REQUEST.turns, REQUEST.schema),
        ChatRequest("tests.ask", REQUEST.turns[:1], REQUEST.schema),
        ChatRequest("tests.ask", REQUEST.turns, {"type": "array"}),
        ChatRequest("tests.ask", REQUEST.turns, REQUEST.schema, temperature=1.0),
        ChatRequest("tests.ask", REQUEST.turns, REQUEST.schema, max_tokens=5),
        ChatRequest("tests.ask", REQUEST.turns, REQUEST.schema, logprobs=2),
    ],
)
def test_another_question_is_another_recording(tmp_path, other):
    """All that the answer depends on is in the key."""
    model = RecordedModel(tmp_path, ScriptedModel(["one", "two"]))
    assert model.chat(REQUEST).text == "one"
    assert model.chat(other).text == "two"


def left_open(folder):
    """The page of a question that nobody has answered."""
    model = RecordedModel(folder, on_miss="leave_open")
    with pytest.raises(QuestionOpen):
        model.chat(REQUEST)
    (path,) = model.open_questions()
    return path


@pytest.mark.parametrize("by_hand", ["42", "```text\n42\n```", "\n  42  \n"])
def test_an_open_question_is_answered_by_hand(tmp_path, by_hand):
    """What is left open is a page to write on; then the run goes on."""
    path = left_open(tmp_path)
    path.write_text(path.read_text() + by_hand)
    model = RecordedModel(tmp_path, on_miss="leave_open")
    assert model.open_questions() == []
    assert model.chat(REQUEST).text == "42"


@pytest.mark.parametrize("place", ["answers.jsonl", "tests.ask/answers-2.jsonl"])
def test_many_answers_may_stand_in_one_file(tmp_path, place):
    """Beside the pages or above them; one in JSON may be an object."""
    own_id = left_open(tmp_path).stem
    other = {"id": "0" * 24, "answer": "another"}
    lines = [other, {"id": own_id, "answer": {"a": "ä"}, "model": "a person"}, other]
    (tmp_path / place).write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    model = RecordedModel(tmp_path, on_miss="leave_open")
    assert model.chat(REQUEST).text == '{"a": "ä"}'
    assert model.open_questions() == []


def test_a_list_needs_no_pages_and_may_grow(tmp_path):
    """It replays a run by itself, and answers may come while a program runs."""
    own_id = left_open(tmp_path / "asked").stem
    model, file = RecordedModel(tmp_path, on_miss="error"), tmp_path / "answers.jsonl"
    file.write_text("")
    with pytest.raises(QuestionOpen):
        model.chat(REQUEST)
    file.write_text(json.dumps({"id": own_id, "answer": "42"}))
    assert model.chat(REQUEST).text == "42"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("42 is the answer", "is not an object whose 'id'"),
        ("[1]", "is not an object whose 'id'"),
        ('{"id": "1", "answer": "42"}', "is the name of a page without '.md'"),
        ('{"id": "%s"}', "'answer' is a text or an object"),
        ('{"id": "%s", "answer": " "}', "'answer' is a text or an object"),
        ('{"id": "%s", "answer": "43"}', "has another answer further up: delete one"),
    ],
)
def test_a_bad_list_is_named(tmp_path, line, says):
    """By file and line, with the fix."""
    own_id = left_open(tmp_path).stem
    first = json.dumps({"id": own_id, "answer": "42"})
    (tmp_path / "answers.jsonl").write_text(first + "\n" + line.replace("%s", own_id))
    with pytest.raises(InvalidInput, match=rf"answers\.jsonl', line 2.*{re.escape(says)}"):
        RecordedModel(tmp_path, on_miss="leave_open").chat(REQUEST)


def test_another_model_answers_what_was_left_open(tmp_path):
    """A page without an answer is asked when there is somebody to ask."""
    left_open(tmp_path)
    assert RecordedModel(tmp_path, ScriptedModel(["Yes."])).chat(REQUEST).text == "Yes."
    assert RecordedModel(tmp_path, on_miss="error").chat(REQUEST).text == "Yes."


def test_what_is_not_recorded_is_answered_offline_or_refused(tmp_path, task):
    """Offline: the task's own answer, marked. Error: an open question, and no page is made."""
    static = StaticEmbedder()
    answer = Asker(RecordedModel(tmp_path, on_miss="offline"), Meter(None), static).ask(task, user="ann")
    assert answer.result.colours == ["grey"]
    assert "not recorded" in answer.degraded
    with pytest.raises(QuestionOpen):
        Asker(RecordedModel(tmp_path, on_miss="error"), Meter(None), static).ask(task, user="ann")
    assert list(tmp_path.rglob("*.md")) == []


def test_a_failure_is_not_recorded(tmp_path):
    """A model that was down is asked again."""
    model = RecordedModel(tmp_path, ScriptedModel([ModelUnavailable("down"), "Yes."]))
    with pytest.raises(ModelUnavailable):
        model.chat(REQUEST)
    assert model.chat(REQUEST).text == "Yes."


@pytest.mark.parametrize("damage", ["", "no page", "# tests.ask\n\nno heading"])
def test_a_damaged_page_is_named(tmp_path, damage):
    """A page that is none says so, with its path and the fix."""
    model = RecordedModel(tmp_path, ScriptedModel(["Yes."]))
    model.chat(REQUEST)
    path = model.path(REQUEST)
    path.write_text(damage)
    with pytest.raises(InvalidInput, match=path.name):
        model.chat(REQUEST)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_miss": "perhaps"}, "on_miss"),
        ({}, "there is no model to ask"),
        ({"folder": "", "on_miss": "error"}, "folder"),
    ],
)
def test_bad_arguments(tmp_path, options, says):
    """Each is refused by name."""
    with pytest.raises(InvalidInput, match=says):
        RecordedModel(**({"folder": tmp_path} | options))
