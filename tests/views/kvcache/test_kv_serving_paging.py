"""Slots of tokens and heads of ranks: every token and every head once, and in its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.views.kvcache.serving.working import head_range, slots_of


def test_what_a_window_has_passed_has_no_slot():
    """Block 0 is nobody's: tokens there are left out, and the others keep their positions."""
    found = slots_of((0, 5), 4, 1, 7)
    assert (found.tokens.tolist(), found.slots.tolist()) == ([4, 5, 6], [20, 21, 22])


@given(st.data())
def test_every_token_has_one_slot(data):
    """Slots are of the request's own blocks, and distinct."""
    size = data.draw(st.integers(1, 32))
    blocks = data.draw(st.lists(st.integers(1, 99), min_size=1, max_size=9, unique=True))
    end = data.draw(st.integers(0, size * len(blocks)))
    start = data.draw(st.integers(0, end))
    found = slots_of(blocks, size, start, end)
    slots = found.slots.tolist()
    assert found.tokens.tolist() == list(range(start, end))
    assert len(set(slots)) == end - start
    assert all(blocks[at // size] == slot // size for at, slot in zip(range(start, end), slots, strict=True))


@pytest.mark.parametrize(("kv_heads", "ranks"), [(8, 1), (8, 2), (8, 8), (2, 8), (1, 4), (3, 3)])
def test_ranks_have_all_heads(kv_heads, ranks):
    """Every head once; where heads are fewer than ranks, neighbours share one."""
    shares = [head_range(kv_heads, rank, ranks) for rank in range(ranks)]
    assert sorted({head for share in shares for head in range(*share)}) == list(range(kv_heads))
    assert {share.end - share.start for share in shares} == {max(1, kv_heads // ranks)}
    assert [share.start for share in shares] == [rank * kv_heads // ranks for rank in range(ranks)]
