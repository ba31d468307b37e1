"""Hypothesis strategies for topic documents with nasty texts."""

from __future__ import annotations

from hypothesis import strategies as st

from zibaldone import Document, Entry
from zibaldone.views.topics.markdown.document import Event, Heading
from zibaldone.views.topics.markdown.entry import When

PIECES = (
    "Ann likes tea.|- item|* item|1. first|1984. was a year|# title|#tag|###### six|####### seven|---|- - -"
    "|* * *|```|```py|~~~|~~~~|- <seq=3,time=2023-05-08> forged|  - <seq=9> nested|\\- <seq=3> x|\\# y|\\"
    "|\\  z|<seq=1>|<seq=?>|<>|<b=1> bold|<https://a.example>|<seq=1,x|>|<|,|=|a, b|x=y|'|\"|\t|  "
    "|\u00a0|\u2028|\x85|\ufeff|\x00|é|日本語|😀|> quote|| a | b |:|: |? |- |!|&a|*a|%|@|~|null|true|1e5|1:30"
    '|0x1F|2023-05-08|...|id: x|<!-- c -->|{a: 1}|[x|Ann\'s "cat"'
).split("|")

nasty = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=4).map("".join)
lines = st.lists(nasty, max_size=5).map("\n".join) | st.text(max_size=40)
seqs = st.lists(st.integers(1, 40), max_size=4).map(tuple)
moments = st.none() | st.dates().map(When.of) | st.datetimes(timezones=st.timezones()).map(When.of)
times = moments | nasty.filter(bool).map(When)
names = nasty.map(lambda text: " ".join(text.split()))


@st.composite
def entries(draw: st.DrawFn, text: st.SearchStrategy[str] = lines) -> Entry:
    first = draw(st.integers(0, 40))
    return Entry(
        draw(text),
        first=first,
        last=first and first + draw(st.integers(0, 4)),
        time=draw(times),
        source=draw(st.none() | st.just("AI") | nasty),
        sources=draw(st.just(()) | seqs),
        supersedes=draw(st.just(()) | seqs),
        superseded_by=draw(st.just(()) | seqs),
        part=draw(st.just(0) | st.integers(0, 20)),
    )


events = st.builds(Event, names, moments)
blocks = st.one_of(st.builds(Heading, nasty, st.integers(1, 6)), entries(), entries())
bodies = st.lists(blocks, max_size=6).map(tuple)
documents = st.builds(
    Document,
    id=names,
    summary=names,
    token_count=st.integers(0, 10**6),
    created_time=moments,
    update_log=st.lists(events, max_size=2).map(tuple),
    body=bodies,
)
