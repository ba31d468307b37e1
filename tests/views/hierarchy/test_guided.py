"""The paper's themes: Eqs. 1 to 3 against the formulas, and attach, split and merge through a Memory."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Config, Memory, Message, XMemory
from zibaldone.models.base import ChatRequest
from zibaldone.testing import ScriptedModel
from zibaldone.views.hierarchy.guided import Guided, GuidedThemes
from zibaldone.views.hierarchy.objective import EPSILON, Partition

PAPER = XMemory.paper()
START = datetime(2024, 3, 1, 9, tzinfo=UTC)


def rows_of(seed: int, count: int) -> np.ndarray:
    """Unit vectors around a few directions."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(5, 8))[rng.integers(5, size=count)] + 0.5 * rng.normal(size=(count, 8))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def f(rows: np.ndarray, groups: list[list[int]]) -> float:
    """Eqs. 1 to 3, term by term."""
    n, k = sum(map(len, groups)), len(groups)
    sparsity = n**2 / (k * sum(len(group) ** 2 for group in groups))
    means = [rows[group].mean(axis=0) for group in groups]
    cos = lambda a, b: float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))  # noqa: E731
    cohesion = [
        np.mean([cos(rows[i], mean) for i in group]) for group, mean in zip(groups, means, strict=True)
    ]
    if k == 1:
        return sparsity + cohesion[0]
    nearest = [max(cos(one, other) for other in means if other is not one) for one in means]
    m = np.median(nearest)
    sigma = np.median([abs(s - m) for s in nearest]) + EPSILON
    g = [np.exp(-((s - m) ** 2) / (2 * sigma**2)) for s in nearest]
    return sparsity + sum(c * own for c, own in zip(cohesion, g, strict=True)) / k


@given(st.integers(0, 2**32), st.lists(st.integers(0, 5), min_size=2, max_size=30))
def test_f_is_the_paper_s(seed, labels):
    """Of any partition, also of one that was changed into it; cosines are rounded to six digits."""
    rows = rows_of(seed, len(labels))
    groups = [[i for i, label in enumerate(labels) if label == own] for own in sorted(set(labels))]
    themes = {number: rows[group] for number, group in enumerate(groups, 1)}
    whole = Partition.nothing(8).changed((), themes)
    assert whole.f() == pytest.approx(f(rows, groups), abs=0.02)
    first = Partition.nothing(8).changed((), {9: rows, **themes})
    assert first.changed([9], {}).f() == whole.f()


def lines(subject: str, count: int, first_day: int) -> list[Message]:
    """Facts about a subject, five minutes apart, a day of each subject."""
    start = START + timedelta(days=first_day)
    return [
        Message(
            f"I bought a {subject} for {100 + i} dollars.", name="Ann", time=start + timedelta(minutes=5 * i)
        )
        for i in range(count)
    ]


def opened(place, config: XMemory = PAPER, chat=None) -> Memory:
    """With the paper's hierarchy maintained."""
    return Memory(place, chat=chat, config=Config(maintained=["hierarchy"], hierarchy=config))


def subjects(memory: Memory) -> list[set[str]]:
    """What the facts of each theme are about."""
    return [
        {fact.text.split("bought a ")[1].split()[0] for fact in theme.semantics}
        for theme in memory.user("a").themes()
    ]


TALK = [
    *lines("bassoon", 9, 0),
    *lines("lawnmower", 9, 1),
    Message("Bye!", name="Ann", time=START + timedelta(9)),
]


@pytest.mark.parametrize(("cap", "split"), [(4, True), (12, True), (4, False)])
def test_a_fact_joins_the_theme_that_it_is_like(tmp_path, cap, split):
    """Or begins one: subjects do not mix. No theme is above the cap, unless splits are switched off."""
    with opened(tmp_path, replace(PAPER, theme_cap=cap, guided=Guided(split=split))) as memory:
        memory.add(TALK, user="a")
        memory.maintain()
        sizes = [len(theme.semantics) for theme in memory.user("a").themes()]
        assert (max(sizes) <= cap) is split
        assert sum(sizes) == 18
        assert all(len(some) == 1 for some in subjects(memory))
        assert len(sizes) == 2 or cap == 4
        found = memory.recall("lawnmower", user="a", views=["hierarchy"], min_confidence=0, budget_tokens=100)
        assert "lawnmower" in found.text


@pytest.mark.parametrize(("merge", "alone"), [(True, False), (False, True)])
def test_a_tiny_theme_is_merged(merge, alone):
    """It joins its nearest where that raises f, and counts as reassigned; not a theme that is full."""
    rows = np.eye(4, dtype=np.float32)[[0, 0, 0, 1, 1, 1, 2]]
    rows[6, 1] = 0.7
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    themes = GuidedThemes(Guided(merge=merge), 4, 4)
    for number, row in enumerate(rows, 1):
        themes.add(number, row)
    assert (themes.of[7] not in {themes.of[1], themes.of[4]}) is alone
    assert (themes.reassigned == set()) is alone


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_restored_themes_go_on_alike(seed):
    """Whatever a process held in memory, the rows alone decide what comes next."""
    rows = rows_of(seed, 80)
    straight, broken = GuidedThemes(Guided(), 6, 8), GuidedThemes(Guided(), 6, 8)
    for number, row in enumerate(rows, 1):
        straight.add(number, row)
        again = GuidedThemes(Guided(), 6, 8)
        again.restore(broken.of, dict(enumerate(rows[: number - 1], 1)))
        broken = again
        broken.add(number, row)
    assert broken.members == straight.members
    assert sorted(one for members in straight.members.values() for one in members) == list(range(1, 81))


def named(request: ChatRequest) -> str:
    """A model that narrates, finds every line new, and names themes by a fact's words."""
    given = json.loads(request.turns[-1].content) if request.turns[-1].content.startswith("{") else {}
    match request.task:
        case "hierarchy.name_theme":
            return json.dumps({"name": "Bought for " + given["facts"][0].split("for ")[1].rstrip('."')})
        case "hierarchy.narrate":
            return json.dumps(
                {"title": "Shopping", "narrative": " ".join(f"Ann: {m['text']}" for m in given["messages"])}
            )
        case "hierarchy.distil":
            facts = [{"text": f"Ann {m['text'][2:]}", "sources": [m["seq"]]} for m in given["messages"]]
            return json.dumps({"statements": facts})
        case "hierarchy.predict":
            return json.dumps({"expected": []})
    return json.dumps({"starts": []})


def test_a_model_names_themes_and_a_forgotten_word_leaves_the_name(tmp_path):
    """A theme that has lost facts has no model's name until the next episode."""
    talk = [*lines("bassoon", 5, 0), *lines("bassoon", 6, 1), TALK[-1]]
    with opened(tmp_path, chat=ScriptedModel(named)) as memory:
        memory.add(talk, user="a")
        memory.maintain()
        (theme,) = memory.user("a").themes()
        assert (theme.name, len(theme.semantics)) == ("Bought for 100 dollars", 11)
        memory.forget(user="a", seqs=[1])
        (theme,) = memory.user("a").themes()
        assert ("100 dollars" in theme.name, len(theme.semantics)) == (False, 6)
        assert memory.admin.check().ok
        memory.maintain()
        (theme,) = memory.user("a").themes()
        assert (theme.name, len(theme.semantics)) == ("Bought for 100 dollars", 10)  # said on the second day
        assert memory.admin.check().ok


def test_other_settings_are_another_hierarchy(tmp_path):
    """The default's rows serve until the preset has made its own; forgetting reaches either."""
    with opened(tmp_path, XMemory()) as memory:
        memory.add(TALK, user="a")
        memory.maintain()
    with opened(tmp_path) as memory:
        memory.forget(user="a", seqs=[1])
        memory.maintain()
        assert memory.user("a").themes()
        assert memory.admin.check().ok
    with opened(tmp_path, XMemory()) as memory:
        memory.forget(user="a", seqs=list(range(2, 10)))
        assert memory.admin.check().ok
        assert not any("bassoon" in some for some in subjects(memory))
