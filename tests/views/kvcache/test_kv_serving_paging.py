"""Slots of tokens and heads of ranks: every token and every head once, and in its place."""

import pytest

from zibaldone.views.kvcache.serving.working import head_range


@pytest.mark.parametrize(("kv_heads", "ranks"), [(8, 1), (8, 2), (8, 8), (2, 8), (1, 4), (3, 3)])
def test_ranks_have_all_heads(kv_heads, ranks):
    """Every head once; where heads are fewer than ranks, neighbours share one."""
    shares = [head_range(kv_heads, rank, ranks) for rank in range(ranks)]
    assert sorted({head for share in shares for head in range(*share)}) == list(range(kv_heads))
    assert {share.end - share.start for share in shares} == {max(1, kv_heads // ranks)}
    assert [share.start for share in shares] == [rank * kv_heads // ranks for rank in range(ranks)]
