"""Blocks on a grid grow with the next message: what was asked before is asked again as of now."""

import pytest
from kv_rig import USER, Rig, line, with_config

from zibaldone.views.kvcache.config import PAPER


@pytest.mark.parametrize(
    "config", [with_config(align="grid"), PAPER], ids=["recent turns and keys", "the paper's"]
)
def test_a_block_that_grew_after_a_question_does_not_stop_the_next(tmp_path, config):
    """Ask, add, ask: the short last block is no more, and the one in its place is found."""
    with Rig(tmp_path / "m", config=config) as rig:
        for i in range(6):
            rig.say(line(i, words=3))
            assert rig.ask(top_k=20).text
            numbers = {block.number for block in rig.blocks()}
            assert {one.block for one in rig.kv.scores("w1 w9", user=USER)} == numbers
        assert rig.memory.admin.check().faults == ()


def test_other_sessions_go_on_as_they_were(tmp_path):
    """Only the last block of the session that goes on is made anew."""
    with Rig(tmp_path / "m", config=with_config(align="grid")) as rig:
        rig.say(line(0, words=3), session="a")
        (before,) = rig.blocks()
        rig.say(line(1, words=3), session="b")
        rig.ask()
        rig.say(line(2, words=3), session="b")
        assert before in rig.blocks()
