"""The user's own vocabulary by meaning: what is near, what is learnt, what is forgotten."""

from zibaldone import StaticEmbedder
from zibaldone.search.thesaurus import Thesaurus


def taught(*words):
    """A thesaurus of words that are their own terms."""
    made = Thesaurus(StaticEmbedder())
    for word in words:
        made.learn([(word, word)])
    return made


def test_what_is_unlearnt_is_gone_at_once():
    """Not only when the next question comes: its term is a word of a message."""
    made = taught("children", "tax")
    assert made.near(["kids"], 0.5)[0]
    made.learn([("kumquats", "kumquat")])
    made.unlearn([("children", "children")])
    made.unlearn([("kumquats", "kumquat")])
    assert not any(word in repr(vars(made)) for word in ("child", "kumquat"))
    assert (made.near(["kids"], 0.5), len(made)) == ([[]], 1)
    made.learn([("children", "children")])
    assert made.near(["kids"], 0.5)[0]
