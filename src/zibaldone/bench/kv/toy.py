"""Synthetic dialogues of facts, noise and questions, to train and judge the kv view's small model on.

A fact is `USER name attribute value value SEP`, noise is `USER|BOT filler ... SEP`, and a question is
`ASK name attribute ARROW`, to which the fact's two values are the answer. New facts often take up the name
or the attribute of an old one: without such hard negatives a model learns to look at one of the two.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

NAMES = tuple(f"name{i}" for i in range(64))
ATTRIBUTES = tuple(f"attribute{i}" for i in range(16))
VALUES = tuple(f"value{i}" for i in range(96))
FILLERS = tuple(f"filler{i}" for i in range(65))
PAD, BOS, USER, BOT, SEP, ASK, ARROW = MARKS = ("<pad>", "<bos>", "USER", "BOT", "SEP", "ASK", "ARROW")
VOCABULARY = (*MARKS, *NAMES, *ATTRIBUTES, *VALUES, *FILLERS)
IDS = {word: number for number, word in enumerate(VOCABULARY)}
IGNORED = -100  # a label that no loss is taken of

_FACT = 0.5  # of the turns
_TRAINING_FACT = 0.6
_SAME_ATTRIBUTE, _SAME_NAME = 0.45, 0.30  # of the facts
_DIALOGUE = (0.3, 0.8)  # of a training sequence's tokens; the rest is questions


@dataclass(frozen=True, slots=True)
class ToyFact:
    """What a question can be asked about."""

    name: str
    attribute: str
    values: tuple[str, str]

    @property
    def turn(self) -> str:
        return " ".join((USER, self.name, self.attribute, *self.values, SEP))

    @property
    def question(self) -> str:
        return " ".join((ASK, self.name, self.attribute, ARROW))

    @property
    def answer(self) -> str:
        return " ".join(self.values)


def tokenizer() -> Tokenizer:
    """A word is a token."""
    made = Tokenizer(WordLevel(dict(IDS), unk_token=PAD))
    made.pre_tokenizer = WhitespaceSplit()
    return made


def turns(rng: random.Random, known: dict[tuple[str, str], ToyFact], facts: float = _FACT) -> Iterator[str]:
    """Facts and noise without end; `known` gets every fact, and no (name, attribute) comes twice."""
    while True:
        fact = _new_fact(rng, known) if rng.random() < facts else None
        if fact is not None:
            known[fact.name, fact.attribute] = fact
            yield fact.turn
        else:
            words = rng.choices(FILLERS, k=rng.randint(3, 9))
            yield " ".join((rng.choice((USER, BOT)), *words, SEP))


def _new_fact(rng: random.Random, known: dict[tuple[str, str], ToyFact]) -> ToyFact | None:
    for _ in range(20):
        name, attribute = rng.choice(NAMES), rng.choice(ATTRIBUTES)
        if known:
            like, dice = rng.choice(list(known)), rng.random()
            if dice < _SAME_ATTRIBUTE:
                attribute = like[1]
            elif dice < _SAME_ATTRIBUTE + _SAME_NAME:
                name = like[0]
        if (name, attribute) not in known:
            return ToyFact(name, attribute, (rng.choice(VALUES), rng.choice(VALUES)))
    return None  # nearly all of the 1,024 pairs are taken: some noise instead


def training_dialogue(rng: random.Random, tokens: int) -> tuple[list[int], list[int]]:
    """(ids, labels) of this length: a dialogue, then questions about it; labels are of the answers alone.

    The questions come last: one that is asked right after its fact teaches a model to copy what is near.
    """
    known: dict[tuple[str, str], ToyFact] = {}
    ids = [IDS[BOS]]
    spoken = turns(rng, known, _TRAINING_FACT)
    dialogue = tokens * rng.uniform(*_DIALOGUE)
    while len(ids) < dialogue or len(known) < 2:
        ids += [IDS[word] for word in next(spoken).split()]
    labels = [IGNORED] * len(ids)
    facts = list(known.values())
    while len(ids) < tokens:
        fact = rng.choice(facts)
        question = [IDS[word] for word in fact.question.split()]
        answer = [IDS[word] for word in fact.values]
        ids += [*question, *answer, IDS[SEP]]
        labels += [*[IGNORED] * len(question), *answer, IGNORED]
    return ids[:tokens], labels[:tokens]


def history(rng: random.Random, tokens: int, facts: float = _FACT) -> tuple[list[str], list[ToyFact]]:
    """(turns, facts) of a long conversation of about so many tokens, without questions."""
    known: dict[tuple[str, str], ToyFact] = {}
    spoken: list[str] = []
    length = 0
    for turn in turns(rng, known, facts):
        length += len(turn.split())
        if length > tokens:
            return spoken, list(known.values())
        spoken.append(turn)
    raise AssertionError  # turns never end
