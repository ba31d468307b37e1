"""Identifiers in talk about code."""

import pytest
import regex

from zibaldone.text.codes import codes, has_code


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("where is user_id set?", ("user_id",)),
        ("when did we tag v2.3.1", ("v2.3.1",)),
        ("what does src/app/limits.py do?", ("src/app/limits.py",)),
        ("is 10.0.0.7:5432 up, and ERR-404?", ("10.0.0.7:5432", "err-404")),
        ("why os.path.join and std::move?", ("os.path.join", "std::move")),
        ("mail ana@example.org", ("ana@example.org",)),
        ("user_id, USER_ID", ("user_id",)),
    ],
)
def test_identifiers_are_told_from_words(text, found):
    """Words that are joined by signs, as people join no words."""
    assert codes(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "my mother-in-law's well-being",
        "tea and/or coffee, his/her choice",
        "e.g. this, i.e. that. And then",
        "What about Anna?",
        "one... two - three: four",
        "",
    ],
)
def test_what_is_written_in_any_text_is_no_identifier(text):
    """Hyphens, slashes between words, abbreviations and ends of sentences."""
    assert codes(text) == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("v1 returns user_id.", True),
        ("`USER_ID=7`", True),
        ("the user has an id", False),
        ("my_user_id", False),
        ("user_ids", False),
    ],
)
def test_a_text_names_what_it_has_as_it_is_written(text, named):
    """Not its pieces, and not a longer name with the same letters in it."""
    assert has_code(text, "user_id") is named


def test_no_pattern_is_made_of_a_question(monkeypatch):
    """Compiled ones are kept, and outlive what is forgotten."""
    monkeypatch.setattr(regex, "compile", None)
    monkeypatch.setattr(regex, "search", None)
    assert has_code("the user_ids of user_id", "user_id")
