"""Beginnings of turns computed again behind the turns that now stand before them."""

import pytest
from kv_rig import QUESTION, USER, Rig, line, with_config

from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.generate.generation import PromptContext
from zibaldone.views.kvcache.generate.likelihood import answer_ids, likelihood
from zibaldone.views.kvcache.model.turns import question_of

TURNS, LONG = 5, 13  # tokens of a turn: two blocks of eight
SEQS, GOLD = (1, 3, 5), "w8 w9"


def rig_with(folder, reread_tokens):
    """Five turns, whole ones to be put in sight."""
    rig = Rig(folder / "m", config=with_config(select="recall", reread_tokens=reread_tokens))
    for i in range(TURNS):
        rig.say(line(2 * i, words=LONG - 1), remember=False)
    rig.kv.remember(user=USER)
    return rig


def scored(rig):
    """The answer's likelihood with three of the turns as keys, and as text."""
    encoder, now = rig.kv.view.encoder, rig.memory.messages(user=USER)[-1].time
    as_keys = rig.kv.score(QUESTION, GOLD, user=USER, seqs=SEQS, now=now)
    turns = [encoder.turn_ids(message) for message in rig.memory.messages(user=USER) if message.seq in SEQS]
    ids = question_of(encoder.tokenizer, encoder.form, QUESTION, now).ids
    text = PromptContext((), (), (), (*(i for turn in turns for i in turn), *ids))
    with rig.kv.view.model_lock:
        return as_keys, likelihood(encoder, text, answer_ids(encoder, GOLD, now)), len(ids)


def test_turns_that_are_all_read_again_are_their_text(tmp_path):
    """Then every key has seen what it would see in a prompt; the first turn of the log had."""
    with rig_with(tmp_path, 100) as rig:
        as_keys, as_text, asked_tokens = scored(rig)
        assert as_keys.log_probability == pytest.approx(as_text, abs=1e-4)
        assert as_keys.prefill_tokens == asked_tokens + 2 * LONG
        assert as_keys.kv_tokens == LONG


@pytest.mark.parametrize("tokens", [0, 3, 10])
def test_only_beginnings_are_computed(tmp_path, tokens):
    """So many of each turn but the first, over the border of a block too; what is stored stays as it is."""
    with rig_with(tmp_path, tokens) as rig:
        before = [block.crc for block in rig.blocks()]
        as_keys, as_text, asked_tokens = scored(rig)
        assert as_keys.prefill_tokens == asked_tokens + 2 * tokens
        assert as_keys.kv_tokens == 3 * LONG - 2 * tokens
        assert as_keys.log_probability != pytest.approx(as_text, abs=1e-4)
        again = scored(rig)[0].log_probability
        assert again == as_keys.log_probability
        assert [block.crc for block in rig.blocks()] == before
        answer = rig.kv.generate(QUESTION, user=USER, seqs=SEQS, max_new_tokens=2)
        assert (answer.prefill_tokens, answer.kv_tokens) == (as_keys.prefill_tokens, as_keys.kv_tokens)


def test_it_is_of_whole_turns():
    """Single blocks have no beginning that is worth it."""
    with pytest.raises(InvalidInput, match="whole turns"):
        with_config(select="blocks", reread_tokens=4)
    with pytest.raises(InvalidInput, match="reread_tokens"):
        with_config(select="recall", reread_tokens=-1)
