"""Vectors as stored and in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.dense import Matrix, from_bytes, to_bytes


def unit_rows(n, dimension, seed=0):
    """(n, dimension) float32, rows of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dimension", [1, 3, 256, 1024])
def test_stored_vectors_come_back_nearly_the_same(dimension):
    """Half precision keeps three digits, and the length is 1 again."""
    rows = unit_rows(20, dimension)
    back = from_bytes([to_bytes(row) for row in rows], dimension)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, rows, atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1, atol=1e-6)


def test_two_bytes_a_number():
    """A vector takes two bytes a dimension, the same on every machine."""
    assert to_bytes(np.array([1.0, 0.0, -0.5], dtype=np.float32)) == b"\x00\x3c\x00\x00\x00\xb8"


def test_a_zero_row_stays_zero():
    """What has no vector is not turned into one, and nothing is divided by zero."""
    assert not from_bytes([to_bytes(np.zeros(4, dtype=np.float32))], 4).any()


def test_storing_again_changes_nothing():
    """Bytes of what was read are the bytes that were stored, but for a last bit of the length."""
    once = [to_bytes(row) for row in unit_rows(50, 64)]
    again = from_bytes([to_bytes(row) for row in from_bytes(once, 64)], 64)
    np.testing.assert_allclose(again, from_bytes(once, 64), atol=1e-3)


def test_no_vectors():
    """Of nothing comes an empty matrix of the right width."""
    assert from_bytes([], 256).shape == (0, 256)


def test_a_torn_vector_is_not_read():
    """Bytes of a wrong length raise instead of shifting all that follows."""
    with pytest.raises(ValueError, match="reshape"):
        from_bytes([b"\0\0\0\0", b"\0\0"], 2)


@given(st.lists(st.integers(0, 40), max_size=12))
def test_a_matrix_that_grew_holds_what_was_appended(sizes):
    """Rows stand in the order in which they came, however many at a time."""
    whole = unit_rows(sum(sizes), 3, seed=1)
    matrix = Matrix(3)
    start = 0
    for size in sizes:
        matrix.extend(whole[start : start + size])
        start += size
        assert matrix.rows.shape == (start, 3)
    assert (matrix.rows == whole).all()


def test_products_of_a_grown_matrix_are_those_of_a_plain_one():
    """The room to spare takes no part in a product."""
    whole = unit_rows(100, 16)
    matrix = Matrix(16)
    for row in whole:
        matrix.extend(row[None])
    np.testing.assert_allclose(matrix.rows @ whole[7], whole @ whole[7], atol=1e-6)
    assert matrix.rows.flags.c_contiguous
