"""What stands before a question: whole turns within a budget, and never more than the window has room for."""

import pytest
import torch
from kv_rig import PAPER, QUESTION, USER, Rig, filled, line, with_config

from zibaldone import InvalidInput

TURNS = 10
LONG = 13  # tokens of a turn: two blocks of eight
BUDGET = 3 * LONG
WINDOW = 256  # of the tiny model
PINNED = 2


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """Ten turns of two blocks each, in two sessions, and settings that choose whole turns."""
    config = with_config(budget_tokens=BUDGET)
    with Rig(tmp_path_factory.mktemp("kv") / "m", config=config) as made:
        for i in range(TURNS):
            made.say(line(2 * i, words=LONG - 1), session=str(i % 2), remember=False)
        made.kv.remember(user=USER)
        yield made


def in_sight(answer) -> list[int]:
    return [cited.seq for cited in answer.citations]


def ask(rig, question=QUESTION, **options):
    return rig.kv.generate(question, user=USER, **{"max_new_tokens": 2, **options})


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


@pytest.mark.parametrize("most", [3, 200, 235, 245, 248])
@pytest.mark.wide
def test_an_answer_has_the_room_that_it_was_promised(tmp_path, most):
    """However long it may be, recent turns and others leave it its place."""
    with filled(tmp_path / "m", 16, config=with_config(recent_tokens=64)) as rig:
        question = len(rig.kv._encoder.tokenizer("w3 w4 w5 END SAY")["input_ids"])
        answer = rig.ask(max_new_tokens=most, turns=30, session="1")
        assert rig.view.encoder.window == WINDOW
        assert PINNED + answer.kv_tokens + question + most <= WINDOW
        assert answer.trace.recent_tokens <= answer.kv_tokens


def test_a_question_that_leaves_no_room_is_refused(rig):
    """Prefix, question and answer are more than the window together."""
    with pytest.raises(InvalidInput, match=f"window of {WINDOW}"):
        ask(rig, max_new_tokens=WINDOW - PINNED - 4)


def test_layers_that_choose_for_themselves_find_no_room(tmp_path):
    """Without a token's room there is an answer behind the prefix alone."""
    with filled(tmp_path / "m", config=PAPER) as rig:
        assert rig.ask(max_new_tokens=3).kv_tokens
        answer = rig.ask(max_new_tokens=WINDOW - PINNED - 5, turns=30)
        assert answer.kv_tokens <= PINNED
