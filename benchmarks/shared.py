"""Shared memories: what recall finds when a conversation's sessions lie in several of them.

    python -m benchmarks.shared LOCOMO [--budget 1000]

Of LoCoMo: all sessions in one memory; every other session in a memory that is shared with the user; all of
one's own, and one or three other conversations shared, which say nothing of the question. Beside it what such
recalls cost.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from benchmarks.data import Conversation, locomo
from zibaldone import Memory, Message
from zibaldone.cli.compare.evidence import Mean, share_found


def keep(memory: Memory, user: str, messages: Sequence[Message]) -> None:
    """Store messages of a conversation anew."""
    memory.add([replace(message, seq=0, id=None) for message in messages], user=user)


def fill(memory: Memory, place: int, conversation: Conversation, others: int) -> None:
    """A user per case of a conversation, with what is shared with them."""
    halves: dict[str, list[Message]] = {"own": [], "team": []}
    sessions = list(dict.fromkeys(message.session for message in conversation.messages))
    for message in conversation.messages:
        halves["team" if sessions.index(message.session) % 2 else "own"].append(message)
    for name, messages in (("all", conversation.messages), *halves.items()):
        keep(memory, f"{name} {place}", messages)
    memory.admin.grant(f"team {place}", user=f"own {place}")
    for case in (1, 3):
        keep(memory, f"beside {case} {place}", conversation.messages)
        for other in range(1, case + 1):
            memory.admin.grant(f"all {(place + other) % others}", user=f"beside {case} {place}")


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", type=int, default=1000)
    given = parser.parse_args()
    conversations = list(locomo(given.path))
    found: dict[str, list[float]] = {}
    spent_ms: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        for place, conversation in enumerate(conversations):
            fill(memory, place, conversation, len(conversations))
        for place, conversation in enumerate(conversations):
            for question in conversation.questions:
                wanted = conversation.evidence(question)
                if not question.known or not wanted:
                    continue
                for case in ("all", "own", "beside 1", "beside 3"):
                    recalled = memory.recall(
                        question.text,
                        user=f"{case} {place}",
                        budget_tokens=given.budget,
                        now=question.asked_at,
                    )
                    texts = [unit.text for unit in recalled.evidence]
                    found.setdefault(case, []).append(share_found(wanted, texts) if texts else 0.0)
                    spent_ms.setdefault(case, []).append(recalled.trace.ms)
    for case, shares in found.items():
        mean = Mean.of(shares)
        apart = fmean(one - other for one, other in zip(shares, found["all"], strict=True))
        assert mean is not None
        print(
            f"{case:9} {mean.value:.3f} +- {mean.error:.3f} ({apart:+.3f}) of {mean.questions} questions,"
            f" {median(spent_ms[case]):.1f} ms"
        )


if __name__ == "__main__":
    main()
