"""Words and terms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.text.words import term_of, terms, words


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Caroline's snake_case e-mail: COVID19, 3.5 %!", "caroline s snake case e mail covid19 3 5"),
        ("ＡＢＣ１ ﬁne Straße ΣΊΣΥΦΟΣ", "abc1 fine strasse σίσυφοσ"),
        ("nai\u0308ve", "na\u00efve"),
        ("हिन्दी שָׁלוֹם", "हिन्दी שָׁלוֹם"),
    ],
    ids=["marks separate", "forms and case are folded", "accents are composed", "signs belong to their word"],
)
def test_words_are_folded_and_cut_at_marks(said, expected):
    """In every script: letters, their marks and digits stay together."""
    assert words(said) == words(expected) == expected.split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("painting", "painted"),
        ("books", "book"),
        ("книги", "книга"),
        ("γάτες", "γάτα"),
        ("الكتاب", "كتاب"),
        ("लड़के", "लड़का"),
    ],
)
def test_inflected_forms_share_a_term(one, other):
    """Stemming follows the script."""
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(
    "said", ["犬が好きです", "고양이를", "แมวดำตัวใหญ่", "ສະບາຍດີ", "ភាសាខ្មែរ", "မြန်မာ", "བོད་ཡིག"]
)
def test_scripts_without_spaces_are_cut_into_pairs(said):
    """A part of such a text finds it: terms are of two characters, each but the first and last in two."""
    (word, *_) = words(said)
    found = terms(word)
    assert found == [word[i : i + 2] for i in range(len(word) - 1)]
    assert set(terms(word[1:4])) <= set(found)
    assert terms("犬") == ["犬"]  # one character can be asked for
    assert terms("東京tower2つ") == ["東京", "tower2", "つ"]


@given(st.text())
def test_any_text_has_words_and_terms(text):
    """Nothing raises; words have no space, are in folded case, and terms are never empty."""
    for word in words(text):
        assert word
        assert not any(char.isspace() for char in word)
        assert word == unicodedata.normalize("NFKC", word).casefold() or not word.isascii()
        assert all(form and term for form, term in term_of(word))
    assert all(terms(text))
