"""What Ann says in the tests of chunks, and short ways to what the view made of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memories import with_filter
from zibaldone import Memory, Recall

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
LINES = [
    "The river rose by ten centimetres near the old mill.",
    "My neighbour Otto repairs clocks in his cellar.",
    "The bakery on the square opens at six on Tuesdays.",
    "My sister plays the bassoon in Vienna on Mondays.",
    "The rent of the flat is 900 euros since last year.",
    "I read a novel about a lighthouse keeper in Norway.",
    "A zeppelin flew over the harbour at noon.",
]
FILLER, OTHERS = LINES[:3], LINES[3:6]  # a gate of 40 tokens each


def said(*contents: str, session: str = "1", start: int = 0) -> list[dict[str, Any]]:
    """Messages of Ann, an hour apart."""
    return [
        {"content": content, "name": "Ann", "session": session, "time": NOW + timedelta(hours=start + i)}
        for i, content in enumerate(contents)
    ]


def maintained(memory: Memory, *contents: str) -> Any:
    """Add messages behind those that are there, and let messages and chunks read them."""
    memory.add(said(*contents, start=len(memory.messages(user="ann"))), user="ann")
    return memory.maintain(user="ann", views=["messages", "chunks"])


def recalled(memory: Memory, query: str, **options: Any) -> Recall:
    """A recall of the chunks view alone."""
    given = {"user": "ann", "views": ["chunks"], "min_confidence": 0, "budget_tokens": 500} | options
    return memory.recall(query, **with_filter(**given))


def sources(found: Recall) -> set[int]:
    """Messages that a recall has words of."""
    return {seq for evidence in found.evidence for seq in evidence.sources}


def texts(memory: Memory) -> list[str]:
    """All items of all chunks."""
    return sorted(item.text for chunk in memory.user("ann").chunks() for item in chunk.items)


def has(memory: Memory, *secrets: str) -> list[str]:
    """Those of these words that any file of the folder has, in any case."""
    files = [path.read_bytes().lower() for path in memory.path.rglob("*") if path.is_file()]
    return [word for word in secrets if any(word.lower().encode() in data for data in files)]
