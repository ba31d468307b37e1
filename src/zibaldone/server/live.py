"""Live: the newest requests of the gateway by user, as numbers; messages are read when somebody looks.

Nothing that anybody said is held here: what is forgotten is gone from the list, too.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

_NEWEST = 50  # requests of a user
_MOST_USERS = 200  # those that asked last
SHOWN = 3  # messages of each kind and request


@dataclass(slots=True)
class LiveRequest:
    """The memory's part in one request."""

    recalled: tuple[int, ...]  # seqs of the best SHOWN
    messages: int  # in the recalled text
    tokens: int
    ms: float  # delay of the request to the upstream
    notes: Sequence[str]  # what memory could not do, in words; may grow
    stored: list[int]  # seqs, as they are stored
    searched: list[int] = field(default_factory=list)  # seqs that the model found by searches of its own
    time: datetime = field(default_factory=lambda: datetime.now(UTC))


class Live:
    """The newest requests of each user, in this process alone. For one event loop."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, deque[LiveRequest]] = OrderedDict()

    def add(self, user: str, request: LiveRequest) -> None:
        """Note a request."""
        self._requests.setdefault(user, deque(maxlen=_NEWEST)).append(request)
        self._requests.move_to_end(user)
        if len(self._requests) > _MOST_USERS:
            self._requests.popitem(last=False)

    def of(self, user: str) -> list[LiveRequest]:
        """Return a user's requests, the newest first."""
        return list(self._requests.get(user, ()))[::-1]

    def mark(self, user: str) -> str:
        """Return a mark that changes with what there is to be seen."""
        seen = [(one.time, len(one.stored), len(one.searched), len(one.notes)) for one in self.of(user)]
        return blake2b(repr(seen).encode(), digest_size=8).hexdigest()
