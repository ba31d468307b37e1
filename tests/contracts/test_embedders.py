"""What every embedder promises, and what the embedded default promises beside."""

import subprocess
import sys

import numpy as np
import pytest
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


def test_one_row_of_float32_per_text(embedder):
    """N texts give (n, dimension) float32, none gives no rows."""
    for texts in ([], TEXTS[:1], TEXTS):
        vectors = embedder.embed(texts)
        assert vectors.shape == (len(texts), embedder.dimension)
        assert vectors.dtype == np.float32


def test_rows_are_of_unit_length(embedder):
    """Whatever the text says, its vector has length 1."""
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(TEXTS), axis=1), 1, atol=1e-5)


def test_an_empty_text_has_a_zero_row(embedder):
    """A text that says nothing is similar to nothing."""
    vectors = embedder.embed(["", "a", ""])
    assert not vectors[0].any()
    assert vectors[1].any()
    assert not vectors[2].any()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.data())
def test_what_else_is_in_the_call_does_not_matter(embedder, texts, data):
    """A text's vector is bit-equal alone, in company and in another order."""
    vectors = embedder.embed(texts)
    order = data.draw(st.permutations(range(len(texts))))
    assert (embedder.embed([texts[i] for i in order]) == vectors[order]).all()
    alone = data.draw(st.integers(0, len(texts) - 1))
    assert (embedder.embed([texts[alone]])[0] == vectors[alone]).all()


def test_texts_are_left_as_they_were(embedder):
    """The list that was given is not changed."""
    texts = list(TEXTS)
    embedder.embed(texts)
    assert texts == TEXTS


def test_two_instances_agree(new_embedder):
    """Another instance of the same name gives the same vectors: they may be compared."""
    first, second = new_embedder(), new_embedder()
    assert first.name == second.name
    assert first.dimension == second.dimension
    assert (first.embed(TEXTS) == second.embed(TEXTS)).all()


def test_different_texts_have_different_vectors(embedder):
    """Texts that share nothing do not fall together."""
    vectors = embedder.embed(["the cat sleeps", "quarterly revenue grew"])
    assert float(vectors[0] @ vectors[1]) < 0.9


def _in_a_fresh_process(program, *arguments):
    """What a Python process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_NO_NETWORK = """
import socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("no network")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""


@pytest.mark.wide
def test_wordllama_itself_gives_the_same_vectors(tmp_path):
    """The embedded default agrees with the package whose table it reads."""
    program = """
import sys, numpy as np, wordllama, pathlib
folder = pathlib.Path(wordllama.__file__).parent
texts = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\\x1e")
import shutil
cache = pathlib.Path(sys.argv[2])
(cache / "tokenizers").mkdir(parents=True); (cache / "weights").mkdir()
for name in ("tokenizer", "tokenizers"):
    shutil.copytree(folder / "tokenizers", cache / name, dirs_exist_ok=True)
shutil.copytree(folder / "weights", cache / "weights", dirs_exist_ok=True)
model = wordllama.WordLlama.load(cache_dir=cache, disable_download=True)
np.save(sys.argv[3], model.embed(texts, norm=True))
"""
    texts = [text for text in TEXTS if len(text) < 2000]
    (tmp_path / "texts").write_text("\x1e".join(texts), encoding="utf-8", newline="")
    _in_a_fresh_process(
        _NO_NETWORK + program, str(tmp_path / "texts"), str(tmp_path / "cache"), str(tmp_path / "out.npy")
    )
    np.testing.assert_allclose(StaticEmbedder().embed(texts), np.load(tmp_path / "out.npy"), atol=1e-5)


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
    assert _in_a_fresh_process(_NO_NETWORK + program) == "fine\n"


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("hello world", 2), ("\n", 2), ("a\nb", 3), ("犬が", 5)]
)
def test_tokens_are_llama_2_s_without_marks_of_beginning_or_end(text, tokens):
    """Counts are of the text alone."""
    assert StaticEmbedder().count([text]) == [tokens]


def test_counting_many_is_counting_each():
    """A text has the same number of tokens alone and in company."""
    embedder = StaticEmbedder()
    assert embedder.count([]) == []
    assert embedder.count(TEXTS) == [embedder.count([text])[0] for text in TEXTS]
