"""What a statement may repeat is found by its words: the same as by comparing it with everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.testing import HashEmbedder
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.semantics import Distilled, novelty
from zibaldone.views.hierarchy.statement_words import StatementWords
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State

EMBEDDER = HashEmbedder(32)
WORDS = st.sampled_from("Ann rows boats ferries never wants tea Oslo".split())
TEXTS = st.lists(WORDS, max_size=5).map(" ".join)
TERMS = st.frozensets(st.sampled_from("abcdef"), min_size=1)


@given(st.lists(st.tuples(st.integers(1, 9), TERMS), max_size=20), TERMS, st.data())
def test_who_says_all_of_it(said, asked, data):
    """Whatever was added, in whatever order, and taken out again."""
    terms, plain = StatementWords(), {}
    for number, some in said:
        terms.add(number, some)
        plain.setdefault(number, set()).update(some)
    for number in data.draw(st.sets(st.sampled_from(sorted(plain)))) if plain else ():
        gone = data.draw(st.sets(st.sampled_from(sorted(plain[number]))))
        terms.remove(number, gone)
        plain[number] -= gone
    assert terms.saying_all(asked).tolist() == sorted(n for n, some in plain.items() if asked <= some)


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=12), st.lists(TEXTS, min_size=1, max_size=4), st.sets(st.integers(1, 12)))
def test_what_is_not_compared_repeats_nothing(known, asked, forgotten):
    """A text gets the nearest of all, or nothing where no semantic that is near says all that it says."""
    structure, threshold = Structure(State(f"e/{EMBEDDER.dimension}/x")), 0.4
    vectors = EMBEDDER.embed(known) if known else np.zeros((0, EMBEDDER.dimension), np.float32)
    new = tuple(Semantic(n, 1, (Statement(n, text, text),), None) for n, text in enumerate(known, 1))
    nothing = np.zeros((0, EMBEDDER.dimension), np.float32)
    for some in (slice(0, 5), slice(5, None)):
        structure.settle(
            Distilled(new[some], vectors[some], ()), [row[None] for row in vectors[some]], nothing
        )
        structure.repeated(asked, EMBEDDER.embed(asked), threshold)
    structure.unsay(forgotten, {})
    rows = EMBEDDER.embed(asked)
    nearest = structure.known(rows, threshold)
    for text, found, near in zip(asked, structure.repeated(asked, rows, threshold), nearest, strict=True):
        assert found in ([], near)
        if not found:
            assert all(novelty(text, [one.semantic]) for one in near)
