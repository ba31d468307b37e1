"""Vectors as stored and in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.dense import Matrix, from_bytes, to_bytes
from zibaldone.search.saved import SavedIndex


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
    matrix, at_once = Matrix(3), Matrix(3)
    start = 0
    for size in sizes:
        matrix.extend(whole[start : start + size])
        start += size
        assert matrix.rows.shape == (start, 3)
    at_once.extend(whole)
    np.testing.assert_array_equal(matrix.rows, at_once.rows)
    np.testing.assert_allclose(matrix.rows, whole, atol=0.01)


@pytest.mark.parametrize("dimension", [16, 256, 1024])
def test_a_byte_a_number(dimension):
    """A row has its length to the last digits, and its direction nearly; products are of rows as they are."""
    whole = unit_rows(700, dimension)
    whole[3] = 0
    matrix = Matrix(dimension)
    matrix.extend(whole)
    np.testing.assert_allclose(np.linalg.norm(matrix.rows, axis=1), np.arange(700) != 3, atol=1e-6)
    np.testing.assert_allclose(matrix.products(whole[7]), whole @ whole[7], atol=0.06 / dimension**0.5)
    np.testing.assert_allclose(matrix.products(whole[7]), matrix.rows @ whole[7], atol=1e-5)
    assert matrix.nbytes == 700 * (dimension + 4)
    assert np.flatnonzero(~matrix.has(slice(None))).tolist() == [3]


def test_products_do_not_depend_on_what_else_is_asked_for():
    """To the last bit: of a matrix that grew row by row, with other vectors, or of some rows."""
    whole = unit_rows(1100, 16)
    matrix, grown = Matrix(16), Matrix(16)
    matrix.extend(whole)
    for row in whole:
        grown.extend(row[None])
    product = matrix.products(whole[7])
    np.testing.assert_array_equal(grown.products(whole[7]), product)
    np.testing.assert_array_equal(matrix.products_of_each(whole[5:9])[2], product)
    some = np.arange(1099, 0, -2)
    np.testing.assert_array_equal(matrix.products(whole[7], some), product[some])


def test_a_matrix_saved_and_opened():
    """It is the one that was saved, grows on, and what is changed in it is changed."""
    whole = unit_rows(30, 16)
    matrix, saved = Matrix(16), SavedIndex()
    matrix.extend(whole[:20])
    matrix.save(saved)
    opened = Matrix(16, SavedIndex({name: array.copy() for name, array in saved.arrays.items()}))
    for one in (matrix, opened):
        one.extend(whole[20:])
        one.put(slice(3, 5), whole[8:10])
        one.keep(np.arange(30) % 3 > 0)
    np.testing.assert_array_equal(opened.rows, matrix.rows)
    np.testing.assert_array_equal(opened.at(np.array([2])), matrix.rows[[2]])
    np.testing.assert_allclose(opened.rows[2], whole[9], atol=0.02)
