"""JSON objects whose members are replaced, and streams of events: bytes stay where nothing changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.server.gateway.events import EventSplitter
from zibaldone.server.gateway.json_body import read_object

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), values, max_size=6)


@pytest.mark.wide
@given(objects, st.sampled_from([None, 0, 1, 3]), objects, st.data())
def test_what_is_replaced_is_replaced_and_all_else_stays(given_object, indent, replaced, data):
    """As the object would be if it were taken apart and put together again, but for what is taken out."""
    removed = data.draw(st.sets(st.sampled_from(sorted(given_object)), max_size=3)) if given_object else ()
    replaced = {name: value for name, value in replaced.items() if name not in removed}
    text = json.dumps(given_object, indent=indent)
    body = read_object(text.encode())
    assert body.rewritten({}) == text
    rewritten = body.rewritten({name: json.dumps(value) for name, value in replaced.items()}, removed=removed)
    left = {name: value for name, value in given_object.items() if name not in removed}
    assert json.loads(rewritten) == {**left, **replaced}
    for member in body.members:
        if member.name not in {*replaced, *removed}:
            assert text[member.start : member.end] in rewritten


EVENTS = [b"data: {}\n\n", b": ping\n\n", b"event: x\ndata: 1\r\n\r\n", b"data: a\ndata: b\r\r"]


@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.data())
def test_events_are_whole_however_the_stream_was_cut(parts, data):
    """Byte for byte; what is not whole yet is the rest."""
    stream = b"".join(parts) + b"data: un"
    cuts = sorted(data.draw(st.lists(st.integers(min_value=0, max_value=len(stream)), max_size=6)))
    splitter = EventSplitter()
    taken = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        taken += splitter.events(stream[start:end])
    assert b"".join(taken) + splitter.rest() == stream
    assert len(taken) >= len(parts)
