"""While a model hangs, nobody waits for it but who asked it: no transaction and no other lock is held."""

import threading
from contextlib import contextmanager

import pytest
from kv_rig import CONFIG, PAPER, USER, filled, line

LIMIT_S = 60  # nothing here takes as long, unless it waits for the model


class Gate:
    """Where a model's passes wait, from when it is closed; open at first."""

    def __init__(self):
        self.reached, self.opened = threading.Event(), threading.Event()
        self.opened.set()

    def close(self):
        self.opened.clear()

    def __call__(self, *_):
        if not self.opened.is_set():
            self.reached.set()
            assert self.opened.wait(LIMIT_S)


@pytest.fixture(params=[CONFIG, PAPER], ids=["best", "paper"])
def rig(tmp_path, request):
    """Eight messages of USER's in two sessions, two of another's, and a model with a gate."""
    with filled(tmp_path / "m", config=request.param) as rig:
        rig.say(line(20), line(21), user="zoe")
        rig.gate = Gate()
        rig.view.encoder.tap.model.register_forward_pre_hook(rig.gate)
        yield rig
        rig.gate.opened.set()


@contextmanager
def hanging(rig, act):
    """`act` in a thread of its own, which waits for the model inside the block; what it returned, after."""
    results = []
    thread = threading.Thread(target=lambda: results.append(act()))
    rig.gate.close()
    thread.start()
    try:
        assert rig.gate.reached.wait(LIMIT_S)
        yield results
        assert thread.is_alive(), "it did not wait for the model"
    finally:
        rig.gate.opened.set()
        thread.join(LIMIT_S)
    assert results


def use(rig, user):
    """Adds, recalls and forgets; fails when it does not end by itself."""
    done = []

    def run():
        rig.memory.add("A tulip from Utrecht.", user=user)
        assert rig.memory.recall("tulip", user=user, min_confidence=0)
        done.append(rig.memory.forget(user=user, seqs=[1]))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT_S / 2)
    assert done, "somebody waits for the model"
    assert done[0].purged, "a transaction was open"


def unmade(rig):
    """Message 1 goes, and what had seen it is to be encoded again."""
    rig.memory.forget(user=USER, seqs=[2])


ASKING = {
    "generate": lambda rig: rig.ask(),
    "remember": lambda rig: rig.say(line(9)),
    "encode anew": lambda rig: rig.kv.remember(user=USER),
}


@pytest.mark.parametrize("user", [USER, "zoe"])
@pytest.mark.parametrize("what", ASKING)
@pytest.mark.wide
def test_nobody_waits_for_a_model_that_hangs(rig, what, user):
    """Adding, recalling and forgetting go on, of the same user and of another, and files are purged."""
    if what == "encode anew":
        unmade(rig)
    with hanging(rig, lambda: ASKING[what](rig)):
        use(rig, user)
    assert rig.memory.admin.check().faults == ()


@pytest.mark.parametrize("rig", [PAPER], indirect=True)
def test_an_answer_is_not_given_from_what_was_forgotten_while_the_model_chose(rig):
    """The question is asked again of what is left."""
    with hanging(rig, lambda: rig.ask(turns=8)) as results:
        rig.memory.forget(user=USER, seqs=[1, 2])
    (answer,) = results
    assert {cited.seq for cited in answer.citations} == {3, 4, 5, 6, 7, 8}


def test_forgetting_needs_no_pass_of_the_model(rig):
    """Blocks that attended to it are encoded again by the next maintenance, not before the receipt."""
    rig.gate.close()
    assert rig.memory.forget(user=USER, seqs=[1]).purged
    assert not rig.gate.reached.is_set()
    assert any(block.crc is None for block in rig.blocks())
    rig.gate.opened.set()
    rig.memory.maintain(user=USER)
    assert not any(block.crc is None for block in rig.blocks())
