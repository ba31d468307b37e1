"""Fitting the ranking's weights, and judging them as the engine would."""

import copy
import json
from dataclasses import astuple, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from zibaldone import Memory
from zibaldone.bench import talks as talks_module
from zibaldone.bench.engine import to_context
from zibaldone.bench.listwise import Prior, balanced, contests, fit, loss
from zibaldone.bench.metrics import is_found
from zibaldone.bench.talks import LineCounter, WantedText, judge, read_talks
from zibaldone.bench.weights import (
    FITTED,
    LONG_FITTED,
    VARIANTS,
    Variant,
    evaluate,
    fold_weights,
    read_data_sets,
    tables,
)
from zibaldone.cli.bench import bench_app
from zibaldone.errors import InvalidInput
from zibaldone.search.ranker import DEFAULT_WEIGHTS, FEATURES, AssistantShare, TalkWeights, Weights

SHIPPED = Variant("shipped", fitted_on="")
OTHER_DATA_SETS = Variant("other data sets", fitted_on="other data sets", one_set=True)
EVEN = Weights(*[1.0] * len(FEATURES))


@pytest.fixture
def haystacks_path(write, haystack):
    """Two users who talk with an assistant."""
    other = copy.deepcopy(haystack) | {"question_id": "h2"}
    other["questions"][1] = "Which city is Austria governed from?"
    return write([haystack, other], "haystacks.json")


@pytest.fixture
def talks_of(tools):
    """The conversations of some paths."""

    def talks_of(*paths, synonyms=True):
        return [
            talk
            for name, data in read_data_sets(paths).items()
            for talk in read_talks(data, name, tools, synonyms=synonyms)
        ]

    return talks_of


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


def test_every_feature_is_left_out_once():
    """A renamed feature would else silently stay in."""
    assert {name for variant in VARIANTS for name in variant.without} == set(FEATURES)


def test_a_conversation_is_never_in_its_own_training_set(write, samples, talks_of):
    """What its evidence is changes the weights of the others and not its own."""
    before = fold_weights(talks_of(write(samples)), FITTED)
    samples[1]["qa"][0]["evidence"] = ["D1:1"]
    after = fold_weights(talks_of(write(samples)), FITTED)
    assert after[1] == before[1]
    assert after[0] != before[0]


def test_a_data_set_that_is_left_out_is_not_seen_at_all(write, samples, haystacks_path, talks_of):
    """What the evidence is in one data set changes the weights of the other ones alone."""
    before = fold_weights(talks_of(write(samples), haystacks_path), OTHER_DATA_SETS)
    samples[1]["qa"][0]["evidence"] = ["D1:1"]
    after = fold_weights(talks_of(write(samples), haystacks_path), OTHER_DATA_SETS)
    assert after[:2] == before[:2]
    assert after[2] == after[3] != before[2]


def test_weights_of_its_data_set_come_from_nowhere_else(locomo_path, haystacks_path, talks_of):
    """Another data set beside it changes nothing."""
    own = Variant("own", fitted_on="its data set")
    assert fold_weights(talks_of(locomo_path, haystacks_path), own)[:2] == fold_weights(
        talks_of(locomo_path), own
    )


def test_each_kind_of_talk_has_weights_of_its_own(locomo_path, haystacks_path, talks_of):
    """Unless there is one set for both; a session's kind is read from it, not from its data set."""
    talks = talks_of(locomo_path, haystacks_path)
    assert [talk.with_assistant for talk in talks] == [False, False, True, True]
    alone = fold_weights(talks_of(haystacks_path), Variant("all", fitted_on="all"))[0]
    both = fold_weights(talks, Variant("all", fitted_on="all"))[0]
    one_set = fold_weights(talks, Variant("all", fitted_on="all", one_set=True))[0]
    assert alone.among_people == alone.with_assistant == both.with_assistant
    assert both.among_people != both.with_assistant
    assert one_set.among_people == one_set.with_assistant
    assert one_set.with_assistant not in (both.among_people, both.with_assistant)


def test_only_weights_of_long_turns_are_fitted(write, locomo_path, haystack, talks_of):
    """On what people say to an assistant in the others, drawn to the short turns'; all else is as shipped."""
    haystack["haystack_sessions"][0].append({"role": "user", "content": "My cat sleeps."})
    both = [haystack, haystack | {"question_id": "h2"}]
    talks = talks_of(locomo_path, write(both, "haystacks.json"))
    for weights in fold_weights(talks, LONG_FITTED):
        assert replace(weights, long_turns=DEFAULT_WEIGHTS.long_turns) == DEFAULT_WEIGHTS
        assert weights.long_turns.dense > DEFAULT_WEIGHTS.with_assistant.dense
        assert weights.long_turns.by_assistant == DEFAULT_WEIGHTS.with_assistant.by_assistant
    unseen = replace(LONG_FITTED, fitted_on="other data sets")
    of_people, _, of_haystacks, _ = fold_weights(talks, unseen)
    assert of_people.long_turns != of_haystacks.long_turns == DEFAULT_WEIGHTS.with_assistant


def test_a_prior_holds_weights_of_which_data_say_nothing(made_up):
    """The stronger its ridge, the nearer they stay; without one they are drawn to 0."""
    towards = np.array([0.0, 0.0, 2.0, 2.0])
    loose, tight = (fit([made_up], range(4), prior=Prior(towards, ridge)) for ridge in (1e-3, 1e3))
    assert tight == pytest.approx(towards, abs=1e-2)
    assert np.abs(loose[2:]).max() < 1
    gradient = loss([made_up], loose, Prior(towards, 1e-3))[1]
    assert gradient == pytest.approx(np.zeros(4), abs=1e-4)


def test_a_unit_is_ranked_with_the_weights_of_its_kind(locomo_path, haystacks_path, talks_of, tools):
    """Weights that turn the ranking of the other kind of talk upside down change nothing."""
    people, _, assistant, _ = talks_of(locomo_path, haystacks_path)
    count, against = LineCounter(tools.tokenizer), Weights(*[-1.0] * len(FEATURES))

    def shares(talk, among_people, with_assistant):
        weights = TalkWeights(among_people, with_assistant, with_assistant)
        return [
            judge(talk, posed, weights, budget, count) for posed in talk.posed for budget in range(10, 60)
        ]

    assert shares(people, EVEN, EVEN) == shares(people, EVEN, against)
    assert sum(shares(people, EVEN, EVEN)) > sum(shares(people, against, EVEN))
    assert sum(shares(assistant, EVEN, EVEN)) > sum(shares(assistant, EVEN, against))


def test_a_data_set_counts_whatever_its_number_of_questions(write, samples, haystacks_path, talks_of):
    """All questions of one data set asked twice change nothing."""
    variant = Variant("all", fitted_on="all", one_set=True)
    before = fold_weights(talks_of(write(samples), haystacks_path), variant)[0]
    for sample in samples:
        sample["qa"] *= 2
    after = fold_weights(talks_of(write(samples), haystacks_path), variant)[0]
    assert astuple(after.among_people) == pytest.approx(astuple(before.among_people), abs=1e-3)


def test_weights_fitted_on_all_are_the_same_for_all(locomo_path, talks_of):
    """The in-sample row."""
    first, second = fold_weights(talks_of(locomo_path), Variant("all", fitted_on="all"))
    assert first == second


@pytest.mark.parametrize("budget", [12, 30, 60])
@pytest.mark.parametrize("path", ["locomo_path", "haystacks_path"])
def test_judging_is_the_engines_own_path(request, path, talks_of, tools, budget):
    """The shipped weights find what a Memory finds."""
    path = request.getfixturevalue(path)
    (data,) = read_data_sets([path]).values()
    for talk in talks_of(path):
        with Memory(tools.folder / talk.user) as memory:
            memory.add(data.messages(talk.user), user=talk.user)
            for posed in talk.posed:
                recall = memory.recall(
                    posed.example.question,
                    user=talk.user,
                    budget_tokens=budget,
                    views=["messages"],
                    now=posed.now,
                )
                units = to_context(recall).units
                holds = [
                    is_found(
                        wanted.text,
                        [unit.text for unit in units if unit.session in (wanted.sessions or {unit.session})],
                    )
                    for wanted in posed.wanted
                ]
                count = LineCounter(tools.tokenizer)
                assert judge(talk, posed, DEFAULT_WEIGHTS, budget, count) == np.mean(holds)


def test_without_marked_turns_the_answer_is_wanted(haystacks_path, talks_of):
    """In one unit of the sessions that answer it; a question whose answer stands nowhere is left out."""
    talk = talks_of(haystacks_path)[0]
    marked, unmarked = talk.posed
    assert [wanted.text for wanted in marked.wanted] == ["I live in Linz.", "We moved to Graz last week."]
    (answer,) = unmarked.wanted
    assert (answer.text, answer.sessions) == ("Vienna", {"s3"})


def test_an_answer_counts_in_the_sessions_that_give_it(haystacks_path, talks_of, tools):
    """The same words elsewhere are not what is asked for."""
    talk = talks_of(haystacks_path)[0]
    count, unmarked = LineCounter(tools.tokenizer), talk.posed[1]
    elsewhere = replace(unmarked, wanted=(WantedText("Vienna", frozenset({"s1"})),))
    assert judge(talk, unmarked, DEFAULT_WEIGHTS, 1000, count) == 1.0
    assert judge(talk, elsewhere, DEFAULT_WEIGHTS, 1000, count) == 0.0


def test_an_assistant_has_its_share_of_the_context(haystacks_path, talks_of, tools):
    """None of it, or as much as it has of the log, whatever the scores."""
    talk = talks_of(haystacks_path)[0]
    count, weights = LineCounter(tools.tokenizer), TalkWeights(EVEN, Weights(by_assistant=-100.0), EVEN)
    found = [
        sum(
            judge(talk, replace(talk.posed[1], assistant=share), weights, budget, count)
            for budget in range(10, 40)
        )
        for share in (AssistantShare(0.0, 0), AssistantShare(100.0, 0))
    ]
    assert found[0] < found[1]


def test_of_a_long_chat_a_sample_of_the_assistants_units_competes(write, haystack, talks_of, monkeypatch):
    """What people say and what is relevant always does; the sample weighs as much as all."""
    haystack["haystack_sessions"][0] += [
        {"role": "assistant", "content": f"Town number {number}."} for number in range(9)
    ]
    path = write([haystack], "haystacks.json")
    (whole,) = talks_of(path)
    monkeypatch.setattr(talks_module, "MOST_OF_ASSISTANT", 4)
    (sampled,) = talks_of(path)
    assert whole.contests.rivals.shape == (3, 2 + 1 + 10)
    assert sampled.contests.rivals.shape == (3, 2 + 1 + 4)
    assert sampled.contests.rivals.sum(axis=1) == pytest.approx(whole.contests.rivals.sum(axis=1))


def test_a_question_below_the_floor_finds_nothing(locomo_path, talks_of, tools):
    """As in the engine, where it gets an empty recall."""
    talk = talks_of(locomo_path)[0]
    weights = TalkWeights.alike(EVEN)
    count = LineCounter(tools.tokenizer)
    assert judge(talk, talk.posed[0], weights, 1000, count) == 1.0
    assert judge(talk, replace(talk.posed[0], confidence=0.0), weights, 1000, count) == 0.0


def test_without_synonyms_other_words_find_less(write, samples, talks_of):
    """The question's "dog" reaches the puppy only through them."""
    samples[0]["conversation"]["session_1"][0]["text"] = "I adopted a puppy, Comet."
    path = write(samples)
    lexical = FEATURES.index("lexical")
    with_them, without = (talks_of(path, synonyms=on)[0].posed[0] for on in (True, False))
    assert with_them.features[:, lexical].sum() > without.features[:, lexical].sum()


@pytest.mark.parametrize("text", ["", "\n", "Ann: Hi!", "Mon 8 May\nAnn: Hi!\n\n  Ben: a — b\n", "\nx"])
def test_tokens_add_up_over_lines(tools, text):
    """Or else the budgets here would not be those of the engine."""
    assert LineCounter(tools.tokenizer)(text) == tools.count_tokens(text)


def test_two_runs_give_the_same(locomo_path, haystacks_path, tools):
    """No seed that changes, no clock."""
    rows = [
        evaluate(
            read_data_sets([locomo_path, haystacks_path]), tools, budgets_tokens=[30], variants=VARIANTS[:3]
        )
        for _ in "ab"
    ]
    assert rows[0] == rows[1]


def test_changes_are_held_against_the_first_row(locomo_path, haystacks_path, tools):
    """In each data set; a ranking without any feature is the order of the log."""
    blind = Variant("blind", FEATURES)
    first, second = evaluate(
        read_data_sets([locomo_path, haystacks_path]), tools, budgets_tokens=[30], variants=(SHIPPED, blind)
    )
    for before, after in zip(first.data_sets, second.data_sets, strict=True):
        assert before.change == before.change_error == 0.0
        assert after.change == pytest.approx(after.evidence_recall[0] - before.evidence_recall[0])
    assert second.data_sets[0].change < 0


def test_every_data_set_has_its_figures(locomo_path, haystacks_path, tools):
    """Means over its own questions, and over those of each kind."""
    (row,) = evaluate(
        read_data_sets([locomo_path, haystacks_path]), tools, budgets_tokens=[20, 60], variants=[SHIPPED]
    )
    assert [figures.data_set for figures in row.data_sets] == ["locomo", "longmemeval"]
    assert [figures.questions for figures in row.data_sets] == [3, 4]
    for figures in row.data_sets:
        mine = [question for question in row.recalled if question.data_set == figures.data_set]
        assert figures.evidence_recall == pytest.approx(np.mean([each.shares for each in mine], axis=0))
        for category, mean in figures.by_category.items():
            assert mean == pytest.approx(
                np.mean([each.shares[1] for each in mine if each.category == category])
            )


def test_tables_have_a_row_per_variant_and_per_feature(locomo_path, haystacks_path, tools):
    """And no weight is forgotten, nor a data set."""
    data_sets = read_data_sets([locomo_path, haystacks_path])
    rows = evaluate(data_sets, tools, budgets_tokens=[10, 20, 30], variants=VARIANTS[:3])
    recall, changes, weights = tables(rows, (10, 20, 30))
    assert recall.row_count == 3
    assert [str(column.header) for column in recall.columns][1:] == [
        f"{name} {budget}" for name in ("locomo", "longmemeval") for budget in (20, 30)
    ]
    assert changes.row_count == 2
    assert weights.row_count == len(FEATURES)


def test_what_would_be_fitted_on_nothing_has_no_row(locomo_path, tools):
    """Of one data set no other one can be left."""
    rows = evaluate(
        read_data_sets([locomo_path]), tools, budgets_tokens=[30], variants=(SHIPPED, OTHER_DATA_SETS)
    )
    assert [row.variant for row in rows] == ["shipped"]


def test_folds_name_data_set_and_conversation(locomo_path, tools):
    """The weights that each was judged with."""
    (row,) = evaluate(read_data_sets([locomo_path]), tools, budgets_tokens=[30], variants=[FITTED])
    assert list(row.folds) == ["locomo/conv-30", "locomo/mine"]
    assert all(len(astuple(weights)) == 3 for weights in row.folds.values())


def test_one_conversation_is_refused(write, samples, tools):
    """There would be nothing to fit on; a conversation without evidence is none."""
    samples[1]["qa"] = []
    with pytest.raises(InvalidInput, match="at least 2"):
        evaluate(read_data_sets([write(samples)]), tools)


def test_one_conversation_beside_another_data_set_has_no_row_of_its_own(
    write, samples, haystacks_path, tools
):
    """Of its data set nothing is left to fit on; the other rows judge it."""
    samples[1]["qa"] = []
    variants = [FITTED, Variant("own", fitted_on="its data set")]
    data_sets = read_data_sets([write(samples), haystacks_path])
    rows = evaluate(data_sets, tools, budgets_tokens=[30], variants=variants)
    assert [row.variant for row in rows] == [FITTED.name]
    assert len(rows[0].folds) == 3


def test_a_data_set_that_is_given_twice_is_refused(locomo_path):
    """What weights are judged on they would have been fitted on."""
    with pytest.raises(InvalidInput, match="twice"):
        read_data_sets([locomo_path, locomo_path.parent / "." / locomo_path.name])


def test_two_data_sets_of_one_benchmark_keep_apart(write, samples, locomo_path):
    """By the names of their files."""
    names = list(read_data_sets([locomo_path, write(samples, "other.json")]))
    assert names == ["locomo talks.json", "locomo other.json"]


def test_the_command_prints_markdown_and_writes_json(locomo_path, haystacks_path):
    """Every variant in both."""
    out = locomo_path.parent / "out.json"
    done = CliRunner().invoke(
        bench_app,
        ["weights", str(locomo_path), str(haystacks_path), "--output", str(out)],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["data"] == ["talks.json", "haystacks.json"]
    assert [row["variant"] for row in report["rows"]] == [variant.name for variant in VARIANTS]
    for variant in VARIANTS:
        assert f"| {variant.name} " in done.stdout
