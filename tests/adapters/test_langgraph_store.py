"""LangGraph's store over a memory: what its own InMemoryStore does, and what it does not."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from zibaldone import InvalidInput
from zibaldone.adapters.langgraph import ZibaldoneStore

EVERYTHING = 1000

LABELS = st.sampled_from(["a", "b", "c/d"])
NAMESPACES = (
    st.tuples(st.just("ann")) | st.tuples(st.just("ann"), LABELS) | st.tuples(st.just("bea"), LABELS, LABELS)
)
KEYS = st.sampled_from(["k", "l", "m.n"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3)},
    optional={
        "text": st.sampled_from(["green tea", "a red bicycle", ""]),
        "deep": st.fixed_dictionaries(
            {"tags": st.lists(st.sampled_from("xy"), max_size=2), "on": st.booleans()}
        ),
    },
)
NUMBERS = st.integers(-3, 3)
TAGS = st.lists(st.sampled_from("xy"), max_size=2)
OPERATORS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FILTERS = st.none() | st.one_of(
    st.fixed_dictionaries({"n": NUMBERS}),
    st.fixed_dictionaries({"n": st.dictionaries(OPERATORS, NUMBERS, min_size=1)}),
    st.fixed_dictionaries({"deep": st.fixed_dictionaries({"on": st.booleans()})}),
    st.fixed_dictionaries({"deep": st.fixed_dictionaries({"tags": TAGS})}),
    st.fixed_dictionaries({"missing": st.none()}),
)
PATHS = st.lists(LABELS | st.just("*"), max_size=2)
PREFIXES = st.tuples(st.sampled_from(["ann", "bea"])).flatmap(
    lambda user: PATHS.map(lambda rest: (*user, *rest))
)
OPS = st.one_of(
    *2 * [st.builds(lambda *put: PutOp(*put), NAMESPACES, KEYS, VALUES | st.none())],
    st.builds(lambda *place: GetOp(*place), NAMESPACES, KEYS),
    st.builds(lambda namespace, wanted: SearchOp(namespace, wanted, EVERYTHING), NAMESPACES, FILTERS),
    st.builds(
        lambda prefix, suffix, depth: ListNamespacesOp(
            (MatchCondition("prefix", prefix), MatchCondition("suffix", tuple(suffix))), depth, EVERYTHING
        ),
        PREFIXES,
        PATHS,
        st.none() | st.integers(1, 3),
    ),
)


@pytest.fixture
def store(memory):
    """Users are the first elements of namespaces."""
    return ZibaldoneStore(memory)


def comparable(result):
    """What must be the same of two stores' results: not times, and not the order of what has no score."""
    if result is None or not isinstance(result, list):
        return result if result is None else (result.namespace, result.key, result.value)
    if result and isinstance(result[0], tuple):
        return result
    return Counter(repr(comparable(item)) for item in result)


def listed(theirs, op):
    """What InMemoryStore would list if it forgot the namespaces whose items are all gone."""
    there = {item.namespace for item in theirs.search((), limit=EVERYTHING)}
    clean = InMemoryStore()
    for namespace in there:
        clean.put(namespace, "k", {})
    return clean.batch([op])[0]


@settings(max_examples=100)
@given(st.lists(st.lists(OPS, max_size=6), max_size=5))
@pytest.mark.wide
def test_batches_do_what_langgraphs_own_store_does(shared_memory, batches):
    """Reads before writes, the last write of an item, filters, prefixes, wildcards, depths: all the same."""
    ours, theirs = ZibaldoneStore(shared_memory), InMemoryStore()
    try:
        for batch in batches:
            names = {id(op): listed(theirs, op) for op in batch if isinstance(op, ListNamespacesOp)}
            for op, mine, other in zip(batch, ours.batch(batch), theirs.batch(batch), strict=True):
                assert comparable(mine) == comparable(names.get(id(op), other)), op
    finally:
        for user in ("ann", "bea"):
            shared_memory.forget(user=user, everything=True)


def test_a_query_ranks(store):
    """The item that answers comes first, scores fall, and items without text come last with none."""
    store.put(("ann", "m"), "1", {"content": "User drinks green tea with honey."})
    store.put(("ann", "m"), "2", {"content": "User swims in the lake on Sundays."})
    store.put(("ann", "m"), "3", {"content": "User's tea is from Uji."}, index=False)
    store.put(("ann", "m"), "4", {"content": "About tea.", "title": "chess"}, index=["title"])
    found = store.search(("ann",), query="What tea does the user drink?")
    assert (found[0].key, found[-1].key) == ("1", "3")
    scores = [item.score for item in found]
    assert scores[-1] is None
    assert scores[:-1] == sorted(scores[:-1], reverse=True)
    assert store.search(("ann",), query="chess", limit=1)[0].key == "4"


def test_without_a_query_the_newest_come_first(store, clock):
    """As LangGraph's durable stores have it; none has a score."""
    for key in ("1", "2", "1"):
        clock.tick(timedelta(seconds=1))
        store.put(("ann",), key, {"at": str(clock())})
    assert [(item.key, item.score) for item in store.search(("ann",))] == [("1", None), ("2", None)]
    assert [item.key for item in store.search(("ann",), limit=1, offset=1)] == ["2"]
    assert store.search(("ann",), filter={"size": {"$gt": 1}}) == []
    store.put(("ann",), "3", {"size": "large"})
    assert store.search(("ann",), filter={"size": {"$gt": 1}}) == []


def test_awaited_calls_do_the_same(store):
    """Through `abatch`."""

    async def use():
        await store.aput(("ann",), "k", {"text": "green tea"})
        assert [item.key for item in await store.asearch(("ann",), query="tea")] == ["k"]

    asyncio.run(use())


def test_users_do_not_see_each_others_items(store, memory):
    """Neither by name nor by search, filter or wildcard; and what names no user is refused.

    But the names of namespaces, which LangGraph lists without a prefix, too.
    """
    for user in ("ann", "bea"):
        store.put((user, "m"), "k", {"content": f"{user} drinks tea"})
    assert [item.namespace for item in store.search(("ann",), query="bea drinks tea")] == [("ann", "m")]
    assert store.list_namespaces(prefix=("ann",)) == [("ann", "m")]
    for asked in ({}, {"query": "tea"}, {"filter": {"content": "tea"}}):
        with pytest.raises(InvalidInput, match="names no user"):
            store.search((), **asked)
    every = [("ann", "m"), ("bea", "m")]
    assert store.list_namespaces() == store.list_namespaces(suffix=("m",)) == every
    assert store.list_namespaces(prefix=("*", "m"), limit=1) == every[:1]
    assert ZibaldoneStore(memory, user="ann").list_namespaces() == [("ann", "m")]
    store.delete(("ann", "m"), "k")
    assert store.get(("bea", "m"), "k").value == {"content": "bea drinks tea"}
    assert memory.users() == ["ann", "bea"]


def test_the_user_may_stand_elsewhere_in_a_namespace(memory):
    """`user_at` says where; a store of one user takes any namespace."""
    store = ZibaldoneStore(memory, user_at=1)
    store.put(("memories", "ann"), "k", {"n": 1})
    assert memory.user("ann").items.namespaces() == [("store", "memories", "ann")]
    assert store.list_namespaces(prefix=("memories", "ann")) == [("memories", "ann")]
    with pytest.raises(InvalidInput, match="position 1"):
        store.put(("memories",), "k", {"n": 1})
    assert store.list_namespaces(prefix=("memories", "*")) == [("memories", "ann")]
    own = ZibaldoneStore(memory, user="ann")
    assert [item.key for item in own.search(())] == ["k"]
    assert own.list_namespaces() == [("memories", "ann")]


def test_nothing_is_stored_of_a_batch_that_names_no_user(store):
    """It is refused before anything is written."""
    with pytest.raises(InvalidInput):
        store.batch([PutOp(("ann",), "k", {"n": 1}), PutOp((), "k", {"n": 1})])
    assert store.get(("ann",), "k") is None


def test_what_cannot_be_done_is_refused(store):
    """An operator that is not there, an item that expires, labels that LangGraph forbids, no JSON."""
    store.put(("ann",), "k", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("ann",), filter={"n": {"$in": [1]}})
    with pytest.raises(NotImplementedError):
        store.put(("ann",), "k", {"n": 1}, ttl=5)
    with pytest.raises(NotImplementedError):
        store.batch([PutOp(("ann",), "k", {"n": 1}, ttl=5)])
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("ann.b",), "k")])
    with pytest.raises(InvalidInput, match="JSON"):
        store.put(("ann",), "k", {"n": object()})
    assert store.get(("ann",), "k").value == {"n": 1}
