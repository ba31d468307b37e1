"""Keywords of one user's texts."""

from zibaldone.text.keywords import idf, keywords, term_forms


def test_what_is_rare_comes_first():
    """Of words as frequent in the text, the one that earlier texts have less is weightier."""
    assert keywords(["orchestra bassoon"], {"orchestra": 9}, 10, 2) == ["bassoon", "orchestra"]


def test_the_commonest_form_is_shown():
    """Forms of one term count together."""
    counts, forms = term_forms(["play plays plays", "the playing"])
    assert counts == {"play": 4}
    assert forms == {"play": "plays"}


def test_as_many_as_wanted_and_no_stop_words():
    """Function words are none."""
    assert keywords(["the a of river bank"], {}, 0, 1) == ["bank"]
    assert keywords(["the of"], {}, 0, 5) == []


def test_idf_is_never_negative():
    """A term that all texts have weighs next to nothing."""
    assert 0 < idf(10, 10) < idf(1, 10) < idf(0, 10)
