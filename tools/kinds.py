"""Make src/zibaldone/text/kinds.z of WordNet 3.0's nouns: python tools/kinds.py FOLDER.

FOLDER has data.noun, data.verb, index.* and cntlist.rev, as Debian's wordnet-base puts them into
/usr/share/wordnet. What `zibaldone.text.kinds` says of the file's form is written here.

A word is a member of a kind where it mostly means that: by the counts of its senses in WordNet's tagged texts
(cntlist), among all words of its stem; a word that never occurs there by the order of its senses. A gerund
has its verb's counts ("swimming" and "swim"). A name of several words is left out where its last word says
what it is already ("sewing machine"), but "Labrador retriever" is a labrador. Of names of their own only
places are kept.
"""

from __future__ import annotations

import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zibaldone.text.words import STOP_WORDS, term_of, words

TARGET = Path(__file__).parent.parent / "src/zibaldone/text/kinds.z"
KIND_SHARE = 0.1  # of the uses of a noun that a sense has by which a question may mean it
MEMBER_SHARE = 0.4  # of the uses of all words with a stem, by which it is taken for a member
SHORTEST = 3  # letters of a short name
NO_NOUNS = frozenset("us oh ok hi ah ha wow hey".split())  # WordNet has no pronouns and no interjections
MOST_WORDS = 3
PLACES, LEFT_OUT = "location", "taxonomic_group"


@dataclass(frozen=True, slots=True)
class Sense:
    """A synset of nouns."""

    lemmas: tuple[str, ...]
    above: tuple[str, ...]  # hypernyms
    instance_of: tuple[str, ...]
    verbs: tuple[tuple[str, str], ...]  # (lemma, verb derived from it or it from)


class Nouns:
    """WordNet's nouns, and how often words are used."""

    def __init__(self, folder: Path) -> None:
        verbs = {fields[0]: _lemmas(fields) for fields in _records(folder / "data.verb")}
        self.senses = {fields[0]: _sense(fields, verbs) for fields in _records(folder / "data.noun")}
        self.by_lemma = {
            fields[0]: fields[-int(fields[2]) :] for fields in map(str.split, _lines(folder / "index.noun"))
        }
        self.adjectives = {line.split()[0] for line in _lines(folder / "index.adj")}
        self.others = self.adjectives | {line.split()[0] for line in _lines(folder / "index.adv")}
        self.uses: dict[tuple[str, int], int] = {}  # of a noun's sense
        self.noun_uses: dict[str, int] = defaultdict(int)
        self.verb_uses: dict[str, int] = defaultdict(int)
        self.word_uses: dict[str, int] = defaultdict(int)  # of every part of speech
        self.stem_uses: dict[str, int] = defaultdict(int)  # likewise
        for line in _lines(folder / "cntlist.rev"):
            key, number, count = line.split()
            lemma, part = key.split("%")
            self.word_uses[lemma] += int(count)
            self.stem_uses[stem(lemma)] += int(count)
            if part[0] == "1":
                self.uses[lemma, int(number)] = int(count)
                self.noun_uses[lemma] += int(count)
            elif part[0] == "2":
                self.verb_uses[lemma] += int(count)
        self.below: dict[str, list[str]] = defaultdict(list)
        for offset, sense in self.senses.items():
            for above in sense.above:
                self.below[above].append(offset)
        instances: dict[str, list[str]] = defaultdict(list)
        for offset, sense in self.senses.items():
            for above in sense.instance_of:
                instances[above].append(offset)
        waiting, seen = [self.by_lemma[PLACES][0]], set()
        while waiting:
            if (place := waiting.pop()) not in seen:
                seen.add(place)
                waiting += [*self.below[place], *instances[place]]
        for place in seen:
            self.below[place] += [each for each in instances[place] if each not in self.below[place]]

    def is_kind(self, lemma: str, offset: str) -> bool:
        """Whether a question may mean this sense, which has something below it."""
        if not self.below[offset] or ("_" in lemma and not self._is_known(lemma)):
            return False
        place = self._place(lemma, offset)
        often = self.uses.get((lemma, place), 0) >= max(2, KIND_SHARE * self.noun_uses[lemma])
        # "instrument" is short for "musical instrument"
        short = any(other.lower().endswith(f"_{lemma}") for other in self.senses[offset].lemmas)
        return place == 1 or often or short

    def is_member(self, written: str, offset: str) -> bool:
        """Whether who says the word mostly means this."""
        lemma, is_name = written.lower(), written[:1].isupper()
        place, its_stem = self._place(lemma, offset), stem(lemma)
        if "'" in lemma or ("_" in lemma and not self._is_known(lemma)):
            return False
        if " " in its_stem:
            return place == 1
        if lemma in STOP_WORDS or lemma in NO_NOUNS:
            return False
        if not self.stem_uses[its_stem]:
            return place == 1 and (is_name or lemma not in self.others)
        own = self.uses.get((lemma, place), 0)
        if lemma.endswith("ing"):
            derived = {verb for of, verb in self.senses[offset].verbs if of == lemma}
            own += sum(self.verb_uses[verb] for verb in derived if stem(verb) == its_stem)
        return own >= max(1, MEMBER_SHARE * self.stem_uses[its_stem])

    def short_name(self, lemma: str) -> str | None:
        """Of "Labrador_retriever" "labrador"; None where nobody would call it so."""
        first, _, head = lemma.partition("_")
        called = first.lower()
        named = first[:1].isupper() and head.islower() and "_" not in head and len(first) >= SHORTEST
        usual = called in self.adjectives or self.stem_uses[stem(called)] > 1
        return called if named and not usual else None

    def tree(self) -> Iterator[str]:
        """The lines."""
        left_out = self.by_lemma[LEFT_OUT][0]

        def walk(offset: str, depth: int, over: frozenset[str]) -> list[str]:
            if offset == left_out:
                return []
            names, called = [], set()
            for written in self.senses[offset].lemmas:
                written = written.partition("(")[0]
                lemma = written.lower()
                if written.count("_") >= MOST_WORDS or any(map(str.isdigit, written)) or not stem(lemma):
                    continue
                called.add(lemma)
                head = lemma.rpartition("_")[2]
                says_what_it_is = "_" in lemma and head in over
                if says_what_it_is and (short := self.short_name(written)):
                    names.append(stem(short))
                if self.is_kind(lemma, offset):
                    names.append("*" + lemma.replace("_", " "))
                if not says_what_it_is and self.is_member(written, offset):
                    names.append(stem(lemma))
            lines = [line for below in self.below[offset] for line in walk(below, depth + 1, over | called)]
            if names or lines:
                lines.insert(0, chr(ord("0") + depth) + "|".join(dict.fromkeys(names)))
            return lines

        yield from walk(self.by_lemma["entity"][0], 0, frozenset())

    def _place(self, lemma: str, offset: str) -> int:
        """Of a sense among those of its word, the most used first, from 1."""
        return self.by_lemma[lemma].index(offset) + 1

    def _is_known(self, lemma: str) -> bool:
        """Whether a name of several words is used, or made of words that are."""
        return bool(self.noun_uses[lemma]) or all(self.word_uses[word] for word in lemma.split("_"))


def stem(lemma: str) -> str:
    """The terms of its words, as an index has them."""
    return " ".join(term for word in words(lemma.replace("_", " ")) for _, term in term_of(word))


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith("  "))  # which are the licence


def _records(path: Path) -> Iterator[list[str]]:
    yield from (line.partition(" | ")[0].split() for line in _lines(path))


def _lemmas(fields: list[str]) -> tuple[str, ...]:
    return tuple(fields[4 : 4 + 2 * int(fields[3], 16) : 2])


def _sense(fields: list[str], verbs: dict[str, tuple[str, ...]]) -> Sense:
    lemmas = _lemmas(fields)
    first = 5 + 2 * len(lemmas)
    pointers = [fields[at : at + 4] for at in range(first, first + 4 * int(fields[first - 1]), 4)]
    derived = [
        (lemmas[int(ends[:2], 16) - 1].lower(), verbs[target][int(ends[2:], 16) - 1])  # noqa: FURB166 - hexadecimal, and no prefix
        for sign, target, part, ends in pointers
        if sign == "+" and part == "v"
    ]
    return Sense(
        lemmas,
        tuple(target for sign, target, _, _ in pointers if sign == "@"),
        tuple(target for sign, target, _, _ in pointers if sign == "@i"),
        tuple(derived),
    )


if __name__ == "__main__":
    (folder,) = sys.argv[1:]
    TARGET.write_bytes(zlib.compress("".join(f"{line}\n" for line in Nouns(Path(folder)).tree()).encode(), 9))
    sys.stdout.write(f"{TARGET}: {TARGET.stat().st_size:,} bytes\n")
