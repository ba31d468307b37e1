"""Stock vLLM says with a pool's blocks what KVMemory.generate says with them."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "vllm", reason="no vllm: make test-vllm installs it where there is a build for this machine"
)

from engines import FAMILIES, TOKENS, Owner, Server, generated, offline, reused, text_of

QUESTION, OTHER = "w3 w4 w5 w40", "w50 w60 w3"


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    made = Owner(tmp_path_factory.mktemp("llama"), "llama")
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(owner, tmp_path_factory):
    made = Server(owner, tmp_path_factory.mktemp("log") / "vllm.log")
    try:
        made.wait()
        yield made
    finally:
        made.close()


def test_an_answer_over_http(owner, server):
    """The same greedy tokens, with only the question computed; as text the model says something else."""
    prompt = owner.prompt(QUESTION, tuple(range(2, 17)))  # turns that no other test has in vLLM's cache
    response = server.complete(prompt.body())
    assert text_of(response) == owner.answer(prompt)
    assert response["kv_transfer_params"]["zibaldone"] == {"loaded_tokens": prompt.memory_tokens}
    assert reused(response) == prompt.memory_tokens
    assert text_of(server.complete({"prompt": list(prompt.ids)})) != text_of(response)


def test_prefixes_are_not_mixed_up(owner, server):
    """By vLLM's prefix cache: text and memory of equal tokens are apart, a second question shares memory."""
    prompt = owner.prompt(OTHER)
    as_text = text_of(server.complete({"prompt": list(prompt.ids)}))
    as_memory = text_of(server.complete(prompt.body()))
    assert as_memory == owner.answer(prompt) != as_text
    assert text_of(server.complete({"prompt": list(prompt.ids)})) == as_text
    again = owner.prompt("w8 w9")
    response = server.complete(again.body())
    assert text_of(response) == owner.answer(again)
    loaded = response["kv_transfer_params"]["zibaldone"]["loaded_tokens"]
    assert loaded < again.memory_tokens, "whole blocks of vLLM's own were at hand"
    assert reused(response) == again.memory_tokens


def test_a_damaged_pool(owner, server):
    """Blocks that are not what was written are computed in vLLM, and nothing else is lost."""
    prompt = owner.prompt("w20 w21", user="zoe")
    expected = text_of(server.complete({"prompt": list(prompt.ids)}))
    whole = {path: path.read_bytes() for path in (owner.folder / "kv").glob("*/*.block")}
    assert whole
    for path, data in whole.items():
        path.write_bytes(bytes(len(data)))
    try:
        assert text_of(server.complete(prompt.body())) == expected
    finally:
        for path, data in whole.items():
            path.write_bytes(data)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "llama"])
def test_families(family, tmp_path):
    """Sliding windows, layers of two kinds, norms of keys: the same tokens, as likely as in Transformers."""
    made = Owner(tmp_path, family)
    with offline(made) as engine:
        prompt = made.prompt(QUESTION)
        answer = made.answer(prompt)
        assert len(answer.split()) == TOKENS
        text, computed, likelihood = generated(engine, prompt)
        assert (text, computed) == (answer, prompt.memory_tokens)
        score = made.kv.score(QUESTION, answer, user="ann", seqs=prompt.seqs, now=prompt.now)
        assert likelihood == pytest.approx(score.log_probability, abs=1e-3)
        if family != "mistral-sliding":  # two windows of 32 tokens see nothing that encoding had not seen
            assert generated(engine, prompt, memory=False)[2] != pytest.approx(likelihood, abs=1e-3)
    made.close()


def test_two_ranks(owner):
    """Tensor parallel: each rank has its own heads."""
    with offline(owner, tensor_parallel_size=2) as engine:
        prompt = owner.prompt(QUESTION, session="2")
        text, computed, _ = generated(engine, prompt)
        assert (text, computed) == (owner.answer(prompt), prompt.memory_tokens)
