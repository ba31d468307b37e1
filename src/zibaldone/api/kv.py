"""KVMemory: for users who run their own model, memory in that model's own keys and values (MemArt).

Needs the extra `kv`: pip install 'zibaldone[kv]'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from zibaldone.api.config import now_utc
from zibaldone.api.memory import Memory
from zibaldone.core import Message
from zibaldone.core.validation import TimeLike, count, key, members, shown, to_time, whole_text
from zibaldone.engine import generations
from zibaldone.engine.maintenance import Maintained
from zibaldone.errors import (
    BlockMissing,
    ClosedMemory,
    InvalidInput,
    MissingExtra,
    StorageBusy,
    StorageCorrupt,
)
from zibaldone.models.base import Tokenizer
from zibaldone.storage.database import Database
from zibaldone.views.kvcache import FOLDER
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.storage.manifest import PoolReader

try:
    from zibaldone.views.kvcache.generate import answering
    from zibaldone.views.kvcache.generate.answering import AnswerScore, KVAnswer, KVTrace
    from zibaldone.views.kvcache.generate.selection import Cited, Sought
    from zibaldone.views.kvcache.model.attention_hooks import Tap
    from zibaldone.views.kvcache.model.encoding import Encoder, fingerprint, of_model
    from zibaldone.views.kvcache.model.turns import TurnFormat, chat, check_tokenizer, plain
    from zibaldone.views.kvcache.options import attaching, generating
    from zibaldone.views.kvcache.retrieve.index import Index, index_of
    from zibaldone.views.kvcache.serving.prompting import KVPrompt, prompt_of
    from zibaldone.views.kvcache.view import KVView
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] == "zibaldone":
        raise
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[kv]'") from error

R = TypeVar("R")
_CATCHES_UP = 3  # times, while others go on forgetting

__all__ = [
    "AnswerScore",
    "Cited",
    "KVAnswer",
    "KVMemory",
    "KVPrompt",
    "KVTrace",
    "MemArt",
    "Remembered",
    "TurnFormat",
    "chat",
    "plain",
]


def _busy(user: str) -> StorageBusy:
    return StorageBusy(f"others keep forgetting messages of user {user!r}: nothing is lost, call again")


class _NotWhole(StorageBusy):
    """Blocks of this snapshot wait to be encoded again: something was forgotten since the pool caught up."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """Result of remember()."""

    messages: int
    blocks: int  # in the pool now, of this user
    tokens: int


class KVMemory:
    """A model with a memory. One per model; safe to share among threads, which take turns."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        memory: Memory,
        *,
        config: MemArt | None = None,
        format: TurnFormat | None = None,  # noqa: A002 - the word a caller expects
    ) -> None:
        """Attach a causal language model of Transformers with rotary positions, and its tokenizer.

        `config` may be `MemArt.paper()`. `format` says how turns are written: plain() unless given, and
        chat(tokenizer) for models that were trained on a chat template; either takes a system prompt.

        Raises UnsupportedModel, which says why the model does not fit, and InvalidInput.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput(f"memory must be a Memory, not {shown(memory)}")
        attaching(model, config=config, form=format)
        self.config = config or MemArt()
        self.memory = memory
        size = model.get_input_embeddings().weight.shape[0]
        check_tokenizer(tokenizer, size)
        form = format or plain()
        tap = Tap(model)
        try:
            identity = of_model(model)
            encoder = Encoder(tap, tokenizer, form, self.config)

            def make(database: Database, _: Tokenizer) -> KVView:
                if database.shared:
                    raise InvalidInput(
                        "the kv view keeps its keys and values in files, and a memory in PostgreSQL has none:"
                        " attach it to a Memory of a folder"
                    )
                if database.encrypted or database.keyring is not None:
                    raise InvalidInput(
                        "the kv view keeps its keys and values in plain files, and this memory is encrypted:"
                        " attach it to a Memory whose folder is not"
                    )
                self._database = database
                root = database.folder / FOLDER
                print_ = fingerprint(identity, tokenizer, form, self.config)
                return KVView(root, encoder, print_)

            self.view = memory.admin.attach(make)
        except BaseException:
            tap.detach()
            raise
        self._encoder = encoder
        self._closed = False

    def close(self) -> None:
        """Detach from the model; idempotent. The Memory stays open."""
        self._encoder.is_closing = True
        with self.view.model_lock:  # an answer that is under way is given first
            if self._closed:
                return
            self._closed = True
        self.memory.admin.detach(self.view)
        self.view.close()

    def __enter__(self) -> KVMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def remember(self, *, user: str | None = None) -> Remembered:
        """Encode messages that the pool lacks; another model's pool is built anew.

        Of one user or of all. A block that is damaged is encoded again. Raises what keeps the pool behind,
        such as StorageFull.
        """
        self._open()
        if user is not None:
            key("user", user)
        done = self._maintained(user)
        names = self.memory.users() if user is None else [user]
        with self._database.read() as connection:
            stats_by_user = [self.view.stats(connection, name) for name in names]
        counts = [{one.kind: one.rows for one in counted} for counted in stats_by_user]
        return Remembered(
            done.messages, sum(one["blocks"] for one in counts), sum(one["tokens"] for one in counts)
        )

    def generate(
        self,
        query: str,
        *,
        user: str,
        session: str | None = None,
        budget_tokens: int | None = None,
        seqs: Sequence[int] | None = None,
        max_new_tokens: int | None = None,
        remember: bool = False,
        now: TimeLike | None = None,
        **options: Any,
    ) -> KVAnswer:
        """Answer a question with memory.

        What the log has and the pool lacks is encoded first; another model's pool is made anew. Selected are
        `budget_tokens` of whole turns by text, or the messages `seqs` if these are given; with
        select="per_layer" as many tokens of each layer's best blocks. `session` says which one is going on:
        its newest turns stand right before the question (none do with "per_layer"); memory comes from all of
        the user's sessions. With `remember` question and answer become messages of it. `options` go to the
        model's own generate: do_sample, streamer, generation_config ... An answer is greedy and of 128 tokens
        at most, unless they or `max_new_tokens` say otherwise.

        Raises InvalidInput when the question does not fit the window.
        """
        self._open()
        whole_text("query", query)
        given = generating(options, max_new_tokens)
        most = int(given["max_new_tokens"])
        sought = self._sought(query, user, session, budget_tokens, seqs, now, most)
        return self._caught_up(user, lambda: self._generate(sought, user, given, remember=remember))

    def prompt(
        self,
        query: str,
        *,
        user: str,
        session: str | None = None,
        budget_tokens: int | None = None,
        seqs: Sequence[int] | None = None,
        max_new_tokens: int = 128,
        now: TimeLike | None = None,
    ) -> KVPrompt:
        """A question for an engine that serves this model and loads the memory itself (`adapters.vllm`).

        The selection is that of `generate`, as tokens, with a scope that says whose blocks these are.
        `max_new_tokens` is what is left free of the window. Raises InvalidInput when the question does not
        fit the window, or the settings no engine.
        """
        self._open()
        count("max_new_tokens", max_new_tokens, least=1)
        whole_text("query", query)
        sought = self._sought(query, user, session, budget_tokens, seqs, now, max_new_tokens)
        return self._caught_up(user, lambda: prompt_of(self.view, self._pool(user)[0], user, sought))

    def remember_answer(self, prompt: KVPrompt, text: str) -> tuple[Message, ...]:
        """Store question and answer as messages; the next `remember` encodes them."""
        self._open()
        if not isinstance(prompt, KVPrompt):
            raise InvalidInput(f"prompt must be what prompt() gave, not {shown(prompt)}")
        whole_text("text", text)
        return self._add(prompt.query, text, prompt.now, prompt.user, prompt.session)

    def score(
        self,
        question: str,
        answer: str,
        *,
        user: str,
        session: str | None = None,
        budget_tokens: int | None = None,
        seqs: Sequence[int] | None = None,
        now: TimeLike | None = None,
    ) -> AnswerScore:
        """Score how likely an answer is with the memory that `generate` would select.

        `seqs=()` asks without any memory.
        """
        self._open()
        whole_text("question", question)
        whole_text("answer", answer)
        sought = self._sought(question, user, session, budget_tokens, seqs, now, 0)

        def once() -> AnswerScore:
            with self.view.model_lock:
                return answering.score(self.view, *self._pool(user), user, sought, answer)

        return self._caught_up(user, once)

    def _sought(
        self,
        query: str,
        user: str,
        session: str | None,
        budget_tokens: int | None,
        seqs: Sequence[int] | None,
        now: TimeLike | None,
        max_new_tokens: int,
    ) -> Sought:
        """Validate a question; ranks messages by text where `select` wants that."""
        key("user", user)
        if session is not None:
            key("session", session)
        if seqs is not None and not self.config.whole_turns:
            raise InvalidInput("seqs cannot be given with select='per_layer': each layer chooses for itself")
        if seqs is not None and not all(isinstance(seq, int) for seq in members("seqs", seqs)):
            raise InvalidInput(f"seqs must be numbers of messages, not {shown(seqs)}")
        sought = Sought(
            query,
            to_time(now_utc() if now is None else now, "now"),
            session,
            self.config.memory_tokens
            if budget_tokens is None
            else count("budget_tokens", budget_tokens, least=1),
            max_new_tokens,
            given=None if seqs is None else tuple(seqs),
        )
        if not self.config.whole_turns or seqs is not None or not query.strip():
            return sought
        room, at = sought.budget_tokens, sought.now
        decisions = self.memory.recall(
            query, user=user, budget_tokens=room, views=["messages"], min_confidence=0, now=at, shared=()
        ).trace.decisions
        ranked = dict.fromkeys(seq for decision in decisions for seq in decision.evidence.sources)
        return replace(sought, by_text=tuple(ranked))

    def _catch_up(self, user: str) -> None:
        """Encode what the pool lacks."""
        with self._database.read(user) as connection:
            generation = generations.serving(connection, user, self.view)
            behind = generations.lag(connection, user, self.view)
            if not behind and (generation is None or not self.view.waiting(connection, generation)):
                return
        self.remember(user=user)

    def _maintained(self, user: str | None) -> Maintained:
        """Maintain the view; damaged blocks are released, and encoded again."""
        for _ in range(_CATCHES_UP):
            done = self.memory.maintain(user=user, views=[self.view.name])
            late = [one for one in done.behind if isinstance(one.error, BlockMissing | StorageCorrupt)]
            healed = sum(self.view.heal(self._database, name) for name in {one.user for one in late})
            if not healed and not any(isinstance(one.error, BlockMissing) for one in late):
                break
        for lagging in done.behind:
            if isinstance(lagging.error, BlockMissing):  # and nothing of the user's is damaged
                raise _busy(lagging.user) from lagging.error
            if lagging.error is not None:
                raise lagging.error
        return done

    def _open(self) -> None:
        if self._closed:
            raise ClosedMemory("this KVMemory was closed: attach a new one")

    def _pool(self, user: str) -> tuple[PoolReader | None, Index | None]:
        """The user's pool now, and its boxes where layers choose by them. Raises _NotWhole."""
        self._open()
        with self._database.read(user) as connection:
            generation = generations.serving(connection, user, self.view)
            pool = self.view.pool(connection, generation)
            if generation is not None and self.view.waiting(connection, generation):
                raise _NotWhole
            if pool is None:
                return None, None
            index = None if self.config.whole_turns else index_of(connection, pool, self._encoder.tap.device)
            return PoolReader(pool, self._database.read), index

    def _caught_up(self, user: str, once: Callable[[], R]) -> R:
        """Call `once` when the pool is up to date; damaged blocks are encoded again before.

        Raises StorageBusy while others forget without a pause, and StorageCorrupt.
        """
        error: Exception | None = None
        healed = 0
        for _ in range(_CATCHES_UP):
            self._catch_up(user)
            try:
                return once()
            except _NotWhole as unmade:
                error, healed = unmade, 0
            except BlockMissing as missing:
                error, healed = missing, self.view.heal(self._database, user)
        if healed:
            raise StorageCorrupt(f"{error}: rebuild the view 'kv' of this user") from error
        raise _busy(user) from error

    def _generate(self, sought: Sought, user: str, options: Mapping[str, Any], *, remember: bool) -> KVAnswer:
        with self.view.model_lock:
            answer = answering.answer(self.view, *self._pool(user), user, sought, options)
        if remember:
            self._add(sought.query, answer.text, sought.now, user, sought.session)
        return answer

    def _add(
        self, query: str, text: str, now: datetime, user: str, session: str | None
    ) -> tuple[Message, ...]:
        """Store question and answer as messages of the log."""
        turns = [
            {"role": "user", "content": query, "time": now},
            {"role": "assistant", "content": text, "time": now},
        ]
        return tuple(self.memory.add(turns, user=user, session=session))
