"""LoCoMo by a pretrained model on this machine: memory as text, as keys and values, and as in MemArt's paper.

    python -m benchmarks.kv LOCOMO MODEL [--questions 60] [--budget 512] [--answer 12] [--arms paper,none]
    python -m benchmarks.kv LOCOMO MODEL --figures [--strategies rr-max,rr-sum] [--blocks 8,16] [--tokens 128]

The measure is the log-probability of a token of the gold answer under each memory, paired by question with no
memory and with `recall-text`: it says more of a small model than its words. With `--answer` those
are scored too (the paper's Table 2). `--figures` asks the paper's preset with every strategy of its Table 1,
block size and k (Figures 5 and 6). Needs the extra 'kv'; MODEL is a folder of Transformers or a .gguf file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks import results
from benchmarks.data import Conversation, Question, load
from benchmarks.scores import bleu1, f1_original
from zibaldone import Memory, Message
from zibaldone.api.kv import KVMemory, MemArt
from zibaldone.cli.compare.evidence import Mean
from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.generate.generation import answer_ids, generate, likelihood
from zibaldone.views.kvcache.generate.selection import SelectedMemory
from zibaldone.views.kvcache.model.turns import question_of

BASE, FIRST, NONE = "recall-text", "recall-kv", "none"  # the base has the turns that the first recalled
BEST, PAPER = MemArt(), MemArt.paper()
STRATEGIES: Mapping[str, Mapping[str, Any]] = {  # Table 1
    "softmax-sum": {"normalization": "softmax", "aggregation": "sum"},
    "softmax-max": {"normalization": "softmax", "aggregation": "max"},
    "rr-sum": {"normalization": "reciprocal_rank", "aggregation": "sum"},
    "rr-max": {"normalization": "reciprocal_rank", "aggregation": "max"},
}


@dataclass(frozen=True, slots=True)
class ArmAnswer:
    """The result of one arm for one question."""

    arm: str
    question: str  # its id
    category: str
    log_probability: float  # of a token of the gold answer, mean
    evidence: float | None  # share of the evidence turns in sight; None where each layer has others
    memory_tokens: int
    prefill_tokens: int
    seqs: tuple[int, ...]  # in sight
    answer: str = ""
    f1: float | None = None
    bleu1: float | None = None
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class KVHistory:
    """One conversation, as many whole sessions as the history holds, and questions that they answer."""

    user: str
    messages: Mapping[int, Message]  # by seq
    questions: tuple[Question, ...]
    tokens: int


def load_pretrained(path: Path) -> tuple[Any, Any]:
    """(model, tokenizer), in float32; no network is asked. Raises InvalidInput for a path that holds none."""
    if path.suffix == ".gguf" and path.is_file():
        folder, more = path.parent, {"gguf_file": path.name}
    elif (path / "config.json").is_file():
        folder, more = path, {}
    else:
        raise InvalidInput(f"{str(path)!r} holds no model: give a folder of Transformers, or a .gguf file")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True, **more)
    return model.eval(), tokenizer


def history_of(
    talk: Conversation,
    memory: Memory,
    tokens_of: Callable[[str], int],
    most: int,
    questions: int,
    categories: str = "",
) -> KVHistory:
    """Whole sessions from the beginning, stored, and as many questions evenly out of those they answer."""
    taken: list[Message] = []
    total = 0
    for turns in talk.sessions():
        length = sum(tokens_of(turn.content) for turn in turns)
        if taken and total + length > most:
            break
        taken, total = [*taken, *turns], total + length
    memory.add([replace(message, seq=0) for message in taken], user=talk.name)
    every = [
        q
        for q in talk.questions
        if q.known and q.asked_at and q.answers and q.evidence and max(q.evidence) <= len(taken)
        if not categories or q.category in categories.split(",")
    ]
    count = min(questions, len(every))
    picked = tuple(every[i * len(every) // count] for i in range(count))
    return KVHistory(talk.name, {message.seq: message for message in taken}, picked, total)


Seqs = Callable[[Question, Mapping[str, Sequence[int]]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Arm:
    """A way of giving memory: the settings of its pool, and the turns in sight."""

    config: MemArt = BEST
    seqs: Seqs | None = None  # None: the pool's settings choose
    as_text: bool = False
    memory_tokens: int | None = None  # of single blocks; None: the budget


def _recalled(question: Question, recalled: Mapping[str, Sequence[int]]) -> Sequence[int]:
    return recalled[question.id]


def _evidence(question: Question, _: Mapping[str, Sequence[int]]) -> Sequence[int]:
    return question.evidence


ARMS: Mapping[str, Arm] = {
    FIRST: Arm(),
    BASE: Arm(seqs=_recalled, as_text=True),
    NONE: Arm(seqs=lambda *_: (), as_text=True),
    "oracle-text": Arm(seqs=_evidence, as_text=True),
    "oracle-kv": Arm(seqs=_evidence),
    "full-context": Arm(PAPER, memory_tokens=10**9),  # with all blocks it is the history as one prompt
    "paper": Arm(PAPER),
    "paper-rr": Arm(MemArt.paper("qwen")),
}


def figure_arms(strategies: Iterable[str], blocks: Iterable[int], tokens: Iterable[int]) -> dict[str, Arm]:
    """The paper's preset by block size, strategy and k = tokens / block size: arms of one pool in a row."""
    return {
        f"{strategy}, {most // size} x {size}": Arm(
            replace(PAPER, block_tokens=size, **STRATEGIES[strategy]), memory_tokens=most
        )
        for size, strategy, most in product(blocks, strategies, tokens)
    }


@dataclass(frozen=True, slots=True)
class Asking:
    """The setting that all arms share."""

    model: Any
    tokenizer: Any
    budget_tokens: int
    new_tokens: int  # of an answer; 0: answers are only scored


def ask_all(
    name: str, arm: Arm, of: KVHistory, memory: Memory, asking: Asking, recalled: dict[str, Sequence[int]]
) -> list[ArmAnswer]:
    """Every question of one history; the first arm fills `recalled`."""
    kv = KVMemory(asking.model, asking.tokenizer, memory, config=arm.config)
    try:
        if not arm.as_text:
            kv.remember(user=of.user)
        answers = []
        for place, question in enumerate(of.questions):
            print(f"{of.user}: {name} {place + 1} of {len(of.questions)}", file=sys.stderr)
            seqs = None if arm.seqs is None else tuple(sorted(arm.seqs(question, recalled)))
            if arm.as_text and seqs is not None:
                answers.append(_from_text(name, kv, of, asking, question, seqs))
            else:
                tokens = arm.memory_tokens or asking.budget_tokens
                answers.append(_from_kv(name, kv, of, asking, question, seqs, tokens))
            if name == FIRST:
                recalled[question.id] = answers[-1].seqs
        return answers
    finally:
        kv.close()


def _from_kv(
    name: str,
    kv: KVMemory,
    of: KVHistory,
    asking: Asking,
    question: Question,
    seqs: tuple[int, ...] | None,
    tokens: int,
) -> ArmAnswer:
    given: dict[str, Any] = {"user": of.user, "now": question.asked_at}
    if seqs is not None:
        given |= {"seqs": seqs, "budget_tokens": 10**6}
    else:
        given["budget_tokens"] = tokens
    score = kv.score(question.text, question.answers[0], **given)
    shown = tuple(cited.seq for cited in score.citations)
    counts = (score.kv_tokens, score.prefill_tokens)
    in_sight = _share(question, shown) if kv.config.whole_turns else None
    made = ArmAnswer(name, question.id, question.category, score.per_token, in_sight, *counts, shown)
    if not asking.new_tokens:
        return made
    answer = kv.generate(question.text, max_new_tokens=asking.new_tokens, **given)
    return _read(made, question, answer.text, answer.trace.ms)


def _from_text(
    name: str, kv: KVMemory, of: KVHistory, asking: Asking, question: Question, seqs: tuple[int, ...]
) -> ArmAnswer:
    """The same turns as text, before the question, all of it prefilled."""
    encoder = kv.view.encoder
    assert question.asked_at is not None  # `history_of` takes no other
    ids = question_of(encoder.tokenizer, encoder.form, question.text, question.asked_at)
    before = [i for seq in seqs for i in encoder.turn_ids(of.messages[seq])]
    prompt = SelectedMemory((*before, *ids))
    gold = answer_ids(encoder, question.answers[0], question.asked_at)
    with encoder.tap.lock:
        per_token = likelihood(encoder, prompt.prefilled(encoder, len(gold)), gold) / len(gold)
        tokens = (prompt.kv_tokens, len(prompt.ids))
        made = ArmAnswer(
            name, question.id, question.category, per_token, _share(question, seqs), *tokens, seqs
        )
        if not asking.new_tokens:
            return made
        options = {"max_new_tokens": asking.new_tokens, "do_sample": False}
        began = time.perf_counter()
        done = generate(encoder, prompt.prefilled(encoder), options)
        ms = (time.perf_counter() - began) * 1000
    text = str(asking.tokenizer.decode(list(done), skip_special_tokens=True))
    return _read(made, question, text, ms)


def _read(made: ArmAnswer, question: Question, text: str, ms: float) -> ArmAnswer:
    """With the answer's words: its first line, as weak models go on with a conversation of their own."""
    line = text.strip().split("\n")[0]
    f1 = f1_original(line, question.answers[0], question.category)
    return replace(made, answer=line, f1=f1, bleu1=bleu1(line, question.answers[0]), ms=ms)


def _share(question: Question, seqs: Sequence[int]) -> float:
    return len(set(question.evidence) & set(seqs)) / len(set(question.evidence))


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm over all questions."""

    arm: str
    log_probability: Mean | None
    gain: Mean | None  # over no memory: difference, paired
    against: Mean | None  # the recalled turns as text: difference, paired
    multi_hop: Mean | None  # the same, of LoCoMo's multi-hop questions
    single_hop: Mean | None
    evidence: Mean | None
    memory_tokens: float
    prefill_tokens: float
    f1: Mean | None
    bleu1: Mean | None
    ms: float | None


def rows_of(answers: Sequence[ArmAnswer]) -> list[ArmRow]:
    """One per arm, in their order."""

    def over(group: Sequence[ArmAnswer], arm: str, category: str = "") -> Mean | None:
        base = {each.question: each.log_probability for each in answers if each.arm == arm}
        return Mean.of(
            each.log_probability - base[each.question]
            for each in group
            if each.question in base and category in ("", each.category)
        )

    return [
        ArmRow(
            arm=arm,
            log_probability=Mean.of(each.log_probability for each in group),
            gain=over(group, NONE),
            against=over(group, BASE),
            multi_hop=over(group, BASE, "multi-hop"),
            single_hop=over(group, BASE, "single-hop"),
            evidence=Mean.of(each.evidence for each in group),
            memory_tokens=fmean(each.memory_tokens for each in group),
            prefill_tokens=fmean(each.prefill_tokens for each in group),
            f1=Mean.of(each.f1 for each in group),
            bleu1=Mean.of(each.bleu1 for each in group),
            ms=fmean(each.ms or 0.0 for each in group) if group[0].ms is not None else None,
        )
        for arm in dict.fromkeys(each.arm for each in answers)
        for group in [[each for each in answers if each.arm == arm]]
    ]


def main() -> None:
    """Every arm over every conversation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--conversations", type=int, default=2, help="of the file, from the first")
    parser.add_argument("--questions", type=int, default=30, help="of each conversation")
    parser.add_argument("--history", type=int, default=5500, help="tokens of a conversation")
    parser.add_argument("--budget", type=int, default=512, help="tokens in sight, for every arm")
    parser.add_argument("--answer", type=int, default=0, help="tokens of an answer; 0: none is given")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument(
        "--figures", action="store_true", help="the paper's Figures 5 and 6, in place of --arms"
    )
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="with --figures")
    parser.add_argument("--blocks", default="8,16", help="with --figures: tokens of a block")
    parser.add_argument("--tokens", default="128,512", help="with --figures: k blocks have so many")
    parser.add_argument("--categories", default="", help="of questions, such as multi-hop,single-hop; all")
    parser.add_argument("--output", type=Path, default=results.RESULTS / "kv.json")
    given = parser.parse_args()
    arms, wanted = dict(ARMS), given.arms.split(",")
    if given.figures:
        blocks, tokens = ([int(word) for word in words.split(",")] for words in (given.blocks, given.tokens))
        made = figure_arms(given.strategies.split(","), blocks, tokens)
        arms, wanted = arms | made, [NONE, *made]
    if any(arms[name].seqs is _recalled for name in wanted if name in arms):
        wanted = list(dict.fromkeys((FIRST, *wanted)))  # which says what text recall chose
    if unknown := set(wanted) - set(arms):
        raise InvalidInput(f"no arm {min(unknown)!r}: choose from {', '.join(ARMS)}")
    torch.set_num_threads(1)
    model, tokenizer = load_pretrained(given.model)
    asking = Asking(model, tokenizer, given.budget, given.answer)
    answers: list[ArmAnswer] = []

    def tokens_of(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder, Memory(folder) as memory:
        for talk in load("locomo", given.path)[: given.conversations]:
            of = history_of(talk, memory, tokens_of, given.history, given.questions, given.categories)
            recalled: dict[str, Sequence[int]] = {}
            for name in wanted:
                answers += ask_all(name, arms[name], of, memory, asking, recalled)
    rows = rows_of(answers)
    title = f"kv: {given.model.name}, {len(answers) // len(rows)} questions"
    results.show(title, rows)
    results.write(given.output, {"title": title, "rows": rows})


if __name__ == "__main__":
    main()
