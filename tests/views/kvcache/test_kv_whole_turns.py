"""Whole turns are chosen and reused: found by text unless told otherwise, within a budget of tokens."""

import re

import pytest
import torch
from kv_rig import QUESTION, USER, Rig, line, with_config

from zibaldone.errors import InvalidInput
from zibaldone.kv import MemArt
from zibaldone.views.kvcache.model.turns import Tile
from zibaldone.views.kvcache.retrieve.trust import Trust
from zibaldone.views.kvcache.retrieve.whole_turns import fitting_turns, fused, newest_turns
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.view import KVView

TURNS = 10
LONG = 13  # tokens of a turn: two blocks of eight
BUDGET = 3 * LONG
SURE = Trust(1.0, 16, 10**6, (-100.0,))
UNSURE = Trust(0.1, 16, 10**6)


@pytest.fixture(scope="module", params=["recall", "attention", "both"])
def rig(request, tmp_path_factory):
    """Ten turns of two blocks each, in two sessions, and settings that choose whole turns."""
    config = with_config(select=request.param, budget_tokens=BUDGET)
    with Rig(tmp_path_factory.mktemp("kv") / "m", config=config) as made:
        for i in range(TURNS):
            made.say(line(2 * i, words=LONG - 1), session=str(i % 2), remember=False)
        made.kv.remember(user=USER)
        yield made


@pytest.fixture
def sure(monkeypatch):
    """Attention that was found good enough."""
    monkeypatch.setattr(KVView, "trust", lambda *_: SURE)


def in_sight(answer) -> list[int]:
    return [cited.seq for cited in answer.citations]


def ask(rig, question=QUESTION, **options):
    return rig.kv.generate(question, user=USER, **{"max_new_tokens": 2, **options})


@pytest.mark.usefixtures("sure")
def test_how_often_a_question_goes_through_the_model(rig):
    """Once where text chooses; attention reads it before, to choose."""
    passes = []
    model = rig.view.encoder.tap.model
    counting = model.register_forward_pre_hook(
        lambda _, __, given: passes.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    try:
        answer = ask(rig, max_new_tokens=1)
    finally:
        counting.remove()
    times = 1 if rig.kv.config.select == "recall" else 2
    assert passes == [answer.prefill_tokens] * times


@pytest.mark.usefixtures("sure")
def test_no_box_is_looked_at_where_every_block_is_a_candidate(rig, monkeypatch):
    """Their keys say more: the ranking is the one of all keys."""
    monkeypatch.setattr("zibaldone.views.kvcache.retrieve.ranking.box_scores", None)
    trace = ask(rig).trace
    assert trace.rescored == trace.considered == (0 if rig.kv.config.select == "recall" else 2 * TURNS)


@pytest.mark.usefixtures("sure")
def test_turns_are_whole_and_fit(rig):
    """No turn is in sight in part, and all of them together have at most the budget's tokens."""
    for budget in (LONG, BUDGET, 200):
        answer = ask(rig, budget_tokens=budget)
        blocks = {block.number: block for block in rig.blocks()}
        shown = [blocks[number] for number in answer.blocks]
        assert answer.kv_tokens == sum(block.tokens for block in shown) <= budget
        for seq in in_sight(answer):
            turn = [block.number for block in blocks.values() if block.tile.seqs == (seq,)]
            assert set(turn) <= set(answer.blocks)
    assert len(in_sight(answer)) == TURNS


@pytest.mark.usefixtures("sure")
def test_the_newest_turns_of_a_session_count_in_the_budget(rig):
    """They stand before the question where a session is going on, and nowhere else."""
    assert ask(rig).trace.recent_tokens == 0
    rig.say(line(20, words=6), session="new")
    answer = ask(rig, session="new", budget_tokens=BUDGET)
    assert answer.trace.recent_tokens == 7
    assert answer.kv_tokens <= BUDGET
    assert in_sight(answer).count(TURNS + 1) == 1
    rig.forget(session="new")


def test_given_turns_and_no_others(rig):
    """A caller's own choice, in the order of the log; an empty one is no memory."""
    answer = ask(rig, seqs=[7, 2], budget_tokens=200)
    assert in_sight(answer) == [2, 7]
    assert ask(rig, seqs=[]).kv_tokens == 0
    assert not answer.trace.note


def test_a_score_is_what_the_model_gives(rig):
    """The log-probability of an answer behind pinned prefix, turns and question, in one plain pass."""
    score = rig.kv.score(QUESTION, "w9 w8", user=USER, seqs=[1])
    encoder = rig.view.encoder
    (first,) = [m for m in rig.memory.messages(user=USER) if m.seq == 1]
    before = [*encoder.prefix_ids, *encoder.turn_ids(first)]
    words = encoder.tokenizer(f"{QUESTION} END SAY w9 w8", add_special_tokens=False)["input_ids"]
    with rig.view.model_lock, torch.no_grad():
        logits = encoder.tap.model(input_ids=torch.tensor([[*before, *words]])).logits[0, -3:-1]
    wanted = logits.log_softmax(-1).gather(1, torch.tensor(words[-2:])[:, None]).sum()
    assert score.log_probability == pytest.approx(float(wanted), abs=1e-3)
    assert (score.tokens, score.kv_tokens, [cited.seq for cited in score.citations]) == (2, LONG, [1])
    assert score.per_token == pytest.approx(score.log_probability / 2)


def test_attention_that_is_not_trusted_does_not_choose(rig, monkeypatch):
    """Text recall does, and the trace says why."""
    monkeypatch.setattr(KVView, "trust", lambda *_: UNSURE)
    answer = ask(rig, line(4))
    expected = [
        seq
        for unit in rig.memory.recall(line(4), user=USER, views=["messages"], floor=0).evidence
        for seq in unit.sources
    ]
    assert 3 in in_sight(answer)
    assert set(in_sight(answer)) <= set(expected)
    assert ("does not choose" in answer.trace.note) is (rig.kv.config.select != "recall")


def test_what_attention_finds_is_measured_on_the_log_itself(rig):
    """Once, beside the pool, and in numbers alone."""
    reader, index = rig.kv.reading(USER)
    trust = rig.view.trust(reader, index, rig.memory.messages(user=USER)[0].time)
    assert trust.needles == TURNS
    assert 0 <= trust.score <= 1
    assert not re.search(r"w\d", rig.path("trust").read_text())
    rig.view._trusts.clear()
    assert rig.view.trust(reader, index, None) == trust


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"top_k": 3}, "give budget_tokens"),
        ({"budget_tokens": 0}, "budget_tokens"),
        ({"seqs": ["1"]}, "seqs"),
    ],
)
def test_what_cannot_be_is_refused(rig, options, reason):
    """By name, with what to give in its place."""
    with pytest.raises(InvalidInput, match=reason):
        ask(rig, **options)


@pytest.mark.parametrize(
    "settings",
    [
        {"align": "grid"},
        {"positions": "coupled"},
        {"select": "shared"},
        {"select": "per_layer"},
        {"order": "best_last", "select": "blocks"},
    ],
)
def test_settings_that_do_not_go_together(settings):
    """Turns cannot be taken whole from a grid; what is of single blocks alone says so."""
    with pytest.raises(InvalidInput, match="select"):
        MemArt(**settings)


def turn(seq, *lengths):
    """A turn's blocks, of so many tokens each."""
    return [
        KVBlock(10 * seq + i, "s", 0, Tile(0, (1,) * n, ((seq, n),)), 0, 0, 0, 0, 0)
        for i, n in enumerate(lengths)
    ]


def numbers(blocks):
    return [block.number for block in blocks]


def test_what_fits_a_budget():
    """Best first while they fit, what does not is skipped; of a best one that is too long, its beginning."""
    blocks_of = {1: turn(1, 4, 4), 2: turn(2, 6), 3: turn(3, 2), 4: turn(4, 8, 8, 8)}
    taken = fitting_turns([2, 1, 3], blocks_of, 9, frozenset())
    assert (numbers(taken.blocks), taken.dropped) == ([20, 30], 1)
    assert numbers(fitting_turns([4, 3], blocks_of, 18, frozenset()).blocks) == [30, 40, 41]
    assert numbers(fitting_turns([2, 3], blocks_of, 9, frozenset({2})).blocks) == [30]
    assert fitting_turns([9], blocks_of, 9, frozenset()).blocks == ()


def test_the_best_turn_last():
    """Turns are in the order of the ranking then, from its end, and each in its own."""
    blocks_of = {1: turn(1, 4, 4), 2: turn(2, 6), 3: turn(3, 2)}
    taken = fitting_turns([2, 3, 1], blocks_of, 20, frozenset(), "best_last")
    assert numbers(taken.blocks) == [10, 11, 30, 20]


def test_the_best_turn_stands_next_to_the_question(tmp_path):
    """In answers, in scores and in what an engine is sent; citations are in the order of the log."""
    config = with_config(select="recall", budget_tokens=80, order="best_last")
    with Rig(tmp_path / "m", config=config) as rig:
        rig.say(*(line(2 * i) for i in range(4)))
        ids = {block.tile.seqs[0]: block.tile.ids for block in rig.blocks()}
        prompt = rig.kv.prompt(QUESTION, user=USER, seqs=(3, 1, 4))
        memory = prompt.ids[-prompt.question_tokens - prompt.memory_tokens : -prompt.question_tokens]
        assert memory[-3 * len(ids[3]) :] == (*ids[4], *ids[1], *ids[3])
        answer = ask(rig, seqs=(3, 1, 4))
        assert in_sight(answer) == [1, 3, 4]
        assert answer.blocks == tuple(block.number for block in prompt.blocks)
        scores = [rig.kv.score(QUESTION, "w8", user=USER, seqs=seqs) for seqs in ((3, 1, 4), (4, 1, 3))]
        assert scores[0].log_probability != scores[1].log_probability


def test_newest_turns_are_whole():
    """From the end, as long as a whole turn fits."""
    newest = [*turn(1, 4), *turn(2, 4, 4), *turn(3, 4)]
    assert numbers(newest_turns(newest, 12).blocks) == [20, 21, 30]
    assert numbers(newest_turns(newest, 11).blocks) == [30]
    assert newest_turns(newest, 3).blocks == ()


def test_two_rankings_are_one():
    """What both have goes before what one has; of equal ones the first ranking's."""
    assert fused([1, 2, 3], [3, 4]) == [3, 1, 2, 4]
    assert fused([], [5]) == [5]
