"""Every collection that a caller gives has a limit, and an error that names it."""

import pytest

from zibaldone import Filter, ItemPut, TooMany
from zibaldone.core.validation import MOST

CALLS = {
    "messages": lambda memory, many: memory.add(many("x"), user="ann"),
    "messages of a chat": lambda memory, many: memory.recall("x", messages=many("x"), user="ann"),
    "exclude_seqs": lambda memory, many: memory.recall("x", filter=Filter(exclude_seqs=many(1)), user="ann"),
    "seqs": lambda memory, many: memory.forget(seqs=many(1), user="ann"),
    "roles": lambda memory, many: memory.messages(filter=Filter(roles=many("user")), user="ann"),
    "views": lambda memory, many: memory.maintain(views=[*many("messages")], user="ann"),
    "texts": lambda memory, many: memory.admin.verify(forgotten(memory), texts=many("x")),
    "also": lambda memory, many: memory.admin.verify(forgotten(memory), also=many("x")),
    "puts": lambda memory, many: memory.user("ann").items.put_all(many(ItemPut(("a",), "k", {"b": 1}))),
    "places": lambda memory, many: memory.user("ann").items.delete(many((("a",), "k"))),
    "namespace": lambda memory, many: memory.user("ann").items.get([*many("a")], "k"),
}


def forgotten(memory):
    """The receipt of a message."""
    memory.add("The heron is called Ottokar.", user="ann")
    return memory.forget(user="ann", everything=True)


@pytest.mark.parametrize("argument", CALLS)
def test_one_more_than_the_limit_is_refused(memory, monkeypatch, argument):
    """By name, with the limit; and before all of an iterable is taken, which may have no end."""
    monkeypatch.setattr("zibaldone.core.validation.MOST", {**MOST, argument: 3})
    given = []

    def many(member):
        for _ in range(10):
            given.append(member)
            yield member

    with pytest.raises(TooMany, match=rf"{argument} can be at most 3\b"):
        CALLS[argument](memory, many)
    assert len(given) <= 4 or argument in ("views", "namespace")  # which are given as lists


@pytest.mark.parametrize(
    "metadata",
    [
        {str(i): i for i in range(1001)},
        {"tag": {"$in": list(range(1000))}},
        {"$or": [{"a": {"$not": {"$gt": i}}} for i in range(334)]},
    ],
)
def test_a_filter_has_so_many_members_in_all(memory, metadata):
    """Keys, operators and values, however they are nested: each message is held against all of them."""
    memory.add("x", user="ann")
    with pytest.raises(TooMany, match="metadata"):
        memory.messages(user="ann", filter=Filter(metadata=metadata))
