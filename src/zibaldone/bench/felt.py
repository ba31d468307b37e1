"""Questions to a chat, as a person types them: is what they need in the recalled text?

`felt.jsonl` has forty to the demo's conversation, written before recall was asked any; three more sets are to
chats with an assistant over months, of their own: a nurse's, in English, a carpenter's, in German, and a
developer's with a coding agent and its tools. A question has parts; a part is the messages that say it, any
one of which will do, each with the phrase that does. A question without parts was never answered in the
conversation: nothing should be recalled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from statistics import mean

from zibaldone.bench.base import Equipment
from zibaldone.bench.metrics import is_found
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import FeltOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.demo.sample import CONVERSATION, USER
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.recalled import Recall

DEMO = "demo"
_CHATS = ("nurse", "workshop", "agent")  # beside the demo's
NEVER = "never"  # the kind of what was never said
ALL = "all"  # the last row

Phrases = dict[str, str]  # id of a message -> the phrase in it


@dataclass(frozen=True, slots=True)
class FeltQuestion:
    """One question, and the messages that a context for it must hold."""

    question: str
    kind: str
    parts: list[Phrases]  # all of them are needed, of each any one message
    outdated: Phrases = field(default_factory=dict)  # what held before; may stand beside what holds now


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that no recalled passage holds."""

    phrases: Phrases
    why: str  # why its first message is not in the recall, with its ranks


@dataclass(frozen=True, slots=True)
class FeltAnswer:
    """What one question recalled."""

    question: FeltQuestion
    budget_tokens: int
    tokens: int
    confidence: float
    floor: float
    missing: tuple[MissingPart, ...]
    outdated: tuple[str, ...]  # ids of the messages in it whose values no longer hold

    @property
    def right(self) -> bool:
        """Every part is there; or nothing at all, where nothing was ever said."""
        return not self.missing if self.question.parts else not self.tokens

    @property
    def verdict(self) -> str:
        """One line: the question, and what is missing."""
        words = f"{'right' if self.right else 'wrong'} {self.budget_tokens:>5}  {self.question.question}"
        if self.missing and not self.tokens:
            return f"{words}  nothing recalled: confidence {self.confidence:.3f}, floor {self.floor:.3f}"
        if not self.question.parts and self.tokens:
            return f"{words}  {self.tokens} tokens: confidence {self.confidence:.2f}, floor {self.floor:.3f}"
        for part in self.missing:
            id_, phrase = next(iter(part.phrases.items()))
            words += f"\n             {id_} “{phrase}”: {part.why}"
        return words


@dataclass(frozen=True, slots=True)
class FeltRow:
    """All questions of one kind."""

    kind: str
    answers: tuple[FeltAnswer, ...]

    def right(self, budget_tokens: int) -> tuple[int, int]:
        """Right ones of how many."""
        of_budget = [answer.right for answer in self.answers if answer.budget_tokens == budget_tokens]
        return sum(of_budget), len(of_budget)

    def tokens(self, budget_tokens: int) -> float:
        """Of a recall, mean."""
        return mean(answer.tokens for answer in self.answers if answer.budget_tokens == budget_tokens)


def felt_questions(chat: str = DEMO) -> list[FeltQuestion]:
    """To that chat. Raises InvalidInput for one that is not there."""
    name = "felt" if chat == DEMO else f"felt_{_known(chat)}"
    text = (files(__package__) / f"{name}.jsonl").read_text(encoding="utf-8")
    return [FeltQuestion(**json.loads(line)) for line in text.splitlines()]


def felt_chat(chat: str = DEMO) -> Traversable:
    """The messages of a chat, as a file that `import` reads."""
    return CONVERSATION if chat == DEMO else files(__package__) / f"felt_{_known(chat)}_chat.jsonl"


def _known(chat: str) -> str:
    if chat not in _CHATS:
        raise InvalidInput(f"no chat {chat!r}: there is {', '.join((DEMO, *_CHATS))}")
    return chat


def judge(question: FeltQuestion, recall: Recall, seqs: Mapping[str, int], budget_tokens: int) -> FeltAnswer:
    """A part is there when a passage that cites one of its messages holds its phrase (`is_found`).

    `seqs` maps the messages' ids to their seqs.
    """

    def stands(id_: str, phrase: str) -> bool:
        return is_found(phrase, [passage.text for passage in recall.evidence if seqs[id_] in passage.sources])

    missing = tuple(
        MissingPart(part, recall.why_not(seqs[next(iter(part))]))
        for part in question.parts
        if not any(stands(id_, phrase) for id_, phrase in part.items())
    )
    outdated = tuple(id_ for id_, phrase in question.outdated.items() if stands(id_, phrase))
    trace = recall.trace
    return FeltAnswer(
        question, budget_tokens, recall.tokens, trace.confidence, trace.floor, missing, outdated
    )


def evaluate(
    tools: Equipment,
    budgets: Sequence[int],
    questions: Sequence[FeltQuestion],
    progress: Progress = silent,
    *,
    chat: str = DEMO,
) -> tuple[FeltAnswer, ...]:
    """Ask the default recall, a day after the conversation's end, everything maintained."""
    answers: list[FeltAnswer] = []
    with Memory(tools.folder / "felt", embedder=tools.embedder) as memory:
        with as_file(felt_chat(chat)) as sample:
            memory.import_(sample, user=USER)
        memory.maintain(user=USER)
        messages = memory.messages(user=USER)
        seqs = {str(message.id): message.seq for message in messages}
        now = _day_after(messages)
        for place, question in enumerate(questions):
            progress("questions", place, len(questions))
            for budget_tokens in budgets:
                recall = memory.recall(
                    question.question, user=USER, budget_tokens=budget_tokens, now=now, floor=tools.floor
                )
                answers.append(judge(question, recall, seqs, budget_tokens))
    return tuple(answers)


def run(options: FeltOptions, run: Run) -> Measurement:
    """A line per kind; with `--questions` one per question as well."""
    questions = felt_questions() if options.chat == DEMO else felt_questions(options.chat)
    tools = run.tools(options.floor)
    answers = evaluate(tools, options.budget, questions, run.progress, chat=options.chat)
    kinds = dict.fromkeys(answer.question.kind for answer in answers)
    rows = [
        FeltRow(kind, tuple(answer for answer in answers if answer.question.kind == kind)) for kind in kinds
    ]
    rows.append(FeltRow(ALL, answers))
    columns = [Column("kind", lambda row: row.kind, left=True)]
    for budget_tokens in options.budget:
        columns += _columns(budget_tokens)
    table = tabulate(f"felt questions to the {options.chat} chat: right of all", columns, rows)
    notes = tuple(answer.verdict for answer in answers) if options.questions else ()
    right = {budget_tokens: rows[-1].right(budget_tokens)[0] for budget_tokens in options.budget}
    return Measurement({"right": right, "answers": answers}, [table], notes)


def _columns(budget_tokens: int) -> list[Column]:
    def right(row: FeltRow) -> str:
        return "{} of {}".format(*row.right(budget_tokens))

    return [
        Column(f"{budget_tokens}\nright", right),
        Column(f"{budget_tokens}\ntokens", lambda row: row.tokens(budget_tokens), ",.0f"),
    ]


def _day_after(messages: Sequence[Message]) -> datetime:
    return max(message.time for message in messages if message.time) + timedelta(days=1)
