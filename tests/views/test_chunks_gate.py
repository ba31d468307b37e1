"""The gate of the active chunk, and what compression keeps."""

from datetime import UTC, datetime, timedelta

from zibaldone.core import Message
from zibaldone.models.static import StaticEmbedder
from zibaldone.views.chunks.gate import closed_gates, compress, pieces

STATIC = StaticEmbedder()
NOW = datetime(2024, 3, 1, tzinfo=UTC)


def said(*contents, role="user"):
    """Messages with seqs from 1, a minute apart."""
    return [
        Message(content, role, time=NOW + timedelta(minutes=i), seq=i)
        for i, content in enumerate(contents, 1)
    ]


def test_a_giant_message_is_several_chunks():
    """No chunk is as long as two gates, and every piece is cut so that it can be recalled."""
    (giant,) = said(" ".join(f"Fact number {i} is true." for i in range(400)))
    gates = closed_gates([giant], 256, STATIC)
    assert len(gates) > 5
    assert all(gate.tokens < 512 for gate in gates)
    assert {gate.last_seq for gate in gates} == {1}
    text = " ".join(piece.text for gate in gates for piece in gate.pieces)
    assert text == giant.content


def items(*contents):
    """Compression of messages of two speakers in turn."""
    messages = [
        Message(content, "user", "Ann" if i % 2 else "Bea", NOW, seq=i)
        for i, content in enumerate(contents, 1)
    ]
    return [
        (item.sources, item.text)
        for item in compress([piece for parts in pieces(messages, STATIC) for piece in parts])
    ]


def test_compression_keeps_each_sentence_once_word_for_word():
    """What somebody says again goes, and what has no content word."""
    assert items(
        "Hi Bea! I moved to Lisbon yesterday.",
        "Where to?",
        "The rent is 900 euros. I moved to Lisbon yesterday!",
        "I moved to Lisbon yesterday.",
        "The rent is 900 euros. I bake bread.",
    ) == [
        ((1,), "Hi Bea! I moved to Lisbon yesterday."),
        ((3,), "The rent is 900 euros."),
        ((4,), "I moved to Lisbon yesterday."),
        ((5,), "I bake bread."),
    ]
