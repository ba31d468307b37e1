"""Streams of events, cut anywhere: every byte stays."""

from hypothesis import given
from hypothesis import strategies as st

from zibaldone.server.gateway.events import complete

EVENTS = [b"data: {}\n\n", b": ping\n\n", b"event: x\ndata: 1\r\n\r\n", b"data: a\ndata: b\r\r"]


@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.data())
def test_events_are_whole_however_the_stream_was_cut(parts, data):
    """Byte for byte; what is not whole yet is the rest."""
    stream = b"".join(parts) + b"data: un"
    cuts = sorted(data.draw(st.lists(st.integers(min_value=0, max_value=len(stream)), max_size=6)))
    taken, rest = [], b""
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        events, rest = complete(rest, stream[start:end])
        taken += events
    assert b"".join(taken) + rest == stream
    assert len(taken) >= len(parts)
