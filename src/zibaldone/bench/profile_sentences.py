"""Of what people say and do not mean of themselves, is any of it read as an entry? And what they do mean?

Messages in people's words, half of them misleading: reports, suppositions, idioms, fiction, texts to be
written, orders for one answer, third persons. Those of an odd line are
for development, those of an even one held out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path

from zibaldone.memory import Memory
from zibaldone.models.base import Embedder

HALVES = ("development", "held out")
LANGUAGES = ("English", "other languages")


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """A message, and the (kind, words of it) of the entries that it has; a misleading one has none."""

    half: str
    languages: str
    text: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SentenceOutcome:
    """What the grammar made of one half."""

    half: str
    languages: str
    misleading: int
    misread: int  # of these, that have an entry
    meant: int
    read: int  # of these, that have all their entries


def spoken_messages() -> list[SpokenMessage]:
    """All of them, as they are kept beside this file."""
    lines = (files(__package__) / "profile_sentences.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        SpokenMessage(
            HALVES[place % 2],
            LANGUAGES["language" in row],
            row["text"],
            tuple((kind, told) for kind, told in row["read"]),
        )
        for place, row in enumerate(map(json.loads, lines))
    ]


def sentence_outcomes(folder: Path, embedder: Embedder) -> Iterator[SentenceOutcome]:
    """One per half and kind of language; every message has a user of its own in a memory in `folder`."""
    messages = spoken_messages()
    right = []
    with Memory(folder, embedder=embedder) as memory:
        for place, spoken in enumerate(messages):
            user = f"speaker-{place}"
            memory.add(spoken.text, user=user)
            known = [(entry.kind, entry.text) for entry in memory.profile(user).entries()]
            right.append(
                all(any(kind == of and said in text for of, text in known) for kind, said in spoken.entries)
                if spoken.entries
                else not known
            )
    for half, languages in product(HALVES, LANGUAGES):
        mine = [
            (spoken, fits)
            for spoken, fits in zip(messages, right, strict=True)
            if (spoken.half, spoken.languages) == (half, languages)
        ]
        meant = [fits for spoken, fits in mine if spoken.entries]
        misleading = [fits for spoken, fits in mine if not spoken.entries]
        yield SentenceOutcome(
            half, languages, len(misleading), misleading.count(False), len(meant), meant.count(True)
        )
