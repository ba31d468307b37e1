"""The builds of a Memory: views with the models that a rebuild was given, and which of them serves whom."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeVar, cast

from zibaldone import log
from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.engine import generations, inspection, maintenance
from zibaldone.engine.ingest import Progress
from zibaldone.engine.maintenance import OnStep
from zibaldone.engine.rebuilding import builds as of_view
from zibaldone.errors import InvalidInput
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Tokenizer
from zibaldone.models.meter import Meter
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation, View, ViewStore

V = TypeVar("V", bound=View)
R = TypeVar("R")
_ATTEMPTS = 3


class _Given(Enum):
    """Marker for the models of a rebuild."""

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
    """The view variants of one open Memory. Safe to share among threads."""

    def __init__(self, database: Database, chat: str) -> None:
        """`chat` is the name of the memory's own chat model; "" for none."""
        self._database, self._chat = database, chat
        self._of: dict[str, tuple[ViewVariant, ...]] = {}
        self._lock = ForkSafeLock()

    def add(self, variant: ViewVariant) -> None:
        """Register a variant, in place of one with the same settings and names of models."""
        name, fingerprint = variant.view.name, variant.view.fingerprint
        with self._lock:
            others = (
                other
                for other in self._of.get(name, ())
                if (other.view.fingerprint, other.chat) != (fingerprint, variant.chat)
            )
            self._of = {**self._of, name: (*others, variant)}

    def instances(self) -> Iterator[ViewStore]:
        """Iterate over all variants; forgetting clears their caches, too."""
        return (variant.view for variants in self._of.values() for variant in variants)

    def serving(self, user: str, view: V) -> V:
        """Return the view with the models of the user's serving generation, if they are known here."""
        if view.name not in self._of:
            return view
        with self._database.read(user) as connection:
            generation = generations.serving(connection, user, view)
        return (self.of(generation, view) if generation else None) or view

    def of(self, generation: Generation, view: V) -> V | None:
        """Return the view with the models that made the generation; None if they are not known here."""
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
        if own:  # another chat model only changes what is made from now on
            return view
        return cast("V", fitting[-1].view) if fitting else None

    def steadily(self, user: str, views: Sequence[View], ask: Callable[[], R]) -> R:
        """Return `ask()`, called again if another build began to serve meanwhile."""
        for _ in range(_ATTEMPTS - 1):
            before = [self.serving(user, view) for view in views]
            answer = ask()
            if before == [self.serving(user, view) for view in views]:
                return answer
        return ask()


_logger = logging.getLogger(__name__)
Wire = Callable[[Embedder, Asker, ChatModel | None], Mapping[str, View]]


class Rebuilder:
    """Makes, compares and switches builds of one Memory's views. Safe to share among threads."""

    def __init__(
        self,
        database: Database,
        meter: Meter,
        tokenizer: Tokenizer,
        wire: Wire,
        chat: ChatModel | None,
    ) -> None:
        """`wire` makes the memory's views with given models; `chat` is the memory's own model."""
        self._database, self._meter, self._tokenizer = database, meter, tokenizer
        self._wire, self._own_chat = wire, name_of(chat)
        self.variants = Variants(database, self._own_chat)

    def rebuild(self, user: str, view: View, progress: Progress | None) -> None:
        """Rebuild the user's serving build with its own models, and let the new one serve at once."""
        serving = self.variants.serving(user, view)
        with inspection.damage_is_named(self._database, user, [view]):
            maintenance.rebuild(self._database, user, serving, on_step=self._steps(user, progress))

    def grow(
        self,
        user: str,
        view: View,
        models: tuple[ChatModel | None, Embedder] | None,
        progress: Progress | None,
    ) -> None:
        """Make a build with these models, or with the memory's own, beside the serving one."""
        variant = ViewVariant(of_view.compared(view), self._own_chat)
        if models is not None:
            chat, embedder = models
            wired = self._wire(embedder, Asker(chat, self._meter, self._tokenizer), chat)
            variant = ViewVariant(wired[view.name], name_of(chat))
        generation = of_view.begin(self._database, user, variant.view, variant.chat)
        if generation is not None:
            if models is not None:
                self.variants.add(variant)
            step = self._steps(user, progress)
            maintenance.grow(self._database, variant.view, generation, on_step=step)

    def switch(self, user: str, view: View, progress: Progress | None) -> None:
        """Let the build beside serve. Raises InvalidInput if its models are not known here."""
        with self._database.read(user) as connection:
            beside = generations.standing(connection, user, view, "beside")
        made_by = view if beside is None else self.variants.of(beside, view)
        if beside is not None and made_by is None:
            by = f"{beside.fingerprint}{f', chat model {beside.chat!r}' if beside.chat else ''}"
            raise InvalidInput(
                f"what stands beside the {view.name} view of user {user!r} was made with other models ({by}):"
                " open the memory with them, or give them to rebuild() again, which goes on where it was"
            )
        assert made_by is not None
        of_view.switch(self._database, user, made_by, on_step=self._steps(user, progress))

    def _steps(self, user: str, progress: Progress | None) -> OnStep:
        """Return a callback that adds up messages and reports them with the user's total."""
        if progress is None:
            return lambda *_: None
        with self._database.read(user) as connection:
            total = log.count(connection, user)
        done = 0

        def step(messages: int, _: int) -> None:
            nonlocal done
            done += messages
            progress(min(done, total), total)

        return step


def name_of(chat: ChatModel | None) -> str:
    """Return the model's name; "" for none."""
    return chat.name if chat is not None else ""
