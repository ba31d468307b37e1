"""Fitting the ranking's weights, and judging them as the engine would."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from zibaldone import Memory
from zibaldone.bench.engine import to_context
from zibaldone.bench.listwise import contests, fit, loss
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.metrics import is_found
from zibaldone.bench.weights import (
    FEATURES,
    FITTED,
    VARIANTS,
    LineCounter,
    Variant,
    evaluate,
    fold_weights,
    judge,
    read_talks,
    tables,
)
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidInput

SHIPPED = Variant("shipped", fitted_on="")


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


def test_every_variant_leaves_out_features_that_exist():
    """A renamed feature would else silently stay in."""
    assert {name for variant in VARIANTS for name in variant.without} == set(FEATURES)


def test_a_conversation_is_never_in_its_own_training_set(write, samples, tools):
    """What its evidence is changes the weights of the others and not its own."""
    before = fold_weights(read_talks(LoCoMoQuestions(write(samples)), tools), FITTED)
    samples[1]["qa"][0]["evidence"] = ["D1:1"]
    after = fold_weights(read_talks(LoCoMoQuestions(write(samples)), tools), FITTED)
    assert after[1].tolist() == before[1].tolist()
    assert after[0].tolist() != before[0].tolist()


def test_weights_fitted_on_all_are_the_same_for_all(locomo_path, tools):
    """The in-sample row."""
    first, second = fold_weights(
        read_talks(LoCoMoQuestions(locomo_path), tools), Variant("all", fitted_on="all")
    )
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("budget", [12, 30, 60])
def test_judging_is_the_engines_own_path(locomo_path, tools, budget):
    """The shipped weights find what a Memory finds."""
    benchmark = LoCoMoQuestions(locomo_path)
    talks = read_talks(benchmark, tools)
    for talk, weights in zip(talks, fold_weights(talks, SHIPPED), strict=True):
        with Memory(tools.folder / talk.user) as memory:
            memory.add(benchmark.messages(talk.user), user=talk.user)
            for asked in talk.posed:
                example = asked.example
                found = memory.recall(example.question, user=talk.user, budget_tokens=budget, now=example.now)
                units = [unit.text for unit in to_context(found).units]
                share = np.mean([is_found(turn, units) for turn in example.evidence])
                assert judge(talk, asked, weights, budget, LineCounter(tools.tokenizer)) == share


def test_a_question_below_the_floor_finds_nothing(locomo_path, tools):
    """As in the engine, where it gets an empty recall."""
    talk = read_talks(LoCoMoQuestions(locomo_path), tools)[0]
    weights = np.ones(len(FEATURES))
    count = LineCounter(tools.tokenizer)
    assert judge(talk, talk.posed[0], weights, 1000, count) == 1.0
    assert judge(talk, replace(talk.posed[0], relevance=0.0), weights, 1000, count) == 0.0


def test_without_synonyms_other_words_find_less(write, samples, tools):
    """The question's "dog" reaches the puppy only through them."""
    samples[0]["conversation"]["session_1"][0]["text"] = "I adopted a puppy, Comet."
    path = write(samples)
    lexical = FEATURES.index("lexical")
    with_them, without = (
        read_talks(LoCoMoQuestions(path), tools, synonyms=on)[0].posed[0] for on in (True, False)
    )
    assert with_them.features[:, lexical].sum() > without.features[:, lexical].sum()


@pytest.mark.parametrize("text", ["", "\n", "Ann: Hi!", "Mon 8 May\nAnn: Hi!\n\n  Ben: a — b\n", "\nx"])
def test_tokens_add_up_over_lines(tools, text):
    """Or else the budgets here would not be those of the engine."""
    assert LineCounter(tools.tokenizer)(text) == tools.count_tokens(text)


def test_two_runs_give_the_same(locomo_path, tools):
    """No seed, no clock."""
    rows = [
        evaluate(LoCoMoQuestions(locomo_path), tools, budgets_tokens=[30], variants=VARIANTS[:3])
        for _ in "ab"
    ]
    assert rows[0] == rows[1]


def test_changes_are_held_against_the_first_row(locomo_path, tools):
    """A ranking without any feature is the order of the log."""
    blind = Variant("blind", FEATURES)
    first, second = evaluate(
        LoCoMoQuestions(locomo_path), tools, budgets_tokens=[30], variants=(SHIPPED, blind)
    )
    assert first.change == first.change_error == 0.0
    assert second.change == pytest.approx(second.evidence_recall[0] - first.evidence_recall[0])
    assert second.change < 0


def test_tables_have_a_row_per_variant_and_per_feature(locomo_path, tools):
    """And no weight is forgotten."""
    rows = evaluate(LoCoMoQuestions(locomo_path), tools, budgets_tokens=[20, 30], variants=VARIANTS[:2])
    variants, weights = tables(rows, (20, 30))
    assert variants.row_count == 2
    assert weights.row_count == len(FEATURES)


def test_one_conversation_is_refused(write, samples, tools):
    """There would be nothing to fit on; a conversation without evidence is none."""
    samples[1]["qa"] = []
    with pytest.raises(InvalidInput, match="at least 2"):
        evaluate(LoCoMoQuestions(write(samples)), tools)


def test_the_command_prints_markdown_and_writes_json(locomo_path):
    """Every variant in both."""
    out = locomo_path.parent / "out.json"
    done = CliRunner().invoke(
        bench_app, ["weights", str(locomo_path), "--output", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert [row["variant"] for row in report["rows"]] == [variant.name for variant in VARIANTS]
    for variant in VARIANTS:
        assert f"| {variant.name} " in done.stdout
