"""Ids for messages that have none: made from who said what when, so the same in a later export."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Occurrences:
    """Makes ids of messages; repeats of the same words at the same time get a running number."""

    prefix: str
    met: Counter[str] = field(default_factory=Counter)

    def name(self, *parts: object) -> str:
        """Return the id of a message with these properties."""
        digest = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]
        self.met[digest] += 1
        again = f"#{self.met[digest]}" if self.met[digest] > 1 else ""
        return f"{self.prefix}:{digest}{again}"
