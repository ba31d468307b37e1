"""Overrides in people's own words inside a chat: is what holds now recalled, and what held before marked?

Twenty at a time are said in the first weeks of the demo's conversation (about 6,000 tokens in all): what held
in its first half, what took its place in the second. The first twenty of `natural.jsonl` are for development;
the others are held out.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import product
from statistics import fmean

from rich.table import Table

from zibaldone.bench.base import Equipment
from zibaldone.bench.engine import ENGINES
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import OverridesOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.demo.sample import CONVERSATION, USER
from zibaldone.memory import Memory
from zibaldone.recalled import Recall

NATURAL = "natural"  # among wordings
OF_A_STREAM = 20
_TURNS = 150  # of the demo's conversation
_LATER_FROM = 80  # the turn from which on overrides are said
_REPLY = "Noted."


@dataclass(frozen=True, slots=True)
class NaturalOverride:
    """Two messages and a question for what holds now; `old` and `new` are words of theirs."""

    id: str
    ask: str
    earlier: str
    old: str
    later: str
    new: str
    near: bool = False  # the later one follows at once


@dataclass(frozen=True, slots=True)
class OverrideAnswer:
    """What one question recalled at one budget."""

    override: NaturalOverride
    half: str
    maintained: bool
    budget_tokens: int
    tokens: int
    current: bool  # what holds now is there, unmarked
    stale: bool  # what held before is there, unmarked
    marked: bool  # what held before is there, and marked

    @property
    def right(self) -> bool:
        """What holds now is there, and what held before is not, or is marked."""
        return self.current and not self.stale


@dataclass(frozen=True, slots=True)
class OverridesRow:
    """All answers of one half at one budget."""

    half: str
    maintained: bool
    budget_tokens: int
    answers: tuple[OverrideAnswer, ...]

    def count(self, name: str) -> str:
        """How many answers are so, of all."""
        return f"{sum(bool(getattr(answer, name)) for answer in self.answers)} of {len(self.answers)}"


@dataclass(frozen=True, slots=True)
class NaturalRow:
    """All overrides at one budget, of every seed. Shares are from 0 to 1."""

    system: str
    budget_tokens: int
    questions: int
    right: float
    of_seeds: tuple[float, ...]  # `right`, seed by seed
    current: float
    stale: float
    marked: float


def overrides() -> list[NaturalOverride]:
    """All of them, as they are kept beside this file."""
    text = (files(__package__) / "natural.jsonl").read_text(encoding="utf-8")
    return [NaturalOverride(**json.loads(line)) for line in text.splitlines()]


def streams() -> Iterator[tuple[str, list[NaturalOverride]]]:
    """Half by half, as many as one stream has."""
    everything = overrides()
    for first in range(0, len(everything), OF_A_STREAM):
        yield ("held out" if first else "development"), everything[first : first + OF_A_STREAM]


def conversation(stream: Sequence[NaturalOverride], seed: int | None = None) -> list[Message]:
    """The demo's first weeks, and between its turns these statements, each with its id.

    A seed decides in which order they are said; without one it is that of the file.
    """
    if seed is not None:
        stream = random.Random(seed).sample(stream, len(stream))
    turns = [_turn(line) for line in CONVERSATION.read_text(encoding="utf-8").splitlines()[:_TURNS]]
    earlier = _spread(len(stream), 4, _LATER_FROM)
    later = _spread(len(stream), _LATER_FROM, _TURNS)
    at: dict[int, list[tuple[str, str]]] = {}
    for override, first, then in zip(stream, earlier, later, strict=True):
        at.setdefault(first, []).append((f"{override.id}-earlier", override.earlier))
        at.setdefault(first if override.near else then, []).append((f"{override.id}-later", override.later))
    messages: list[Message] = []
    for place, turn in enumerate(turns):
        messages.append(turn)
        for id_, text in at.get(place, ()):
            assert messages[-1].time is not None
            time = messages[-1].time + timedelta(seconds=5)
            messages.append(replace(turns[0], content=text, id=id_, time=time, session=turn.session))
            messages.append(replace(turns[1], content=_REPLY, id=None, time=time, session=turn.session))
    return messages


def judge(override: NaturalOverride, recall: Recall, seqs: dict[str, int]) -> tuple[bool, bool, bool]:
    """(whether what holds now is there unmarked, the old value unmarked, the old value marked)."""
    then, now = seqs[f"{override.id}-earlier"], seqs[f"{override.id}-later"]
    of_new = [unit for unit in recall.evidence if now in unit.sources and override.new in unit.text]
    of_old = [unit for unit in recall.evidence if then in unit.sources and override.old in unit.text]
    marked = [unit.outdated is not None or unit.kind == "superseded" for unit in of_old]
    holds = [unit.outdated is None and unit.kind != "superseded" for unit in of_new]
    return any(holds), not all(marked), any(marked)


def evaluate(
    tools: Equipment, budgets: Sequence[int], *, maintained: bool, progress: Progress = silent
) -> tuple[list[OverrideAnswer], list[str]]:
    """Ask the default recall, a day after the end; and which other sentences it marked, to be read."""
    answers: list[OverrideAnswer] = []
    others: dict[str, None] = {}
    for number, (half, stream) in enumerate(streams()):
        folder = tools.folder / f"natural-{number}-{maintained}"
        with Memory(folder, embedder=tools.embedder) as memory:
            stored = memory.add(conversation(stream), user=USER)
            if maintained:
                memory.maintain(user=USER)
            seqs = {str(message.id): message.seq for message in stored}
            links = {seqs[f"{override.id}-earlier"]: seqs[f"{override.id}-later"] for override in stream}
            now = max(message.time for message in stored if message.time) + timedelta(days=1)
            for done, override in enumerate(stream):
                progress(f"overrides, {half}", done, len(stream))
                for budget_tokens in budgets:
                    recall = memory.recall(
                        override.ask, user=USER, budget_tokens=budget_tokens, now=now, floor=tools.floor
                    )
                    judged = judge(override, recall, seqs)
                    answers.append(
                        OverrideAnswer(override, half, maintained, budget_tokens, recall.tokens, *judged)
                    )
                    for unit in recall.evidence:
                        if unit.outdated and links.get(unit.sources[0]) != unit.outdated.by:
                            by = next(message for message in stored if message.seq == unit.outdated.by)
                            others[f"{unit.text!r} ended by {by.content!r} ({unit.outdated.rule})"] = None
    return answers, list(others)


def natural_rows(
    tools: Equipment,
    systems: Sequence[str],
    budgets: Sequence[int],
    seeds: Sequence[int],
    progress: Progress = silent,
) -> list[NaturalRow]:
    """Every override asked of each of these systems that is the engine, after a maintenance."""
    answers: dict[tuple[str, int], dict[int, list[OverrideAnswer]]] = {}
    for name, seed, (half, stream) in product(systems, seeds, streams()):
        if name not in ENGINES:
            continue
        progress(f"overrides, {name}", seed - seeds[0], len(seeds))
        views = ENGINES[name].views
        with tempfile.TemporaryDirectory(dir=tools.folder) as folder:
            engine = ENGINES[name]
            with Memory(
                folder,
                embedder=tools.embedder,
                chunks=engine.chunks,
                hierarchy=engine.hierarchy,
                topics=engine.topics,
            ) as memory:
                stored = memory.add(conversation(stream, seed), user=USER)
                memory.maintain(user=USER, views=views)
                seqs = {str(message.id): message.seq for message in stored}
                now = max(message.time for message in stored if message.time) + timedelta(days=1)
                for override, budget_tokens in product(stream, budgets):
                    recall = memory.recall(
                        override.ask,
                        user=USER,
                        budget_tokens=budget_tokens,
                        views=views,
                        now=now,
                        floor=tools.floor,
                    )
                    judged = judge(override, recall, seqs)
                    answers.setdefault((name, budget_tokens), {}).setdefault(seed, []).append(
                        OverrideAnswer(override, half, True, budget_tokens, recall.tokens, *judged)
                    )
    return [_natural_row(*key, of_seeds) for key, of_seeds in answers.items()]


def _natural_row(
    system: str, budget_tokens: int, of_seeds: Mapping[int, Sequence[OverrideAnswer]]
) -> NaturalRow:
    every = [answer for answers in of_seeds.values() for answer in answers]
    return NaturalRow(
        system=system,
        budget_tokens=budget_tokens,
        questions=len(every) // len(of_seeds),
        right=fmean(answer.right for answer in every),
        of_seeds=tuple(fmean(answer.right for answer in answers) for answers in of_seeds.values()),
        current=fmean(answer.current for answer in every),
        stale=fmean(answer.stale for answer in every),
        marked=fmean(answer.marked for answer in every),
    )


def natural_table(rows: Sequence[NaturalRow]) -> Table:
    """Natural overrides, as the tables of the other wordings are."""
    columns = [
        Column("system", lambda row: row.system, left=True),
        Column("budget", lambda row: row.budget_tokens),
        Column("correct", lambda row: row.right, ".2f"),
        Column("over\nseeds", lambda row: spread(row.of_seeds)),
        Column("current\nthere", lambda row: row.current, ".2f"),
        Column("outdated\nunmarked", lambda row: row.stale, ".2f"),
        Column("outdated\nmarked", lambda row: row.marked, ".2f"),
    ]
    title = f"overrides in people's own words, in a chat of 6,000 tokens, {rows[0].questions} questions"
    return tabulate(title, columns, rows)


def spread(values: Sequence[float]) -> str:
    """Lowest and highest."""
    return f"[dim]{min(values):.2f}-{max(values):.2f}[/]"


def run(options: OverridesOptions, run: Run) -> Measurement:
    """`zibaldone bench overrides`."""
    tools = run.tools(options.floor)
    answers: list[OverrideAnswer] = []
    others: dict[str, None] = {}
    for maintained in (False, True):
        judged, also_marked = evaluate(tools, options.budget, maintained=maintained, progress=run.progress)
        answers += judged
        others |= dict.fromkeys(also_marked)
    groups: dict[tuple[str, bool, int], list[OverrideAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.half, answer.maintained, answer.budget_tokens), []).append(answer)
    rows = [OverridesRow(*key, tuple(group)) for key, group in groups.items()]
    notes = [f"also marked: {sentence}" for sentence in others]
    if options.questions:
        notes += [
            f"{answer.budget_tokens:>5} {answer.override.id}: {answer.override.ask}"
            f" (current {answer.current}, stale {answer.stale}, marked {answer.marked})"
            for answer in answers
            if answer.maintained and not answer.right
        ]
    return Measurement({"rows": rows, "also marked": list(others)}, [_table(rows)], tuple(notes))


def _table(rows: Sequence[OverridesRow]) -> Table:
    columns = [
        Column("overrides", lambda row: row.half, left=True),
        Column("recalled", lambda row: "after maintain" if row.maintained else "at once", left=True),
        Column("budget", lambda row: row.budget_tokens),
        Column("right", lambda row: row.count("right")),
        Column("current\nthere", lambda row: row.count("current")),
        Column("outdated\nunmarked", lambda row: row.count("stale")),
        Column("outdated\nmarked", lambda row: row.count("marked")),
    ]
    return tabulate("natural overrides in a chat of 6,000 tokens", columns, rows)


def _turn(line: str) -> Message:
    row = json.loads(line)
    time = datetime.fromisoformat(row["time"]).replace(tzinfo=UTC)
    return Message(
        row["content"], row["role"], name=row["name"], time=time, session=row["session"], id=row["id"]
    )


def _spread(count: int, first: int, end: int) -> list[int]:
    """So many places from the first to before the end."""
    return [first + (end - first) * place // count for place in range(count)]
