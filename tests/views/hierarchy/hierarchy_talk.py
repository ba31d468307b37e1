"""Short ways to make stored messages, and an embedder for their words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from zibaldone import Message
from zibaldone.testing import HashEmbedder

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday
HASHED = HashEmbedder(64)
BYE = Message("Bye!", name="Ann", time=START + timedelta(days=1), session="end")


def talk(*lines: str, minutes: float = 1, session: str = "1", start: datetime = START) -> list[Message]:
    """Lines such as "Bea: I play the bassoon.", so many minutes apart; seqs from 1 on."""
    messages = []
    for place, line in enumerate(lines):
        name, _, content = line.partition(": ")
        time = start + timedelta(minutes=place * minutes)
        messages.append(Message(content, name=name, time=time, session=session, seq=place + 1))
    return messages
