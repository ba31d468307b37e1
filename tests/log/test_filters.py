"""recall and search of a part of what was said: by session, role, time and metadata."""

import pytest

from zibaldone import Filter, InvalidInput
from zibaldone.api.config import DEFAULT_VIEWS

TALK = [
    {"content": "The tulip is red.", "session": "a", "time": "2024-01-01T09:00", "metadata": {"app": "x"}},
    {"content": "Tulips need sun.", "session": "a", "role": "assistant", "time": "2024-01-01T09:01"},
    {"content": "The tulip is blue.", "session": "b", "time": "2024-02-01", "metadata": {"app": "y", "n": 1}},
    {"content": "My tulip is new.", "session": "c", "time": "2024-03-01", "metadata": {"app": "x", "n": 1}},
]
NARROWED = [
    ({}, {1, 2, 3, 4}),
    ({"session": "a"}, {1, 2}),
    ({"exclude_session": "a"}, {3, 4}),
    ({"exclude_session": "no such"}, {1, 2, 3, 4}),
    ({"roles": ["assistant"]}, {2}),
    ({"roles": ["user", "assistant"]}, {1, 2, 3, 4}),
    ({"roles": []}, set()),
    ({"since": "2024-02-01"}, {3, 4}),
    ({"until": "2024-02-01"}, {1, 2}),
    ({"since": "2024-01-01T09:01", "until": "2024-03-01"}, {2, 3}),
    ({"metadata": {"app": "x"}}, {1, 4}),
    ({"metadata": {"app": "x", "n": 1}}, {4}),
    ({"metadata": {"n": None}}, set()),
    ({"metadata": {}}, {1, 2, 3, 4}),
    ({"session": "a", "roles": ["user"]}, {1}),
    ({"exclude_session": "c", "metadata": {"app": "x"}}, {1}),
]
BAD = [
    ({"exclude_session": ""}, "exclude_session must be a non-empty string"),
    ({"roles": "user"}, r"roles must be a list of roles, such as \['user'\]"),
    ({"roles": 3}, "roles must be a list of roles"),
    ({"roles": [None]}, "a role must be a non-empty string"),
    ({"since": "spring"}, "since 'spring' is not an ISO 8601 date"),
    ({"until": []}, "until must be a datetime"),
    ({"since": "2024-02-01", "until": "2024-02-01"}, "must be before until"),
    ({"metadata": ["app"]}, "metadata must be a mapping"),
]


@pytest.fixture(scope="module")
def filled(shared_memory):
    """Read by all that recall uses."""
    shared_memory.add(TALK, user="ann")
    shared_memory.maintain()
    return shared_memory


def seqs(units):
    """Of evidence."""
    return {seq for unit in units for seq in unit.sources}


@pytest.mark.parametrize(("options", "expected"), NARROWED, ids=lambda value: str(value)[:60])
def test_what_is_recalled_is_of_that_part(filled, options, expected):
    """By whatever view, and by search; what else was said is no candidate."""
    for views in (None, *([name] for name in DEFAULT_VIEWS), ["messages", "notes"]):
        found = filled.recall("tulip", user="ann", min_confidence=0, views=views, filter=Filter(**options))
        assert seqs(decision.evidence for decision in found.trace.decisions) <= expected
        assert {citation.seq for citation in found.citations} <= expected
    recalled = filled.recall("tulip", user="ann", min_confidence=0, filter=Filter(**options))
    assert {citation.seq for citation in recalled.citations} == expected
    assert seqs(filled.search("tulip", user="ann", filter=Filter(**options))) == expected


def test_what_nobody_has_read_yet_is_narrowed_too(memory):
    """A view's tail is of the same part."""
    memory.add(TALK, user="ann")
    assert seqs(
        memory.recall("tulip", user="ann", min_confidence=0, filter=Filter(metadata={"app": "x"})).evidence
    ) == {1, 4}


@pytest.mark.parametrize(
    "view",
    ["messages", *(pytest.param(view, marks=pytest.mark.wide) for view in ("chunks", "hierarchy", "topics"))],
)
def test_what_is_left_out_takes_no_room(memory, view):
    """However much better it fits the question, what may be recalled is there."""
    quiet = {"content": "My sister planted one in Bergen.", "session": "b", "time": "2024-01-01"}
    louder = [
        {
            "content": f"The red tulip {i} in the tulip bed {i % 7} is from shop {i * 37}, for {i} euros.",
            "session": "a",
            "time": f"2024-02-{1 + i // 12:02}T{i % 12 + 8:02}:00",
        }
        for i in range(150)
    ]
    memory.add([quiet, *louder], user="ann")
    memory.maintain(views=[view])
    for part in ({"session": "b"}, {"exclude_session": "a"}, {"until": "2024-02-01"}):
        recalled = memory.recall(
            "Which red tulip is in the tulip bed?",
            user="ann",
            min_confidence=0,
            views=[view],
            budget_tokens=100,
            filter=Filter(**part),
        )
        assert any("Bergen" in unit.text for unit in recalled.evidence), part


@pytest.mark.parametrize(("options", "says"), BAD)
@pytest.mark.parametrize("method", ["recall", "search"])
def test_bad_input_names_the_fix(filled, method, options, says):
    """A typed error, in the words of the argument."""
    with pytest.raises(InvalidInput, match=says):
        getattr(filled, method)("tulip", user="ann", filter=Filter(**options))


@pytest.mark.parametrize(
    "options",
    [
        {"roles": ["assistant"]},
        {"since": "2024-06-01"},
        {"session": "no such"},
        {"exclude_session": "default"},
    ],
)
def test_confidence_is_of_that_part(memory, options):
    """Memory knows what is let in, and nothing of what is left out."""
    memory.add({"content": "I began a novel on whales in Bergen.", "time": "2024-05-02"}, user="bea")
    question = "Give me a summary of the novel in May 2024"
    assert memory.recall(question, user="bea", budget_tokens=300).confidence > 0.5
    assert memory.recall(question, user="bea", budget_tokens=300, filter=Filter(**options)).confidence == 0
