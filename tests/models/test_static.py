"""The embedded embedder: tokens counted word by word, and the mean of its table's rows."""

from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from zibaldone import StaticEmbedder
from zibaldone.models import static

EMBEDDER = StaticEmbedder()
FOLDER = Path(find_spec("wordllama").origin).parent
REFERENCE = Tokenizer.from_file(str(FOLDER / static._TOKENIZER))
REFERENCE.no_padding()
REFERENCE.no_truncation()
_WORDS = "a the ing é 犬 😀 ▁ ▁a ... 0 </s> <s> <unk> == { Hello".split()
_PARTS = st.sampled_from([*_WORDS, "x" * 40, " ", "  ", "    ", "\n", "\t", "\r\n", "\u00a0", "\u200d", "\0"])


@given(parts=st.lists(_PARTS | st.text(max_size=6), max_size=30))
@settings(max_examples=300, deadline=None)
def test_tokens_of_words_are_those_of_the_text(parts):
    """They are those of the library `tokenizers`, and none reaches over a border between words."""
    text = "".join(parts)
    whole = REFERENCE.encode(text, add_special_tokens=False).ids
    assert list(chain.from_iterable(EMBEDDER._tokens(text))) == whole
    assert EMBEDDER.count([text]) == [len(whole)]


def test_a_long_text_without_spaces_is_counted_whole(monkeypatch):
    """As Chinese is written; of more than people write the beginning tells how many tokens the rest has."""
    text = "我昨天去了北京的医院看牙医。" * 400
    exact = len(REFERENCE.encode(text, add_special_tokens=False).ids)
    assert EMBEDDER.count([text]) == [exact]
    monkeypatch.setattr(static, "_LONGEST_PIECE", 1400)
    assert EMBEDDER.count([f"{text}。"])[0] == pytest.approx(exact, rel=0.02)


def test_a_vector_is_the_mean_of_the_table_s_rows():
    """Of the rows that the file has for the text's tokens; the name changes with the file."""
    (numbers,) = load_file(FOLDER / static._WEIGHTS).values()
    ids = REFERENCE.encode("The heron came back.", add_special_tokens=False).ids
    mean = numbers[ids].astype(np.float64).mean(axis=0)
    (vector,) = EMBEDDER.embed(["The heron came back."])
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    assert EMBEDDER.name == "wordllama-l2_supercat_256-56c6ae6f"
