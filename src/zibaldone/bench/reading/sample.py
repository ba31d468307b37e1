"""Which questions are read: a part of a data set that stays the same from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from zibaldone.bench.base import Example


def sample(examples: Sequence[Example], questions: int | None) -> list[Example]:
    """As many examples, each category by its share of them all, in their order; None: all.

    Of a category those come first whose ids have the smallest hashes. Every category has one at least, where
    `questions` suffices.
    """
    if questions is None or questions >= len(examples):
        return list(examples)
    by_category: dict[str, list[Example]] = {}
    for example in sorted(examples, key=_hash):
        by_category.setdefault(example.category, []).append(example)
    quotas = _quotas({name: len(group) for name, group in by_category.items()}, questions)
    chosen = {id(example) for name, group in by_category.items() for example in group[: quotas[name]]}
    return [example for example in examples if id(example) in chosen]


def _quotas(sizes: dict[str, int], questions: int) -> dict[str, int]:
    """By largest remainders, ties in the order of the names."""
    total = sum(sizes.values())
    exact = {name: questions * size / total for name, size in sorted(sizes.items())}
    quotas = {name: int(share) for name, share in exact.items()}
    if questions >= len(sizes):
        quotas = {name: max(quota, 1) for name, quota in quotas.items()}
    by_need = sorted(exact, key=lambda name: quotas[name] - exact[name])
    for name in by_need[: max(questions - sum(quotas.values()), 0)]:
        quotas[name] += 1
    while sum(quotas.values()) > questions:  # those that were given their first one took it from the largest
        largest = max(quotas, key=lambda name: quotas[name] - exact[name] if quotas[name] > 1 else -1.0)
        quotas[largest] -= 1
    return quotas


def _hash(example: Example) -> bytes:
    return blake2b(f"{example.user}\n{example.id}".encode(), digest_size=8).digest()
