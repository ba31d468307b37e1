"""Words and terms: what lexical search, titles and the benchmark's metrics count."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import regex
import Stemmer

from zibaldone.text.purgeable_cache import remembered

# Function words of English, with the pieces that an apostrophe leaves behind ("don't" -> "don", "t").
# What is indexed needs no list of other languages: their function words are frequent, as an idf sees.
STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could d did do does doing don down during each few for from further had has
    have having he her here hers herself him himself his how i if im in into is it its itself ive just
    ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over
    own re s same she should so some such t than that the their theirs them themselves then there these
    they this those through to too under until up ve very was we were what when where which while who
    whom whose why will with would you your yours yourself yourselves didn doesn isn aren wasn weren won
    wouldn hasn haven hadn couldn shouldn ain dont didnt
    """.split()
)

_OF_ENGLISH = 0.3  # of the words of a question
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Scripts written without spaces between words, and Hangul, whose words carry their endings: bigrams serve.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+"
)
_STEMMER_OF_SCRIPT = (
    (regex.compile(r"\p{Latin}"), "english"),
    (regex.compile(r"\p{Cyrillic}"), "russian"),
    (regex.compile(r"\p{Arabic}"), "arabic"),
    (regex.compile(r"\p{Greek}"), "greek"),
    (regex.compile(r"\p{Devanagari}"), "hindi"),
    (regex.compile(r"\p{Armenian}"), "armenian"),
    (regex.compile(r"\p{Tamil}"), "tamil"),
)


def words(text: str) -> list[str]:
    """Words in order, in lower case; no punctuation, no underscores. Compatibility forms are folded."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(folded)


def as_written(text: str) -> list[str]:
    """Words in order, in the case in which they stand."""
    return _WORD.findall(text)


def content_words(text: str) -> set[str]:
    """The distinct words that are not stop words."""
    return set(words(text)) - STOP_WORDS


def is_english(spoken: Sequence[str]) -> bool:
    """True if as many words as in English talk are function words of English."""
    return sum(word in STOP_WORDS for word in spoken) >= _OF_ENGLISH * len(spoken)


def is_unspaced(text: str) -> bool:
    """True if anything in it is written without spaces between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def pieces(text: str) -> set[str]:
    """The content words as titles and keywords have them: bigrams where a script has no spaces."""
    return {piece for word in content_words(text) for piece, _ in term_of(word)}


def terms(text: str) -> list[str]:
    """Return the indexed terms: stems of the content words, in order; bigrams in scripts without spaces."""
    return [term for word in words(text) if word not in STOP_WORDS for _, term in term_of(word)]


@remembered(100_000)
def term_of(word: str) -> tuple[tuple[str, str], ...]:
    """(surface form, term) of a word in lower case; several where a script has no spaces."""
    if word.isascii():
        return ((word, _stem("english", word)),)
    if not _UNSPACED.search(word):
        for script, language in _STEMMER_OF_SCRIPT:
            if script.search(word):
                return ((word, _stem(language, word)),)
        return ((word, word),)
    forms: list[tuple[str, str]] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            forms.extend(term_of(word[end : run.start()]))
        end = run.end()
        chars = run.group()
        forms.extend((chars[i : i + 2],) * 2 for i in range(max(1, len(chars) - 1)))
    if end < len(word):
        forms.extend(term_of(word[end:]))
    return tuple(forms)


def _stem(language: str, word: str) -> str:
    # A Stemmer object is not safe to share among threads; making one costs a few microseconds.
    return str(Stemmer.Stemmer(language, 0).stemWord(word))
