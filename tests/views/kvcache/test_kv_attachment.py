"""A KVMemory from attaching to closing: what it takes, what it refuses, and what is left of it afterwards."""

import os
import signal
import threading
import time

import pytest
import torch
from kv_rig import CONFIG, FORM, USER, Rig, filled, line, model, tokenizer
from transformers import GenerationConfig

from zibaldone import Memory
from zibaldone.api.kv import KVMemory
from zibaldone.errors import ClosedMemory, InvalidInput, StorageBusy, UnsupportedModel


@pytest.fixture
def rig(tmp_path):
    """Eight messages in the pool."""
    with filled(tmp_path / "m") as made:
        yield made


@pytest.mark.parametrize(
    "use",
    [
        lambda kv: kv.generate("w1", user=USER),
        lambda kv: kv.score("w1", "w2", user=USER),
        lambda kv: kv.remember(user=USER),
    ],
)
def test_a_closed_one_says_so(rig, use):
    """Whatever is called."""
    rig.kv.close()
    with pytest.raises(ClosedMemory, match="attach a new one"):
        use(rig.kv)


def test_a_forked_child_answers(rig):
    """Locks that another thread held stayed with the parent."""
    expected = rig.ask().text
    held, done = threading.Event(), threading.Event()

    def hold():
        with rig.view.model_lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            torch.set_num_threads(1)  # OpenMP's own threads stayed with the parent: it would wait for them
            os._exit(0 if rig.ask().text == expected else 1)
        finally:
            os._exit(2)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("wrong", [{"config": "best"}, {"format": "chat"}])
def test_what_cannot_be_is_refused_before_the_model_is_touched(memory, wrong):
    """With the name of the argument, and no hook is left."""
    one = model()
    with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} must be"):
        KVMemory(one, tokenizer(), memory, **{"config": CONFIG, "format": FORM, **wrong})
    assert not any(module._forward_pre_hooks for module in one.modules())


def test_a_question_without_tokens_is_refused(tmp_path):
    """A format that writes nothing around a message leaves nothing of an empty one."""
    bare = type(FORM)(turn=lambda message: message.content, ask=lambda _: "")
    with Rig(tmp_path / "m", form=bare) as rig:
        rig.say(line(1))
        with pytest.raises(InvalidInput, match="no tokens"):
            rig.ask("")


@pytest.mark.parametrize("name", ["past_key_values", "input_ids", "use_cache", "num_beams"])
def test_what_memory_is_made_of_cannot_be_given(rig, name):
    """The model's input and its cache are the view's to make, for one answer at a time."""
    with pytest.raises(InvalidInput, match=f"{name} cannot be given"):
        rig.ask(**{name: None})


def test_a_generation_config_is_followed(rig):
    """Its length and its sampling; what the call itself says goes first."""

    def texts(**more):
        config = GenerationConfig(do_sample=True, temperature=50.0, max_new_tokens=6)
        return {rig.kv.generate("w3 w4", user=USER, generation_config=config, **more).text for _ in range(6)}

    torch.manual_seed(0)
    sampled = texts()
    assert len(sampled) > 1
    assert max(len(text.split()) for text in sampled) == 6
    assert max(len(text.split()) for text in texts(max_new_tokens=2)) <= 2
    assert len(texts(do_sample=False, temperature=None)) == 1
    expected = rig.ask().text
    config = GenerationConfig(use_cache=False, num_beams=3)  # which cannot be: memory is one answer's cache
    assert rig.ask(generation_config=config).text == expected


def test_a_model_in_training_mode_encodes_nothing(rig, memory):
    """Keys would be random: it is refused, then and later; back in evaluation all goes on."""
    with pytest.raises(UnsupportedModel, match="training mode"):
        KVMemory(model().train(), tokenizer(), memory, config=CONFIG, format=FORM)
    rig.kv._encoder.tap.model.train()
    with pytest.raises(UnsupportedModel, match="training mode"):
        rig.say(line(20))
    rig.kv._encoder.tap.model.eval()
    assert rig.kv.remember(user=USER).blocks == 9


def test_weights_that_change_after_attaching_are_noticed(rig):
    """New keys would be of another model than those in the pool."""
    with torch.no_grad():
        rig.kv._encoder.tap.model.model.layers[0].self_attn.k_proj.weight.add_(1)
    with pytest.raises(UnsupportedModel, match="weights have changed"):
        rig.ask()


def test_an_encrypted_memory_is_refused(tmp_path):
    """Keys and values would lie there plain."""
    pytest.importorskip("sqlcipher3")
    with (
        Memory(tmp_path / "encrypted", key=bytes(32)) as memory,
        pytest.raises(InvalidInput, match="this memory is encrypted"),
    ):
        KVMemory(model(), tokenizer(), memory, config=CONFIG, format=FORM)
    assert not (tmp_path / "encrypted" / "kv").exists()


def test_closing_waits_for_one_pass_of_the_model(rig, monkeypatch):
    """And for no batch: the next KVMemory encodes the rest."""
    kv, tap, passes = rig.kv, rig.view.encoder.tap, []
    began, go = threading.Event(), threading.Event()
    forward = tap.forward

    def slow(*given):
        passes.append(1)
        began.set()
        go.wait(20)
        return forward(*given)

    rig.memory.add([line(i) for i in range(20)], user="ann", session="9")
    monkeypatch.setattr(tap, "forward", slow)

    def encode():
        with pytest.raises(StorageBusy, match="being closed"):
            kv.remember(user="ann")

    encoding = threading.Thread(target=encode)
    encoding.start()
    assert began.wait(20)
    closing = threading.Thread(target=kv.close)
    closing.start()
    while not rig.view.encoder.is_closing:
        time.sleep(0.001)  # until `close` waits for the pass, which holds the model
    go.set()
    closing.join(20)
    encoding.join(20)
    assert len(passes) == 1
