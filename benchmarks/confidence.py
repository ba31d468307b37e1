"""How sure memory may be: the weights of its confidence, fitted and judged on data that they did not see.

    python -m benchmarks.confidence DATA [--json OUT] [--sets locomo felt ...]

DATA is as `pin` has it. Conversations are cut into memories of 20, 200, 2,000 and 20,000 messages or about as
many. To each come questions that it can answer, as many of other conversations (with this one's names), and
such as were never said (`felt/never.json`). Every data set, size and kind counts as much. AUC: how often a
question that can be answered gets more than one that cannot; "left out": by weights that were fitted without
its data set. Then how many of each kind the default floor lets pass, and, of those given so much, how many
can be answered, as if both kinds were asked as often. Last, the weights that are shipped and the fitted
ones, which go into `search/confidence.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import results
from benchmarks.data import FELT, Conversation, Question, by_hand, load, messages_of
from benchmarks.pin import SETS
from zibaldone import Message
from zibaldone.core import Scope
from zibaldone.models.embedding import embed
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.recall import DEFAULT_FLOOR
from zibaldone.search.confidence import SIGNS, WEIGHTS, Signs, signs
from zibaldone.search.question import Question as ReadQuestion
from zibaldone.search.question import parse_question
from zibaldone.search.ranker import features, score
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.messages import MessagesView
from zibaldone.views.toolkit import to_units

SIZES = (20, 200, 2000, 20_000)
_SOURCES = ("beam together", "beam 10M", "realmem", "beam 100K", "locomo", "beam 1M", "longmemeval", "felt")
_PATHS = SETS | {"beam 1M": "beam/1M", "beam 10M": "beam/10M"}
_TOGETHER = ("beam 100K", "beam 500K", "beam 1M")
_WITH_NEVER = ("felt", "locomo", "realmem", "beam 100K")
_MOST_MEMORIES = 25  # of a conversation, of one size
_MOST_ASKED, _MOST_ASKED_LARGE, _NEVER = 40, 160, 2  # of a memory; of one of SIZES[3]; of a part of a chat
_BINS = 5
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Known:
    """A question, and what answers it: one of the seqs of each part."""

    text: str
    parts: Sequence[Sequence[int]]
    visible: int  # how many messages were said before it


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of one person, what they answer, and what they do not."""

    data: str
    messages: Sequence[Message]
    known: Sequence[Known]
    other: Sequence[str]
    never: Sequence[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to one memory."""

    data: str
    messages: int
    kind: str  # "known", "other" or "never"
    confidence: float  # as shipped
    signs: Signs | None  # None: no signs decide

    @property
    def is_known(self) -> bool:
        return self.kind == "known"

    @property
    def size(self) -> int:
        """The nearest of SIZES."""
        return min(SIZES, key=lambda size: abs(math.log(size / self.messages)))


def chats(source: str, data: Path) -> Iterator[Chat]:
    """All of a source."""
    listed = json.loads((FELT / "never.json").read_text(encoding="utf-8"))
    never = {chat["chat"]: chat["questions"] for chat in listed}
    if source == "felt":
        yield from _felt(never)
        return
    if source == "beam together":
        yield _together(data, never["Oliver_Smith"])
        return
    there = load(source.split()[0], data / _PATHS[source])
    asking = there if len(there) > 1 and source != "beam 1M" else load("beam", data / SETS["beam 100K"])
    for talk in there:
        known = [
            Known(q.text, [(seq,) for seq in q.evidence or (1, len(talk.messages))], q.visible)
            for q in _answered(talk)
        ]
        other = [_with_names(q.text, one, talk) for one in asking if one is not talk for q in _answered(one)]
        unknown = [q.text for q in talk.questions if not q.known and talk.data != "locomo"]
        unknown += never.get(talk.name, []) if source in _WITH_NEVER else []
        yield Chat(talk.data, talk.messages, known, other, unknown)


def _answered(talk: Conversation) -> list[Question]:
    return [q for q in talk.questions if q.known and (q.evidence or q.evidence_sessions)]


def _with_names(text: str, asked_of: Conversation, talk: Conversation) -> str:
    """A question of another conversation, about the people of this one."""
    theirs, ours = (sorted({m.name for m in one.messages if m.name}) for one in (asked_of, talk))
    for name, instead in zip(theirs, ours, strict=False):
        text = text.replace(name, instead)
    return text


def _felt(never: dict[str, list[str]]) -> Iterator[Chat]:
    told: dict[str, Sequence[Message]] = {}
    asked: dict[str, list[Known]] = {}
    for name in ("demo", "nurse", "agent"):
        file, questions = by_hand(name)
        told[name] = messages_of(file)
        seqs = {str(message.id): message.seq for message in told[name]}
        for one in questions:
            parts = [[seqs[own] for own in part] for part in one["parts"]]
            asked.setdefault(name, []).append(Known(one["question"], parts, len(told[name])))
    for name, messages in told.items():
        other = [q.text for one, theirs in asked.items() if one != name for q in theirs if q.parts]
        unknown = [q.text for q in asked[name] if not q.parts] + never.get(name, [])
        yield Chat("felt", messages, [q for q in asked[name] if q.parts], other, unknown)


def _together(data: Path, never: Sequence[str]) -> Chat:
    """Many chats with an assistant as one person's; others' questions are those of other data sets."""
    messages: list[Message] = []
    known: list[Known] = []
    for source in _TOGETHER:
        for talk in load("beam", data / _PATHS[source]):
            first = len(messages)
            for message in talk.messages:
                session = f"{source} {talk.name} {message.session}"
                messages.append(replace(message, seq=first + message.seq, session=session))
            known += [Known(q.text, [(first + seq,) for seq in q.evidence], 10**9) for q in _answered(talk)]
    theirs = [talk for one in ("locomo", "realmem") for talk in load(one, data / SETS[one])]
    return Chat("beam", messages, known, [q.text for talk in theirs for q in _answered(talk)], never)


def ask(source: str, data: Path) -> list[Asked]:
    """Whatever a source's memories say of their questions."""
    chance = random.Random(source)
    embedder = shared_static_embedder()
    view = MessagesView(embedder, embedder, embedder)
    asked: list[Asked] = []
    for chat in chats(source, data):
        units = to_units(chat.messages, view.prepare(chat.messages).cuts)
        vectors = embed(embedder, [unit.text for unit in units])
        seqs = np.array([unit.seq for unit in units])
        for first, last in _memories(chat, chance):
            known = [
                q.text
                for q in chat.known
                if q.visible >= last and all(any(first <= seq <= last for seq in part) for part in q.parts)
            ]
            if not known:
                continue
            n = last - first + 1
            is_large, is_whole = n > SIZES[2] * 2, n == len(chat.messages)
            most = _MOST_ASKED_LARGE if is_large else _MOST_ASKED
            known = chance.sample(known, min(len(known), most))
            others = max(len(known), _MOST_ASKED if is_large else 0)
            rows = slice(int(np.searchsorted(seqs, first)), int(np.searchsorted(seqs, last, side="right")))
            index = UnitIndex(embedder.dimension, embedder)
            index.extend(units[rows], vectors[rows])
            now = chat.messages[last - 1].time
            assert now is not None
            for kind, texts, count in (
                ("known", known, len(known)),
                ("other", chat.other, others),
                ("never", chat.never, len(chat.never) if is_whole else _NEVER),
            ):
                some = chance.sample(texts, min(len(texts), count))
                asked += [Asked(chat.data, n, kind, *_sure(index, text, now)) for text in some]
    return asked


def _memories(chat: Chat, chance: random.Random) -> list[tuple[int, int]]:
    """First and last seq of each: pieces of each size, and the whole; half, where it holds its questions."""
    n = len(chat.messages)
    spans = [(1, n // 2 if chat.data == "realmem" else n)]
    for size in SIZES:
        if 2 * size < n:
            pieces = [(first, first + size - 1) for first in range(1, n - size + 2, size)]
            spans += chance.sample(pieces, min(len(pieces), _MOST_MEMORIES))
    return spans


def _sure(index: UnitIndex, text: str, now: datetime) -> tuple[float, Signs | None]:
    question = parse_question(ReadQuestion(text, Scope("u"), 0, now), index)
    question = question.embedded(shared_static_embedder())
    shipped = score(index, question)
    if shipped.confidence in (0.0, 0.5, 1.0):
        return shipped.confidence, None
    _, coverage = features(index, question)
    return shipped.confidence, signs(index, question, coverage, None)


def fitted(asked: Sequence[Asked]) -> Signs:
    """The likeliest weights (logistic regression by Newton's method)."""
    decided = [one for one in asked if one.signs]
    rows = np.array([[getattr(one.signs, name) for name in SIGNS] for one in decided])
    known, weights = np.array([one.is_known for one in decided]), _weights(decided)
    own = np.zeros(len(SIGNS))
    for _ in range(40):
        sure = 1 / (1 + np.exp(-rows @ own))
        slope = rows.T @ (weights * (sure - known)) + 1e-3 * own
        curve = (rows * (weights * sure * (1 - sure))[:, None]).T @ rows + 1e-3 * np.eye(len(own))
        own -= np.linalg.solve(curve, slope)
    return Signs(*own.round(2).tolist())


def _weights(asked: Sequence[Asked]) -> Doubles:
    """Weigh each question: data sets, sizes, and known and unknown ones count alike."""
    cells = Counter((one.data, one.size, one.is_known) for one in asked)
    return np.array([1 / cells[one.data, one.size, one.is_known] for one in asked])


def left_out(asked: Sequence[Asked]) -> list[float]:
    """Score each question by weights that were fitted without its data set."""
    own = {}
    for name in {one.data for one in asked}:
        others = [one for one in asked if one.data != name]
        own[name] = fitted(others or asked)
    return [
        1 / (1 + math.exp(-one.signs.times(own[one.data]))) if one.signs else one.confidence for one in asked
    ]


def auc(sure: Sequence[float], known: Sequence[bool]) -> float | None:
    """How often what is known has more than what is not; a tie is half."""
    right = np.array([one for one, is_known in zip(sure, known, strict=True) if is_known])
    wrong = np.array([one for one, is_known in zip(sure, known, strict=True) if not is_known])
    if not len(right) or not len(wrong):
        return None
    above = (right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2
    return round(float(above), 3)


def rows_of(asked: Sequence[Asked]) -> list[dict[str, object]]:
    """A row for each size, and one for each data set."""
    apart = left_out(asked)
    groups: dict[str, list[int]] = {f"{size:,} messages": [] for size in SIZES}
    for place, one in enumerate(asked):
        groups[f"{one.size:,} messages"].append(place)
        groups.setdefault(one.data, []).append(place)
    return [
        _row(name, [asked[place] for place in places], [apart[place] for place in places])
        for name, places in groups.items()
        if places
    ]


def _row(name: str, asked: Sequence[Asked], apart: Sequence[float]) -> dict[str, object]:
    known = [one.is_known for one in asked]
    row: dict[str, object] = {"memories": name}
    row |= {kind: sum(one.kind == kind for one in asked) for kind in ("known", "other", "never")}
    row["AUC"] = auc([one.confidence for one in asked], known)
    row["AUC left out"] = auc(apart, known)
    never = [place for place, one in enumerate(asked) if one.kind != "other"]
    row["AUC never said"] = auc([apart[place] for place in never], [known[place] for place in never])
    for kind in ("known", "never"):
        passes = [one.confidence >= DEFAULT_FLOOR for one in asked if one.kind == kind]
        row[f"{kind} above the floor"] = round(sum(passes) / len(passes), 3) if passes else None
    weights = _weights(asked)
    for low in range(_BINS):
        inside = [place for place, sure in enumerate(apart) if min(int(sure * _BINS), _BINS - 1) == low]
        total = float(sum(weights[inside]))
        right = float(sum(weights[place] for place in inside if known[place]))
        row[f"of {low / _BINS:g} to {(low + 1) / _BINS:g}"] = round(right / total, 2) if total else None
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidence", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--sets", nargs="*", default=_SOURCES, help=f"some of {', '.join(_SOURCES)}")
    options = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(ask, source, options.data) for source in options.sets]
        asked = [one for job in jobs for one in job.result()]
    rows = rows_of(asked)
    results.show("confidence", rows)
    print(f"shipped: {WEIGHTS}\nfitted:  {fitted(asked)}")
    if options.json:
        results.write(options.json, {"title": "Confidence", "rows": rows})


if __name__ == "__main__":
    main()
