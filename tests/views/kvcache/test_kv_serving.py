"""From KVMemory.prompt to a cache: an engine attends to what generate attends to, and to nobody else's."""

import json
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from kv_rig import PAPER, QUESTION, Rig, line, tokenizer, told, with_config

from zibaldone import InvalidInput
from zibaldone.engine.generations import lag, serving
from zibaldone.views.kvcache.serving.scheduling import REFUSED, SchedulerSide, content_of
from zibaldone.views.kvcache.serving.working import PagedLayer, RankShare, WorkerSide

SIZE, BLOCKS = 16, 12  # of the engine's cache: tokens to a block, blocks
OURS = (7, 3, 9, 2, 5, 4, 8)  # blocks that the engine gives a request
TURNS = with_config(budget_tokens=40)


@pytest.fixture
def rig(tmp_path):
    with told(tmp_path / "m", ("ann", "1", range(6)), ("zoe", "1", range(10, 18)), config=TURNS) as made:
        yield made


class Engine:
    """A scheduler and its workers, with caches in which heads stand before tokens."""

    def __init__(self, rig, ranks=1, device="cpu"):
        self.scheduler = SchedulerSide(rig.folder, serving, rig.view.encoder.tap.model.config)
        heads = 2 // ranks
        self.caches = [
            {n: torch.zeros((BLOCKS, heads, SIZE, 16), device=device) for n in range(2)} for _ in range(ranks)
        ]
        self.workers = [
            WorkerSide(
                {n: PagedLayer(cache.device, kernel(cache), heads, 8, 8) for n, cache in caches.items()},
                torch.float32,
                SIZE,
                RankShare(rank, ranks),
            )
            for rank, caches in enumerate(self.caches)
        ]

    def admit(self, request, computed=0):
        """Blocks for a request, and its memory in them; how many tokens that was."""
        self.scheduler.begin(request)
        while (tokens := self.scheduler.matched(request, computed)) is None:
            time.sleep(0.001)
        if tokens:
            self.scheduler.load(request, OURS, tokens)
        loads = self.scheduler.take_loads()
        for worker in self.workers:
            worker.start(loads)
        self.failed = set()
        for worker in self.workers:
            while loads and not worker.take_finished():
                time.sleep(0.001)
            self.failed |= worker.take_failed()
        self.scheduler.loaded([load.request_id for load in loads], self.failed)
        return tokens

    def finish(self, request):
        """The request has ended; what its response says."""
        said = self.scheduler.finish(request)
        return said["zibaldone"] if said else None

    def held(self, layer, tokens):
        """(keys, values) of the first tokens of our request: (heads, tokens, dim), of all ranks."""
        flat = [
            torch.cat([caches[layer][block] for block in OURS], dim=1)[:, :tokens] for caches in self.caches
        ]
        whole = torch.cat(flat).cpu()
        return whole[..., :8], whole[..., 8:]


def kernel(cache):
    def write(keys, values, slots):
        for key, value, slot in zip(keys, values, slots.tolist(), strict=True):
            cache[slot // SIZE, :, slot % SIZE] = torch.cat([key, value], dim=-1)

    return write


def request_of(prompt, **changes):
    """As vLLM has it."""
    body = json.loads(json.dumps(prompt.body()))
    ids = body["prompt"]
    return SimpleNamespace(
        **{
            "request_id": "1",
            "prompt_token_ids": ids,
            "kv_transfer_params": body.get("kv_transfer_params"),
            "cache_salt": body.get("cache_salt"),
        }
        | changes
    )


def expected(rig, prompt, layer):
    """Keys and values as generate hands them to the model."""
    encoder = rig.view.encoder
    fetched = rig.view.fetcher.fetch(rig.reader(), prompt.blocks)
    cache = encoder.tap.cache_of([encoder.standing, *fetched], final=len(prompt.ids))
    return cache.layers[layer].keys[0], cache.layers[layer].values[0]


CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: make test-gpu")
)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("computed", [0, 16])
def test_a_request_gets_its_memory(rig, ranks, computed, device):
    """Every layer's keys, at their positions, and values; what generate uses, on every rank.

    Bit for bit, but for the cosines of a card, which rotate keys there.
    """
    prompt, engine = rig.kv.prompt(QUESTION, user="ann"), Engine(rig, ranks, device)
    assert engine.admit(request_of(prompt), computed) == prompt.memory_tokens - computed > 0
    for layer in range(2):
        keys, values = engine.held(layer, prompt.memory_tokens)
        ours, theirs = expected(rig, prompt, layer)
        near = {} if device == "cuda" else {"rtol": 0, "atol": 0}
        torch.testing.assert_close(keys[:, computed:], ours[:, computed:], **near)
        assert torch.equal(values[:, computed:], theirs[:, computed:])
        assert not keys[:, :computed].any(), "what the engine had computed is left alone"
        assert not engine.held(layer, len(OURS) * SIZE)[0][:, prompt.memory_tokens :].any()
    assert engine.finish(request_of(prompt)) == {"loaded_tokens": prompt.memory_tokens - computed}


def test_the_prompt_is_what_generate_sees(rig):
    """The same turns and the same number of tokens; the newest of the session right before the question."""
    prompt = rig.kv.prompt(QUESTION, user="ann", session="1")
    answer = rig.ask(QUESTION, session="1", budget_tokens=40, now=prompt.now)
    assert [one.seq for one in prompt.citations] == [one.seq for one in answer.citations]
    assert prompt.memory_tokens == answer.kv_tokens + len(rig.view.encoder.prefix_ids)
    assert prompt.question_tokens == answer.prefill_tokens
    text = tokenizer().decode(list(prompt.ids))
    assert text == f"BOS PIN {' '.join(f'{one.text} END' for one in prompt.citations)} {QUESTION} END SAY"


def test_who_has_no_memory(rig):
    """Is asked without one, and the engine has nothing to do."""
    prompt = rig.kv.prompt(QUESTION, user="nobody")
    assert set(prompt.body()) == {"prompt"}
    engine = Engine(rig)
    assert engine.admit(request_of(prompt)) == 0
    assert engine.finish(request_of(prompt)) is None


def refused(rig, request):
    """The response's error, when nothing was loaded."""
    engine = Engine(rig)
    assert engine.admit(request) == 0
    assert not any(cache.any() for caches in engine.caches for cache in caches.values())
    said = engine.finish(request)
    assert said["loaded_tokens"] == 0
    return said["error"]


def scoped(prompt, **changes):
    """A request whose scope says something else."""
    params = {"zibaldone": prompt.scope.params()["zibaldone"] | changes}
    return request_of(prompt, kv_transfer_params=params)


def test_another_s_memory_is_never_loaded(rig, caplog):
    """Not by another name, nor by another's blocks, nor by another's scope; the log says why."""
    ann, zoe = (rig.kv.prompt("w60 w61", user=name) for name in ("ann", "zoe"))
    for request, why in (
        (scoped(ann, user="zoe"), "were encoded anew"),
        (request_of(ann, kv_transfer_params=zoe.scope.params(), cache_salt=zoe.salt), "does not begin with"),
        (scoped(ann, blocks=[99]), "are gone"),
        (scoped(ann, blocks=[], content=content_of([])), "are gone"),
        (scoped(ann, user="nobody"), "has no blocks"),
        (scoped(ann, content="another"), "were encoded anew"),
        (scoped(ann, fingerprint="another"), "made anew"),
    ):
        caplog.clear()
        assert refused(rig, request) == REFUSED
        assert why in caplog.text


@pytest.mark.parametrize("known", [True, False])
def test_a_guess_at_a_text_tells_nothing(rig, known, caplog):
    """With the user's name, block numbers and a salt made of them, the text that is right is no better."""
    prompt = rig.kv.prompt(QUESTION, user="ann")
    guessed = replace(prompt.scope, content="guessed")
    ids = list(prompt.ids) if known else [9] * len(prompt.ids)
    request = request_of(
        prompt, prompt_token_ids=ids, kv_transfer_params=guessed.params(), cache_salt=guessed.salt()
    )
    assert refused(rig, request) == REFUSED
    assert "were encoded anew" in caplog.text, "the tokens are not even compared"


def test_a_salt_that_would_mix_prefixes_up(rig, caplog):
    """Without the salt, or with that of another choice, the text is computed."""
    prompt = rig.kv.prompt(QUESTION, user="ann")
    for salt in (None, rig.kv.prompt("w60 w61", user="ann").salt, rig.kv.prompt("w1", user="zoe").salt):
        if salt != prompt.salt:
            caplog.clear()
            assert refused(rig, request_of(prompt, cache_salt=salt)) == REFUSED
            assert "cache_salt" in caplog.text


def test_a_bad_scope_is_answered_and_named(rig):
    """The engine goes on; the response names the fix."""
    assert "KVMemory.prompt()" in refused(rig, scoped(rig.kv.prompt(QUESTION, user="ann"), blocks="all"))


@pytest.mark.parametrize(
    "act",
    [
        lambda rig, _: rig.memory.builds.rebuild(view="kv", user="ann"),
        lambda rig, prompt: rig.forget(seqs=[prompt.seqs[0]]),
    ],
    ids=["made anew", "forgotten"],
)
def test_what_has_changed_meanwhile(rig, act):
    """Is not loaded, though the prompt was put together before."""
    prompt = rig.kv.prompt(QUESTION, user="ann")
    act(rig, prompt)
    assert refused(rig, request_of(prompt)) == REFUSED


def test_a_damaged_block_is_computed(rig):
    """The worker says which of the engine's blocks hold nothing; no other keys get in."""
    prompt, engine = rig.kv.prompt(QUESTION, user="ann"), Engine(rig)
    path = rig.path()
    path.write_bytes(bytes(path.stat().st_size))
    engine.admit(request_of(prompt))
    filled = -(-prompt.memory_tokens // SIZE)
    assert engine.failed == set(OURS[:filled])
    assert engine.workers[0].take_failed() == set()
    assert not any(cache.any() for cache in engine.caches[0].values())
    assert engine.admit(request_of(prompt)) == 0, "or the engine would try it without end"
    said = engine.finish(request_of(prompt))
    assert (said["loaded_tokens"], "could not be loaded" in said["error"]) == (0, True)


def test_the_engine_waits_for_no_disk(rig, monkeypatch):
    """Checking and reading go on in threads; the engine asks again, and is told when they have ended."""
    go = threading.Event()

    def waiting(method):
        def wait(*given):
            go.wait(30)
            return method(*given)

        return wait

    monkeypatch.setattr(WorkerSide, "_read", waiting(WorkerSide._read))
    prompt, engine = rig.kv.prompt(QUESTION, user="ann"), Engine(rig)
    with monkeypatch.context() as patched:
        patched.setattr(SchedulerSide, "_plan", waiting(SchedulerSide._plan))
        request = request_of(prompt)
        engine.scheduler.begin(request)
        assert engine.scheduler.matched(request, 0) is None
        assert engine.scheduler.finish(request) is None, "aborted before anything was known"
    assert engine.scheduler.matched(request_of(prompt, kv_transfer_params=None), 0) == 0
    request = request_of(prompt, request_id="2")
    while (tokens := engine.scheduler.matched(request, 0)) is None:
        time.sleep(0.001)
    engine.scheduler.load(request, OURS, tokens)
    (worker,) = engine.workers
    worker.start(engine.scheduler.take_loads())
    assert worker.take_finished() == set()
    go.set()
    while not (finished := worker.take_finished()):
        time.sleep(0.001)
    assert (finished, worker.take_failed()) == ({"2"}, set())
    assert torch.equal(engine.held(1, tokens)[0], expected(rig, prompt, 1)[0])


def test_another_model_is_not_served(rig, caplog):
    """An engine with another model says so in its log, and computes the text."""
    prompt = rig.kv.prompt(QUESTION, user="ann")
    model, engine = rig.view.encoder.tap.model, Engine(rig)
    config = type(model.config)(**model.config.to_dict() | {"vocab_size": 9})
    engine.scheduler = SchedulerSide(rig.folder, serving, config)
    assert engine.admit(request_of(prompt)) == 0
    assert engine.finish(request_of(prompt))["error"] == REFUSED
    assert "vocab_size" in caplog.text


def test_a_folder_without_a_memory(tmp_path):
    """Is refused when the engine starts, and stays as empty as it was."""
    with pytest.raises(InvalidInput, match="holds no memory"):
        SchedulerSide(tmp_path, serving, None)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_no_engine_has(tmp_path):
    """A layer of its own choice has no place in one prompt."""
    with Rig(tmp_path / "m", config=PAPER) as rig:
        rig.say(line(1))
        with pytest.raises(InvalidInput, match="per_layer"):
            rig.kv.prompt(QUESTION, user="ann")


def test_an_answer_becomes_a_turn(rig):
    """Question and answer are messages of the log, and the next `remember` encodes them."""
    prompt = rig.kv.prompt(QUESTION, user="ann", session="1")
    stored = rig.kv.remember_answer(prompt, "w7 w8 w9")
    assert [(one.role, one.content) for one in stored] == [("user", QUESTION), ("assistant", "w7 w8 w9")]
    rig.kv.remember(user="ann")
    with rig.database.read() as connection:
        assert lag(connection, "ann", rig.view) == 0
    assert rig.seqs() >= {one.seq for one in stored}
