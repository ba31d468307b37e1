"""What the topics view offers a recall: entries, the best first, each with the messages it comes from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore, Evidence, Explains, Message
from zibaldone.errors import ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.rendering import line, line_tokens
from zibaldone.text.words import terms
from zibaldone.views.base import Query, Retrieved
from zibaldone.views.topics.consolidate.buffer import append
from zibaldone.views.topics.consolidate.extraction import extract
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.read.ranking import question_terms
from zibaldone.views.topics.read.reader_a import Agentic
from zibaldone.views.topics.read.reader_h import Hybrid
from zibaldone.views.topics.read.reading_index import ReadingIndex
from zibaldone.views.topics.read.reading_result import Found, Reading
from zibaldone.views.topics.read.workspace import Tools, Work

NAME = "topics"
SUPERSEDED = "[superseded]"
_OFFERED = 2.0  # budgets' worth of entries
_AT_ONCE = 32  # lines counted at a time while the budget is filled
_LOOKED_AT = 50  # entries that say how relevant the question is


@dataclass(slots=True)
class Shown:
    """One user's index, and the messages behind the library that it has already."""

    index: ReadingIndex
    words: Embedder  # of single words
    lock: threading.Lock = field(default_factory=threading.Lock)
    base: Library | None = None
    tail: tuple[int, ...] = ()
    library: Library = field(default_factory=Library)  # `base` and the entries of `tail`

    def update(self, base: Library, tail: Sequence[Message], tools: Tools) -> None:
        """As the library is now, with what the messages that it has not read would make without a model."""
        seqs = tuple(message.seq for message in tail)
        if self.base is not base or seqs[: len(self.tail)] != self.tail:
            self.base, self.tail, self.library = base, (), base
        before = {message.session: message for message in tail[: len(self.tail)]}
        for message in tail[len(self.tail) :]:
            assert message.time is not None  # what is stored has one
            work = Work(tools, self.library)
            entries = extract(message, before.get(message.session), work)
            self.library = append(self.library, entries, message.time, work)
            before[message.session] = message
        self.tail = seqs
        self.index.update(self.library)


def offer(
    shown: Shown,
    connection: Connection,
    library: Library,
    tail: Sequence[Message],
    query: Query,
    tokenizer: Tokenizer,
    tools: Tools,
    asker: Asker,
) -> Retrieved:
    """By Infini Memory-H, or -A. An embedder that fails leaves words alone to search by."""
    user = query.scope.user
    if tools.settings.reader == "agentic" and asker.has_model:
        reading, relevance, note = _by_agent(shown, library, tail, query, tokenizer, tools, asker)
    else:
        reading, relevance, note = _by_hybrid(shown, library, tail, query, tools, asker)
    inside = _inside(connection, query)
    chosen = [one for one in reading.found if inside is None or inside & set(one.sources)]
    messages = log.fetch(connection, user, sorted({seq for one in chosen for seq in one.sources}))
    evidence = _evidence(chosen, messages, query.budget_tokens, tokenizer)
    notes = [one for one in (note, reading.note) if one]
    return Retrieved(
        evidence,
        reading.considered,
        relevance,
        _explanation(reading, log.seqs_where(connection, user)),
        "; ".join(notes),
        reading.model_calls,
    )


def _by_hybrid(
    shown: Shown, library: Library, tail: Sequence[Message], query: Query, tools: Tools, asker: Asker
) -> tuple[Reading, float, str]:
    """What was read, how relevant the question is, and what was degraded."""
    user, note = query.scope.user, ""
    ask = partial(Hybrid(asker).read, question=query.text, user=user, today=query.now.date())
    update = partial(shown.update, library, tail, tools)
    with shown.lock:
        index = shown.index
        try:
            update()
            reading = ask(index, away=partial(_unlocked, shown.lock, update))
        except ModelFailed as error:
            note = f"by words only: {error}"
            index = ReadingIndex(_nothing(index), shown.words)
            index.update(shown.library if shown.base is library else library)
            reading = ask(index, away=partial(_unlocked, shown.lock))
        return reading, _relevance(index, reading, query.text), note


def _by_agent(
    shown: Shown,
    library: Library,
    tail: Sequence[Message],
    query: Query,
    tokenizer: Tokenizer,
    tools: Tools,
    asker: Asker,
) -> tuple[Reading, float, str]:
    """As `_by_hybrid`. The agent has an index of its own: it asks for long, and nobody waits for it."""
    try:
        with shown.lock:
            shown.update(library, tail, tools)
            seen = shown.library
        index = ReadingIndex(shown.index.embed, shown.words)
        index.update(seen)
        reading = Agentic(asker, tokenizer).read(
            index, query.text, user=query.scope.user, today=query.now.date()
        )
        return reading, _relevance(index, reading, query.text), ""
    except ModelFailed:  # of the embedder: the agent's tools need vectors
        return _by_hybrid(shown, library, tail, query, tools, asker)


@contextmanager
def _unlocked(lock: threading.Lock, back: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Lets others recall while a model is asked; `back` undoes what they changed."""
    lock.release()
    try:
        yield
    finally:
        lock.acquire()
    back()


def _nothing(index: ReadingIndex) -> Callable[[Sequence[str]], Vectors]:
    width = index.vectors.shape[1]
    return lambda texts: np.zeros((len(texts), width), dtype=np.float32)


def _inside(connection: Connection, query: Query) -> set[int] | None:
    if query.scope.session is None:
        return None
    return set(log.seqs_where(connection, query.scope.user, session=query.scope.session))


def _evidence(
    found: Sequence[Found], messages: Mapping[int, Message], budget_tokens: int, tokenizer: Tokenizer
) -> tuple[Evidence, ...]:
    """Entries as they are offered, best first, until they fill twice the budget."""
    offered: list[Evidence] = []
    room = int(_OFFERED * budget_tokens)
    for start in range(0, len(found), _AT_ONCE):
        some = [one for one in found[start : start + _AT_ONCE] if one.sources and one.sources[-1] in messages]
        said = [(one, messages[one.sources[-1]], _shown(one)) for one in some]
        counts = line_tokens([line(message.speaker, text) for _, message, text in said], tokenizer.count)
        for (one, message, text), tokens in zip(said, counts, strict=True):
            if tokens > room and offered:
                continue
            room -= tokens
            assert message.time is not None  # what is stored has one
            offered.append(
                Evidence(
                    text=text,
                    speaker=message.speaker,
                    sources=one.sources,
                    time=message.time,
                    session=message.session,
                    view=NAME,
                    kind="superseded" if _is_old(one) else "entry",
                    score=round(one.score, 6),
                    tokens=tokens,
                    place=one.place.entry.part,  # its order in its message
                    channels=one.channels,
                )
            )
        if room < _AT_ONCE:
            break
    return tuple(offered)


def _is_old(found: Found) -> bool:
    return found.superseded or found.later is not None


def _shown(found: Found) -> str:
    """The mark stands inside the last sentence: entries of one message may follow each other in a line."""
    text = found.place.entry.text
    if not _is_old(found):
        return text
    said = text.rstrip(".!?。！？ ")
    return f"{said} {SUPERSEDED}{text[len(said) :].rstrip()}"


def _relevance(index: ReadingIndex, reading: Reading, question: str) -> float:
    """As the messages view has it: the share of the question's words in the best entry, plus its cosine."""
    asked = {term for _, term in question_terms(question)}
    if not asked or not reading.found:
        return 0.0
    some = reading.found[:_LOOKED_AT]
    covered = max(len(asked.intersection(terms(one.place.entry.text))) for one in some) / len(asked)
    cosines = [channel.score for one in some for channel in one.channels if channel.channel == "dense"]
    if not cosines or not len(index.vectors):
        return covered
    vector = index.embed([" ".join(form for form, _ in question_terms(question))])[0]
    return covered + max(cosines) - float(index.vectors.mean(axis=0) @ vector)


def _explanation(reading: Reading, every: Sequence[int]) -> Explains:
    """Of a message: how its best entry ranked."""
    channels: dict[int, tuple[ChannelScore, ...]] = dict.fromkeys(every, ())
    for one in reversed(reading.found):
        for seq in one.sources:
            if seq in channels:
                channels[seq] = one.channels
    return channels.get
