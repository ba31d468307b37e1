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
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmarks import results
from benchmarks.data import DEMO, Conversation, Question, demo_conversation, load, made
from zibaldone import Memory, Message
from zibaldone.models.static import shared_static_embedder
from zibaldone.text.words import content_words, terms, words

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
_FELT = Path(__file__).parent / "felt"
_CHATS = ("demo", "nurse", "workshop", "agent")
_FOUND = 0.8
_USER = "u"

Doubles = npt.NDArray[np.float64]
Figure = tuple[str, str, int, float]  # set, row, budget, what one question got


class Turns:
    """People's turns of a conversation, ranked by thirty lines; a question sees the first of it."""

    def __init__(self, messages: Sequence[Message], *, of_all: bool = False) -> None:
        self.embedder = shared_static_embedder()
        self.turns = [message for message in messages if of_all or message.role != "assistant"]
        texts = [turn.content for turn in self.turns]
        self.vectors = self.embedder.embed([text[:2000] or "_" for text in texts])
        self.tokens = [count + 8 for count in self.embedder.count(texts)]
        spoken = [terms(text) for text in texts]
        self.lengths = np.array([len(some) for some in spoken], dtype=np.float64)
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, some in enumerate(spoken):
            for term, count in Counter(some).items():
                self.postings[term].append((row, count))

    def bm25(self, question: str, seen: int) -> Doubles:
        scores = np.zeros(seen)
        norm = 1.5 * (0.25 + 0.75 * self.lengths[:seen] / max(self.lengths[:seen].mean(), 1))
        for term in set(terms(question)):
            rows, counts = np.array(self.postings.get(term, []), dtype=np.int64).reshape(-1, 2).T
            rows, counts = rows[rows < seen], counts[rows < seen]
            idf = math.log1p((seen - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * counts * 2.5 / (counts + norm[rows])
        return scores

    def hybrid(self, question: str, seen: int) -> Doubles:
        cosines = self.vectors[:seen] @ self.embedder.embed([question])[0]
        own = _standardised(self.bm25(question, seen)) + _standardised(cosines)
        together = [
            a.session == b.session for a, b in zip(self.turns[:seen], self.turns[1:seen], strict=False)
        ]
        scores = own.copy()
        scores[1:] += 0.35 * own[:-1] * together
        scores[:-1] += 0.35 * own[1:] * together
        asked = question.lower()
        return scores + [bool(turn.name) and str(turn.name).lower() in asked for turn in self.turns[:seen]]

    def recall(self, question: Question, budget: int, rank: Callable[[str, int], Doubles]) -> list[str]:
        seen = sum(turn.seq <= question.visible for turn in self.turns)
        taken: list[str] = []
        for row in np.argsort(-rank(question.text, seen), kind="stable") if seen else []:
            if self.tokens[row] <= budget:
                budget -= self.tokens[row]
                taken.append(self.turns[row].content)
            if budget < 10:
                break
        return taken


def _standardised(values: Doubles) -> Doubles:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))


def figures(name: str, conversation: Conversation) -> list[Figure]:
    """Every question of one conversation, under every row."""
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        if conversation.data == "mab":
            return list(_lists(conversation, memory))
        return list(_evidence(name, conversation, memory))


def made_figures(name: str, conversation: Conversation) -> list[Figure]:
    """Questions made of a conversation, answered by whoever has the answer."""
    turns, conversation = Turns(conversation.messages, of_all=True), made(conversation)
    got = []
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.add(conversation.messages, user=_USER)
        memory.maintain(user=_USER)
        for question in conversation.questions:
            wanted = conversation.evidence(question)
            for budget in BUDGETS:
                rows = {
                    "recall": _recalled(memory, question, budget, None),
                    "bm25": turns.recall(question, budget, turns.bm25),
                }
                for row, texts in rows.items():
                    share = sum(_is_found(text, texts) for text in wanted) / len(wanted)
                    got.append((f"made {name}", row, budget, share))
    return got


def _evidence(name: str, conversation: Conversation, memory: Memory) -> Iterator[Figure]:
    turns, told = Turns(conversation.messages), 0
    for question in conversation.questions:
        wanted = {name: conversation.evidence(question)}
        if conversation.data == "beam":
            every = [conversation.messages[seq - 1].content for seq in question.sources]
            wanted = {f"{name}, own turns": wanted[name], f"{name}, all": every}
        elif question.evidence_sessions and not question.evidence:
            wanted = {name: list(question.answers[:1])}
        if not question.known or not any(wanted.values()):
            continue
        if told < question.visible:
            memory.add(conversation.messages[told : question.visible], user=_USER)
            memory.maintain(user=_USER)
            told = question.visible
        for budget in BUDGETS:
            rows = {
                "recall": _recalled(memory, question, budget, None),
                "hybrid": turns.recall(question, budget, turns.hybrid),
                "bm25-user": turns.recall(question, budget, turns.bm25),
            }
            for row, texts in rows.items():
                for of, some in wanted.items():
                    if some:
                        yield of, row, budget, sum(_is_found(text, texts) for text in some) / len(some)


def _recalled(memory: Memory, question: Question, budget: int, views: Sequence[str] | None) -> list[str]:
    """The texts of a recall, of one message together."""
    recall = memory.recall(
        question.text, user=_USER, budget_tokens=budget, now=question.asked_at, views=views
    )
    texts: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for unit in recall.evidence:
        texts[unit.view, unit.sources].append(unit.text)
    return [" ".join(parts) for parts in texts.values()]


def _is_found(wanted: str, texts: Iterable[str]) -> bool:
    of: Callable[[str], Iterable[str]] = content_words if content_words(wanted) else words
    need = set(of(wanted))
    return any(len(need.intersection(of(text))) >= _FOUND * len(need) for text in texts)


def _lists(conversation: Conversation, memory: Memory) -> Iterator[Figure]:
    """MemoryAgentBench: does one of the answers stand in the text?"""
    memory.add(conversation.messages, user=_USER)
    memory.maintain(user=_USER)
    memory.maintain(user=_USER, views=["topics"])
    turns, budget = Turns(conversation.messages), BUDGETS[0]
    for question in conversation.questions:
        rows = {
            "recall": _recalled(memory, question, budget, None),
            "topics": _recalled(memory, question, budget, ["topics"]),
            "hybrid": turns.recall(question, budget, turns.hybrid),
            "bm25-user": turns.recall(question, budget, turns.bm25),
        }
        for row, texts in rows.items():
            text = "\n".join(texts).lower()
            yield (
                f"mab {conversation.name}",
                row,
                budget,
                float(any(a.lower() in text for a in question.answers)),
            )


def felt(chat: str) -> list[Figure]:
    """Questions as people type them: all that one needs is there, or nothing where nothing was said."""
    file = DEMO if chat == "demo" else _FELT / f"{chat}_chat.jsonl"
    got: list[Figure] = []
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.user(_USER).import_(file)
        memory.maintain(user=_USER)
        messages = memory.messages(user=_USER)
        seqs = {str(message.id): message.seq for message in messages}
        now = max(message.time for message in messages if message.time) + timedelta(days=1)
        for line in (_FELT / f"{chat}.jsonl").read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            for budget in BUDGETS:
                recall = memory.recall(asked["question"], user=_USER, budget_tokens=budget, now=now)
                there = [
                    any(
                        _is_found(phrase, [u.text for u in recall.evidence if seqs[own] in u.sources])
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
    return [
        Row(*cell, float(np.mean(of)), float(np.std(of)) / len(of) ** 0.5, len(of))
        for cell, of in cells.items()
    ]


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
