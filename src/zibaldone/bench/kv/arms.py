"""Ways of giving a pretrained model its memory, each asked the same questions of one conversation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from zibaldone import Memory
from zibaldone.bench.answers import bleu1, f1_original
from zibaldone.core import Message
from zibaldone.kv import KVMemory, MemArt, TurnFormat, ranked_by_text
from zibaldone.views.kvcache.config import BEST, PAPER, Select
from zibaldone.views.kvcache.generate.generation import PromptContext, generate
from zibaldone.views.kvcache.generate.likelihood import answer_ids, likelihood
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.tap import Raw
from zibaldone.views.kvcache.model.turns import question_of

FIRST = "recall-kv"
BASE = "recall-text"  # the same turns: what all others are held against
_SINKS = ".\n.\n.\n"  # tokens that say nothing, for attention that has nothing to look at


@dataclass(frozen=True, slots=True)
class KVQuestion:
    """A question whose evidence is in the history."""

    id: str
    text: str
    answer: str
    category: str
    evidence: tuple[int, ...]  # seqs
    now: Any


@dataclass(frozen=True, slots=True)
class ArmAnswer:
    """What one arm gave for one question."""

    arm: str
    question: str  # its id
    log_probability: float  # of a token of the gold answer, mean
    evidence: float | None  # share of the evidence turns in sight; None where each layer has others
    memory_tokens: int
    prefill_tokens: int
    seqs: tuple[int, ...]  # in sight
    answer: str = ""
    f1: float | None = None
    bleu1: float | None = None
    first_ms: float | None = None  # to the first token, choosing and fetching counted
    ms: float | None = None  # with decoding


@dataclass(frozen=True, slots=True)
class KVHistory:
    """One history and its questions."""

    name: str  # the user that it is of
    memory: Memory
    messages: Mapping[int, Message]  # by seq
    questions: tuple[KVQuestion, ...]
    tokens: int  # of the history, by the model's tokenizer


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What all arms share."""

    model: Any
    tokenizer: Any
    form: TurnFormat
    budget_tokens: int
    new_tokens: int  # of an answer; 0: answers are only scored


Ask = Callable[[KVQuestion], ArmAnswer]
Turns = Mapping[str, Sequence[int]]  # by question: the turns that text recall put in sight


@dataclass(frozen=True, slots=True)
class Arm:
    """A way of giving memory."""

    name: str
    config: MemArt  # of the pool that it reads
    ask: Callable[[KVMemory, KVHistory, ArmSettings, Turns], Ask]
    pinned: str = ""  # after the first token, before everything


def arms() -> tuple[Arm, ...]:
    """In the order in which they are asked: first what text recall chose, then arms of one pool together."""
    alone, segment = replace(BEST, context_tokens=0), replace(BEST, context_tokens=None)
    return (
        Arm(FIRST, BEST, partial(_from_kv, FIRST)),
        Arm(BASE, BEST, partial(_from_text, BASE, _recalled)),
        _of_given("none", BEST, lambda _question, _turns: ()),
        Arm("oracle-text", BEST, partial(_from_text, "oracle-text", _oracle)),
        _of_given("oracle-kv", BEST, _oracle),
        Arm("whole-text", BEST, _whole),
        Arm("recall-text-best-last", BEST, partial(_best_last_text, "recall-text-best-last")),
        _of_select("attention-kv", "attention"),
        _of_select("both-kv", "both"),
        _of_select("blocks-kv", "blocks"),
        Arm(
            "recall-kv-best-last", replace(BEST, order="best_last"), partial(_from_kv, "recall-kv-best-last")
        ),
        _of_given("recall-kv-reread-4", replace(BEST, reread_tokens=4), _recalled),
        _of_given("recall-kv-reread-16", replace(BEST, reread_tokens=16), _recalled),
        _of_given("recall-kv-no-sink", replace(BEST, pinned=False), _recalled),
        Arm("paper", PAPER, partial(_from_kv, "paper")),
        _of_given("recall-kv-alone", alone, _recalled),
        _of_given("oracle-kv-alone", alone, _oracle),
        _of_given("recall-kv-segment", segment, _recalled),
        _of_given("oracle-kv-segment", segment, _oracle),
        _of_given("recall-kv-sinks", BEST, _recalled, pinned=_SINKS),
    )


def _of_select(name: str, select: Select) -> Arm:
    return Arm(name, replace(BEST, select=select), partial(_from_kv, name))


def _of_given(
    name: str, config: MemArt, choose: Callable[[KVQuestion, Turns], Sequence[int]], *, pinned: str = ""
) -> Arm:
    return Arm(name, config, partial(_given, name, choose), pinned)


def _recalled(question: KVQuestion, turns: Turns) -> Sequence[int]:
    return turns[question.id]


def _oracle(question: KVQuestion, _turns: Turns) -> Sequence[int]:
    return question.evidence


def _from_kv(name: str, kv: KVMemory, of: KVHistory, settings: ArmSettings, _turns: Turns) -> Ask:
    """Chosen by the settings of the pool."""
    most = _most(kv.config, settings)
    return lambda question: _asked(name, kv, of, settings, question, most)


def _given(
    name: str,
    choose: Callable[[KVQuestion, Turns], Sequence[int]],
    kv: KVMemory,
    of: KVHistory,
    settings: ArmSettings,
    turns: Turns,
) -> Ask:
    """These turns, as KV."""
    return lambda question: _asked(
        name, kv, of, settings, question, {"seqs": tuple(choose(question, turns)), "budget_tokens": 10**6}
    )


def _best_last(of: KVHistory, settings: ArmSettings, question: KVQuestion, turns: Turns) -> tuple[int, ...]:
    """What text recall chose, the best turn next to the question and not in the order of time."""
    ranked = ranked_by_text(of.memory, question.text, of.name, settings.budget_tokens, question.now)
    return tuple(seq for seq in reversed(ranked) if seq in turns[question.id])


def _best_last_text(name: str, kv: KVMemory, of: KVHistory, settings: ArmSettings, turns: Turns) -> Ask:
    def ask(question: KVQuestion) -> ArmAnswer:
        seqs = _best_last(of, settings, question, turns)
        return _prefilled(name, kv, of, settings, question, seqs, None)

    return ask


def _most(config: MemArt, settings: ArmSettings) -> dict[str, Any]:
    """As many tokens for every arm, whatever it counts in."""
    if config.whole_turns:
        return {"budget_tokens": settings.budget_tokens}
    return {"top_k": max(1, settings.budget_tokens // config.block_tokens)}


def _asked(
    name: str,
    kv: KVMemory,
    of: KVHistory,
    settings: ArmSettings,
    question: KVQuestion,
    more: Mapping[str, Any],
) -> ArmAnswer:
    given: dict[str, Any] = {"user": of.name, "now": question.now, **more}
    score = kv.score(question.text, question.answer, **given)
    seqs = tuple(cited.seq for cited in score.citations)
    made = ArmAnswer(
        name,
        question.id,
        score.per_token,
        None if kv.config.select == "per_layer" else _share(question.evidence, seqs),
        score.kv_tokens,
        score.prefill_tokens,
        seqs,
    )
    if not settings.new_tokens:
        return made
    answer = kv.generate(question.text, max_new_tokens=settings.new_tokens, **given)
    trace = answer.trace
    before = trace.probe_ms + trace.score_ms + trace.fetch_ms
    return _read(made, question, answer.text, before + trace.prefill_ms, trace.ms)


def _read(made: ArmAnswer, question: KVQuestion, text: str, first_ms: float, ms: float) -> ArmAnswer:
    """With the answer's words: its first line, as weak models go on with a conversation of their own."""
    first_line = text.strip().split("\n")[0]
    return replace(
        made,
        answer=first_line,
        f1=f1_original(first_line, question.answer, question.category),
        bleu1=bleu1(first_line, question.answer),
        first_ms=first_ms,
        ms=ms,
    )


def _share(evidence: Sequence[int], seqs: Sequence[int]) -> float:
    return len(set(evidence) & set(seqs)) / len(set(evidence))


def _from_text(
    name: str,
    choose: Callable[[KVQuestion, Turns], Sequence[int]],
    kv: KVMemory,
    of: KVHistory,
    settings: ArmSettings,
    turns: Turns,
) -> Ask:
    """The same turns as text, before the question, all of it prefilled."""

    def ask(question: KVQuestion) -> ArmAnswer:
        seqs = tuple(sorted(choose(question, turns)))
        return _prefilled(name, kv, of, settings, question, seqs, None)

    return ask


def _whole(kv: KVMemory, of: KVHistory, settings: ArmSettings, _turns: Turns) -> Ask:
    """The whole history as text: read once; each question goes on from there, the time of reading added."""
    began = time.perf_counter()
    with kv.view.model_lock:
        encoder = kv.view.encoder
        ids = [i for seq in sorted(of.messages) for i in encoder.turn_ids(of.messages[seq])]
        read = encoder.run(ids, [encoder.prefix] if encoder.prefix else [])
    ms = (time.perf_counter() - began) * 1000
    seqs = tuple(sorted(of.messages))
    return lambda question: _prefilled("whole-text", kv, of, settings, question, seqs, (read, len(ids), ms))


def _prefilled(
    name: str,
    kv: KVMemory,
    of: KVHistory,
    settings: ArmSettings,
    question: KVQuestion,
    seqs: Sequence[int],
    read: tuple[Raw, int, float] | None,  # already, with its tokens and the time that it took
) -> ArmAnswer:
    encoder = kv.view.encoder
    ids = question_of(encoder.tokenizer, encoder.form, question.text, question.now).ids
    before = () if read else tuple(i for seq in seqs for i in encoder.turn_ids(of.messages[seq]))
    context = PromptContext((), (), (read[0],) if read else (), (*before, *ids))
    made = _behind(name, encoder, settings, question, context, seqs)
    if not read:
        return made
    _, tokens, ms = read
    made = replace(made, memory_tokens=0, prefill_tokens=made.prefill_tokens + tokens)
    if made.first_ms is None or made.ms is None:
        return made
    return replace(made, first_ms=made.first_ms + ms, ms=made.ms + ms)


def _behind(
    name: str,
    encoder: Encoder,
    settings: ArmSettings,
    question: KVQuestion,
    context: PromptContext,
    seqs: Sequence[int],
) -> ArmAnswer:
    """What the model says behind a context that was put together here."""
    gold = answer_ids(encoder, question.answer, question.now)
    with encoder.tap.lock:
        log_probability = likelihood(encoder, context, gold) / len(gold)
        made = ArmAnswer(
            name,
            question.id,
            log_probability,
            _share(question.evidence, seqs),
            context.kv_tokens,
            context.prefill_tokens,
            tuple(seqs),
        )
        if not settings.new_tokens:
            return made
        options = {"max_new_tokens": settings.new_tokens, "do_sample": False}
        (done,) = generate(encoder, [context], catch=False, options=options)
    text = str(settings.tokenizer.decode(list(done.sequences[0]), skip_special_tokens=True))
    return _read(made, question, text, done.prefill_ms, done.ms)


def attached(of: KVHistory, settings: ArmSettings, config: MemArt, pinned: str = "") -> KVMemory:
    """A KVMemory that has read the history."""
    kv = KVMemory(
        settings.model,
        settings.tokenizer,
        of.memory,
        config=config,
        format=replace(settings.form, pinned=settings.form.pinned + pinned),
    )
    try:
        kv.remember(user=of.name)
    except BaseException:
        kv.close()
        raise
    return kv


def by_pool(chosen: Sequence[Arm]) -> Iterator[list[Arm]]:
    """Arms that read the same pool with the same settings, together."""
    left = list(chosen)
    while left:
        first = left[0]
        yield [arm for arm in left if (arm.config, arm.pinned) == (first.config, first.pinned)]
        left = [arm for arm in left if (arm.config, arm.pinned) != (first.config, first.pinned)]
