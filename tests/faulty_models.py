"""Models that fail or hang when a test wants it."""

import threading
from collections.abc import Sequence

from zibaldone.errors import ModelFailed
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Embedder, Vectors


class FailingEmbedder:
    """Another embedder, under its own name, that does not answer while `failing` is true."""

    def __init__(self, embedder: Embedder, *, failing: bool = True) -> None:
        self.embedder = embedder
        self.failing = failing
        self.calls = 0  # how often it was asked, in vain or not

    @property
    def name(self) -> str:
        """Name of the inner embedder: vectors from before and after a failure compare."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """Taken from the inner embedder."""
        return self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The other embedder's vectors. Raises ModelFailed while `failing`."""
        self.calls += 1
        if self.failing:
            raise ModelFailed("this embedder was told to fail: set failing = False")
        return self.embedder.embed(texts)


class Latch:
    """Stands before a model: the first call after `shut` waits there until `open`, all others pass."""

    def __init__(self) -> None:
        self.reached = threading.Event()  # somebody waits
        self._opened = threading.Event()
        self._shut = threading.Lock()
        self._next_waits = False

    def shut(self) -> None:
        """Let the next call wait."""
        self.reached.clear()
        self._opened.clear()
        self._next_waits = True

    def open(self) -> None:
        """Let whoever waits go on."""
        self._next_waits = False
        self._opened.set()

    def enter(self) -> None:
        """Go through, or wait."""
        with self._shut:
            waits, self._next_waits = self._next_waits, False
        if waits:
            self.reached.set()
            self._opened.wait()


class HangingModel:
    """A chat model or an embedder that hangs in one call while its gate is shut."""

    def __init__(self, *, chat: ChatModel | None = None, embedder: Embedder | None = None) -> None:
        self.gate = Latch()
        self._chat, self._embedder = chat, embedder

    @property
    def name(self) -> str:
        """Taken from the inner model."""
        model = self._chat or self._embedder
        assert model is not None
        return model.name

    @property
    def dimension(self) -> int:
        """Taken from the inner embedder."""
        assert self._embedder is not None
        return self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The embedder's vectors, in time."""
        assert self._embedder is not None
        self.gate.enter()
        return self._embedder.embed(texts)

    def chat(self, request: ChatRequest) -> ChatReply:
        """The chat model's reply, in time."""
        assert self._chat is not None
        self.gate.enter()
        return self._chat.chat(request)
