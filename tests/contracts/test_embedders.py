"""What every embedder promises, and what the embedded default promises beside."""

import subprocess
import sys

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zibaldone.models.static import StaticEmbedder

TEXTS = [
    "Caroline went to a support group.",
    "a",
    "犬が好きです",
    "naïve 😀 مرحبا",
    "x" * 5000,
    "word " * 3000,
    "line\nbreak\ttab\0nul",
]


def test_one_unit_row_of_float32_per_text(embedder):
    """N texts give (n, dimension) float32 of length 1, none gives no rows; the list is not changed."""
    for texts in ([], TEXTS[:1], TEXTS):
        given = list(texts)
        vectors = embedder.embed(given)
        assert given == texts
        assert (vectors.shape, vectors.dtype) == ((len(texts), embedder.dimension), np.float32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_an_empty_text_has_a_zero_row(embedder):
    """A text that says nothing is similar to nothing."""
    assert embedder.embed(["", "a", ""]).any(axis=1).tolist() == [False, True, False]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.data())
def test_what_else_is_in_the_call_does_not_matter(embedder, texts, data):
    """A text's vector is bit-equal alone, in company and in another order."""
    vectors = embedder.embed(texts)
    order = data.draw(st.permutations(range(len(texts))))
    assert (embedder.embed([texts[i] for i in order]) == vectors[order]).all()
    alone = data.draw(st.integers(0, len(texts) - 1))
    assert (embedder.embed([texts[alone]])[0] == vectors[alone]).all()


def test_two_instances_agree(new_embedder):
    """Another instance of the same name gives the same vectors: they may be compared."""
    first, second = new_embedder(), new_embedder()
    assert first.name == second.name
    assert first.dimension == second.dimension
    assert (first.embed(TEXTS) == second.embed(TEXTS)).all()


_NO_NETWORK = """
import socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("no network")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""


def test_the_default_loads_without_network_and_leaves_logging_alone():
    """With sockets refused it embeds; the root logger has no handler and wordllama was not imported."""
    program = """
import logging
from zibaldone.models.static import StaticEmbedder
assert StaticEmbedder().embed(["hello"]).any()
assert logging.root.handlers == [] and logging.root.level == logging.WARNING
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"wordllama", "requests", "httpx", "urllib3"}, loaded
print("fine")
"""
    command = [sys.executable, "-c", _NO_NETWORK + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("fine\n", 0), done.stderr


def test_counting_many_is_counting_each():
    """A text has the same number of tokens alone and in company."""
    embedder = StaticEmbedder()
    assert embedder.count([]) == []
    assert embedder.count(TEXTS) == [embedder.count([text])[0] for text in TEXTS]
