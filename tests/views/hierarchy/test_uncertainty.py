"""The reader's uncertainty: by a model's log-probabilities, and without; and what goes wrong with a model."""

import math

import pytest

from zibaldone import StaticEmbedder
from zibaldone.errors import InvalidInput, ModelFailed, QuestionOpen
from zibaldone.models.base import ChatReply, TokenLogprob
from zibaldone.models.logprobs import Drafter, uncertainty
from zibaldone.models.meter import Ceilings, Meter
from zibaldone.testing import ScriptedModel
from zibaldone.views.hierarchy.uncertainty import (
    Context,
    ReaderSignal,
    ShownEpisode,
    WordSignal,
    wanted_terms,
)

NLL, COVERAGE = ReaderSignal.DEFAULTS, WordSignal.DEFAULTS
BARE = Context("Where does Bea play?", ("Bea plays the bassoon.",))
HALL = ShownEpisode("Bea: I play in the town hall.")
CLUB = ShownEpisode("Bea: The club has closed.")
INSIDE = BARE.with_unit(HALL)


def drafted(request):
    """A model that has much doubt, unless the hall is in."""
    doubt = 0.5 if "town hall" in request.turns[-1].content else 2.0
    return ChatReply("In the hall", logprobs=(TokenLogprob("In", -doubt),) * 2)


def reading(answers=drafted, ceilings=None):
    """Signal, model and meter."""
    model, meter = ScriptedModel(answers), Meter(None, ceilings or Ceilings())
    offline = WordSignal({"hall": 0.5, "town": 0.5})
    return ReaderSignal(Drafter(model, meter, StaticEmbedder()), offline, "ann"), model, meter


def test_a_fall_in_negative_log_likelihood_is_the_gain():
    """Uncertainty is the mean negative log-probability of a greedy draft; a context is probed once."""
    signal, model, _ = reading()
    gain = signal.gain(BARE, INSIDE)
    assert (gain.thresholds, gain.degraded, gain.value) == (NLL, "", 1.5)
    asked = model.requests[0]
    assert (asked.task, asked.max_tokens, asked.logprobs, asked.max_attempts) == (
        "hierarchy.draft_answer",
        20,
        1,
        1,
    )
    signal.gain(INSIDE, INSIDE.with_unit(CLUB))
    assert len(model.requests) == signal.probes == 3


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (ChatReply("No.", finish="refusal"), "refused"),
        (ChatReply("In the hall"), "no log-probabilities"),
        (ModelFailed("the server is down"), "draft_answer: the server is down"),
        (QuestionOpen("answer it"), "answer it"),
        (InvalidInput("damaged"), "damaged"),
        (RuntimeError("a bug"), "a bug"),
    ],
)
def test_a_probe_that_fails_does_not_fail_the_recall(fault, says):
    """The offline signal takes over for the rest of the question; numbers of two are never subtracted."""
    faults = [fault]
    signal, model, meter = reading(lambda request: faults[0] or drafted(request))
    first = signal.gain(BARE, INSIDE)
    faults[0] = None
    second = signal.gain(INSIDE, INSIDE.with_unit(CLUB))
    assert (first.thresholds, second.thresholds, second.value) == (COVERAGE, COVERAGE, 0.0)
    assert says in first.degraded
    assert second.degraded == first.degraded
    assert len(model.requests) == 1  # and nothing is tried again
    assert meter.total("ann").degraded == 1


def test_a_model_without_log_probabilities_is_asked_once():
    """Another question does not find out again."""
    signal, model, meter = reading(lambda _: ChatReply("In the hall"))
    signal.gain(BARE, INSIDE)
    again = ReaderSignal(signal._drafter, WordSignal({}), "ann")
    assert "no log-probabilities" in again.gain(BARE, INSIDE).degraded
    assert len(model.requests) == meter.total("ann").degraded == 1


def test_all_probes_of_a_question_have_one_deadline(monkeypatch):
    """Each is given what is left; when that is nothing the offline signal goes on, and says why."""
    now, given_s = [100.0], []
    monkeypatch.setattr("zibaldone.views.hierarchy.uncertainty.time.monotonic", lambda: now[0])

    def slow(request):
        given_s.append(request.timeout_s)
        now[0] += 4
        return drafted(request)

    signal, _, _ = reading(slow)
    pairs = (BARE, INSIDE), (INSIDE, INSIDE.with_unit(CLUB)), (INSIDE, BARE.with_unit(CLUB))
    gains = [signal.gain(*pair) for pair in pairs]
    assert given_s == [10, 6, 2]
    assert [one.thresholds for one in gains] == [NLL, NLL, COVERAGE]
    assert "'scripted' took all of the question's 10 s" in gains[-1].degraded


def test_the_mean_over_tokens():
    """A longer draft is not a less certain one; an empty one, or impossible numbers, are failures."""
    tokens = [TokenLogprob("a", -1.0), TokenLogprob("b", -3.0)]
    assert uncertainty(tokens) == uncertainty(tokens * 2) == 2.0
    for wrong in ([], [TokenLogprob("a", -math.inf)], [TokenLogprob("a", 0.5)]):
        with pytest.raises(ModelFailed):
            uncertainty(wrong)


@pytest.mark.parametrize(
    ("wanted", "first", "then", "gains"),
    [
        ("hall", ShownEpisode("the hall"), ShownEpisode("The hall again"), [0.5, 0.25]),  # a second witness
        ("hall", ShownEpisode("hall", weight=0.5), CLUB, [0.25, 0]),  # it is unlikely that this one answers
        ("bassoon", ShownEpisode("her bassoon"), CLUB, [0.5, 0]),  # semantics say what to look for, no more
    ],
)
def test_the_offline_gain(wanted, first, then, gains):
    """Half of what is left of a term's weight, by how likely the episode is to answer."""
    signal = WordSignal({wanted: 1.0})
    once = BARE.with_unit(first)
    assert [signal.gain(BARE, once).value, signal.gain(once, once.with_unit(then)).value] == gains
    assert signal.probes == 0


def test_wanted_terms_are_half_the_questions():
    """Question and semantics weigh the same; among semantics the relevant ones and rare terms weigh more."""
    idf = {"hall": 2.0, "bassoon": 4.0, "reed": 1.0}.get
    found = wanted_terms(["hall"], [(["bassoon", "reed"], 1.0), (["reed", "bassoon"], 0.5)], idf)
    assert found == pytest.approx({"hall": 0.5, "bassoon": 0.4, "reed": 0.1})
    assert wanted_terms(["hall"], [], idf) == {"hall": 1.0}
    assert wanted_terms([], [], idf) == {}
