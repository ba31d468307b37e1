"""Values of any type at any depth, given to every method."""

import json
from enum import StrEnum

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anywhere import PLACES
from zibaldone import Config, Filter, Memory, Message, ZibaldoneError


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
    calls = [
        lambda: shared.add(a, user="u"),
        lambda: shared.add([{"content": a, "metadata": b, "time": c, "id": d}], user="u"),
        lambda: shared.add([Message(a, b, c, d)], user="u", session=c),
        lambda: shared.add("x", user=a, session=b),
        lambda: shared.recall(a, user="u", filter=Filter(session=b), budget_tokens=c, now=d),
        lambda: shared.recall("x", user=a, views=b, min_confidence=c),
        lambda: shared.recall(messages=a, user="u", filter=Filter(metadata=b, agent=c, roles=d)),
        lambda: shared.search("x", user="u", filter=Filter(metadata={"n": a, "$or": b})),
        lambda: shared.messages(user="u", last=a, filter=Filter(roles=b, metadata=c, agent=d)),
        lambda: shared.get(a, user="u"),
        lambda: shared.user(b).versions(a),
        lambda: shared.user("u").attachments(a),
        lambda: shared.messages(user="u", filter=Filter(session=a), after=b, limit=c),
        lambda: shared.forget(user="u", seqs=a, session=b, before=c, everything=d, dry_run=True),
        lambda: shared.forget(user="u", seqs=a, dry_run=True),
        lambda: shared.forget(user="u", before=a, dry_run=True),
        lambda: shared.forget(user="u", session=a, dry_run=b),
        lambda: shared.user(a).sessions(),
        lambda: shared.admin.stats(user=a),
        lambda: shared.builds.rebuild(user=a, view=b),
        lambda: shared.user(b).import_(a, format=c),
        lambda: shared.admin.count_tokens(a),
        lambda: Memory(b"x" if isinstance(a, str) else a, config=Config(busy_timeout_s=b)),
    ]
    for call in calls:
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
