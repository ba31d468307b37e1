"""Which words of a passage are marked as those of the question."""

from zibaldone.server.page.environment import marked_words


def test_a_word_is_marked_by_its_stem():
    """As search finds it."""
    pieces = list(marked_words("The doctor planted a tree.", "Which doctors plant trees?"))
    assert [piece for piece, marked in pieces if marked] == ["doctor", "planted", "tree"]
    assert "".join(piece for piece, _ in pieces) == "The doctor planted a tree."
