"""A window is never overrun: memory, question and answer have room in it together."""

import pytest
from kv_rig import PAPER, filled, with_config

from zibaldone.views.kvcache.model.attention_hooks import Tap

WINDOW = 256  # of the tiny model
PINNED = 2


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


def test_layers_that_choose_for_themselves_find_no_room(tmp_path):
    """Without a token's room there is an answer behind the prefix alone."""
    with filled(tmp_path / "m", config=PAPER) as rig:
        assert rig.ask(max_new_tokens=3).kv_tokens
        answer = rig.ask(max_new_tokens=WINDOW - PINNED - 5, turns=30)
        assert answer.kv_tokens <= PINNED


def test_nothing_is_pinned_before_a_question_unless_wanted(tmp_path, monkeypatch):
    """Turns are encoded behind the first token and the system prompt either way, the same blocks."""
    parts = []
    cache_of = Tap.cache_of

    def noted(self, given, *others, **more):
        parts.append(sum(one[0].tokens for one in given))
        return cache_of(self, given, *others, **more)

    found = {}
    for pinned in (True, False):
        with filled(tmp_path / str(pinned), config=with_config(pinned=pinned)) as rig:
            made, prefix = rig.made(), rig.view.encoder.prefix
            assert prefix is not None
            with monkeypatch.context() as patch:
                patch.setattr(Tap, "cache_of", noted)
                parts.clear()
                kv_tokens = rig.ask().kv_tokens
            found[pinned] = made, [tokens - kv_tokens for tokens in parts]
    assert found[True][0] == found[False][0]
    assert (found[True][1], found[False][1]) == ([PINNED], [0])
