"""The same views with other models, as rebuilds were given them: who reads which user's build."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeVar, cast

from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.engine import generations
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation, View, ViewStore

V = TypeVar("V", bound=View)
R = TypeVar("R")
_ATTEMPTS = 3


class _Given(Enum):
    """Which models a rebuild is given."""

    OWN = "own"


OWN: Final = _Given.OWN  # the memory's
Own = Literal[_Given.OWN]


@dataclass(frozen=True, slots=True)
class ViewVariant:
    """A view with other models than the memory's own."""

    view: View
    chat: str  # the name of its chat model; "" for none

    def made(self, generation: Generation) -> bool:
        """True if the generation was begun with these models."""
        return (generation.fingerprint, generation.chat) == (self.view.fingerprint, self.chat)


class Variants:
    """Those of one Memory, as long as it is open. Safe to share among threads."""

    def __init__(self, database: Database, chat: str) -> None:
        """`chat` is the name of the memory's own chat model; "" for none."""
        self._database, self._chat = database, chat
        self._of: dict[str, tuple[ViewVariant, ...]] = {}
        self._growing: dict[tuple[str, str], ViewVariant] = {}  # by user and view
        self._lock = ForkSafeLock()

    def add(self, variant: ViewVariant) -> None:
        """Know it from now on, in the place of any with the same settings and models' names."""
        name, fingerprint = variant.view.name, variant.view.fingerprint
        with self._lock:
            others = (
                other
                for other in self._of.get(name, ())
                if (other.view.fingerprint, other.chat) != (fingerprint, variant.chat)
            )
            self._of = {**self._of, name: (*others, variant)}

    def grows(self, user: str, variant: ViewVariant) -> None:
        """Maintenance is to keep what it builds for the user beside in step with the log."""
        with self._lock:
            self._growing = {**self._growing, (user, variant.view.name): variant}

    def grow_no_more(self, user: str, view: str) -> None:
        """It serves by now, or is gone."""
        with self._lock:
            self._growing = {key: value for key, value in self._growing.items() if key != (user, view)}

    def growing(self, users: Collection[str], views: Collection[str]) -> list[tuple[str, ViewVariant]]:
        """Of these users and views."""
        return [
            (user, variant)
            for (user, view), variant in self._growing.items()
            if user in users and view in views
        ]

    def has_chat(self, chat: str) -> bool:
        """True if a chat model of this name is known here."""
        others = (variant.chat for variants in self._of.values() for variant in variants)
        return chat in (self._chat, *others)

    def instances(self) -> Iterator[ViewStore]:
        """All of them: what is forgotten leaves their memory, too."""
        return (variant.view for variants in self._of.values() for variant in variants)

    def serving(self, user: str, view: V) -> V:
        """The view with the models of the generation that serves the user, if they are known here."""
        if view.name not in self._of:
            return view
        with self._database.read(user) as connection:
            generation = generations.serving(connection, user, view)
        return (self.of(generation, view) if generation else None) or view

    def of(self, generation: Generation, view: V) -> V | None:
        """The view with the models that made the generation; None where they are not known here."""
        own = generation.fingerprint == view.fingerprint
        if own and generation.chat in ("", self._chat):
            return view
        fitting = [
            variant
            for variant in self._of.get(view.name, ())
            if variant.view.fingerprint == generation.fingerprint
        ]
        for variant in reversed(fitting):
            if variant.chat == generation.chat:
                return cast("V", variant.view)
        if own:  # another chat model only makes what is to come otherwise
            return view
        return cast("V", fitting[-1].view) if fitting else None

    def steadily(self, user: str, views: Sequence[View], ask: Callable[[], R]) -> R:
        """What `ask` gives while the same builds serve, before and after: asked again after a switch."""
        for _ in range(_ATTEMPTS - 1):
            before = [self.serving(user, view) for view in views]
            answer = ask()
            if before == [self.serving(user, view) for view in views]:
                return answer
        return ask()
