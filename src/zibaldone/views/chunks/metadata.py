"""BUILDMETA without a model (Algorithm 1, lines 5 and 10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.text.keywords import inverse_frequency, keywords, term_forms
from zibaldone.text.names import names
from zibaldone.text.rendering import line, line_tokens
from zibaldone.text.sentences import sentences
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.chunks.chunk import Chunk, Item, Metadata

QUARTERS = 4  # a chunk has a vector for each
_ENTITIES = 16
_SUMMARY_CHARACTERS = 200


def build(
    items: Sequence[Item], df: Mapping[str, int], n: int, most_keywords: int, vectors: Vectors
) -> Metadata:
    """Metadata of items, at least one; `df` and `n` are of the namespace's chunks."""
    texts = [item.text for item in items]
    return Metadata(
        keywords=tuple(keywords(texts, df, n, most_keywords)),
        entities=tuple(entities(items)),
        summary=summary(items, df, n),
        first=min(item.time for item in items),
        last=max(item.time for item in items),
        vectors=vectors,
    )


def renewed(
    chunk: Chunk,
    items: Sequence[Item],
    df: Mapping[str, int],
    n: int,
    most_keywords: int,
    vectors: Vectors,
    tokenizer: Tokenizer,
) -> Chunk:
    """The chunk's next version, with metadata of the remaining items; without any, its time span alone."""
    about = replace(chunk.metadata, keywords=(), entities=(), summary="", vectors=vectors[:0])
    if items:
        about = build(items, df, n, most_keywords, vectors)
    tokens = tokens_of(items, tokenizer)
    return replace(chunk, version=chunk.version + 1, items=len(items), tokens=tokens, metadata=about)


def tokens_of(items: Sequence[Item], tokenizer: Tokenizer) -> int:
    """Tokens of the items as lines of a text."""
    return sum(line_tokens([line(item.speaker, item.text) for item in items], tokenizer.count))


def entities(items: Iterable[Item]) -> list[str]:
    """Speakers, and the names that they mention, the most frequent first."""
    times: Counter[str] = Counter()
    for item in items:
        if item.speaker:
            times[item.speaker] += 1
        for start, end in sentences(item.text):
            times.update(names(item.text[start:end]))
    return sorted(times, key=lambda name: (-times[name], name))[:_ENTITIES]


def summary(items: Sequence[Item], df: Mapping[str, int], n: int) -> str:
    """The sentence with the highest mean weight of words: an extract of one line."""
    counts, _ = term_forms(item.text for item in items)
    weight = {term: count * inverse_frequency(df.get(term, 0), n) for term, count in counts.items()}
    best, best_weight = "", -1.0
    for item in items:
        for start, end in sentences(item.text):
            sentence = " ".join(item.text[start:end].split())
            if len(sentence) <= _SUMMARY_CHARACTERS or not best:
                said_here = set(terms(sentence))
                mine = round(sum(weight[term] for term in said_here) / max(len(said_here), 4), 6)
                if mine > best_weight:
                    line = f"{item.speaker}: {sentence}" if item.speaker else sentence
                    best, best_weight = line[:_SUMMARY_CHARACTERS], mine
    return best


def embedded(items: Sequence[Item], embedder: Embedder) -> Vectors:
    """(s, d) vectors of the chunk's quarters, of unit length.

    One vector of a whole chunk is near everything and nothing; more than four gain little.
    """
    parts = [part for part in np.array_split(np.arange(len(items)), QUARTERS) if len(part)]
    texts = [" ".join(word for i in part for word in content_words(items[i].text)) for part in parts]
    return embed(embedder, texts)


def content_words(text: str) -> list[str]:
    """Content words in order, as they are embedded: function words blur a mean of word vectors."""
    return [word for word in words(text) if word not in STOP_WORDS]
