"""Misuse of the interface: whatever stands where something else belongs, the error is one of ours."""

import contextlib
import inspect
import json
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anywhere import PLACES
from memories import open_memory
from zibaldone import (
    Ceilings,
    Config,
    Consolidation,
    Filter,
    InvalidInput,
    MemAttention,
    Memory,
    Message,
    Placement,
    XMemory,
    ZibaldoneError,
)
from zibaldone.testing import HashEmbedder

VIEWS = ["messages", "chunks", "hierarchy", "topics", "notes"]
OPTIONS = {
    "ceilings": Ceilings,
    "chunks": MemAttention,
    "placement": Placement,
    "hierarchy": XMemory,
    "topics": Consolidation,
}
NEEDED = {"messages": "x", "user": "ann", "query": "cat", "seqs": [99], "doc_id": "CURRENT", "name": "grep"}


class Hostile:
    """Does not even say what it is."""

    def __repr__(self):
        raise RuntimeError("no repr")


class HostileText(str):
    """A text that does not say what it is."""

    __slots__ = ()

    def __repr__(self):
        raise RuntimeError("no repr")


ODD = [
    *(None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), 1j),
    *("", "nonsense", "\ud83d", "a\0b", "x" * 10_000, b"x", HostileText("h")),
    *([], [1], [None], {}, {"a": 1}, {1, 2}, range(3), object(), Hostile(), len),
    *(Path("nonsense"), datetime(1, 1, 1), date(2024, 1, 1), Message("x")),  # noqa: DTZ001
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What is taken for a path lies in the test's own folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def filled(opened):
    """A memory of two messages, with all views."""
    memory = opened(embedder=HashEmbedder(8), maintained=VIEWS)
    memory.add(["I adopted a black cat named Moss.", "Moss the cat only eats salmon."], user="ann")
    memory.maintain()
    return memory


def typed(call):
    """Nothing comes out of the call but an answer or an error of ours."""
    with contextlib.suppress(ZibaldoneError):
        call()


@pytest.mark.parametrize(
    "name", ["embedder", "chat", "reranker", "key", *inspect.signature(Config).parameters]
)
def test_options_of_a_memory(tmp_path, name):
    """An option of a wrong kind is refused where it is given, or works."""

    def use():
        with open_memory(tmp_path / "memory", **{"embedder": HashEmbedder(8), name: value}) as memory:
            memory.add("x", user="ann")
            memory.maintain(user="ann")

    for value in ODD:
        if not (name == "clock" and value is len):
            typed(use)


@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_the_views(option):
    """Each setting of a view is checked when it is set."""
    for name in inspect.signature(OPTIONS[option]).parameters:
        for value in ODD:
            typed(lambda: OPTIONS[option](**{name: value}))  # noqa: B023


@pytest.mark.parametrize("value", ["noon", None])
def test_a_clock_that_tells_no_time(opened, value):
    """The error names the clock, whoever asks it."""
    with pytest.raises(InvalidInput, match="clock's time"):
        opened(clock=lambda: value).add("x", user="ann")


@pytest.mark.parametrize("whose", ["memory", "user", "builds", "admin", "topics", "tools"])
def test_arguments_of_the_methods(filled, whose):
    """Every argument of every method, with everything that it is not."""
    ann = filled.user("ann")
    owners = {"user": ann, "builds": filled.builds, "admin": filled.admin}
    owners |= {"memory": filled, "topics": ann.topics, "tools": ann.topics.tools()}
    owner = owners[whose]
    for method, call in inspect.getmembers(owner, callable):
        if method.startswith("_") or method in ("close", "attach", "detach"):
            continue
        parameters = [p for p in inspect.signature(call).parameters.values() if p.kind != p.VAR_KEYWORD]
        needed = {p.name: NEEDED.get(p.name, "nonsense") for p in parameters if p.default is p.empty}
        for parameter in parameters:
            for value in ODD:
                if not (parameter.name == "progress" and value is len):  # what it raises is its caller's
                    typed(lambda: call(**{**needed, parameter.name: value}))  # noqa: B023


class Kind(StrEnum):
    """Strings that are more than strings."""

    A = "a"


JSONISH = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.just(Kind.A)
    | st.datetimes()
    | st.sampled_from([10**400, "\ud800", "", "text", "user", b"", object()]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "content role type text time session metadata id name tool_calls source input output data"
                " function image_url url".split()
            )
            | st.text(max_size=3)
            | st.integers(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module", params=PLACES)
def shared(request, tmp_path_factory):
    """One memory for thousands of calls."""
    on_server = request.param == "postgres"
    where = request.getfixturevalue("postgres").new() if on_server else tmp_path_factory.mktemp("fuzz")
    with Memory(where) as memory:
        yield memory


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(JSONISH, min_size=4, max_size=4))
@pytest.mark.wide
def test_wrong_types_at_any_depth(shared, values):
    """No call with values of any type and depth raises anything but our own errors, or stores a part."""
    a, b, c, d = values
    for call in (
        lambda: shared.add(a, user="u"),
        lambda: shared.add([{"content": a, "metadata": b, "time": c, "id": d}], user="u"),
        lambda: shared.add([Message(a, b, c, d)], user="u", session=c),
        lambda: shared.recall(messages=a, user="u", filter=Filter(metadata=b, agent=c, roles=d)),
        lambda: shared.search("x", user="u", filter=Filter(metadata={"n": a, "$or": b})),
        lambda: shared.messages(user="u", last=a, filter=Filter(session=b, roles=c, metadata=d)),
        lambda: shared.forget(user="u", seqs=a, session=b, before=c, everything=d, dry_run=True),
        lambda: shared.user(b).import_(a, format=c),
    ):
        before = len(shared.messages(user="u"))
        try:
            call()
        except ZibaldoneError as raised:
            error = raised
        else:
            continue
        assert len(str(error)) < 2000
        assert len(shared.messages(user="u")) == before
    for message in shared.messages(user="u"):
        json.dumps(dict(message.metadata), allow_nan=False).encode()
