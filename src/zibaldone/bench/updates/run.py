"""Overrides in people's own words, and near misses: how many the updates view links, and how many wrongly.

Each pair is two messages in an empty memory. An override is found when a link says that its sentence with the
words `old` no longer holds; any other link, and any link of a near miss, is false. Pairs of an odd number are
for development, those of an even one are held out. The first set says what has changed by a word of change or
the same words; the second in plain statements ("I'm single again"), some German, French or Spanish; the third
is of work beside work, and of places where somebody had never been.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import product
from typing import Any

from zibaldone import generations, log, maintenance
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import UpdatesOptions
from zibaldone.bench.table import Column, share, tabulate
from zibaldone.core import Message
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage.database import Database
from zibaldone.storage.opening import open_database
from zibaldone.views.links import Link
from zibaldone.views.updates import UpdatesView, links_of

HALVES = ("development", "held out")
SETS = {"said": "pairs.jsonl", "plain": "plain.jsonl", "lives": "lives.jsonl", "heads": "heads.jsonl"}


@dataclass(frozen=True, slots=True)
class UpdatePair:
    """Two messages of a set; `old` are the words of the earlier one that hold no more, "" where all do."""

    set: str
    id: str
    earlier: Message
    later: Message
    old: str

    @property
    def half(self) -> str:
        return HALVES[1 - int(self.id.rpartition("-")[2]) % 2]


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """What one rule, or all of them, made of one half of a set."""

    set: str
    half: str
    rule: str  # "" for all
    overrides: int
    right: int
    wrong: int

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float:
        return self.right / self.overrides


def pairs() -> list[UpdatePair]:
    """All of them, as they are kept beside this file."""
    texts = {name: (files(__package__) / file).read_text(encoding="utf-8") for name, file in SETS.items()}
    return [_pair(name, json.loads(line)) for name, text in texts.items() for line in text.splitlines()]


def judge(pair: UpdatePair, links: Sequence[Link]) -> tuple[str, bool] | None:
    """(rule, whether it is right) of what was linked; None where nothing was."""
    if not links:
        return None
    at = pair.earlier.content.index(pair.old) if pair.old else -1
    right = [link for link in links if link.old_start <= at < link.old_end]
    return ((right or list(links))[0].rule, bool(right))


def links_of_pair(database: Database, view: UpdatesView, pair: UpdatePair) -> tuple[Link, ...]:
    """What the view links, of a user who said no more than this."""
    messages = [pair.earlier, pair.later]
    with database.write() as connection:
        log.append(connection, pair.id, messages, pair.later.time or datetime.now(UTC))
    maintenance.catch_up(database, pair.id, view)
    with database.read() as connection:
        serving = generations.serving(connection, pair.id, view)
        return links_of(connection, pair.id, serving.number, [1, 2]) if serving else ()


def run(options: UpdatesOptions, run: Run) -> Measurement:  # noqa: ARG001 - it has no options yet
    """`zibaldone bench updates`."""
    view = UpdatesView(Asker(run.chat, Meter(None), shared_static_embedder()))
    judged = []
    everything = pairs()
    database = open_database(run.folder / "updates", busy_timeout_s=30)
    try:
        for done, pair in enumerate(everything):
            run.progress("updates", done, len(everything))
            judged.append((pair, judge(pair, links_of_pair(database, view, pair))))
    finally:
        database.close()
    outcomes = list(_outcomes(judged))
    return Measurement({"outcomes": outcomes, "missed": _missed(judged)}, [_table(outcomes)])


def _outcomes(
    judged: Sequence[tuple[UpdatePair, tuple[str, bool] | None]],
) -> Iterator[UpdateOutcome]:
    for name, half in product(SETS, HALVES):
        mine = [(pair, verdict) for pair, verdict in judged if (pair.set, pair.half) == (name, half)]
        overrides = sum(bool(pair.old) for pair, _ in mine)
        rules = sorted({verdict[0] for _, verdict in mine if verdict})
        for rule in ("", *rules):
            verdicts = [verdict for _, verdict in mine if verdict and rule in ("", verdict[0])]
            right = sum(verdict[1] for verdict in verdicts)
            yield UpdateOutcome(name, half, rule, overrides, right, len(verdicts) - right)


def _missed(judged: Sequence[tuple[UpdatePair, tuple[str, bool] | None]]) -> list[str]:
    return [pair.id for pair, verdict in judged if bool(pair.old) != bool(verdict and verdict[1])]


def _table(outcomes: Sequence[UpdateOutcome]) -> Any:
    columns = [
        Column("set", lambda row: row.set, left=True),
        Column("pairs", lambda row: row.half, left=True),
        Column("rule", lambda row: row.rule or "all", left=True),
        Column("right", lambda row: row.right),
        Column("wrong", lambda row: row.wrong),
        Column("precision", lambda row: share(row.precision)),
        Column("recall", lambda row: share(row.recall)),
    ]
    return tabulate("Which sentence no longer holds", columns, outcomes)


def _pair(name: str, row: dict[str, Any]) -> UpdatePair:
    same_day = row["earlier"]["date"] == row["later"]["date"]
    return UpdatePair(
        name,
        row["id"],
        _message(row["earlier"], "1", 9),
        _message(row["later"], "1" if same_day else "2", 10),
        row.get("old", ""),
    )


def _message(turn: dict[str, str], session: str, hour: int) -> Message:
    time = datetime.fromisoformat(turn["date"]).replace(hour=hour, tzinfo=UTC)
    name = None if turn["speaker"] == "user" else turn["speaker"]
    return Message(turn["text"], name=name, time=time, session=session)
