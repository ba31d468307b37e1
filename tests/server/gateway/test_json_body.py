"""JSON objects whose members are replaced, and streams of events: bytes stay where nothing changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.server.gateway.events import EventSplitter, comment, event_data, with_data
from zibaldone.server.gateway.json_body import NotAnObject, read_object, read_values

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), values, max_size=6)
indents = st.sampled_from([None, 0, 1, 3])


@given(objects, indents, objects)
@pytest.mark.wide
def test_what_is_replaced_is_replaced_and_all_else_stays(given_object, indent, replaced):
    """As the object would be if it were taken apart and put together again."""
    text = json.dumps(given_object, indent=indent)
    body = read_object(text.encode())
    assert {member.name: member.value for member in body.members} == given_object
    assert read_values(text.encode()) == given_object
    rewritten = body.rewritten({name: json.dumps(value) for name, value in replaced.items()})
    assert json.loads(rewritten) == {**given_object, **replaced}
    for member in body.members:
        if member.name not in replaced:
            assert text[member.start : member.end] in rewritten


@given(objects, indents, st.data())
def test_members_are_taken_out(given_object, indent, data):
    """Those and no others."""
    names = data.draw(st.lists(st.sampled_from(sorted(given_object)), max_size=3)) if given_object else []
    body = read_object(json.dumps(given_object, indent=indent).encode())
    left = {name: value for name, value in given_object.items() if name not in names}
    assert json.loads(body.rewritten({}, removed=names)) == left


def test_of_two_members_of_a_name_the_last_holds():
    """As every parser has it; both are taken out."""
    body = read_object(b'{"a": 1, "b": 2, "a": 3}')
    assert body["a"] == 3
    assert body.rewritten({}, removed=["a"]) == '{"b": 2}'


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1} x', "{1:2}", '{"a":1 "b":2}', "{,}"]
)
def test_what_is_no_object_is_refused(text):
    """One error for all of it."""
    with pytest.raises(NotAnObject):
        read_object(text.encode())


events = st.sampled_from(
    [
        b"data: {}\n\n",
        b": ping\n\n",
        b"event: x\ndata: 1\r\n\r\n",
        b"data: a\ndata: b\r\r",
        b"data: [DONE]\n\n",
    ]
)


@given(st.lists(events, max_size=8), st.data())
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


def test_the_data_of_an_event_may_be_changed():
    """Its name and id stay."""
    event = b'event: message_stop\r\nid: 7\r\ndata: {"a":1}\r\n\r\n'
    assert event_data(event) == b'{"a":1}'
    assert with_data(event, b'{"b":2}') == b'event: message_stop\nid: 7\ndata: {"b":2}\n\n'
    assert event_data(b"data:one\ndata: two\n\n") == b"one\ntwo"
    assert event_data(comment("memory is\ndegraded")) == b""
