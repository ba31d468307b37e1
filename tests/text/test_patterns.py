"""Patterns that are compiled when they are first used."""

import regex

from zibaldone.text import patterns
from zibaldone.text.patterns import lazy_pattern


def test_it_does_what_a_compiled_one_does():
    """Every way of matching that the readers use, flags and named groups included."""
    lazy, compiled = (
        make(r"(?P<verb>lov|lik)ed?\b", regex.IGNORECASE) for make in (lazy_pattern, regex.compile)
    )
    text = "I LOVED tulips, and like dogs."
    assert lazy.pattern == compiled.pattern
    assert lazy.search(text)["verb"] == compiled.search(text)["verb"] == "LOV"
    assert [match.span() for match in lazy.finditer(text)] == [m.span() for m in compiled.finditer(text)]
    for call in ("findall", "split", "match", "fullmatch"):
        assert getattr(lazy, call)(text) == getattr(compiled, call)(text)
    assert lazy.sub("x", text) == compiled.sub("x", text)
    assert lazy.flags == compiled.flags


def test_it_is_compiled_once_and_not_before_it_is_used(monkeypatch):
    """Imports compile nothing, and later uses compile nothing again."""
    compiled, made = regex.compile, []

    def counted(*given):
        made.append(given)
        return compiled(*given)

    monkeypatch.setattr(patterns.regex, "compile", counted)
    lazy = lazy_pattern("tulips?")
    assert made == []
    assert lazy.search("a tulip")
    assert lazy.fullmatch("tulips")
    assert made == [("tulips?", 0)]


def test_all_can_be_compiled_at_once(monkeypatch):
    """What a process that serves does at its beginning; using them compiles nothing afterwards."""
    lazy = lazy_pattern("heron(?:s|ry)?")
    patterns.compile_all()
    monkeypatch.setattr(patterns.regex, "compile", None)
    assert lazy.search("the heronry")
