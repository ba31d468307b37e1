"""The hierarchy view inside a Memory: built, asked, forgotten, rebuilt."""

from __future__ import annotations

import random

import pytest

from talk import purchases
from zibaldone import Config, Memory, UnknownName
from zibaldone.errors import InvalidInput


@pytest.fixture
def memory(opened) -> Memory:
    """With the hierarchy maintained."""
    return opened(maintained=["messages", "hierarchy"])


def check(memory: Memory, cap: int = 12) -> None:
    """Invariants: every semantic is in one theme, and no theme is fuller than the cap."""
    themes = memory.user("ann").themes()
    members = [semantic.id for theme in themes for semantic in theme.semantics]
    with memory._database.read() as connection:
        held = {one.kind: one.rows for one in memory._wiring.hierarchy.stats(connection, "ann")}
    assert len(set(members)) == len(members) == held["semantics"]
    assert max((len(theme.semantics) for theme in themes), default=0) <= cap
    assert memory.admin.check().ok


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.wide)])
def test_all_holds_while_messages_come_and_go(memory, seed):
    """Themes partition the semantics, whatever was forgotten."""
    rng = random.Random(seed)
    said = purchases(seed, talks=8)
    while said:
        size = rng.randrange(1, 20)
        some, said = said[:size], said[size:]
        memory.add(some, user="ann")
        memory.maintain(user="ann")
        if rng.random() < 0.5:
            seqs = [message.seq for message in memory.messages(user="ann")]
            memory.forget(user="ann", seqs=rng.sample(seqs, min(3, len(seqs))))
            check(memory)
            memory.maintain(user="ann")
        check(memory)
    assert memory.user("ann").themes()


def test_it_is_maintained_only_where_it_is_wanted(opened):
    """By default nothing is spent on it; by name it can be had all the same."""
    memory = opened()
    memory.add(purchases(8), user="ann")
    memory.maintain()
    assert memory.user("ann").themes() == []
    memory.maintain(views=["hierarchy"])
    assert memory.user("ann").themes()
    with pytest.raises(UnknownName, match="no view 'hierarchies'"):
        memory.maintain(views=["hierarchies"])


@pytest.mark.parametrize("wrong", ["hierarchy", [3], 7])
def test_what_cannot_be_maintained_is_refused(tmp_path, wrong):
    """A typed error, before anything is opened for good."""
    with pytest.raises((InvalidInput, UnknownName)):
        Memory(tmp_path, config=Config(maintained=wrong))
