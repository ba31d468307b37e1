"""Embedders by name: the library's own calls, driven with a stand-in for the library."""

import sys
import threading
from types import ModuleType

import numpy as np
import pytest

from zibaldone import InvalidInput, Memory, ModelFailed
from zibaldone.models.named import FastEmbedder
from zibaldone.testing import FakeOpenAIServer

NUMBERS = 3


def vector(text):
    """Of any length but 1, the same for the same text; nothing for "zero"."""
    return np.array([0.0 if text == "zero" else 1.0 + len(text) % (i + 2) for i in range(NUMBERS)])


@pytest.fixture
def library(monkeypatch):
    """The library, as far as it is used here; what was asked of it is noted."""
    asked = []
    busy = threading.Lock()

    class TextEmbedding:
        def __init__(self, model_name):
            if model_name == "nobody/knows":
                raise ValueError("Model nobody/knows is not supported")
            asked.append(model_name)

        def embed(self, documents, *, batch_size):
            assert busy.acquire(blocking=False), "two threads at once"
            for text in documents:
                if text == "fail":
                    busy.release()
                    raise RuntimeError("out of memory")
                yield vector(text)
            busy.release()

    module = ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding
    monkeypatch.setitem(sys.modules, "fastembed", module)
    return asked


def test_a_memory_with_an_embedder_by_name(library, tmp_path, monkeypatch):
    """By argument and by variable; vectors of another name are never compared with these."""
    name = "fastembed:org/model:v1"
    with Memory(tmp_path / "a", embedder=name) as memory:
        memory.add("I keep bees.", user="u")
        assert memory.recall("Who keeps bees?", user="u").evidence
        assert memory.admin.check().ok
    assert library == ["org/model:v1"]
    monkeypatch.setenv("ZIBALDONE_EMBED_MODEL", name)
    with Memory.from_env(tmp_path / "a") as memory:
        assert memory.recall("Who keeps bees?", user="u").trace.views[0].note == ""


def test_what_an_embedder_promises(library):
    """Rows of unit length, zero rows for texts that say nothing, and the same whatever else is asked."""
    embedder = FastEmbedder("m")
    assert embedder.dimension == NUMBERS
    assert embedder.name == f"fastembed:m-{NUMBERS}"
    vectors = embedder.embed(["a", " ", "bcd", "zero"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, NUMBERS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 0], abs=1e-6)
    assert np.array_equal(vectors[2], embedder.embed(["bcd"])[0])
    assert embedder.embed([]).shape == (0, NUMBERS)


def test_threads_take_turns(library):
    """The stand-in breaks when two ask at once, as tokenizers do."""
    embedder = FastEmbedder("m")
    failures = []

    def ask():
        try:
            embedder.embed(["text"] * 50)
        except ModelFailed as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_failures_are_ours(library):
    """A model that does not exist, and one that breaks: errors that a memory knows how to live with."""
    with pytest.raises(
        ModelFailed, match=r"'fastembed:nobody/knows' cannot be loaded: .*FASTEMBED_CACHE_PATH"
    ):
        FastEmbedder("nobody/knows")
    with pytest.raises(ModelFailed, match="failed: out of memory"):
        FastEmbedder("m").embed(["fail"])


@pytest.mark.parametrize("name", ["", "bge-small", "fastembed:", "ollama:x", ":m"])
def test_names_that_mean_nothing(name, tmp_path):
    """Say which do."""
    with pytest.raises(InvalidInput, match="'fastembed:MODEL' or 'openai:MODEL'"):
        Memory(tmp_path, embedder=name)
    with pytest.raises(InvalidInput, match="'fastembed:MODEL' or 'openai:MODEL'"):
        Memory.from_env(tmp_path, embedder=name or ":")


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_openai_by_name(tmp_path, monkeypatch):
    """The server and the key come from the variables; OPENAI_API_KEY goes to no other server."""
    with FakeOpenAIServer() as server:
        monkeypatch.setenv("ZIBALDONE_EMBED_BASE_URL", server.base_url)
        monkeypatch.setenv("ZIBALDONE_EMBED_DIMENSION", "4")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        with Memory.from_env(tmp_path / "a", embedder="openai:text-embedding-3-small") as memory:
            memory.add("I keep bees.", user="u")
            assert memory.recall("Who keeps bees?", user="u").evidence
        assert server.requests
        assert "sk-secret" not in repr(server.requests)


def test_openai_s_own_key(tmp_path, monkeypatch):
    """Without a server's address, OpenAI's own key is enough; without any key it says what is missing."""
    with pytest.raises(InvalidInput, match=r"Memory.from_env\(\), or give OpenAIEmbedder"):
        Memory(tmp_path / "a", embedder="openai:text-embedding-3-small")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="ZIBALDONE_EMBED_API_KEY"):
        Memory.from_env(tmp_path / "a", embedder="openai:text-embedding-3-small")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    Memory.from_env(tmp_path / "a", embedder="openai:text-embedding-3-small").close()
