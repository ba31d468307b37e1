"""LoCoMo answered by a pretrained model: memory as text, as keys and values, and as the paper has it.

The measure is the log-probability of the gold answer under each memory, paired by question: it says more of
a small model than the words that it finds. Those are scored beside it (the paper's Table 2), with prefilled
tokens (Table 3) and times (Figure 4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch
from rich.table import Table

from zibaldone import Memory
from zibaldone.bench.kv.arms import (
    BASE,
    FIRST,
    Arm,
    ArmAnswer,
    ArmSettings,
    KVHistory,
    KVQuestion,
    arms,
    attached,
    by_pool,
)
from zibaldone.bench.kv.heads import HeadFinds, heads_of
from zibaldone.bench.kv.pretrained import load_pretrained
from zibaldone.bench.locomo import ADVERSARIAL, LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import KVLoCoMoOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.kv import KVMemory, TurnFormat, chat, plain
from zibaldone.views.kvcache.config import BEST

HEADS = "heads"


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm over all questions."""

    arm: str
    questions: int
    log_probability: float  # of a token of the gold answer, mean over questions
    against: float  # the recalled turns as text: mean difference, paired
    error: float  # its standard error
    against_keys: float  # the recalled turns as keys, in the same way
    keys_error: float
    evidence: float | None  # evidence recall; of no arm in which every layer has other turns in sight
    memory_tokens: float
    prefill_tokens: float
    f1: float | None
    bleu1: float | None
    first_ms: float | None  # median
    ms: float | None


@dataclass(frozen=True, slots=True)
class HeadRow:
    """One head over all questions: evidence recall by budget."""

    head: str
    questions: int
    turns: tuple[float, ...]
    blocks: tuple[float, ...]


def run(options: KVLoCoMoOptions, run: Run) -> Measurement:
    """Every arm over every conversation; with `keep`, what was asked before is not asked again."""
    if options.model is None:
        raise InvalidInput("--model is needed: a folder of Transformers, or a .gguf file")
    torch.set_num_threads(options.threads)
    model, tokenizer = load_pretrained(options.model)
    form = chat(tokenizer) if options.chat else plain()
    settings = ArmSettings(model, tokenizer, form, options.budget, options.answer)
    chosen = [arm for arm in arms() if not options.arms or arm.name in options.arms]
    names = (*(arm.name for arm in arms()), HEADS)
    if unknown := set(options.arms) - set(names):
        raise InvalidInput(f"no arm is called {', '.join(sorted(unknown))}: {', '.join(names)}")
    answers: list[ArmAnswer] = []
    finds: list[HeadFinds] = []
    memory = Memory(run.folder / "memory")
    conversations = list(_conversations(options, tokenizer, form, memory))
    kept = {of.name: _Kept(options.keep, _key(options, of)) for of in conversations}
    turns: dict[str, Sequence[int]] = {}
    for together in by_pool(chosen):
        for of in conversations:
            answers += _ask_all(of, together, settings, kept[of.name], turns, run)
    if not options.arms or HEADS in options.arms:
        for of in conversations:
            finds += _heads(of, settings, options, kept[of.name], run)
    memory.close()
    rows, of_heads = rows_of(answers), head_rows(finds)
    figures = {
        "model": options.model.name,
        "budget": options.budget,
        "prefill_tokens_per_second": _rate(answers),
        "rows": rows,
        "heads": of_heads,
        "answers": answers,
    }
    histories = ", ".join(f"{of.name} {of.tokens:,}" for of in conversations)
    shown = [table(options.model.name, rows, f"Tokens of history: {histories}. {_rated(answers)}")]
    if of_heads:
        shown.append(heads_table(of_heads, options.heads))
    return Measurement(figures, shown)


def _key(options: KVLoCoMoOptions, of: KVHistory) -> str:
    """What an answer depends on, but for its arm and its question."""
    model = options.model.name if options.model else ""
    return f"{model} {options.budget} {options.answer} {of.name} {of.tokens}"


def _ask_all(
    of: KVHistory,
    together: Sequence[Arm],
    settings: ArmSettings,
    kept: _Kept,
    turns: dict[str, Sequence[int]],
    run: Run,
) -> list[ArmAnswer]:
    """Every question of one history, by arms that read one pool; `turns` gets what text recall chose."""
    answers: list[ArmAnswer] = []
    kv: KVMemory | None = None
    try:
        for arm in together:
            ask = None
            for place, question in enumerate(of.questions):
                run.progress(f"{of.name}: {arm.name}", place, len(of.questions))
                result = kept.known(arm.name, question)
                if result is None:
                    kv = kv or attached(of, settings, arm.config, arm.pinned)
                    ask = ask or arm.ask(kv, of, settings, turns)
                    result = ask(question)
                    kept.add(result)
                if arm.name == FIRST:
                    turns[question.id] = result.seqs
                answers.append(result)
    finally:
        if kv is not None:
            kv.close()
    return answers


def _heads(
    of: KVHistory, settings: ArmSettings, options: KVLoCoMoOptions, kept: _Kept, run: Run
) -> list[HeadFinds]:
    finds = kept.heads()
    if not finds:
        run.progress(f"{of.name}: {HEADS}", 0, 0)
        kv = attached(of, settings, replace(BEST, select="attention"))
        try:
            finds = heads_of(kv, of, options.heads)
        finally:
            kv.close()
        kept.add_heads(finds)
    return finds


def _conversations(
    options: KVLoCoMoOptions, tokenizer: object, form: TurnFormat, memory: Memory
) -> Iterator[KVHistory]:
    """Whole sessions from the beginning, as many as the history holds, and questions that they answer."""
    data = LoCoMoQuestions(options.path)
    share = -(-options.questions // max(1, options.conversations))
    for user in data.users()[: options.conversations]:
        messages, tokens = _sessions(data.messages(user), options.history, tokenizer, form)
        every = [
            question
            for example in data.examples
            if example.user == user and example.category != ADVERSARIAL and example.answer
            if (question := _question(example, messages)) is not None
        ]
        count = min(share, len(every))
        picked = [every[i * len(every) // count] for i in range(count)]
        stored = memory.add(messages, user=user)
        yield KVHistory(user, memory, {message.seq: message for message in stored}, tuple(picked), tokens)


def _sessions(
    messages: Sequence[Message], most: int, tokenizer: object, form: TurnFormat
) -> tuple[list[Message], int]:
    taken: list[Message] = []
    total = 0
    for session in dict.fromkeys(message.session for message in messages):
        turns = [message for message in messages if message.session == session]
        length = sum(len(_ids(tokenizer, form.turn(turn))) for turn in turns)
        if taken and total + length > most:
            break
        taken, total = [*taken, *turns], total + length
    return [replace(message, seq=0) for message in taken], total


def _ids(tokenizer: object, text: str) -> Sequence[int]:
    made: Callable[..., Mapping[str, Sequence[int]]] = tokenizer  # type: ignore[assignment]
    return made(text, add_special_tokens=False)["input_ids"]


def _question(example: object, messages: Sequence[Message]) -> KVQuestion | None:
    """None when not all of its evidence is there."""
    seqs = []
    for turn in example.evidence:  # type: ignore[attr-defined]
        places = [place for place, message in enumerate(messages, 1) if turn in message.content]
        if not places:
            return None
        seqs.append(places[0])
    if not seqs:
        return None
    return KVQuestion(
        example.id,  # type: ignore[attr-defined]
        example.question,  # type: ignore[attr-defined]
        example.answer,  # type: ignore[attr-defined]
        example.category,  # type: ignore[attr-defined]
        tuple(dict.fromkeys(seqs)),
        example.now,  # type: ignore[attr-defined]
    )


class _Kept:
    """What earlier runs with the same settings have asked, a JSON line each."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path, self._key = path, key
        self._answers: dict[tuple[str, str], ArmAnswer] = {}
        self._heads: list[HeadFinds] = []
        for line in path.read_text().splitlines() if path is not None and path.is_file() else ():
            stored = json.loads(line)
            if stored.pop("key") != key:
                continue
            if "head" in stored:
                tuples = {name: tuple(stored[name]) for name in ("turns", "blocks")}
                self._heads.append(HeadFinds(**{**stored, **tuples}))
            else:
                result = ArmAnswer(**{**stored, "seqs": tuple(stored["seqs"])})
                self._answers[result.arm, result.question] = result

    def known(self, arm: str, question: KVQuestion) -> ArmAnswer | None:
        return self._answers.get((arm, question.id))

    def heads(self) -> list[HeadFinds]:
        return list(self._heads)

    def add(self, result: ArmAnswer) -> None:
        self._answers[result.arm, result.question] = result
        self._write([asdict(result)])

    def add_heads(self, finds: Sequence[HeadFinds]) -> None:
        self._heads += finds
        self._write([asdict(result) for result in finds])

    def _write(self, rows: Sequence[Mapping[str, object]]) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"key": self._key, **row}) + "\n" for row in rows)


def rows_of(answers: Sequence[ArmAnswer]) -> list[ArmRow]:
    """An arm's figures, paired by question with the turns that text recall chose, as text and as keys."""
    by_arm: dict[str, list[ArmAnswer]] = {}
    for result in answers:
        by_arm.setdefault(result.arm, []).append(result)
    text, keys = (
        {result.question: result.log_probability for result in by_arm.get(arm, ())} for arm in (BASE, FIRST)
    )
    return [_row(arm, of_arm, text, keys) for arm, of_arm in by_arm.items()]


def _gap(answers: Sequence[ArmAnswer], base: Mapping[str, float]) -> tuple[float, float]:
    """Mean difference and its standard error."""
    gaps = np.array(
        [result.log_probability - base[result.question] for result in answers if result.question in base]
    )
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return mean, float(gaps.std(ddof=1) / len(gaps) ** 0.5) if len(gaps) > 1 else 0.0


def _row(
    arm: str, answers: Sequence[ArmAnswer], text: Mapping[str, float], keys: Mapping[str, float]
) -> ArmRow:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    def middle(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    return ArmRow(
        arm,
        len(answers),
        float(np.mean([result.log_probability for result in answers])),
        *_gap(answers, text),
        *_gap(answers, keys),
        mean([result.evidence for result in answers]),
        float(np.mean([result.memory_tokens for result in answers])),
        float(np.mean([result.prefill_tokens for result in answers])),
        mean([result.f1 for result in answers]),
        mean([result.bleu1 for result in answers]),
        middle([result.first_ms for result in answers]),
        middle([result.ms for result in answers]),
    )


def head_rows(finds: Sequence[HeadFinds]) -> list[HeadRow]:
    """The best head first."""
    by_head: dict[str, list[HeadFinds]] = {}
    for result in finds:
        by_head.setdefault(result.head, []).append(result)
    rows = [
        HeadRow(
            head,
            len(of_head),
            tuple(np.mean([result.turns for result in of_head], axis=0).tolist()),
            tuple(np.mean([result.blocks for result in of_head], axis=0).tolist()),
        )
        for head, of_head in by_head.items()
    ]
    return sorted(rows, key=lambda row: -row.turns[-1])


def _rate(answers: Sequence[ArmAnswer]) -> float | None:
    """Tokens that this machine prefills in a second, by the text arm."""
    timed = [result for result in answers if result.arm == BASE and result.first_ms]
    spent = sum(result.first_ms or 0.0 for result in timed)
    return 1000 * sum(result.prefill_tokens for result in timed) / spent if spent else None


def _rated(answers: Sequence[ArmAnswer]) -> str:
    rate = _rate(answers)
    return f"This machine prefilled {rate:,.0f} tokens a second." if rate else ""


def table(model: str, rows: Sequence[ArmRow], caption: str) -> Table:
    """A row per arm."""
    columns = [
        Column("memory", lambda row: row.arm, left=True),
        Column("questions", lambda row: row.questions),
        Column("log-prob.\nper token", lambda row: row.log_probability, ".2f"),
        Column("against\ntext", lambda row: None if row.arm == BASE else row.against, "+.2f"),
        Column("+-", lambda row: None if row.arm == BASE else row.error, ".2f"),
        Column("against\nkeys", lambda row: None if row.arm == FIRST else row.against_keys, "+.2f"),
        Column("+-", lambda row: None if row.arm == FIRST else row.keys_error, ".2f"),
        Column("evidence", lambda row: row.evidence, ".2f"),
        Column("memory\ntokens", lambda row: row.memory_tokens, ",.0f"),
        Column("prefill\ntokens", lambda row: row.prefill_tokens, ",.0f"),
    ]
    if any(row.ms is not None for row in rows):
        columns += [
            Column("F1", lambda row: row.f1, ".3f"),
            Column("BLEU-1", lambda row: row.bleu1, ".3f"),
            Column("first\ntoken s", lambda row: row.first_ms and row.first_ms / 1000, ".2f"),
            Column("answer\ns", lambda row: row.ms and row.ms / 1000, ".2f"),
        ]
    questions = max((row.questions for row in rows), default=0)
    return tabulate(f"kv-locomo: {model}, {questions} questions", columns, rows, caption=caption)


def heads_table(rows: Sequence[HeadRow], budgets: Sequence[int]) -> Table:
    """Evidence recall of each kept head."""
    columns = [Column("head", lambda row: row.head, left=True)]
    for place, budget in enumerate(budgets):
        columns.append(Column(f"turns\n{budget:,}", lambda row, i=place: row.turns[i], ".2f"))  # type: ignore[misc]
        columns.append(Column(f"blocks\n{budget:,}", lambda row, i=place: row.blocks[i], ".2f"))  # type: ignore[misc]
    return tabulate("kv-locomo: evidence recall by head, at so many tokens", columns, rows)
