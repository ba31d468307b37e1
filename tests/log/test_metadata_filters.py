"""Filters over metadata: what each operator lets in, in messages, search and recall; what is refused."""

import pytest

from zibaldone import Filter, InvalidInput

# By place: what each message's metadata are.
METADATA = [
    {},
    {"n": 1, "app": "notes"},
    {"n": 2.5, "app": "mail", "tags": ["a", "b"]},
    {"n": "2", "app": None, "50%_\\": "like"},
    {"n": True, "nested": {"a": {"b": 1}}},
    {"n": 3, "app": "notes", "größe": "ß"},
]
FILTERS = [
    ({"app": "notes"}, {1, 5}),
    ({"app": None}, {3}),
    ({"n": 1}, {1}),
    ({"n": 1.0}, {1}),
    ({"n": True}, {4}),
    ({"n": {"$eq": 3}}, {5}),
    ({"n": {"$ne": 3}}, {0, 1, 2, 3, 4}),
    ({"n": {"$in": [1, "2"]}}, {1, 3}),
    ({"n": {"$in": []}}, set()),
    ({"n": {"$nin": [1, "2"]}}, {0, 2, 4, 5}),
    ({"n": {"$gt": 1}}, {2, 5}),
    ({"n": {"$gte": 1, "$lt": 3}}, {1, 2}),
    ({"n": {"$lte": "2"}}, {3}),
    ({"app": {"$gt": "m"}}, {1, 2, 5}),
    ({"n": {"$exists": False}}, {0}),
    ({"app": {"$exists": True}}, {1, 2, 3, 5}),
    ({"n": {"$not": {"$gt": 1}}}, {0, 1, 3, 4}),
    ({"$not": {"app": "notes"}}, {0, 2, 3, 4}),
    ({"$or": [{"n": 1}, {"app": "mail"}]}, {1, 2}),
    ({"$and": [{"app": "notes"}, {"n": {"$gt": 1}}]}, {5}),
    ({"app": "notes", "$or": [{"n": 3}, {"n": 99}]}, {5}),
    ({"tags": ["a", "b"]}, {2}),
    ({"tags": ["b", "a"]}, set()),
    ({"nested": {"a": {"b": 1}}}, {4}),
    ({"nested": {"a": {"b": True}}}, set()),
    ({"nested.a.b": 1}, set()),
    ({"50%_\\": "like"}, {3}),
    ({"größe": "ß"}, {5}),
    ({}, {0, 1, 2, 3, 4, 5}),
]
BAD = [
    ({"n": {"$near": 3}}, r"no operator '\$near' in a filter of metadata: there is \$eq, \$ne, \$in"),
    ({"$nor": []}, r"no operator '\$nor'"),
    ({"n": {"$gt": 1, "plain": 2}}, "no operator 'plain'"),
    ({"n": {"$in": 3}}, r"\$in of 'n' needs a list"),
    ({"n": {"$nin": "ab"}}, r"\$nin of 'n' needs a list"),
    ({"n": {"$exists": 1}}, r"\$exists of 'n' needs True or False"),
    ({"n": {"$gt": None}}, r"\$gt of 'n' needs a number or a string"),
    ({"n": {"$lt": True}}, r"\$lt of 'n' needs a number or a string"),
    ({"n": {"$not": 3}}, r"\$not of 'n' needs operators"),
    ({"$or": {"n": 1}}, r"\$or needs a list of filters"),
    ({"$and": []}, r"\$and needs a list of filters"),
    ({"$or": [3]}, "metadata must be a mapping"),
    ({3: 1}, "a key of metadata is a string"),
    ({"n": {1, 2}}, "metadata is not JSON"),
    ({"n": {"$eq": float("nan")}}, "metadata is not JSON"),
    ("n", "metadata must be a mapping"),
]


@pytest.fixture(scope="module")
def filled(shared_memory):
    """A message for each metadata; seqs are places + 1."""
    shared_memory.add(
        [{"content": f"Tulip {n}.", "metadata": given} for n, given in enumerate(METADATA)], user="u"
    )
    return shared_memory


@pytest.mark.parametrize(("metadata", "expected"), FILTERS, ids=str)
def test_what_a_filter_lets_in(filled, metadata, expected):
    """As in MongoDB; the same for a list of messages, a search and a recall."""
    assert {m.seq - 1 for m in filled.messages(user="u", filter=Filter(metadata=metadata))} == expected
    found = filled.search("tulip", user="u", filter=Filter(metadata=metadata))
    assert {unit.sources[0] - 1 for unit in found} == expected
    recalled = filled.recall("tulip", user="u", filter=Filter(metadata=metadata), min_confidence=0)
    assert {unit.sources[0] - 1 for unit in recalled.evidence} == expected


@pytest.mark.parametrize(("metadata", "complaint"), BAD, ids=str)
def test_what_is_no_filter(filled, metadata, complaint):
    """A typed error names the operators, or what an operator needs."""
    for call in (filled.messages, lambda **o: filled.search("x", **o), lambda **o: filled.recall("x", **o)):
        with pytest.raises(InvalidInput, match=complaint):
            call(user="u", filter=Filter(metadata=metadata))


def test_a_filter_that_is_nested_too_deeply(filled):
    """Is refused as any other wrong value."""
    deep = {"n": 1}
    for _ in range(100_000):
        deep = {"$not": deep}
    with pytest.raises(InvalidInput, match="nested too deeply"):
        filled.messages(user="u", filter=Filter(metadata=deep))
