"""Scores of answers, in the forms that papers use."""

import math

import pytest

from zibaldone.bench.answers import bleu1, f1_original, f1_set, rouge_l


def test_the_original_form_stems_and_drops_articles():
    """'the cats' and 'a cat' are the same answer."""
    assert f1_original("The cats.", "a cat", "single-hop") == 1.0


def test_the_original_form_counts_repeated_words():
    """It is a multiset F1: precision 1/2, recall 1."""
    assert f1_original("cat cat", "cat", "temporal") == pytest.approx(2 / 3)


def test_multi_hop_answers_are_scored_part_by_part():
    """Each gold part takes its best match; a missing part costs its share."""
    assert f1_original("tennis, chess", "chess, rowing", "multi-hop") == 0.5


def test_open_domain_answers_end_at_the_semicolon():
    """What follows it is an explanation."""
    assert f1_original("yes", "Yes; because she sings", "open-domain") == 1.0


def test_adversarial_answers_must_refuse():
    """Either of the two phrases of LoCoMo's own code counts."""
    assert f1_original("That is not mentioned.", "", "adversarial") == 1.0
    assert f1_original("Comet", "", "adversarial") == 0.0


def test_the_set_form_neither_stems_nor_counts():
    """Sets of lower-cased words: {cat} against {the, cat}."""
    assert f1_set("cat cat", "The cat.") == pytest.approx(2 / 3)
    assert f1_set("cats", "cat") == 0.0


def test_bleu_clips_repeated_words():
    """Precision 1/2 and no brevity penalty for the longer side."""
    assert bleu1("cat cat", "cat") == 0.5


def test_bleu_punishes_brevity():
    """exp(1 - 2/1) for one right word of two."""
    assert bleu1("cat", "black cat") == pytest.approx(math.exp(-1))


def test_rouge_minds_the_order():
    """Two of three words in the order of the gold answer: 2/3; backwards one alone."""
    assert rouge_l("the black Cat", "black, small cat") == pytest.approx(2 / 3)
    assert rouge_l("cat black", "black cat") == 0.5


@pytest.mark.parametrize("score", [f1_set, bleu1, rouge_l])
def test_no_common_word_is_zero(score):
    """Empty answers included."""
    assert score("", "cat") == 0.0
    assert score("dog", "cat") == 0.0
