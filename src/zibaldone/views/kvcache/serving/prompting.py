"""From a question to what is sent to an engine, and from what the engine left to the turns of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zibaldone.errors import BlockMissing, InvalidInput
from zibaldone.storage.database import Database
from zibaldone.views.kvcache.generate.answer_keys import Keys, keys_of
from zibaldone.views.kvcache.generate.generation import PromptContext
from zibaldone.views.kvcache.generate.sight import Looking, Sought, cited
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.serving.leavings import LeftKeys
from zibaldone.views.kvcache.serving.model_card import card_of, card_path
from zibaldone.views.kvcache.serving.prompt import KVPrompt
from zibaldone.views.kvcache.serving.scope import KVScope
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.view import KVView


class Prompting:
    """Prompts for an engine that serves one model's pool. Not for several threads at once."""

    def __init__(self, view: KVView, looking: Looking) -> None:
        self._view, self._encoder, self._looking = view, view.encoder, looking

    def check(self, sought: Sought) -> None:
        """Raises InvalidInput for settings that an engine has no place for."""
        config = self._encoder.config
        if config.select == "per_layer" and sought.given is None:
            raise InvalidInput(
                "select 'per_layer' gives every layer its own memory, and an engine has one for all: take"
                " another select, or give seqs"
            )

    def put_together(
        self,
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

        Raises BlockMissing when a chosen block has just gone.
        """
        chosen = self._looking.choose(reader, index, sought)
        prefix = self._encoder.prefix_ids if self._encoder.config.pinned else ()
        blocks: tuple[KVBlock, ...] = ()
        scope = salt = None
        if reader is not None and (chosen.blocks or chosen.newest):
            blocks = self._placed(reader, (*chosen.blocks, *chosen.newest))
            self._write_card()
            generation = reader.pool.generation
            numbers = tuple(block.number for block in blocks)
            scope = KVScope(user, generation.number, generation.fingerprint, bool(prefix), numbers, keep)
            salt = scope.salt(block.crc for block in blocks)
        seqs = sorted({seq for block in blocks for seq in block.tile.seqs})
        memory = (token for block in blocks for token in block.tile.ids)
        return KVPrompt(
            ids=(*prefix, *memory, *chosen.question.ids),
            question_tokens=len(chosen.question.ids),
            scope=scope,
            salt=salt,
            citations=cited(database.read, user, seqs),
            query=sought.query,
            now=sought.now,
            user=user,
            session=sought.session,
            blocks=blocks,
            deletions=deletions,
        )

    def keys(self, prompt: KVPrompt, reader: PoolReader, left: LeftKeys) -> Keys:
        """(keys, token ids) of question and answer, made when called, of what an engine left."""

        def finished() -> Sequence[tuple[Any, Sequence[int]]]:
            fetched = self._view.fetcher.fetch(reader, prompt.blocks)
            if len(fetched.blocks) < len(prompt.blocks):
                raise BlockMissing("what the answer had in sight is gone")
            context = PromptContext(fetched.blocks, fetched.raw, (), prompt.ids[-prompt.question_tokens :])
            answer = answer_of(self._encoder, prompt, left)
            return keys_of(self._encoder, context, left.raw, answer, prompt.query, prompt.now)()

        return finished

    def _placed(self, reader: PoolReader, blocks: Sequence[KVBlock]) -> tuple[KVBlock, ...]:
        """The blocks as they are now. Raises BlockMissing when one is gone, or waits to be encoded again."""
        rows = [block for block in reader.again(blocks) if block.slot is not None]
        if len(rows) < len(blocks):
            raise BlockMissing(f"{len(blocks) - len(rows)} chosen KV blocks were forgotten meanwhile")
        return tuple(rows)

    def _write_card(self) -> None:
        path = card_path(self._view.store.root, self._view.fingerprint)
        if not path.is_file():
            card_of(self._encoder, self._view.fingerprint).write(path)


def answer_of(encoder: Encoder, prompt: KVPrompt, left: LeftKeys) -> tuple[int, ...]:
    """The answer's tokens, without the mark of its end."""
    answer = left.ids[prompt.question_tokens :]
    end = encoder.tokenizer.eos_token_id
    return answer[: answer.index(end)] if end in answer else answer


def is_of(encoder: Encoder, prompt: KVPrompt, left: LeftKeys, text: str) -> bool:
    """Whether what was left are keys of this question and this answer, and of all that an engine saw."""
    question = prompt.ids[-prompt.question_tokens :]
    if left.ids[: prompt.question_tokens] != question or not left.raw or left.raw[0].tokens < len(question):
        return False
    answer = answer_of(encoder, prompt, left)
    return str(encoder.tokenizer.decode(list(answer), skip_special_tokens=True)).strip() == text.strip()
