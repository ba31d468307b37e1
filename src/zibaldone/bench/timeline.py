"""What the timeline's lines hold of questions about order and summaries, beside turns at equal tokens.

Judged by the rubric's nuggets, of whose words (as stems) at least 60 or 80 % stand in the text, and by the
user's own messages among the sources that the text quotes from. Words favour whole turns, which say
everything at length: a nugget of three words is soon among a thousand. The messages say whether what was
brought up is there at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from zibaldone.bench.base import Example, System
from zibaldone.bench.baselines import BASELINES
from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import TimelineOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.memory import Memory
from zibaldone.text.words import terms

KINDS = ("event_ordering", "summarization")
SHARES = (0.6, 0.8)  # of a nugget's words
_VIEWS = ("timeline", "messages")
_BASELINE = "bm25-user"


@dataclass(frozen=True, slots=True)
class HeldOf:
    """What one context holds of one question."""

    system: str
    kind: str
    budget: int
    tokens: int
    nuggets: tuple[float, ...]  # share of the nuggets, per SHARES
    messages: float | None  # share of the user's messages; None where the question names none


@dataclass(frozen=True, slots=True)
class HeldRow:
    """The mean over the questions of one kind."""

    kind: str
    budget: int
    system: str
    tokens: float
    nuggets: tuple[float, ...]
    messages: float | None
    questions: int


def run(options: TimelineOptions, run: Run) -> Measurement:
    """One row per kind, budget and system."""
    benchmark = BEAMQuestions(options.path)
    examples = [example for example in benchmark.examples if example.category in KINDS]
    tools = run.tools()
    held: list[HeldOf] = []
    baseline = BASELINES[_BASELINE](tools)
    with Memory(tools.folder / "timeline", embedder=tools.embedder, chat=None, maintained=_VIEWS) as memory:
        users = list(dict.fromkeys(example.user for example in examples))
        for place, user in enumerate(users):
            run.progress(user, place, len(users))
            messages = benchmark.messages(user)
            memory.add(messages, user=user)
            memory.maintain(user=user)
            baseline.load(user, messages)
            for example in examples:
                if example.user == user:
                    held.extend(_held(memory, baseline, example, messages, options.budget))
    columns = [
        Column("kind", lambda row: row.kind, left=True),
        Column("budget", lambda row: row.budget),
        Column("system", lambda row: row.system, left=True),
        Column("tokens", lambda row: row.tokens, ".0f"),
        Column("nuggets\n60 %", lambda row: row.nuggets[0], ".3f"),
        Column("nuggets\n80 %", lambda row: row.nuggets[1], ".3f"),
        Column("user's\nmessages", lambda row: row.messages, ".3f"),
        Column("questions", lambda row: row.questions),
    ]
    rows = _rows(held)
    return Measurement(
        {"data": options.path.name, "rows": rows, "held": held}, [tabulate("timeline", columns, rows)]
    )


def _held(
    memory: Memory, baseline: System, example: Example, messages: Sequence[Message], budgets: Sequence[int]
) -> Iterator[HeldOf]:
    wanted = set(example.evidence)
    sources = {message.seq for message in messages if message.role == "user" and message.content in wanted}
    for budget in budgets:
        for view in _VIEWS:
            recalled = memory.recall(
                example.question,
                user=example.user,
                budget_tokens=budget,
                views=[view],
                floor=0.0,
                now=example.now,
            )
            quoted = {seq for evidence in recalled.evidence for seq in evidence.sources}
            yield _judged(view, example, budget, recalled.tokens, recalled.text, sources, quoted)
        context = baseline.recall(example.user, example.question, budget, example.now)
        texts = {unit.text for unit in context.units}
        quoted = {message.seq for message in messages if message.content in texts}
        yield _judged(_BASELINE, example, budget, context.tokens, context.text, sources, quoted)


def _judged(
    system: str, example: Example, budget: int, tokens: int, text: str, sources: set[int], quoted: set[int]
) -> HeldOf:
    here = set(terms(text))
    covers = [len(here & words) / len(words) for nugget in example.nuggets if (words := set(terms(nugget)))]
    return HeldOf(
        system=system,
        kind=example.category,
        budget=budget,
        tokens=tokens,
        nuggets=tuple(fmean(cover >= share for cover in covers) if covers else 0.0 for share in SHARES),
        messages=len(sources & quoted) / len(sources) if sources else None,
    )


def _rows(held: Sequence[HeldOf]) -> list[HeldRow]:
    groups: dict[tuple[str, int, str], list[HeldOf]] = {}
    for context in held:
        groups.setdefault((context.kind, context.budget, context.system), []).append(context)
    return [
        HeldRow(
            kind=kind,
            budget=budget,
            system=system,
            tokens=fmean(context.tokens for context in group),
            nuggets=tuple(fmean(shares) for shares in zip(*(c.nuggets for c in group), strict=True)),
            messages=fmean(named)
            if (named := [c.messages for c in group if c.messages is not None])
            else None,
            questions=len(group),
        )
        for (kind, budget, system), group in groups.items()
    ]
