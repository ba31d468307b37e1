"""Texts in which a pattern can't be are not searched, and nothing is found less often for it."""

import json
import sys
from itertools import chain

import pytest
import regex

from zibaldone.cli.demo.sample import CONVERSATION
from zibaldone.text import patterns
from zibaldone.text.literals import folded, needed_literals
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.sentences import sentences
from zibaldone.views.notes.stated import kind_stated

FLAGS = regex.IGNORECASE | regex.VERBOSE


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\b(?:allergic|intolerant) \s+ to\b", {"allergic", "intolerant"}),
        (r"favou?r(?:ite|ed)", {"favorite", "favored", "favourite", "favoured"}),
        (r"\bI (?:['’]m | \s+am) \s+ (?P<what>preg(?:nant)*)", {"preg"}),
        (r"caf[eé]s? \s", {"cafe", "café"}),
        (r"(?-i:Wien)\p{L}*", {"wien"}),
        (r"live \s+ (?=in \s+ Lisbon)", {"live", "lisbon"}),
        (r"(?<=dear) \s+ \p{Lu}\p{L}+", {"dear"}),
        (r"sold(?!\s+out)", {"sold"}),
        (r"moving (?:\s+house)?", {"moving"}),
        (r"a{3}b? # a word that no text has: zebra", {"a"}),
    ],
)
def test_the_literals_of_a_pattern_are_in_all_that_it_matches(pattern, literals):
    """The rarest piece that has to be there tells where it can be; what may be left out tells nothing."""
    read = set(needed_literals(pattern, FLAGS))
    assert read <= literals
    assert read or literals == {"a"}  # which is in too many texts


def test_letters_that_a_pattern_takes_for_alike_are_folded_alike():
    """Capitals, dotless i, the long s and the Kelvin sign: whatever matches without regard to case."""
    letters = "".join(one for one in map(chr, range(sys.maxunicode)) if one.isalpha())
    for letter in chain("abcdefghijklmnopqrstuvwxyzßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœ"):
        assert {folded(one) for one in regex.findall(letter, letters, regex.IGNORECASE)} == {folded(letter)}


def test_no_pattern_of_the_package_is_found_without_its_literals():
    """Each of them, in the sentences of a conversation, in capitals too."""
    said = [json.loads(line)["content"] for line in CONVERSATION.read_text(encoding="utf-8").splitlines()]
    texts = [text[a:b] for text in said for a, b in sentences(text)][::4]
    assert kind_stated("I'm allergic to nuts.")  # of a view whose patterns are looked at
    for pattern in patterns._all:
        if literals := needed_literals(pattern.pattern, pattern._flags):
            compiled = pattern.compiled()
            for text in chain(texts, map(str.upper, texts)):
                if compiled.search(text):
                    assert any(literal in folded(text) for literal in literals), (pattern.pattern, text)


def test_a_pattern_is_not_compiled_for_texts_that_lack_its_literals(monkeypatch):
    """It finds nothing there, and is compiled for the first text that has one; then all is as ever."""
    compiled = []

    def compile_(pattern, flags=0):
        compiled.append(pattern)
        return compile_as_ever(pattern, flags)

    compile_as_ever = regex.compile
    monkeypatch.setattr(regex, "compile", compile_)
    pattern = lazy_pattern(r"\b(?:moved|moving)\s+to\s+(?P<where>\p{Lu}\p{L}+)", regex.IGNORECASE)
    plain = "I live in Porto."
    assert pattern.search(plain) is pattern.match(plain) is pattern.fullmatch(plain) is None
    assert (list(pattern.finditer(plain)), pattern.findall(plain)) == ([], [])
    assert pattern.sub("went", plain) == plain
    assert compiled == []
    told = "We MOVED to Porto, moving to Faro next."
    assert [match["where"] for match in pattern.finditer(told)] == ["Porto", "Faro"]
    assert pattern.findall(told) == ["Porto", "Faro"]
    assert pattern.search(told, 10)["where"] == "Faro"
    assert pattern.sub("went", told) == "We went, went next."
    assert pattern.split("a, moved to Faro") == ["a, ", "Faro", ""]
    assert len(compiled) == 1


def test_all_can_be_compiled_at_once(monkeypatch):
    """What a process that serves does at its beginning; using them compiles nothing afterwards."""
    lazy = lazy_pattern("heron(?:s|ry)?")
    patterns.compile_all()
    monkeypatch.setattr(patterns.regex, "compile", None)
    assert lazy.search("the heronry")
