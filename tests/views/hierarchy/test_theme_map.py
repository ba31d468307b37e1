"""Themes: every semantic in one, none above the cap, and the same however the map came to be."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.changes import Changes, ThemeMove
from zibaldone.views.hierarchy.objective import objective
from zibaldone.views.hierarchy.themes import ThemeMap

LIMITS = Thresholds(lenient=0.5, attach=0.62, component=0.66, fetch=0.7, coherence=0.72, merge=0.78)


def clustered(seed, count, dimension=16, topics=5, noise=0.7):
    """Unit vectors about some topics; a few are the same, and some are zero."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(topics, dimension))
    rows = centres[rng.integers(topics, size=count)] + noise * rng.normal(size=(count, dimension))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[rng.random(count) < 0.02] = 0
    again = rng.random(count) < 0.05
    rows[again] = rows[0]
    return rows.astype(np.float32)


def at(*degrees):
    """Vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def filled(vectors, **options):
    """A map of these, ids from 1."""
    themes = ThemeMap(vectors.shape[1], LIMITS, **options)
    for semantic, vector in enumerate(vectors, 1):
        themes.add(semantic, vector)
    return themes


def restored(themes, vectors, **options):
    """Another map, from what is stored of one."""
    return ThemeMap(vectors.shape[1], LIMITS, **options).restore(
        dict(themes.assignments),
        {semantic: vectors[semantic - 1].copy() for semantic in themes.assignments},
        next_theme=themes.next_theme,
        reassigned=themes.reassigned,
        neighbours={theme: themes.listed(theme) for theme in themes.themes},
    )


def state(themes):
    """All of it."""
    lists = {theme: themes.listed(theme) for theme in themes.themes}
    return (
        dict(themes.assignments),
        dict(themes.themes),
        lists,
        themes.f(),
        themes.next_theme,
        themes.reassigned,
    )


def sound(themes, vectors, cap):
    """Each semantic in exactly one theme, none above the cap, none empty, f as from scratch."""
    members = [semantic for ids in themes.themes.values() for semantic in ids]
    assert sorted(members) == sorted(themes.assignments)
    assert all(semantic in themes.themes[theme] for semantic, theme in themes.assignments.items())
    assert all(0 < len(ids) <= cap for ids in themes.themes.values())
    groups = [[semantic - 1 for semantic in ids] for ids in themes.themes.values()]
    assert themes.f() == pytest.approx(objective(vectors, groups), rel=1e-9)


def followed(assignments, changes, gone=()):
    """Assignments after changes, by what the changes say."""
    after = {semantic: theme for semantic, theme in assignments.items() if semantic not in gone}
    for move in changes.moves:
        assert after.get(move.semantic) == move.old
        after[move.semantic] = move.new
    return after


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([2, 3, 4, 12]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.2, 0.6, 1.0]),
)
def test_any_life(seed, cap, split, merge, noise):
    """After each addition and removal the map is sound, tells what it changed, and can be stored."""
    rng = np.random.default_rng(seed)
    options = {"cap": cap, "split": split, "merge": merge}
    vectors = clustered(seed, 60, noise=noise)
    themes = ThemeMap(16, LIMITS, **options)
    moved = set()
    for semantic, vector in enumerate(vectors, 1):
        before, there, lists = dict(themes.assignments), set(themes.themes), state(themes)[2]
        gone = ()
        if before and rng.random() < 0.15:
            gone = [one for one in before if rng.random() < 0.3]
            changes = themes.remove(gone)
        else:
            changes = themes.add(semantic, vector)
        sound(themes, vectors, cap)
        assert followed(before, changes, gone) == themes.assignments
        assert there | set(changes.created) == set(themes.themes) | set(changes.removed)
        assert not there & set(changes.created)
        touched = {
            theme
            for theme in themes.themes
            if Counter(before.values())[theme] and lists.get(theme) != themes.listed(theme)
        }
        assert touched <= set(changes.relinked) <= set(themes.themes)
        moved = (moved | {move.semantic for move in changes.moves if move.old is not None}) - set(gone)
        assert themes.reassigned == moved
        if rng.random() < 0.2:
            again = restored(themes, vectors, **options)
            assert state(again) == state(themes)
            themes = again


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 119))
def test_restored_in_the_middle(seed, middle):
    """A map that was stored and restored goes on exactly as the one that lived through it."""
    vectors = clustered(seed, 120)
    lived = filled(vectors[:middle])
    again = restored(lived, vectors)
    for semantic in range(middle + 1, 121):
        assert lived.add(semantic, vectors[semantic - 1]) == again.add(semantic, vectors[semantic - 1])
    assert state(lived) == state(again)


def test_restored_without_lists():
    """The themes' lists are computed when they are not given."""
    vectors = clustered(4, 80)
    themes = filled(vectors)
    again = ThemeMap(16, LIMITS).restore(
        themes.assignments, dict(enumerate(vectors, 1)), next_theme=themes.next_theme
    )
    assert state(again)[:4] == state(themes)[:4]


def test_attached_to_the_nearest():
    """Above the attach cosine a semantic joins the nearest theme; below the lenient one it founds its own."""
    themes = ThemeMap(2, LIMITS)
    vectors = at(0, 90, 50, 180)
    assert themes.add(1, vectors[0]) == Changes((ThemeMove(1, None, 1),), created=(1,), relinked=(1,))
    assert themes.add(2, vectors[1]).created == (2,)
    changes = themes.add(3, vectors[2])
    assert changes.moves == (ThemeMove(3, None, 2),)
    assert (changes.created, changes.changed) == ((), (2,))
    assert themes.add(4, vectors[3]).created == (3,)


def test_a_full_theme_splits_in_its_topics():
    """Thirteen about two things, attached to one theme, become two themes; the larger keeps the id."""
    vectors = at(*range(6), *range(80, 87))
    limits = Thresholds(lenient=0.05, attach=0.1, component=0.95, fetch=0.7, coherence=0.0, merge=0.99)
    themes = ThemeMap(2, limits)
    for semantic, vector in enumerate(vectors[:12], 1):
        themes.add(semantic, vector)
    assert len(themes) == 1
    changes = themes.add(13, vectors[12])
    assert dict(themes.themes) == {1: list(range(7, 14)), 2: list(range(1, 7))}
    assert changes.reassigned == 6
    assert changes.moves == (*(ThemeMove(one, 1, 2) for one in range(1, 7)), ThemeMove(13, None, 1))
    assert (changes.created, changes.changed, changes.removed) == ((2,), (1,), ())


def test_without_split_a_full_theme_takes_no_more():
    """The cap holds without splits: the next nearest theme takes a semantic, or a new one."""
    vectors = np.tile(at(0), (30, 1))
    themes = filled(vectors, split=False, merge=False)
    assert sorted(map(len, themes.themes.values())) == [6, 12, 12]
    assert not themes.reassigned


def test_without_merge_and_split_nothing_is_reassigned():
    """The static hierarchy of the ablation."""
    vectors = clustered(8, 200)
    assert not filled(vectors, split=False, merge=False).reassigned
    assert filled(vectors).reassigned


def test_a_merge_raises_f():
    """Themes merge only when f gains: after each addition f is as without merging, or above it."""
    vectors = clustered(11, 150, noise=0.8)
    themes, merged = ThemeMap(16, LIMITS), 0
    for semantic, vector in enumerate(vectors, 1):
        without = restored(themes, vectors, merge=False)
        without.add(semantic, vector)
        themes.add(semantic, vector)
        if themes.assignments == without.assignments:
            assert themes.f() == without.f()
        else:
            merged += 1
            assert themes.f() > without.f()
    assert merged > 5


def test_removal_of_a_whole_theme():
    """A theme without members is gone, from the lists of the others too, and its id is not given again."""
    vectors = at(0, 90, 180, 270)
    themes = filled(vectors)
    changes = themes.remove([4])
    assert (changes.removed, changes.changed, changes.moves) == ((4,), (), ())
    assert all(4 not in themes.listed(theme).ids for theme in themes.themes)
    assert themes.add(5, vectors[3]).created == (5,)
    themes.remove(list(themes.assignments))
    assert (len(themes), themes.f(), dict(themes.assignments)) == (0, 0, {})


def test_edges_are_positive():
    """The theme graph's edges are those of the stored lists that are above 0."""
    themes = filled(at(0, 80, 180))
    assert themes.listed(1).ids == (2, 3)
    assert themes.neighbours(1).ids == (2,)


def test_a_semantic_twice():
    """A semantic that is in is refused."""
    themes = filled(at(0))
    with pytest.raises(ValueError, match="semantic 1 is in theme 1"):
        themes.add(1, at(0)[0])
