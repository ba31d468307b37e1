"""Which words of a passage are marked as those of the question."""

from zibaldone.server.page.highlighting import Highlighter


def test_a_word_is_marked_by_its_stem():
    """As search finds it."""
    pieces = list(Highlighter("Which doctors plant trees?").pieces("The doctor planted a tree."))
    assert [piece for piece, marked in pieces if marked] == ["doctor", "planted", "tree"]
    assert "".join(piece for piece, _ in pieces) == "The doctor planted a tree."
