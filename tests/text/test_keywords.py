"""Keywords of one user's texts."""

from zibaldone.text.keywords import keywords


def test_what_is_rare_comes_first():
    """Of words as frequent in the text, the one that earlier texts have less is weightier."""
    assert keywords(["orchestra bassoon"], {"orchestra": 9}, 10, 2) == ["bassoon", "orchestra"]


def test_as_many_as_wanted_and_no_stop_words():
    """Function words are none."""
    assert keywords(["the a of river bank"], {}, 0, 1) == ["bank"]
    assert keywords(["the of"], {}, 0, 5) == []
