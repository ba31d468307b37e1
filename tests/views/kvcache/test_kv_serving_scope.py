"""Scopes in requests are read strictly, and salted by whose memory it is; ranks share its heads."""

import importlib
import importlib.util
from dataclasses import replace

import pytest

from zibaldone import InvalidInput, MissingExtra
from zibaldone.views.kvcache.serving.scheduling import KEY, KVScope
from zibaldone.views.kvcache.serving.working import head_range

SCOPE = KVScope("ann", 3, "print", blocks=(4, 7), content="here")


def params(**changes):
    """The scope's, with some parts others; None takes a part out."""
    given = SCOPE.params()[KEY] | changes
    return {KEY: {name: value for name, value in given.items() if value is not None}}


@pytest.mark.parametrize("given", [None, {}, {"do_remote_prefill": True}, "zibaldone", 7])
def test_a_request_of_somebody_else(given):
    """Where nothing is said of memory, there is no scope and no error."""
    assert KVScope.of(given) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"user": None}, "['user'], "),
        ({"user": 5}, "['user'], 5: "),
        ({"generation": "3"}, "['generation'], '3': "),
        ({"generation": True}, "['generation'], True: "),
        ({"blocks": "all"}, "['blocks'], 'all': "),
        ({"blocks": [1, "2"]}, "['blocks'][1], '2': "),
        ({"blocks": [1 << 70]}, "['blocks'][0], "),
        ({"folder": "elsewhere"}, "['folder'], 'elsewhere': "),
        (None, "dictionary"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(changes, words):
    """A scope that was written by hand is refused, in words that lead to the one that is not."""
    with pytest.raises(InvalidInput) as caught:
        KVScope.of({KEY: [1, 2]} if changes is None else params(**changes))
    assert words in str(caught.value)
    assert "KVMemory.prompt()" in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [{"user": "bob"}, {"generation": 4}, {"fingerprint": "other"}, {"content": "there"}],
)
def test_salts_tell_memories_apart(other):
    """Another user, generation, model or choice has another salt."""
    assert SCOPE.salt() != replace(SCOPE, **other).salt()


def test_without_vllm():
    """The connector says what to install."""
    if importlib.util.find_spec("vllm") and importlib.util.find_spec("vllm.distributed"):
        pytest.skip("vllm is installed here")
    with pytest.raises(MissingExtra, match=r"zibaldone\[vllm\]"):
        importlib.import_module("zibaldone.adapters.vllm")


@pytest.mark.parametrize(("kv_heads", "ranks"), [(8, 1), (8, 2), (8, 8), (2, 8), (1, 4), (3, 3)])
def test_ranks_have_all_heads(kv_heads, ranks):
    """Every head once; where heads are fewer than ranks, neighbours share one."""
    shares = [head_range(kv_heads, rank, ranks) for rank in range(ranks)]
    assert sorted({head for share in shares for head in range(*share)}) == list(range(kv_heads))
    assert {share.end - share.start for share in shares} == {max(1, kv_heads // ranks)}
    assert [share.start for share in shares] == [rank * kv_heads // ranks for rank in range(ranks)]
