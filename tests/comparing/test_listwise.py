"""Fitting the ranking's weights, and judging them as the engine would."""

from dataclasses import replace

import numpy as np
import pytest

from zibaldone import Message
from zibaldone.comparing import talks
from zibaldone.comparing.evidence import share_found
from zibaldone.comparing.listwise import Prior, balanced, contests, fit, loss
from zibaldone.comparing.questions import OwnQuestion
from zibaldone.comparing.systems import units_of
from zibaldone.comparing.talks import LineCounter, judge, read_talk, to_vector
from zibaldone.models.static import shared_static_embedder
from zibaldone.search.ranker import DEFAULT_WEIGHTS, TalkWeights, Weights

SAID = [
    ("user", "I live in Linz."),
    ("assistant", "Noted, Linz it is."),
    ("user", "We moved to Graz last week."),
    ("assistant", "The capital of Austria is Vienna."),
    *(("assistant", f"Town number {number}.") for number in range(9)),
]
MESSAGES = [Message(text, role=role, seq=seq) for seq, (role, text) in enumerate(SAID, 1)]
ASKED = [
    OwnQuestion(
        "1", "own", "Where do I live now?", ("I live in Linz.", "We moved to Graz last week."), (1, 3)
    ),
    OwnQuestion("2", "own", "What is the capital of Austria?", ("Vienna",), (4,)),
    OwnQuestion("3", "own", "What is this?", (), ()),
]


@pytest.fixture
def stored(opened):
    """A memory with embedded vectors in which ann says it."""
    memory = opened(embedder=shared_static_embedder())
    memory.add([replace(message, seq=0) for message in MESSAGES], user="ann")
    return memory


@pytest.fixture
def talk(stored):
    """It, laid out."""
    return read_talk(stored.messages(user="ann"), ASKED, shared_static_embedder())


@pytest.fixture
def made_up():
    """Twenty queries over thirty items of four features; the first two features make two items relevant."""
    rng = np.random.default_rng(7)
    features = rng.normal(size=(20, 30, 4)).astype(np.float32)
    worth = features @ np.array([2.0, -1.0, 0.0, 0.0], dtype=np.float32) + rng.gumbel(size=(20, 30))
    return contests(list(features), [np.argsort(-row)[:2].tolist() for row in worth])


def test_fitting_raises_the_likelihood(made_up):
    """Above that of no weights, and of weights a little off the fitted ones."""
    weights = fit([made_up], range(4))
    fitted = loss([made_up], weights)[0]
    assert fitted < loss([made_up], np.zeros(4))[0]
    for step in 0.1 * np.vstack([np.eye(4), -np.eye(4)]):
        assert fitted < loss([made_up], weights + step)[0]


def test_fitting_finds_what_made_the_items_relevant(made_up):
    """A feature that helps, one that hurts and two that say nothing."""
    weights = fit([made_up], range(4))
    assert weights[0] > 0.5
    assert weights[1] < -0.3
    assert np.abs(weights[2:]).max() < 0.3


def test_gradient_and_hessian_are_those_of_the_loss(made_up):
    """By differences."""
    at, step = np.array([0.5, -0.2, 0.1, 0.3]), 1e-2
    _, gradient, hessian = loss([made_up], at)
    for axis, move in enumerate(step * np.eye(4)):
        above, below = loss([made_up], at + move), loss([made_up], at - move)
        assert (above[0] - below[0]) / (2 * step) == pytest.approx(gradient[axis], abs=1e-4)
        assert (above[1] - below[1]) / (2 * step) == pytest.approx(hessian[axis], abs=1e-3)


def test_relevant_items_do_not_compete_with_each_other():
    """The other relevant item's features change nothing for the first one's odds."""
    one = contests([np.array([[1.0], [5.0], [0.0]], dtype=np.float32)], [[0, 1]])
    weights = np.array([1.0])
    by_hand = (np.log(1 + np.exp(0.0 - 1.0)) + np.log(1 + np.exp(0.0 - 5.0))) / 2
    assert loss([one], weights)[0] == pytest.approx(by_hand + 0.0005)


def test_a_feature_that_is_left_out_has_weight_zero(made_up):
    """And the others are fitted without it."""
    weights = fit([made_up], [0, 2])
    assert weights[[1, 3]].tolist() == [0.0, 0.0]
    assert weights[0] > 0.5


def test_a_feature_that_never_differs_has_weight_zero():
    """Nothing speaks for it."""
    features = np.array([[1.0, 3.0], [0.0, 3.0], [0.0, 3.0]], dtype=np.float32)
    assert fit([contests([features], [[0]])], range(2))[1] == 0.0


def test_a_group_of_contests_counts_as_much_as_another(made_up):
    """However many queries it has: the fit is that of one small and one large group, not of their sum."""
    rng = np.random.default_rng(1)
    few = contests([rng.normal(size=(30, 4)).astype(np.float32)], [[0]])
    weights = np.array([0.5, -0.2, 0.1, 0.3])
    value, gradient, _ = loss(balanced([[made_up], [few, few]]), weights)
    values, gradients = zip(*(loss([group], weights)[:2] for group in (made_up, few)), strict=True)
    assert value == pytest.approx(np.mean(values))
    assert gradient == pytest.approx(np.mean(gradients, axis=0), abs=1e-6)


def test_an_item_may_stand_for_several():
    """A sample weighs as much as what it was drawn from."""
    item, rival = np.array([[1.0]], dtype=np.float32), np.array([[0.5]], dtype=np.float32)
    all_items = contests([np.vstack([item, *[rival] * 7])], [[0]])
    sample = contests([np.vstack([item, rival, rival])], [[0]], np.array([1, 3.5, 3.5], dtype=np.float32))
    at = np.array([0.7])
    for of_all, of_sample in zip(loss([all_items], at), loss([sample], at), strict=True):
        assert of_sample == pytest.approx(of_all, abs=1e-6)


def test_the_start_of_a_fit_decides_nothing(made_up):
    """The loss has one minimum; what is not kept stays 0 wherever one starts."""
    started = fit([made_up], [0, 1], np.array([3.0, 3.0, 3.0, 3.0]))
    assert started == pytest.approx(fit([made_up], [0, 1]), abs=1e-3)
    assert started[2:].tolist() == [0.0, 0.0]


def test_a_prior_holds_weights_of_which_data_say_nothing(made_up):
    """The stronger its ridge, the nearer they stay; without one they are drawn to 0."""
    towards = np.array([0.0, 0.0, 2.0, 2.0])
    loose, tight = (fit([made_up], range(4), prior=Prior(towards, ridge)) for ridge in (1e-3, 1e3))
    assert tight == pytest.approx(towards, abs=1e-2)
    assert np.abs(loose[2:]).max() < 1
    gradient = loss([made_up], loose, Prior(towards, 1e-3))[1]
    assert gradient == pytest.approx(np.zeros(4), abs=1e-4)


def test_questions_without_evidence_are_left_out(talk, stored):
    """Nothing can be learnt of them; a conversation without any is none."""
    assert [posed.question.id for posed in talk.posed] == ["1", "2"]
    assert read_talk(stored.messages(user="ann"), ASKED[2:], shared_static_embedder()) is None


@pytest.mark.parametrize("budget", [12, 30, 60])
def test_judging_is_the_engines_own_path(stored, talk, budget):
    """The shipped weights find what a Memory finds."""
    count = LineCounter(shared_static_embedder())
    for posed in talk.posed:
        recall = stored.recall(
            posed.question.text, user="ann", budget_tokens=budget, views=["messages"], now=posed.now
        )
        found = share_found(posed.question.evidence, units_of(recall))
        assert judge(talk, posed, DEFAULT_WEIGHTS, budget, count) == found


def test_other_weights_find_something_else(talk):
    """Weights that turn the ranking upside down lose what the shipped ones find."""
    count = LineCounter(shared_static_embedder())
    kinds = (DEFAULT_WEIGHTS.among_people, DEFAULT_WEIGHTS.with_assistant)
    against = TalkWeights(*(Weights(*(-to_vector(weights)).tolist()) for weights in kinds))

    def found(weights):
        return sum(judge(talk, talk.posed[0], weights, budget, count) for budget in range(10, 40))

    assert found(DEFAULT_WEIGHTS) > found(against)


def test_a_question_below_the_floor_finds_nothing(talk):
    """As in the engine, where it gets an empty recall."""
    count = LineCounter(shared_static_embedder())
    assert judge(talk, talk.posed[1], DEFAULT_WEIGHTS, 1000, count) == 1.0
    assert judge(talk, replace(talk.posed[1], confidence=0.0), DEFAULT_WEIGHTS, 1000, count) == 0.0


def test_of_a_long_chat_a_sample_of_the_assistants_units_competes(talk, stored, monkeypatch):
    """What people say and what is relevant always does; the sample weighs as much as all."""
    monkeypatch.setattr(talks, "MOST_OF_ASSISTANT", 4)
    sampled = read_talk(stored.messages(user="ann"), ASKED, shared_static_embedder())
    assert talk.contests.rivals.shape == (3, len(SAID))
    assert sampled.contests.rivals.shape == (3, 3 + 4)
    assert sampled.contests.rivals.sum(axis=1) == pytest.approx(talk.contests.rivals.sum(axis=1))


@pytest.mark.parametrize("text", ["", "\n", "Ann: Hi!", "Mon 8 May\nAnn: Hi!\n\n  Ben: a — b\n", "\nx"])
def test_tokens_add_up_over_lines(text):
    """Or else the budgets here would not be those of the engine."""
    tokenizer = shared_static_embedder()
    assert LineCounter(tokenizer)(text) == tokenizer.count([text])[0]
