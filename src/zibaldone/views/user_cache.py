"""A view's cache of its users between two calls: bounded, and nothing of before a forgetting."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from zibaldone.core.fork_safety import ForkSafeLock, start_anew_in_children
from zibaldone.log import UserState

T = TypeVar("T")
_all: WeakSet[UserCache[Any]] = WeakSet()


@dataclass(slots=True)
class _Kept(Generic[T]):
    value: T
    version: int  # of the user, when what it was made of was read
    size: float


class UserCache(Generic[T]):
    """One value per user and generation; a forked child begins with none.

    Threads may share it: a value never changes, has a lock of its own, or is taken by who changes it.
    """

    def __init__(
        self, most: int, *, most_size: float = math.inf, size: Callable[[T], float] = lambda _: 0.0
    ) -> None:
        """`most` values, of `most_size` together: the least recently used goes first.

        One alone may be larger.
        """
        self._most, self._most_size, self._size_of = most, most_size, size
        self._kept: OrderedDict[tuple[str, int], _Kept[T]] = OrderedDict()  # the longest unused first
        self._size = 0.0  # of all together
        self._forgotten: dict[str, int] = {}  # by user who forgot anything: the counter of deletions then
        self._lock = ForkSafeLock()
        start_anew_in_children(self)
        _all.add(self)

    def start_anew(self) -> None:
        """In a forked child: a thread of the parent may have been half way through a change."""
        self._kept, self._forgotten, self._size = OrderedDict(), {}, 0.0

    def __len__(self) -> int:
        return len(self._kept)

    def users(self) -> set[str]:
        """Users with anything in the cache, of any generation."""
        with self._lock:
            return {user for user, _ in self._kept}

    def get(self, user: str, generation: int = 0) -> T | None:
        with self._lock:
            kept = self._kept.get((user, generation))
            if kept is None:
                return None
            self._kept.move_to_end((user, generation))
            return kept.value

    def take(self, user: str, generation: int = 0) -> T | None:
        """The value, which is the caller's alone from now on."""
        with self._lock:
            return self._let_go((user, generation))

    def get_or_make(self, user: str, make: Callable[[], T]) -> T:
        """The value, or an empty one: it is filled under a lock of its own, if `put` says that it may be."""
        with self._lock:
            value = self.get(user)
            if value is None:
                value = make()
                self._keep((user, 0), value, 0)
            return value

    def put(self, user: str, value: T, as_of: UserState, generation: int = 0) -> bool:
        """Keep a value that was made of what was read then; whether it is kept.

        Not if something has been forgotten since, nor in the place of a later one.
        """
        with self._lock:
            held = self._kept.get((user, generation))
            if as_of.deletions < self._forgotten.get(user, 0) or (held and held.version > as_of.version):
                return False
            self._keep((user, generation), value, as_of.version)
            return True

    def drop(self, user: str, as_of: UserState) -> None:
        """Nothing of the user stays, and nothing that was read before `as_of`'s last deletion comes back."""
        with self._lock:
            self._forgotten[user] = max(as_of.deletions, self._forgotten.get(user, 0))
            for key in [key for key in self._kept if key[0] == user]:
                self._let_go(key)

    def drop_forgotten(self, states: Mapping[str, UserState]) -> bool:
        """Drop what is of before a user's last deletion; whether there was any."""
        with self._lock:
            before = {
                user
                for (user, _), kept in self._kept.items()
                if user in states and kept.version < states[user].deletions
            }
            for user in before:
                self.drop(user, states[user])
            return bool(before)

    def _keep(self, key: tuple[str, int], value: T, version: int) -> None:
        """Store a value; evict others to make room."""
        self._let_go(key)
        kept = self._kept[key] = _Kept(value, version, self._size_of(value))
        self._size += kept.size
        while len(self._kept) > self._most or (self._size > self._most_size and len(self._kept) > 1):
            self._let_go(next(iter(self._kept)))

    def _let_go(self, key: tuple[str, int]) -> T | None:
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        self._size -= kept.size
        return kept.value


def users_held() -> set[str]:
    """Users with anything in any cache of this process."""
    return {user for cache in list(_all) for user in cache.users()}


def drop_forgotten(states: Mapping[str, UserState]) -> bool:
    """Have every cache of this process drop what is of before the last deletion of these users.

    Whether there was any.
    """
    dropped = [cache.drop_forgotten(states) for cache in list(_all)]
    return any(dropped)
