"""Vectors as stored and in memory."""

import numpy as np
import pytest

from zibaldone.search.dense import Matrix


def unit_rows(n, dimension, seed=0):
    """(n, dimension) float32, rows of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


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
    """To the last bit: of a matrix that grew row by row, or of some rows."""
    whole = unit_rows(1100, 16)
    matrix, grown = Matrix(16), Matrix(16)
    matrix.extend(whole)
    for row in whole:
        grown.extend(row[None])
    product = matrix.products(whole[7])
    np.testing.assert_array_equal(grown.products(whole[7]), product)
    some = np.arange(1099, 0, -2)
    np.testing.assert_array_equal(matrix.products(whole[7], some), product[some])
