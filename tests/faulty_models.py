"""Models that fail or hang when a test wants it."""

import threading

from zibaldone.errors import ModelFailed


class FailingEmbedder:
    """Another embedder, under its own name, that does not answer while `failing` is true."""

    def __init__(self, embedder, *, failing=True):
        self.name, self.dimension, self._embedder = embedder.name, embedder.dimension, embedder
        self.failing = failing
        self.calls = 0  # how often it was asked, in vain or not

    def embed(self, texts):
        """The other embedder's vectors. Raises ModelFailed while `failing`."""
        self.calls += 1
        if self.failing:
            raise ModelFailed("this embedder was told to fail: set failing = False")
        return self._embedder.embed(texts)


class Latch:
    """Stands before a model: the first call after `shut` waits there until `open`, all others pass."""

    def __init__(self):
        self.reached = threading.Event()  # somebody waits
        self._opened = threading.Event()
        self._shut = threading.Lock()
        self._next_waits = False

    def shut(self):
        """Let the next call wait."""
        self.reached.clear()
        self._opened.clear()
        self._next_waits = True

    def open(self):
        """Let whoever waits go on."""
        self._next_waits = False
        self._opened.set()

    def enter(self):
        """Go through, or wait."""
        with self._shut:
            waits, self._next_waits = self._next_waits, False
        if waits:
            self.reached.set()
            self._opened.wait()


class HangingModel:
    """A chat model or an embedder that hangs in one call while its gate is shut."""

    def __init__(self, model):
        self.gate = Latch()
        self.name, self.dimension, self._model = model.name, getattr(model, "dimension", 0), model

    def embed(self, texts):
        """The embedder's vectors, in time."""
        self.gate.enter()
        return self._model.embed(texts)

    def chat(self, request):
        """The chat model's reply, in time."""
        self.gate.enter()
        return self._model.chat(request)
