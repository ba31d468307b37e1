"""The views of an open memory, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping

from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.views.base import View


class ViewsByName(MutableMapping[str, View]):
    """Views by name, each made when it is first asked for: some take longer to load than a recall does."""

    def __init__(self, makers: Mapping[str, Callable[[], View]], batch_messages: int | None) -> None:
        """`batch_messages`: most that any view prepares at a time."""
        self._makers, self._batch_messages = makers, batch_messages
        self._made: dict[str, View | None] = dict.fromkeys(makers)
        self._lock = ForkSafeLock()

    def __getitem__(self, name: str) -> View:
        with self._lock:
            view = self._made[name]
            if view is None:
                view = self._made[name] = self._makers[name]()
                if self._batch_messages is not None:
                    view.batch_messages = min(view.batch_messages, self._batch_messages)
            return view

    def __setitem__(self, name: str, view: View) -> None:
        self._made[name] = view

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._made))

    def __len__(self) -> int:
        return len(self._made)
