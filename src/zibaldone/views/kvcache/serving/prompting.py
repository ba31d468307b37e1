"""A question for an engine that serves the pool's model, and what the engine left made turns of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zibaldone.errors import BlockMissing, InvalidInput
from zibaldone.storage.database import Database
from zibaldone.views.kvcache.generate.generation import PromptContext, keys_of
from zibaldone.views.kvcache.generate.selection import Cited, Sought, cited, select, seqs_of
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.tap import Raw
from zibaldone.views.kvcache.retrieve.fetching import placed
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.serving.leavings import LeftKeys
from zibaldone.views.kvcache.serving.model_card import card_of, card_path
from zibaldone.views.kvcache.serving.scope import KVScope
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class KVPrompt:
    """One question with its memory in front."""

    ids: tuple[int, ...]  # pinned prefix, memory, newest turns, question
    question_tokens: int  # at the end of these: what an engine has to compute
    scope: KVScope | None  # None: there is no memory to load
    salt: str | None
    citations: tuple[Cited, ...]  # the messages in sight, in the order of the log
    query: str
    now: datetime
    user: str
    session: str | None
    blocks: tuple[KVBlock, ...]
    deletions: int  # of the user's log when this was put together

    @property
    def memory_tokens(self) -> int:
        """Tokens whose keys are loaded, the pinned ones among them."""
        return len(self.ids) - self.question_tokens

    @property
    def seqs(self) -> tuple[int, ...]:
        """Of the messages in sight."""
        return seqs_of(self.blocks)

    def body(self) -> dict[str, Any]:
        """Fields of a request to `/v1/completions`; model, max_tokens and the like are the caller's."""
        fields: dict[str, Any] = {"prompt": list(self.ids)}
        if self.scope is not None:
            fields |= {"kv_transfer_params": self.scope.params(), "cache_salt": self.salt}
        return fields


def prompt_of(
    view: KVView,
    database: Database,
    reader: PoolReader | None,
    index: Index | None,
    user: str,
    sought: Sought,
    *,
    keep: str,
    deletions: int,
) -> KVPrompt:
    """Choose, and say what stands where.

    Raises BlockMissing when a chosen block has just gone, and InvalidInput for settings that an engine has no
    place for.
    """
    if view.config.select == "per_layer" and sought.given is None:
        raise InvalidInput(
            "select 'per_layer' gives every layer its own memory, and an engine has one for all: take another"
            " select, or give seqs"
        )
    selection = select(view, reader, index, sought)
    prefix = view.encoder.prefix_ids if view.config.pinned else ()
    blocks: tuple[KVBlock, ...] = ()
    scope = salt = None
    if reader is not None and selection.shown:
        blocks = placed(reader, selection.shown)
        path = card_path(view.root, view.fingerprint)
        if not path.is_file():
            card_of(view.encoder).write(path)
        generation = reader.pool.generation
        numbers = tuple(block.number for block in blocks)
        scope = KVScope(user, generation.number, generation.fingerprint, bool(prefix), numbers, keep)
        salt = scope.salt(block.crc for block in blocks)
    memory = (token for block in blocks for token in block.tile.ids)
    return KVPrompt(
        ids=(*prefix, *memory, *selection.question.ids),
        question_tokens=len(selection.question.ids),
        scope=scope,
        salt=salt,
        citations=cited(database.read, user, seqs_of(blocks)),
        query=sought.query,
        now=sought.now,
        user=user,
        session=sought.session,
        blocks=blocks,
        deletions=deletions,
    )


def left_keys_of(
    view: KVView, prompt: KVPrompt, reader: PoolReader | None, left: LeftKeys
) -> list[tuple[Raw, Sequence[int]]]:
    """(keys, token ids) of question and answer, of what an engine left.

    Raises BlockMissing when what the answer had in sight is gone.
    """
    if reader is None:
        raise BlockMissing(f"user {prompt.user!r} has no blocks any more")
    fetched = view.fetcher.fetch(reader, prompt.blocks)
    context = PromptContext(prompt.ids[-prompt.question_tokens :], fetched.raw)
    answer = answer_of(view.encoder, prompt, left)
    return keys_of(view.encoder, context, left.raw, answer, prompt.query, prompt.now)


def answer_of(encoder: Encoder, prompt: KVPrompt, left: LeftKeys) -> tuple[int, ...]:
    """The answer's tokens, without the mark of its end."""
    answer = left.ids[prompt.question_tokens :]
    end = encoder.tokenizer.eos_token_id
    return answer[: answer.index(end)] if end in answer else answer


def is_of(encoder: Encoder, prompt: KVPrompt, left: LeftKeys, text: str) -> bool:
    """True if what was left are keys of this question and this answer, and of all that an engine saw."""
    question = prompt.ids[-prompt.question_tokens :]
    if left.ids[: prompt.question_tokens] != question or not left.raw or left.raw[0].tokens < len(question):
        return False
    answer = answer_of(encoder, prompt, left)
    return str(encoder.tokenizer.decode(list(answer), skip_special_tokens=True)).strip() == text.strip()
