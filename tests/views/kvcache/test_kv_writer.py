"""Answers become messages, and these blocks."""

import pytest
from kv_rig import CONFIG, PAPER, USER, Rig, filled


@pytest.mark.parametrize("config", [CONFIG, PAPER], ids=["default", "paper"])
def test_an_answer_is_remembered(tmp_path, config):
    """Question and answer are logged, and encoded as any message."""
    with filled(tmp_path / "m", config=config) as rig:
        answer = rig.ask(remember=True, turns=2)
        asked, answered = rig.memory.messages(user=USER)[-2:]
        assert [asked.content, answered.content] == ["w3 w4 w5", answer.text]
        assert [asked.role, answered.role] == ["user", "assistant"]
        assert rig.kv.remember(user=USER).messages == 2
        assert rig.seqs() == set(range(1, 11))
        assert rig.memory.admin.check().faults == ()


def test_the_first_answer_of_an_empty_memory_is_remembered(tmp_path):
    """Without any message the model answers alone, and both turns become the first blocks."""
    with Rig(tmp_path / "m") as rig:
        assert rig.ask(remember=True).blocks == ()
        rig.kv.remember(user=USER)
        assert rig.seqs() == {1, 2}
