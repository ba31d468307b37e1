"""Messages in, a library out: what the tests of consolidation share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from zibaldone import Consolidation, Entry, Message
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.topics.consolidate import extraction
from zibaldone.views.topics.consolidate.consolidation import add, flush
from zibaldone.views.topics.consolidate.workbench import Workbench
from zibaldone.views.topics.library import Library

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)
SMALL = Consolidation(
    current_threshold_tokens=200,
    split_tokens=300,
    merge_tokens=80,
    entry_tokens=60,
    current_window=timedelta(days=1),
)


def count(texts: Sequence[str]) -> list[int]:
    """Words, and signs between them."""
    return [len(text.replace(",", " ").replace("=", " ").split()) for text in texts]


def tools(
    settings: Consolidation = SMALL, answers: Callable[[str, dict[str, Any]], Any] | None = None
) -> Workbench:
    """Without a model, or with one that is told the task's name and inputs."""
    asking = None
    if answers is not None:
        model = ScriptedModel(lambda request: answers(request.task, json.loads(request.turns[1].content)))
        asking = partial(Asker(model, Meter(None), shared_static_embedder()).ask, user="ann")
    return Workbench(HashEmbedder(32).embed, count, asking, settings)


def said(
    *contents: str, role: str = "user", name: str | None = None, apart: timedelta = timedelta(0)
) -> list[Message]:
    """Messages with seqs from 1."""
    return [
        Message(content, role=role, name=name, time=NOON + apart * (seq - 1), seq=seq)
        for seq, content in enumerate(contents, 1)
    ]


def extract(message: Message, before: Message | None, by: Workbench) -> tuple[Entry, ...]:
    """Entries of a single message, after the one before it in its session."""
    previous = {message.session: before} if before else {}
    ((_, entries),) = extraction.extracted([message], previous, by)
    return entries


def added(library: Library, message: Message, before: Message | None, by: Workbench) -> Library:
    """With one more message, read alone."""
    return add(library, message, extract(message, before, by), by)


def fed(messages: Iterable[Message], by: Workbench, library: Library | None = None) -> tuple[Library, int]:
    """One after the other, and how often CURRENT was flushed."""
    flushes = 0
    before: Message | None = None
    library = library or Library()
    for message in messages:
        grown = added(library, message, before, by)
        flushes += grown.current.entries[: len(library.current.entries)] != library.current.entries
        library, before = grown, message
    return library, flushes


def filed(messages: Iterable[Message], by: Workbench) -> Library:
    """With CURRENT flushed at the end."""
    return flush(fed(messages, by)[0], by)


def extracted(messages: Sequence[Message], by: Workbench) -> Counter[tuple[int, str]]:
    """All entries that the messages make, as (seq, text)."""
    pairs = zip(messages, [None, *messages], strict=False)
    return Counter((one.first, one.text) for message, before in pairs for one in extract(message, before, by))


def kept(library: Library) -> Counter[tuple[int, str]]:
    """All original entries in the library: in CURRENT, in documents, superseded, or part of a merged one."""
    return Counter((one.first, one.text) for one in library.origins())


def texts(library: Library) -> list[str]:
    """Texts of all entries."""
    return [one.text for one in library.entries()]


def one(library: Library, text: str) -> Entry:
    """The only entry with these words in it."""
    (found,) = [entry for entry in library.entries() if text in entry.text]
    return found
