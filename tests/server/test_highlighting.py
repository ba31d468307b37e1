"""Which words of a passage are marked as those of the question."""

from zibaldone.server.page.highlighting import marked_words


def test_another_spelling_is_marked():
    """As search finds it."""
    pieces = list(marked_words("Dr. Moss went to Rotterdam.", "Which doctors go there?"))
    assert [piece for piece, marked in pieces if marked] == ["Dr", "went"]
    assert "".join(piece for piece, _ in pieces) == "Dr. Moss went to Rotterdam."
