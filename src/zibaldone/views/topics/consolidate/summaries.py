"""Titles and summaries without a model, and bookkeeping after a document has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zibaldone.text.sentences import passages
from zibaldone.text.titles import telling, without_captions
from zibaldone.text.words import words
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.markdown.document import Document, Event, Heading
from zibaldone.views.topics.markdown.entry import Entry, When

_KEYWORDS = 8
_TITLE_WORDS = 2
_EVENTS = 32  # kept of an update log: the first, and the newest


def title(entries: Sequence[Entry], work: Work) -> str:
    """Title from terms that the entries have and others lack: "Adoption agencies"."""
    name = " & ".join(_words(entries, _TITLE_WORDS, work))
    return f"{name[:1].upper()}{name[1:]}" or "Notes"


def summary(entries: Sequence[Entry], work: Work) -> str:
    """Keywords, and the most central of the current entries; at most `summary_tokens`."""
    current = [entry for entry in entries if entry.current and entry.text]
    if not current:
        return ""
    rows = work.workbench.vectors([entry.text for entry in current])
    central = current[int((rows @ rows.mean(axis=0)).argmax())]
    text = without_captions(central.text)
    central_line = f"{central.source}: {text}" if central.source else text
    return fitted(f"{', '.join(_words(current, _KEYWORDS, work))}; {central_line}", work)


def fitted(text: str, work: Work) -> str:
    """Put the text on one line, cut to `summary_tokens`."""
    line = " ".join(text.split())
    spans = passages(line, work.settings.summary_tokens - 1, work.workbench.count)
    return line if len(spans) < 2 else line[: spans[0][1]].rstrip(" ,;") + "…"


def _words(entries: Sequence[Entry], most: int, work: Work) -> list[str]:
    """Words that many of the entries have and few others, without speakers' names."""
    speakers = frozenset(word for entry in entries for word in words(entry.source or ""))
    return telling([entry.text for entry in entries], most, parties=speakers, df=work.df, n=work.entries)


def summed_up(document: Document, work: Work, text: str = "") -> Document:
    """Renew tokens and summary (`text`, or an offline one) of a document."""
    return replace(
        document,
        summary=fitted(text, work) if text else summary(document.entries, work),
        token_count=tokens_of(document, work),
    )


def logged(document: Document, event: str, time: When | None) -> Document:
    """Append an event to the update log, which keeps its first and its newest lines."""
    events = (*document.update_log, Event(event, time))
    if len(events) > _EVENTS:
        events = (events[0], *events[1 - _EVENTS :])
    return replace(document, created_time=document.created_time or time, update_log=events)


def tokens_of(document: Document, work: Work) -> int:
    """Tokens of a document's headings and entries, without metadata."""
    texts = [one.title if isinstance(one, Heading) else one.text for one in document.body]
    return sum(work.workbench.tokens(texts))
