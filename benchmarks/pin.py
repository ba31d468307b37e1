"""The few figures that no change may lower: how much of what a question needs stands in the recalled text.

    python -m benchmarks.pin DATA [--json OUT] [--only SET ...]      # "felt" and "made" are sets, too

DATA holds `locomo-dev.json`, `beam/100K`, `beam/500K`, `realmem`, `longmemeval-s-sample.json` and `mab`, as
`data` reads them; what is not there is left out. Evidence is a message, found when 80 % of its content words
stand in one recalled message; a row is a mean over questions, beside its standard error. Beside the default
recall stand BM25 and thirty lines of both words and vectors, over people's own turns. What does not beat
these on the data that it was made for has to explain itself. "Made" are questions of what one message alone
says, whoever says it, as `compare` makes them, of a conversation of each set: `bm25` is over all turns there.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import results
from benchmarks.data import Conversation, Question, by_hand, demo_conversation, load, made
from benchmarks.recall import in_turn
from zibaldone import Memory
from zibaldone.cli.compare.evidence import Mean, is_found, share_found
from zibaldone.cli.compare.systems import DEFAULT, Equipment, make_system
from zibaldone.models.static import shared_static_embedder

BUDGETS = (1000, 2000)
SETS = {
    "locomo": "locomo-dev.json",
    "beam 100K": "beam/100K",
    "beam 500K": "beam/500K",
    "realmem": "realmem",
    "longmemeval": "longmemeval-s-sample.json",
    "mab": "mab",
}
_MADE_OF = ("locomo", "beam 100K", "realmem", "longmemeval")
_RECALL = {"recall": DEFAULT}
_ROWS = _RECALL | {"hybrid": "hybrid", "bm25-user": "bm25-user"}
_CHATS = ("demo", "nurse", "workshop", "agent")
_USER = "u"

Figure = tuple[str, str, int, float]  # set, row, budget, what one question got


def figures(name: str, conversation: Conversation) -> list[Figure]:
    """Every question of one conversation, under every row."""
    if conversation.data == "mab":
        return _asked(f"mab {conversation.name}", conversation, _ROWS | {"topics": "topics"}, BUDGETS[:1])
    return _asked(name, conversation, _ROWS, BUDGETS)


def made_figures(name: str, conversation: Conversation) -> list[Figure]:
    """Questions made of a conversation, answered by whoever has the answer."""
    return _asked(f"made {name}", made(conversation), _RECALL | {"bm25": "bm25"}, BUDGETS)


def _asked(
    name: str, conversation: Conversation, rows: dict[str, str], budgets: Sequence[int]
) -> list[Figure]:
    got: list[Figure] = []
    with TemporaryDirectory() as folder:
        tools = Equipment(shared_static_embedder(), Path(folder))
        systems = {row: make_system(system, tools) for row, system in rows.items()}
        wanted_of = {q.id: dict(_wanted(name, conversation, q)) for q in conversation.questions if q.known}
        asked = [q for q in conversation.questions if any(wanted_of.get(q.id, {}).values())]
        for question in in_turn(conversation, asked, list(systems.values())):
            wanted = wanted_of[question.id]
            for row, system in systems.items():
                for budget in budgets:
                    recalled = system.recall(question.text, budget, question.asked_at)
                    for of, texts in wanted.items():
                        if conversation.data == "mab":  # one of the answers stands in the text
                            share = float(any(answer.lower() in recalled.text.lower() for answer in texts))
                            got.append((of, row, budget, share))
                        elif texts:
                            got.append((of, row, budget, share_found(texts, recalled.units)))
        for system in systems.values():
            system.close()
    return got


def _wanted(name: str, conversation: Conversation, question: Question) -> Iterator[tuple[str, Sequence[str]]]:
    """The texts that answer a question, by the name of the row's set."""
    if conversation.data == "mab":
        yield name, question.answers
    elif conversation.data == "beam" and not question.phrases:
        yield f"{name}, own turns", conversation.evidence(question)
        yield f"{name}, all", [conversation.messages[seq - 1].content for seq in question.sources]
    elif question.evidence_sessions and not question.evidence:
        yield name, question.answers[:1]
    else:
        yield name, conversation.evidence(question)


def felt(chat: str) -> list[Figure]:
    """Questions as people type them: all that one needs is there, or nothing where nothing was said."""
    file, questions = by_hand(chat)
    got: list[Figure] = []
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.user(_USER).import_(file)
        memory.maintain(user=_USER)
        messages = memory.messages(user=_USER)
        seqs = {str(message.id): message.seq for message in messages}
        now = max(message.time for message in messages if message.time) + timedelta(days=1)
        for asked in questions:
            for budget in BUDGETS:
                recall = memory.recall(asked["question"], user=_USER, budget_tokens=budget, now=now)
                there = [
                    any(
                        is_found(phrase, [u.text for u in recall.evidence if seqs[own] in u.sources])
                        for own, phrase in part.items()
                    )
                    for part in asked["parts"]
                ]
                right = all(there) if there else not recall.tokens
                got.append((f"felt {chat}", "recall", budget, float(right)))
    return got


@dataclass(frozen=True, slots=True)
class Row:
    """One row of one data set."""

    data: str
    row: str
    budget: int
    mean: float
    error: float
    questions: int


def summed(got: Iterable[Figure]) -> list[Row]:
    """Mean and standard error of each row."""
    cells: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for data, row, budget, share in got:
        cells[data, row, budget].append(share)
    means = {cell: Mean.of(of) for cell, of in cells.items()}
    return [Row(*cell, mean.value, mean.error, mean.questions) for cell, mean in means.items() if mean]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pin", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--only", nargs="*", default=[*SETS, "felt", "made"], help="some of the data sets")
    options = parser.parse_args()
    there = {name: options.data / path for name, path in SETS.items() if name in options.only}
    with ProcessPoolExecutor(2) as pool:
        jobs = [
            pool.submit(figures, name, conversation)
            for name, path in there.items()
            if path.exists()
            for conversation in load(name.split()[0], path)
        ]
        jobs += [pool.submit(felt, chat) for chat in _CHATS if "felt" in options.only]
        if "made" in options.only:
            ours = demo_conversation()
            talks = {name: options.data / SETS[name] for name in _MADE_OF}
            firsts = {name: load(name.split()[0], path)[0] for name, path in talks.items() if path.exists()}
            jobs += [pool.submit(made_figures, *some) for some in ({"demo": ours} | firsts).items()]
        rows = summed(figure for job in jobs for figure in job.result())
    if options.json:
        results.write(options.json, {"title": "Evidence", "rows": [asdict(row) for row in rows]})
    for (data, budget), some in results.grouped(rows, lambda row: (row.data, row.budget)).items():
        line = "  ".join(f"{row.row} {row.mean:.3f} ± {row.error:.3f}" for row in some)
        print(f"{data:22} {budget:5}  {line}  ({some[0].questions})")


if __name__ == "__main__":
    main()
