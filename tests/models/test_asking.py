"""One question: asked, judged, repaired once, answered offline in the last resort; always metered."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

import pytest
from colours_task import Colours, NameColours

from zibaldone import Ceilings, StaticEmbedder
from zibaldone.errors import ModelFailed, ModelUnavailable, QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatReply, Turn
from zibaldone.models.meter import Meter
from zibaldone.models.ordering import PassageShown
from zibaldone.models.task import Task
from zibaldone.testing import ScriptedModel

STATIC = StaticEmbedder()
GOOD = {"colours": ["red"]}


def asked(task, *answers, ceilings=None, **options):
    """(answer, model, meter) of a question to a scripted model."""
    model, meter = ScriptedModel(answers), Meter(None, ceilings or Ceilings())
    return Asker(model, meter, STATIC).ask(task, user="ann", **options), model, meter


def test_a_good_answer_is_the_result(task):
    """The model's answer comes typed, with what it cost and what made it."""
    answer, model, _ = asked(task, GOOD)
    assert answer.result.colours == ["red"]
    assert (answer.degraded, answer.calls) == ("", 1)
    assert (answer.prompt_tokens, answer.completion_tokens) == (10, 5)
    assert answer.made_by == f"scripted/{task.prompt_hash}"
    (request,) = model.requests
    assert request.task == "tests.name_colours"
    assert request.max_tokens == 100
    assert request.schema["properties"]["colours"]["type"] == "array"


class InHalves(NameColours):
    """Of which a half is asked next where it fails."""

    prompt = "name_colours"
    divisible = True


def test_a_task_that_was_cut_off_is_asked_in_halves_at_once():
    """To ask for a shorter answer would cost as much again; one that has no halves is asked for it."""
    cut = ChatReply("{", finish="length", prompt_tokens=10, completion_tokens=100)
    for task, calls in ((InHalves("red"), 1), (NameColours("red"), 2)):
        model = ScriptedModel([cut] * 2)
        answer = Asker(model, Meter(None, Ceilings()), STATIC).ask(task, user="ann")
        assert (answer.unusable, answer.calls, len(model.requests)) == (True, calls, calls)


@dataclass(frozen=True)
class Nested(NameColours):
    """The same question with inputs of other kinds."""

    passages: tuple[PassageShown, ...] = ()
    time: datetime | None = None
    scores: dict[str, float] = field(default_factory=dict)


def test_inputs_are_sent_and_nothing_else():
    """The prompt file, word for word; inputs of any type follow as JSON on one line, characters intact."""
    task = Nested("犬", passages=(PassageShown(7, "x"),), time=datetime(2024, 3, 1, 12, tzinfo=UTC))
    system, user = task.turns()
    assert system == Turn("system", "Name the colours in `text` that are in `known`.")
    assert user.content == (
        '{"text": "犬", "known": ["red", "blue"], "passages": [{"id": 7, "text": "x"}],'
        ' "time": "2024-03-01T12:00:00Z", "scores": {}}'
    )


def test_a_prompt_has_a_version(task):
    """12 hex digits of its words, whatever the inputs."""
    words = task.turns()[0].content
    assert task.prompt_hash == blake2b(words.encode(), digest_size=6).hexdigest()
    assert task.prompt_hash == NameColours("another text").prompt_hash


def test_a_task_without_an_offline_answer_cannot_be_made():
    """Every question can be answered without a model."""
    with pytest.raises(TypeError, match="offline"):

        class Hopeless(Task[Colours]):
            view, prompt, result = "tests", "name_colours", Colours


def test_without_a_model_the_offline_answer_is_no_degradation(task):
    """Offline is a way of working, not a failure: nothing is marked and nothing metered."""
    meter = Meter(None)
    answer = Asker(None, meter, STATIC).ask(task, user="ann")
    assert answer.result.colours == ["grey"]
    assert (answer.degraded, answer.made_by, answer.calls) == ("", "offline", 0)
    assert meter.usage() == []


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ("no JSON at all", "no JSON object"),
        ('{"colours": ["red"', "cannot be read"),
        ({"colors": ["red"]}, "colours"),
        ({"colours": "red"}, "colours"),
        ({"colours": ["red"], "more": 1}, "more"),
        ({"colours": ["green"]}, "not known: ['green']"),
        (ChatReply('{"colours": ["red"]}', finish="length"), "cut off"),
        ("", "no JSON object"),
    ],
)
def test_a_bad_answer_is_shown_to_the_model_once(task, bad, complaint):
    """The second request repeats the first, with the bad answer and what is wrong with it."""
    answer, model, meter = asked(task, bad, GOOD)
    assert answer.result.colours == ["red"]
    assert (answer.degraded, answer.calls) == ("", 2)
    first, second = model.requests
    assert second.turns[:2] == first.turns
    assert second.turns[2].role == "assistant"
    assert complaint in second.turns[3].content
    (usage,) = meter.usage()
    assert (usage.calls, usage.degraded) == (2, 0)


def test_two_bad_answers_are_enough(task):
    """After one repair the offline answer stands in, and says why."""
    answer, model, meter = asked(task, "no", "no again", GOOD)
    assert answer.result.colours == ["grey"]
    assert "no JSON object" in answer.degraded
    assert answer.made_by == "offline"
    assert len(model.requests) == 2
    (usage,) = meter.usage()
    assert (usage.calls, usage.degraded, usage.prompt_tokens, usage.completion_tokens) == (2, 1, 20, 10)


@pytest.mark.parametrize("around", ["```json\n{}\n```", "Sure! {} I hope that helps {{", "{}"])
def test_json_is_found_among_other_words(task, around):
    """Fences and politeness around the object do no harm."""
    answer, *_ = asked(task, around.replace("{}", json.dumps(GOOD)))
    assert answer.result.colours == ["red"]


def test_a_refusal_is_not_argued_with(task):
    """A refusing model is not asked again."""
    answer, model, _ = asked(task, ChatReply("I can't help.", finish="refusal"), GOOD)
    assert answer.result.colours == ["grey"]
    assert "refused" in answer.degraded
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "failure", [ModelFailed("bad request"), ModelUnavailable("down"), RuntimeError("a bug of the client")]
)
def test_a_model_that_fails_degrades(task, failure):
    """Whatever the client raises, the offline answer stands in, the reason is told, the call is counted."""
    answer, _, meter = asked(task, failure)
    assert answer.result.colours == ["grey"]
    assert str(failure) in answer.degraded
    (usage,) = meter.usage()
    assert (usage.calls, usage.degraded) == (1, 1)


def test_the_patient_are_told_that_a_model_is_down(task):
    """Who can wait gets the failure of a model that cannot be had, and an answer for every other."""
    with pytest.raises(ModelUnavailable):
        asked(task, ModelUnavailable("down"), patient=True)
    answer, *_ = asked(task, ModelFailed("bad request"), patient=True)
    assert answer.degraded


def test_an_open_question_is_nobody_s_offline_answer(task):
    """Somebody is going to answer it: nothing is decided meanwhile, and no call is counted."""
    meter = Meter(None)
    with pytest.raises(QuestionOpen):
        Asker(ScriptedModel([QuestionOpen("later")]), meter, STATIC).ask(task, user="ann")
    assert meter.usage() == []


def test_a_ceiling_degrades_without_a_call(task):
    """Over a ceiling the model is not asked, and the reason names the ceiling."""
    answer, model, meter = asked(task, GOOD, ceilings=Ceilings(tokens_per_call=50))
    assert answer.result.colours == ["grey"]
    assert "tokens_per_call is 50" in answer.degraded
    assert model.requests == []
    (usage,) = meter.usage()
    assert (usage.calls, usage.degraded) == (0, 1)


def test_who_waits_is_answered_soon(task):
    """A question with a time limit is sent once: there is no time for another try."""
    _, model, _ = asked(task, GOOD, timeout_s=3)
    assert (model.requests[0].timeout_s, model.requests[0].max_attempts) == (3, 1)
    _, model, _ = asked(task, GOOD)
    assert (model.requests[0].timeout_s, model.requests[0].max_attempts) == (None, None)
