"""The embedded embedder's tokens: counted word by word, and the same as those of whole texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.models.static import shared_static_embedder
from zibaldone.text.remembered import forget_texts

_WORDS = "a the ing é 犬 😀 ▁ ▁a ... 0 </s> <s> <unk> == { Hello".split()
_PARTS = st.sampled_from([*_WORDS, "x" * 40, " ", "  ", "    ", "\n", "\t", "\r\n", "\u00a0", "\u200d", "\0"])


@given(parts=st.lists(_PARTS | st.text(max_size=6), max_size=30))
@settings(max_examples=300, deadline=None)
def test_tokens_of_words_are_those_of_the_text(parts):
    """No token reaches over a border between words, whatever stands there."""
    embedder, text = shared_static_embedder(), "".join(parts)
    whole = embedder._tokenizer.encode(text, add_special_tokens=False).ids
    assert embedder._ids([text]) == [whole]
    assert embedder.count([text]) == [len(whole)]


def test_words_are_not_kept_when_something_is_forgotten():
    """What was tokenized before is not in memory afterwards."""
    embedder = shared_static_embedder()
    embedder.count(["marmalade zibibbo"])
    assert " zibibbo" in embedder._pieces
    forget_texts()
    assert " zibibbo" not in embedder._pieces
