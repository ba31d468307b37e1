"""The reader's uncertainty: by a model's log-probabilities, and without; and what goes wrong with a model."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.errors import InvalidInput, ModelFailed, QuestionOpen
from zibaldone.models.base import TokenLogprob
from zibaldone.models.logprobs import Drafter, uncertainty
from zibaldone.models.meter import Ceilings, Meter
from zibaldone.models.openai import OpenAIChat
from zibaldone.models.static import StaticEmbedder
from zibaldone.testing import FakeOpenAIServer, Misbehaviour
from zibaldone.views.hierarchy.stage_two import EpisodeText, RankedEpisode, StageTwo, include
from zibaldone.views.hierarchy.uncertainty import (
    Context,
    ReaderSignal,
    ShownEpisode,
    WordSignal,
    wanted_terms,
)

local_server = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]
STATIC = StaticEmbedder()
NLL, COVERAGE = ReaderSignal.DEFAULTS, WordSignal.DEFAULTS
BARE = Context("Where does Bea play?", ("Bea plays the bassoon.",))
HALL = ShownEpisode("Bea: I play in the town hall.")
CLUB = ShownEpisode("Bea: The club has closed.")


class UnsureServer(FakeOpenAIServer):
    """Gives every token the log-probability that `logprob` makes of what the model is shown."""

    def __init__(self, logprob, **options):
        self.logprob = logprob
        super().__init__(lambda _: "In the hall", **options)

    def _completion(self, body, misbehaviour):
        made = super()._completion(body, misbehaviour)
        for choice in made["choices"]:
            for token in (choice["logprobs"] or {}).get("content", ()):
                token["logprob"] = self.logprob(body["messages"][-1]["content"])
        return made


def doubt(shown):
    """Much of it, unless the hall is in."""
    return -0.5 if "town hall" in shown else -2.0


@pytest.fixture
def reading():
    """Makes (signal, server, meter); clients and servers are closed at the end."""
    made = []

    def new(logprob=doubt, *, ceilings=None, timeout_s=2.0, retries=0):
        server = UnsureServer(logprob)
        chat = OpenAIChat("m", base_url=server.base_url, timeout_s=5.0, max_retries=retries)
        made.extend([chat, server])
        meter = Meter(None, ceilings or Ceilings())
        offline = WordSignal({"hall": 0.5, "town": 0.5})
        drafter = Drafter(chat, meter, STATIC)
        return ReaderSignal(drafter, offline, "ann", timeout_s=timeout_s), server, meter

    yield new
    for one in made:
        one.close()


class TestReader:
    """By a chat model behind a server."""

    pytestmark = local_server

    def test_a_fall_in_negative_log_likelihood_is_the_gain(self, reading):
        """Uncertainty is the mean negative log-probability of a greedy draft, before and after."""
        signal, server, _ = reading()
        gain = signal.gain(BARE, BARE.with_unit(HALL))
        assert (gain.thresholds, gain.degraded) == (NLL, "")
        assert gain.value == 1.5
        asked = server.requests[0]
        assert (asked["max_tokens"], asked["temperature"]) == (20, 0.0)
        assert (asked["logprobs"], asked["top_logprobs"]) == (True, 1)

    def test_the_layout_keeps_shared_parts_in_front(self, reading):
        """Probes share everything up to the candidate; the question stands last."""
        signal, server, _ = reading()
        inside = BARE.with_unit(HALL)
        signal.gain(inside, inside.with_unit(CLUB))
        first, second = (body["messages"][-1]["content"] for body in server.requests)
        shared = "Bea plays the bassoon.\n\nBea: I play in the town hall."
        assert first.startswith(shared)
        assert second.startswith(shared + "\n\nBea: The club has closed.")
        assert second.endswith("Question: Where does Bea play?")
        assert server.requests[0]["messages"][0] == server.requests[1]["messages"][0]

    def test_a_context_is_probed_once(self, reading):
        """The base of the next candidate is known from the one before."""
        signal, server, _ = reading()
        signal.gain(BARE, BARE.with_unit(HALL))
        signal.gain(BARE.with_unit(HALL), BARE.with_unit(HALL).with_unit(CLUB))
        assert len(server.requests) == signal.probes == 3

    @pytest.mark.parametrize(
        ("fault", "says"),
        [
            (Misbehaviour.REFUSAL, "refused"),
            (Misbehaviour.SERVER_ERROR, "500"),
            (Misbehaviour.NO_LOGPROBS, "no log-probabilities"),
            (Misbehaviour.DROP, "draft_answer"),
        ],
    )
    def test_a_probe_that_fails_does_not_fail_the_recall(self, reading, fault, says):
        """The offline signal takes over for the rest of the question, and the result says why."""
        signal, server, meter = reading(retries=3)
        server.misbehave.append(fault)
        found = include(
            BARE.question,
            BARE.opening,
            [RankedEpisode(1, 1.0, 0.0), RankedEpisode(2, 1.0, 0.0)],
            {1: EpisodeText(HALL.text, 10), 2: EpisodeText(CLUB.text, 8)},
            signal,
            100,
            StageTwo(least=0),
        )
        assert list(found.expanded) == [1]
        assert re.search(says, found.degraded)
        assert len(server.requests) <= 2  # logprobs are left out once; nothing else is tried again
        assert meter.total("ann").degraded == 1

    def test_a_failure_on_the_way(self, reading):
        """Episodes admitted by the model stay; numbers of two signals are never subtracted."""
        signal, server, _ = reading()
        first = signal.gain(BARE, BARE.with_unit(HALL))
        server.always = Misbehaviour.SERVER_ERROR
        inside = BARE.with_unit(HALL)
        second = signal.gain(inside, inside.with_unit(CLUB))
        server.always = None
        third = signal.gain(inside, inside.with_unit(CLUB))
        assert (first.thresholds, second.thresholds, third.thresholds) == (
            NLL,
            COVERAGE,
            COVERAGE,
        )
        assert second.value == 0.0
        assert third.degraded == second.degraded != ""

    def test_a_server_that_hangs(self, reading):
        """One probe waits as long as it may, and no other is made."""
        signal, server, _ = reading(timeout_s=0.2)
        server.always = Misbehaviour.HANG
        assert signal.gain(BARE, BARE.with_unit(HALL)).thresholds == COVERAGE
        assert signal.gain(BARE, BARE.with_unit(CLUB)).thresholds == COVERAGE
        assert len(server.requests) == 1

    def test_a_ceiling(self, reading):
        """A probe that would go over one is not made."""
        signal, server, _ = reading(ceilings=Ceilings(calls_per_user_per_day=1))
        gain = signal.gain(BARE, BARE.with_unit(HALL))
        assert "calls_per_user_per_day" in gain.degraded
        assert len(server.requests) == 1

    def test_a_model_without_log_probabilities_is_asked_once(self, reading):
        """Another question does not find out again."""
        signal, server, meter = reading()
        server.misbehave.append(Misbehaviour.NO_LOGPROBS)
        signal.gain(BARE, BARE.with_unit(HALL))
        asked = len(server.requests)
        again = ReaderSignal(signal._drafter, WordSignal({}), "ann")
        assert "no log-probabilities" in again.gain(BARE, BARE.with_unit(HALL)).degraded
        assert len(server.requests) == asked
        assert meter.total("ann").degraded == 1


def test_all_probes_of_a_question_have_one_deadline(monkeypatch):
    """Each is given what is left; when that is nothing the offline signal goes on, and says why."""
    now, given_s = [100.0], []
    monkeypatch.setattr("zibaldone.views.hierarchy.uncertainty.time.monotonic", lambda: now[0])

    class Slow:
        name = "slow"

        def doubt(self, request, user):
            given_s.append(request.timeout_s)
            now[0] += 4
            return 1.0

    signal = ReaderSignal(Slow(), WordSignal({"hall": 1.0}), "ann")
    inside = BARE.with_unit(HALL)
    gains = [
        signal.gain(BARE, inside),
        signal.gain(inside, inside.with_unit(CLUB)),
        signal.gain(inside, BARE.with_unit(CLUB)),
    ]
    assert given_s == [10, 6, 2]
    assert [one.thresholds for one in gains] == [
        NLL,
        NLL,
        COVERAGE,
    ]
    assert "'slow' took all of the question's 10 s" in gains[-1].degraded


@pytest.mark.parametrize("error", [QuestionOpen("answer it"), InvalidInput("damaged"), RuntimeError("a bug")])
def test_whatever_a_client_raises(error):
    """Recordings with open questions, damaged ones and others' bugs are failed probes."""

    class Raising:
        name = "raising"

        def chat(self, request):
            raise error

    meter = Meter(None)
    signal = ReaderSignal(Drafter(Raising(), meter, STATIC), WordSignal({}), "ann")
    gain = signal.gain(BARE, BARE.with_unit(HALL))
    assert gain.thresholds == COVERAGE
    assert str(error) in gain.degraded
    assert meter.total("ann").calls == (1 if isinstance(error, RuntimeError) else 0)


def test_the_mean_over_tokens():
    """A longer draft is not a less certain one."""
    tokens = [TokenLogprob("a", -1.0), TokenLogprob("b", -3.0)]
    assert uncertainty(tokens) == uncertainty(tokens * 2) == 2.0


@pytest.mark.parametrize("tokens", [[], [TokenLogprob("a", -math.inf)], [TokenLogprob("a", 0.5)]])
def test_what_no_mean_can_be_taken_of(tokens):
    """An empty draft and impossible numbers are failures, not certainty."""
    with pytest.raises(ModelFailed):
        uncertainty(tokens)


def test_a_second_witness_gains_less():
    """That is the redundancy: the same terms again settle half of what is left."""
    signal = WordSignal({"hall": 1.0})
    once = BARE.with_unit(HALL)
    twice = once.with_unit(ShownEpisode("The hall again"))
    assert signal.gain(BARE, once).value == 0.5
    assert signal.gain(once, twice).value == 0.25
    assert signal.probes == 0


def test_an_unlikely_episode_gains_less():
    """Terms alone are not enough: the weight is how likely the episode is to answer."""
    signal = WordSignal({"hall": 1.0})
    assert signal.gain(BARE, BARE.with_unit(ShownEpisode("hall", weight=0.5))).value == 0.25


def test_semantics_settle_nothing():
    """The opening says what to look for, not what is found."""
    signal = WordSignal({"bassoon": 1.0})
    assert signal.gain(BARE, BARE.with_unit(ShownEpisode("her bassoon"))).value == 0.5


@given(st.lists(st.tuples(st.sampled_from(["hall", "town", "club", "other"]), st.floats(0, 1)), max_size=8))
def test_the_offline_signal_is_submodular(units):
    """It stays between 0 and 1, and a unit never gains more later than at first."""
    signal = WordSignal({"hall": 0.5, "town": 0.3, "club": 0.2})
    last = ShownEpisode("town hall")
    context = BARE
    gains = []
    for text, weight in units:
        gains.append(signal.gain(context, context.with_unit(last)).value)
        context = context.with_unit(ShownEpisode(text, weight))
    gains.append(signal.gain(context, context.with_unit(last)).value)
    assert all(a >= b - 1e-12 >= -1e-9 for a, b in pairwise(gains))
    assert 0 <= signal.uncertainty(context.units) <= 1 + 1e-12


def test_wanted_terms_are_half_the_questions():
    """Question and semantics weigh the same; among semantics the relevant ones and rare terms weigh more."""
    idf = {"hall": 2.0, "bassoon": 4.0, "reed": 1.0}.get
    found = wanted_terms(["hall"], [(["bassoon", "reed"], 1.0), (["reed", "bassoon"], 0.5)], idf)
    assert found == pytest.approx({"hall": 0.5, "bassoon": 0.4, "reed": 0.1})
    assert wanted_terms(["hall"], [], idf) == {"hall": 1.0}
    assert wanted_terms([], [], idf) == {}
