"""Builds: the builds of a user's views, made anew, compared, switched and discarded."""

from __future__ import annotations

from zibaldone.api.wiring import Wiring
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import Key, flag, function, key, option
from zibaldone.engine.ingest import Progress
from zibaldone.engine.rebuilding import builds as of_view
from zibaldone.engine.rebuilding.builds import BuildDiff, BuildStatus
from zibaldone.engine.rebuilding.rebuilder import OWN, Own
from zibaldone.log.audit import audited
from zibaldone.models.base import ChatModel, Embedder
from zibaldone.models.static import shared_static_embedder
from zibaldone.views.base import View


class Builds:
    """The builds of every user's views: one serves, and another one stands beside it or is kept."""

    def __init__(self, wiring: Wiring) -> None:
        """Use `memory.builds`."""
        self._wiring, self._database, self._rebuilder = wiring, wiring.database, wiring.rebuilder

    def rebuild(
        self,
        view: str = "messages",
        *,
        user: Key,
        chat: ChatModel | Own | None = OWN,
        embedder: Embedder | str | Own | None = OWN,
        beside: bool = False,
        progress: Progress | None = None,
    ) -> BuildStatus:
        """Make a view of a user anew from the log; the old build serves until the new one is complete.

        With a `chat` model or an `embedder`, or with `beside`, the new one waits beside the old one for
        `switch`, and `diff` compares the two; maintenance keeps it in step with the log as long as this
        memory is open. None is no chat model, and the embedded embedder. Without any of them it takes the
        old one's place at once: so damage is mended. Stopped half way, the next call goes on from there.

        Raises ModelFailed for a model that cannot be had, and InvalidInput for the kv view beside itself.
        """
        whose, chosen = key("user", user), self._view(view)
        function("progress", progress, optional=True)
        if not (flag("beside", beside) or chat is not OWN or embedder is not OWN):
            self._rebuilder.rebuild(whose, chosen, progress)
        else:
            given = None if chat is OWN and embedder is OWN else self._models(chat, embedder)
            self._rebuilder.grow(whose, chosen, given, progress)
        return of_view.builds(self._database, whose, chosen)

    def status(self, view: str = "messages", *, user: Key) -> BuildStatus:
        """The build that serves the user, and the one that stands beside it or is kept."""
        return of_view.builds(self._database, key("user", user), self._view(view))

    @audited("read")
    def diff(self, view: str = "messages", *, user: Key) -> BuildDiff:
        """Differences of the other build, beside or kept, from the serving one, with their sources.

        Raises InvalidInput where only one is there.
        """
        return of_view.diff(self._database, key("user", user), of_view.compared(self._view(view)))

    def switch(self, view: str = "messages", *, user: Key, progress: Progress | None = None) -> BuildStatus:
        """Let the build beside serve, once it has read what came meanwhile; the old one is kept.

        It stays chosen: another process whose settings made the old one does not make that anew. Open the
        memory with the new models from now on. Raises InvalidInput where none stands beside, or it was begun
        with models that this memory does not have, and ModelFailed.
        """
        whose, chosen = key("user", user), self._view(view)
        function("progress", progress, optional=True)
        self._rebuilder.switch(whose, chosen, progress)
        return of_view.builds(self._database, whose, chosen)

    def rollback(self, view: str = "messages", *, user: Key) -> BuildStatus:
        """Let the build that is kept serve again, at once; what served is kept instead.

        It is kept from a switch to the next rebuild, and forgotten from like the other. What came since the
        switch it reads in the next maintenance. Raises InvalidInput where none is kept.
        """
        whose, chosen = key("user", user), self._view(view)
        of_view.rollback(self._database, whose, chosen)
        self._wiring.notify(whose)
        return of_view.builds(self._database, whose, chosen)

    def discard(self, view: str = "messages", *, user: Key) -> BuildStatus:
        """Remove the build that does not serve. Raises InvalidInput where there is none."""
        whose, chosen = key("user", user), self._view(view)
        of_view.discard(self._database, whose, chosen)
        self._rebuilder.variants.grow_no_more(whose, chosen.name)
        return of_view.builds(self._database, whose, chosen)

    def _view(self, name: str) -> View:
        (chosen,) = self._wiring.chosen([name])
        return chosen

    def _models(
        self, chat: ChatModel | Own | None, embedder: Embedder | str | Own | None
    ) -> tuple[ChatModel | None, Embedder]:
        answering = self._wiring.chat if chat is OWN else option("chat", chat, ChatModel)
        if embedder is OWN:
            return answering, self._wiring.embedder
        if isinstance(embedder, str):
            made = self._wiring.embedder_called(embedder)
            self._wiring.own_models.append(made)
            return answering, made
        return answering, option("embedder", embedder, Embedder) or shared_static_embedder()


class AsyncBuilds(Awaited[Builds]):
    """See Builds; every method is awaited."""

    rebuild = awaited(Builds.rebuild)
    status = awaited(Builds.status)
    diff = awaited(Builds.diff)
    switch = awaited(Builds.switch)
    rollback = awaited(Builds.rollback)
    discard = awaited(Builds.discard)
