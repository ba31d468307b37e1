"""Messages in any number for the speed benchmark: real turns repeated under other names, or made-up ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from zibaldone.bench.stats import SEED
from zibaldone.core import Message


def repeated(turns: Sequence[Message]) -> Iterator[Message]:
    """The turns again and again, each time with other names, in sessions of their own, a year on."""
    names = sorted({message.speaker for message in turns}, key=len, reverse=True)
    spoken = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    start = min(message.time for message in turns if message.time)
    for lap in itertools.count():
        suffix = "" if lap == 0 else _syllables(lap)

        def renamed(text: str, suffix: str = suffix) -> str:
            return spoken.sub(lambda match: match[1] + suffix, text)

        for message in turns:
            assert message.time is not None
            yield replace(
                message,
                content=renamed(message.content),
                name=renamed(message.speaker),
                time=start + (message.time - start) + timedelta(days=lap),
                session=f"{lap}/{message.session}",
                metadata={},
                id=None,
                seq=0,
            )


def made_up_turns(count: int = 2000) -> list[Message]:
    """Turns of made-up words in the frequencies of a natural language, for when there is no data at hand."""
    rng = np.random.default_rng(SEED)
    vocabulary = [_syllables(i + 1) for i in range(5000)]
    rank = np.arange(1, len(vocabulary) + 1)
    share = (1 / rank) / (1 / rank).sum()
    start = datetime(2024, 1, 1, 9, tzinfo=UTC)
    return [
        Message(
            content=" ".join(rng.choice(vocabulary, int(rng.integers(4, 45)), p=share)) + ".",
            name=("Ada", "Ben")[i % 2],
            time=start + timedelta(days=i // 20, minutes=i % 20),
            session=str(i // 20),
        )
        for i in range(count)
    ]


def questions(rows: Sequence[Message], count: int) -> list[str]:
    """Questions about what was said: a speaker and some words of one of the speaker's messages."""
    rng = np.random.default_rng(SEED)
    picked = rng.choice(len(rows), count)
    made = []
    for i in picked:
        words = re.findall(r"[^\W_]{4,}", rows[i].content)[:6]
        made.append(f"What did {rows[i].speaker} say about {' '.join(words) or 'it'}?")
    return made


def _syllables(number: int) -> str:
    """A pronounceable word for a number above 0, another for each."""
    word = ""
    while number:
        number, digit = divmod(number, 75)
        word += "bdfgklmnprstvzh"[digit % 15] + "aeiou"[digit // 15]
    return word
