"""A view's cache of its users between two calls: bounded, and nothing of before a forgetting.

Which values stay when they are too large together: a user who comes back takes the place of the one longest
unused only if that one has not been used since this user was here last. Were the longest unused always to go,
more users in turns than fit would each find their own value just gone, and every call would begin anew. So as
many as fit stay, and the others are guests, for whom there is a little room beside (the idea is that of LIRS:
Jiang and Zhang 2002, section 2).
"""

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
_MOST_SEEN = 100_000  # users whose last use is remembered
_GUESTS = 4  # have this part of the room, beside it
_all: WeakSet[UserCache[Any]] = WeakSet()


@dataclass(slots=True)
class _Kept(Generic[T]):
    value: T
    version: int  # of the user, when what it was made of was read
    size: float
    used: int  # when it was used last, in calls of the cache
    is_guest: bool = False


class UserCache(Generic[T]):
    """One value per user and generation; a forked child begins with none.

    Threads may share it: a value never changes, has a lock of its own, or is taken by who changes it.
    """

    def __init__(
        self, most: int, *, most_size: float = math.inf, size: Callable[[T], float] = lambda _: 0.0
    ) -> None:
        """`most` values, the least recently used goes first; `most_size` together, guests a quarter of it.

        One alone may be larger.
        """
        self._most, self._most_size, self._size_of = most, most_size, size
        self._kept: OrderedDict[tuple[str, int], _Kept[T]] = OrderedDict()  # the longest unused first
        # When those that are not kept any more were used last.
        self._seen: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._now = 0  # calls so far
        self._sizes = {False: 0.0, True: 0.0}  # together, of guests (True) and of all others
        self._forgotten: dict[str, int] = {}  # by user who forgot anything: the counter of deletions then
        self._lock = ForkSafeLock()
        start_anew_in_children(self)
        _all.add(self)

    def start_anew(self) -> None:
        """In a forked child: a thread of the parent may have been half way through a change."""
        self._kept, self._seen, self._forgotten = OrderedDict(), OrderedDict(), {}
        self._sizes = {False: 0.0, True: 0.0}

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
            kept.used = self._tick()
            return kept.value

    def take(self, user: str, generation: int = 0) -> T | None:
        """The value, which is the caller's alone from now on."""
        with self._lock:
            kept = self._kept.pop((user, generation), None)
            if kept is None:
                return None
            self._sizes[kept.is_guest] -= kept.size
            return kept.value

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
                gone = self._kept.pop(key)
                self._sizes[gone.is_guest] -= gone.size
            for key in [key for key in self._seen if key[0] == user]:
                del self._seen[key]

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
        before = self._kept.pop(key, None)
        kept = _Kept(value, version, self._size_of(value), self._tick())
        if before and before.size:
            kept.is_guest = before.is_guest
            self._sizes[before.is_guest] -= before.size
        elif kept.size:
            kept.is_guest = not self._may_stay(key, kept.size)
            self._seen.pop(key, None)
        self._kept[key] = kept
        self._sizes[kept.is_guest] += kept.size
        room = self._most_size / _GUESTS if kept.is_guest else self._most_size
        for other, held in list(self._kept.items()) if self._sizes[kept.is_guest] > room else ():
            if held.is_guest == kept.is_guest and other != key and self._sizes[kept.is_guest] > room:
                self._let_go(other)
        while len(self._kept) > self._most:
            self._let_go(next(iter(self._kept)))

    def _may_stay(self, new: tuple[str, int], size: float) -> bool:
        """True if all that would have to go for a new value is unused since its user was here last."""
        last_here = self._seen.get(new)
        too_much = self._sizes[False] + size - self._most_size
        for kept in self._kept.values():
            if too_much <= 0 or last_here is None:
                return True
            if kept.size and not kept.is_guest:
                if kept.used > last_here:
                    return False
                too_much -= kept.size
        return True

    def _let_go(self, key: tuple[str, int]) -> None:
        gone = self._kept.pop(key)
        self._sizes[gone.is_guest] -= gone.size
        if gone.size:
            self._seen[key] = gone.used
            self._seen.move_to_end(key)
            if len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)

    def _tick(self) -> int:
        self._now += 1
        return self._now


def users_held() -> set[str]:
    """Users with anything in any cache of this process."""
    return {user for cache in list(_all) for user in cache.users()}


def drop_forgotten(states: Mapping[str, UserState]) -> bool:
    """Have every cache of this process drop what is of before the last deletion of these users.

    Whether there was any.
    """
    dropped = [cache.drop_forgotten(states) for cache in list(_all)]
    return any(dropped)
