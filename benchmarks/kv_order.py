"""The order of memory between a session's turns: what an engine's prefix cache shares, and what it costs.

Each turn's prompt is put together as KVMemory.prompt does it: in the order of the log; behind the turn before
(`after`); and with all that stood there staying as well, until that is four times the budget and memory
begins anew. Equal are the leading tokens that the turn before begins with, and shared are those of them that
stand under the same salt: what the cache of an engine has, but for the rest of its last block. Two sessions
are asked: questions of the benchmark, and the turns of the session that follows the history, whose answers
are the turns behind them. The log-probability is that of a token of the answer, paired by turn.

    python -m benchmarks.kv_order LOCOMO MODEL [--turns 20]        # extra 'kv'
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import fmean

import torch

from benchmarks import results
from benchmarks.data import Conversation, load
from benchmarks.kv import KVHistory, history_of, load_pretrained
from zibaldone import Memory
from zibaldone.api.kv import KVMemory, KVPrompt, MemArt
from zibaldone.cli.compare.evidence import Mean
from zibaldone.views.kvcache.generate import answering

_ORDERS = ("of the log", "kept first", "kept, and added to")
_TIMES = 4  # the budget of a turn: that much memory stands at most where it is added to


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a session, and its answer."""

    text: str
    answer: str
    now: datetime


@dataclass(frozen=True, slots=True)
class OrderRow:
    """One session in one order."""

    session: str
    order: str
    prompt_tokens: float
    kept: float  # share of a turn's memory that was in sight the turn before
    equal: float  # share of a prompt's tokens, from the first on, that the turn before begins with
    shared: float  # the same, where both have one salt
    log_probability: Mean | None
    against: Mean | None  # the order of the log: difference, paired


def main() -> None:
    """Both sessions in both orders."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv_order", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--conversation", type=int, default=0, help="of the file")
    parser.add_argument("--turns", type=int, default=20, help="of a session")
    parser.add_argument("--history", type=int, default=5500, help="tokens of the conversation")
    parser.add_argument("--budget", type=int, default=512, help="tokens of memory in sight")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=results.RESULTS / "kv_order.json")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model, tokenizer = load_pretrained(given.model)

    def tokens_of(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    talk = load("locomo", given.path)[given.conversation]
    rows: list[OrderRow] = []
    config = MemArt(budget_tokens=given.budget)
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder, Memory(folder) as memory:
        of = history_of(talk, memory, tokens_of, given.history, given.turns)
        with KVMemory(model, tokenizer, memory, config=config) as kv:
            kv.remember(user=of.user)
            sessions = {
                "questions": [Turn(q.text, q.answer, q.now) for q in of.questions],
                "the next session": list(_following(talk, of))[: given.turns],
            }
            for name, turns in sessions.items():
                rows += _rows(kv, of.user, name, turns)
    results.show(f"{given.model.name}, {given.turns} turns", rows)
    page = {"title": "Order of memory between turns, and what a prefix cache shares", "rows": rows}
    results.write(given.output, page | {"model": given.model.name, "history_tokens": of.tokens})


def _following(talk: Conversation, of: KVHistory) -> Iterator[Turn]:
    """Turns of the session behind the history, each with the next one as its answer."""
    later = talk.messages[len(of.messages) :]
    session = [message for message in later if message.session == later[0].session]
    for asking, answering_ in pairwise(session):
        if asking.time is not None:
            yield Turn(asking.content, answering_.content, asking.time)


def _rows(kv: KVMemory, user: str, session: str, turns: Sequence[Turn]) -> list[OrderRow]:
    made: dict[str, tuple[list[KVPrompt], list[float]]] = {name: ([], []) for name in _ORDERS}
    for turn in turns:
        for order, (prompts, logs) in made.items():
            prompt = kv.prompt(turn.text, user=user, now=turn.now)
            if prompts and order != _ORDERS[0]:
                prompt = _after(kv, prompt, prompts[-1], adds=order == _ORDERS[2])
            prompts.append(prompt)
            logs.append(_log_probability(kv, user, prompt, turn.answer))
    base = made[_ORDERS[0]][1]
    rows = []
    for order, (prompts, logs) in made.items():
        pairs = list(pairwise(prompts))
        kept = (len(set(was.blocks) & set(now.blocks)) / max(1, len(now.blocks)) for was, now in pairs)
        rows.append(
            OrderRow(
                session,
                order,
                fmean(len(prompt.ids) for prompt in prompts),
                fmean(kept),
                fmean(_equal(was, now) / len(now.ids) for was, now in pairs),
                fmean(_equal(was, now) / len(now.ids) if was.salt == now.salt else 0.0 for was, now in pairs),
                Mean.of(logs),
                Mean.of(log - other for log, other in zip(logs, base, strict=True)),
            )
        )
    return rows


def _after(kv: KVMemory, prompt: KVPrompt, before: KVPrompt, *, adds: bool) -> KVPrompt:
    """Return the prompt behind the one before; with `adds` all of that stays, until there is no room."""
    ask = partial(kv.prompt, prompt.query, user=prompt.user, now=prompt.now, after=before)
    if not adds:
        return ask()
    most = _TIMES * kv.config.budget_tokens
    seqs = [*before.seqs, *(seq for seq in prompt.seqs if seq not in before.seqs)]
    whole = ask(seqs=seqs, budget_tokens=most)
    return whole if set(prompt.seqs) <= set(whole.seqs) else prompt


def _equal(was: KVPrompt, now: KVPrompt) -> int:
    """Number of tokens that both prompts begin with."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(was.ids, now.ids, strict=False)))


def _log_probability(kv: KVMemory, user: str, prompt: KVPrompt, answer: str) -> float:
    """Log-probability per token of an answer, with the prompt's turns in its order."""
    # `score` has no order of its own.
    room = len(prompt.ids)
    sought = kv._sought(prompt.query, user, None, room, None, prompt.seqs, prompt.now, 0)  # noqa: SLF001
    kept = dict.fromkeys(block.tile.seqs[0] for block in prompt.blocks)
    with kv.view.model_lock:
        pool = kv._pool(user)  # noqa: SLF001
        made = answering.score(kv.view, *pool, user, replace(sought, kept=tuple(kept)), answer)
    return made.per_token


if __name__ == "__main__":
    main()
