"""What a Memory does with builds: makes views with other models, and knows which of them serves whom."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from zibaldone import log
from zibaldone.engine import generations, inspection, maintenance
from zibaldone.engine.ingest import Progress
from zibaldone.engine.leases import LeaseLost
from zibaldone.engine.maintenance import Behind, Check, Hold
from zibaldone.engine.rebuilding import builds as of_view
from zibaldone.engine.rebuilding.builds import BuildStatus
from zibaldone.engine.rebuilding.difference import BuildDiff, diff
from zibaldone.engine.rebuilding.estimate import RebuildEstimate, estimate
from zibaldone.engine.rebuilding.variants import Variants, ViewVariant
from zibaldone.errors import InvalidInput, ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Tokenizer
from zibaldone.models.meter import Meter, Prices
from zibaldone.storage.database import Database
from zibaldone.views.base import View

_logger = logging.getLogger(__name__)
Wire = Callable[[Embedder, Asker, ChatModel | None], Sequence[View]]


class Rebuilder:
    """The builds of one Memory's views. Safe to share among threads."""

    def __init__(
        self,
        database: Database,
        meter: Meter,
        tokenizer: Tokenizer,
        wire: Wire,
        chat: ChatModel | None,
        hold: Hold | None = None,
    ) -> None:
        """`wire` makes the memory's views with models; `chat` is the memory's own.

        `hold` keeps workers from going on with what is being made anew.
        """
        self._hold = hold
        self._database, self._meter, self._tokenizer = database, meter, tokenizer
        self._wire, self._own_chat = wire, name_of(chat)
        self.variants = Variants(database, self._own_chat)

    def rebuild(self, user: str, view: View, progress: Progress | None) -> BuildStatus:
        """Make what serves the user anew, with its own models; the new build takes its place at once."""
        serving = self.variants.serving(user, view)
        with inspection.damage_is_named(self._database, user, [view]):
            self._rebuild(user, serving, self._steps(user, progress))
        return self.builds(user, view)

    def _rebuild(self, user: str, view: View, on_step: Callable[[int], None]) -> None:
        while self._hold is not None:
            with suppress(LeaseLost), self._hold(user, lambda: None) as check:
                maintenance.rebuild(self._database, user, view, on_step=on_step, check=check)
                return
        maintenance.rebuild(self._database, user, view, on_step=on_step)

    def grow(
        self,
        user: str,
        view: View,
        models: tuple[ChatModel | None, Embedder] | None,
        progress: Progress | None,
    ) -> BuildStatus:
        """Let a build with these models, or with the memory's own, grow beside what serves."""
        variant = ViewVariant(of_view.compared(view), self._own_chat)
        if models is not None:
            chat, embedder = models
            wired = self._wire(embedder, Asker(chat, self._meter, self._tokenizer), chat)
            variant = ViewVariant(next(made for made in wired if made.name == view.name), name_of(chat))
        generation = of_view.begin(self._database, user, variant.view, variant.chat)
        if generation is not None:
            if models is not None:
                self.variants.add(variant)
            self.variants.grows(user, variant)
            step = self._steps(user, progress)
            maintenance.grow(self._database, variant.view, generation, on_step=step, at_once=True)
        return self.builds(user, view)

    def estimate(
        self,
        user: str,
        view: View,
        chat: ChatModel | None,
        free: Embedder,
        prices: Prices | None,
    ) -> RebuildEstimate:
        """Rehearse a rebuild with this chat model, or none; `free` is an embedder that costs nothing."""
        of_view.compared(view)

        def make(counting: Embedder, asker: Asker) -> View:
            return next(made for made in self._wire(counting, asker, None) if made.name == view.name)

        asks_model = chat is not None
        tokenizer = self._tokenizer
        return estimate(self._database, user, make, free, tokenizer, asks_model=asks_model, prices=prices)

    def builds(self, user: str, view: View) -> BuildStatus:
        """What there is."""
        return of_view.builds(self._database, user, view)

    def diff(self, user: str, view: View) -> BuildDiff:
        """What the other build says otherwise."""
        return diff(self._database, user, of_view.compared(view))

    def switch(self, user: str, view: View, progress: Progress | None) -> BuildStatus:
        """Let what stands beside serve. Raises InvalidInput where its models are not known here."""
        with self._database.read(user) as connection:
            beside = generations.standing(connection, user, view, "beside")
        made_by = view if beside is None else self.variants.of(beside, view)
        if beside is not None and (made_by is None or not self._can_go_on(beside.chat, beside.cursor, user)):
            by = f"{beside.fingerprint}{f', chat model {beside.chat!r}' if beside.chat else ''}"
            raise InvalidInput(
                f"what stands beside the {view.name} view of user {user!r} was made with other models ({by}):"
                " open the memory with them, or give them to rebuild() again, which goes on where it was"
            )
        assert made_by is not None
        of_view.switch(self._database, user, made_by, on_step=self._steps(user, progress))
        self.variants.grow_no_more(user, view.name)
        return self.builds(user, view)

    def _can_go_on(self, chat: str, cursor: int, user: str) -> bool:
        """True if nothing is left to read, or the chat model is known here that would read it."""
        with self._database.read(user) as connection:
            is_complete = cursor >= log.state(connection, user).last_seq
        return is_complete or self.variants.has_chat(chat)

    def rollback(self, user: str, view: View) -> BuildStatus:
        """Let the kept build serve again."""
        of_view.rollback(self._database, user, view)
        return self.builds(user, view)

    def discard(self, user: str, view: View) -> BuildStatus:
        """Remove the build that does not serve."""
        of_view.discard(self._database, user, view)
        self.variants.grow_no_more(user, view.name)
        return self.builds(user, view)

    def keep_in_step(
        self,
        users: Sequence[str],
        views: Sequence[View],
        check: Check = lambda: None,
        on_step: Callable[[int], None] = lambda _: None,
    ) -> tuple[Behind, ...]:
        """Let builds that rebuilds of this memory began read what came since; those whose model fails lag."""
        behind = []
        for user, variant in self.variants.growing(users, [view.name for view in views]):
            view = variant.view
            if maintenance.is_growing(self._database, user, view):
                continue
            with self._database.read(user) as connection:
                beside = generations.standing(connection, user, view, "beside")
            try:
                if (
                    beside is None
                    or not variant.made(beside)  # another one was begun elsewhere
                    or not maintenance.grow(self._database, view, beside, on_step=on_step, check=check)
                ):
                    self.variants.grow_no_more(user, view.name)
            except ModelFailed as error:
                _logger.warning("the build beside view %s of user %r lags: %s", view.name, user, error)
                behind.append(Behind(user, view.name, str(error), error))
        return tuple(behind)

    def _steps(self, user: str, progress: Progress | None) -> Callable[[int], None]:
        """What counts messages that were read, of all that the user has."""
        if progress is None:
            return lambda _: None
        with self._database.read(user) as connection:
            total = log.count(connection, user)
        done = 0

        def step(messages: int) -> None:
            nonlocal done
            done += messages
            progress(min(done, total), total)

        return step


def name_of(chat: ChatModel | None) -> str:
    """The model's name; "" for none."""
    return chat.name if chat is not None else ""
