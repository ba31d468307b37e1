"""The scheduler's side of serving: requests that name a memory, and load plans for the workers.

A scope in the request says whose memory, and which blocks. Workers read the files that a plan names, and no
database. Imports no engine; a request is vLLM's, of which a few attributes are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass
from sqlalchemy import Connection

from zibaldone.core.validation import key, shown
from zibaldone.errors import BlockMissing, ForeignKV, InvalidInput, ZibaldoneError
from zibaldone.storage.folder_layout import database_file
from zibaldone.storage.sqlite import SqliteDatabase
from zibaldone.views.base import Generation
from zibaldone.views.kvcache import FOLDER
from zibaldone.views.kvcache.serving.model_card import ModelCard, card_path
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.layout import BlockLayout
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.store import KVStore

KEY = "zibaldone"  # our part of a request's kv_transfer_params
FIX = "send what KVMemory.prompt() gives, unchanged: its body() has prompt, kv_transfer_params and cache_salt"
# One answer for whatever does not fit, since each of its own would tell a stranger what a memory holds.
REFUSED = f"the memory that the request names cannot be loaded; the log of vLLM says why. Else {FIX}"
Number = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]  # of a row


@checked_dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class KVScope:
    """Blocks of one user and one generation of that user's pool."""

    user: Annotated[str, Field(strict=True)]
    generation: Number
    fingerprint: Annotated[str, Field(strict=True)]
    blocks: tuple[Number, ...]  # in the order in which they stand in the prompt
    content: Annotated[str, Field(strict=True)]  # content_of these

    def params(self) -> dict[str, Any]:
        """The scope as kv_transfer_params."""
        return {KEY: {**asdict(self), "blocks": list(self.blocks)}}  # type: ignore[call-overload, unused-ignore]

    @staticmethod
    def of(params: object) -> KVScope | None:
        """Parse kv_transfer_params; None if they have no scope. Raises InvalidInput."""
        if not isinstance(params, Mapping) or KEY not in params:
            return None
        try:
            scope = _SCOPES.validate_python(params[KEY])
        except ValidationError as error:
            fault = error.errors()[0]
            place = "".join(f"[{one!r}]" for one in (KEY, *fault["loc"]))
            raise InvalidInput(
                f"kv_transfer_params{place}, {shown(fault['input'])}: {fault['msg']}; {FIX}"
            ) from error
        key("user", scope.user)
        return scope

    def salt(self) -> str:
        """Salt that separates an engine's prefix caches by user, pool and blocks.

        Keys of a block depend on what it was encoded behind, so equal tokens do not make equal caches: an
        engine that only compares tokens would mix memories up, and memory with text.
        """
        parts = (self.user, self.generation, self.fingerprint, self.content)
        return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def content_of(blocks: Iterable[KVBlock]) -> str:
    """Digest of blocks with their content, in their order."""
    return blake2b(repr([(b.number, b.crc) for b in blocks]).encode(), digest_size=16).hexdigest()


_SCOPES = TypeAdapter(KVScope)


_logger = logging.getLogger(__name__)
_THREADS = 4  # requests that are checked at once
Serving = Callable[[Connection, str, KVStore], Generation | None]


class PlacedBlock(NamedTuple):
    """File, checksum and size of a block."""

    file: Path
    checksum: int
    tokens: int


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Memory at the beginning of a request's prompt, which need not be computed."""

    layout: BlockLayout
    card: Path
    prefix_tokens: int  # pinned ones, whose keys are on the card
    blocks: tuple[PlacedBlock, ...]

    @property
    def tokens(self) -> int:
        return self.prefix_tokens + sum(block.tokens for block in self.blocks)


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """Tokens from `start` to `end` of a request's memory, to be loaded into its blocks."""

    request_id: str
    plan: LoadPlan
    start: int
    end: int
    block_ids: tuple[int, ...]


@dataclass
class _Served:
    """A checked request that names a memory: a plan, or an error."""

    plan: LoadPlan | None = None
    error: str = ""
    loaded_tokens: int = 0
    loading: tuple[int, ...] = ()  # blocks that a worker may still be filling


class SchedulerSide:
    """Checks requests against the pools of a memory's folder, without a model of ours.

    Database and files are read by threads: the engine's own thread is never kept waiting.
    """

    def __init__(self, folder: Path, serving: Serving, config: Any) -> None:
        """`serving` says which generation serves a user (generations.serving).

        `config` is the configuration of the model that is served, as Transformers has it. Raises InvalidInput
        for a folder that holds no memory: an engine makes none.
        """
        if not database_file(folder).is_file():
            raise InvalidInput(
                f"{str(folder)!r} holds no memory: give the folder of the Memory whose blocks are served"
            )
        self._serving, self._config = serving, config
        self._database = SqliteDatabase(folder, busy_timeout_s=5.0)
        self._store = KVStore(self._database.folder / FOLDER)
        self._cards: dict[Path, ModelCard] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "zibaldone-check")
        self._requests: dict[str, Future[_Served]] = {}
        self._next: list[SlotLoad] = []

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._database.close()

    def begin(self, request: Any) -> None:
        """Begin to check a request that names a memory."""
        params, number = request.kv_transfer_params, request.request_id
        if isinstance(params, Mapping) and KEY in params and number not in self._requests:
            self._requests[number] = self._threads.submit(self._read, request)

    def matched(self, request: Any, computed: int) -> int | None:
        """Number of tokens behind the computed ones that are memory; None while that is being found out."""
        self.begin(request)
        checked = self._requests.get(request.request_id)
        if checked is not None and not checked.done():
            return None
        plan = checked.result().plan if checked is not None else None
        return max(0, plan.tokens - computed) if plan is not None else 0

    def load(self, request: Any, block_ids: Sequence[int], tokens: int) -> None:
        """Plan to load the last `tokens` tokens of the request's memory into these blocks."""
        served = self._requests[request.request_id].result()
        if served.plan is not None:
            end = served.plan.tokens
            served.loaded_tokens, served.loading = tokens, tuple(block_ids)
            self._next.append(SlotLoad(request.request_id, served.plan, end - tokens, end, tuple(block_ids)))

    def take_loads(self) -> list[SlotLoad]:
        """Loads for the step that begins; the next call returns new ones only."""
        loads, self._next = self._next, []
        return loads

    def loaded(self, requests: Collection[str], failed_blocks: Collection[int]) -> None:
        """Note what the workers report: a request whose blocks were not filled is asked for no more loads."""
        for checked in self._requests.values() if failed_blocks else ():
            served = checked.result() if checked.done() else _Served()
            if not set(failed_blocks).isdisjoint(served.loading):
                served.plan, served.loaded_tokens, served.loading = None, 0, ()
                served.error = "the memory could not be loaded: the log of vLLM says why"
        for number in requests:
            if (done := self._requests.get(number)) is not None:
                done.result().loading = ()

    def finish(self, request: Any) -> dict[str, Any] | None:
        """Memory's part of the response: tokens loaded, and an error."""
        checked = self._requests.pop(request.request_id, None)
        if checked is None or not checked.done():
            return None
        served = checked.result()
        error = {"error": served.error} if served.error else {}
        return {KEY: {"loaded_tokens": served.loaded_tokens} | error}

    def _read(self, request: Any) -> _Served:
        try:
            scope = KVScope.of(request.kv_transfer_params)
            assert scope is not None
            return _Served(self._plan(scope, list(request.prompt_token_ids or []), request.cache_salt))
        except InvalidInput as error:  # what the request itself says
            return _Served(error=str(error))
        except ZibaldoneError as error:
            _logger.warning("request %s is answered without memory: %s", request.request_id, error)
            return _Served(error=REFUSED)
        except Exception:  # the border of an engine: it would end with all of its requests
            _logger.exception("the memory of request %s cannot be read", request.request_id)
            return _Served(error=REFUSED)

    def _plan(self, scope: KVScope, prompt: Sequence[int], salt: str | None) -> LoadPlan:
        """Check a request against the pool that it names; blocks without keys end the plan.

        The tokens come last: nobody but who has the content of the blocks learns whether the prompt begins
        with their text. Raises ForeignKV, BlockMissing or StorageUnusable for what is to be computed instead;
        the message is for the log, since it tells whose memory holds what.
        """
        with self._database.read(scope.user) as connection:
            generation = self._serving(connection, scope.user, self._store)
            pool = manifest.pool(connection, generation) if generation is not None else None
            rows = manifest.fetch(connection, generation, scope.blocks) if generation is not None else {}
        if generation is None or pool is None:
            raise BlockMissing(f"user {scope.user!r} has no blocks in this folder")
        if (generation.number, generation.fingerprint) != (scope.generation, scope.fingerprint):
            raise ForeignKV(f"the blocks of user {scope.user!r} have been made anew meanwhile")
        gone = [number for number in scope.blocks if number not in rows]
        if gone or not rows:  # anybody knows the content of no blocks
            raise BlockMissing(f"blocks {gone[:5]} of user {scope.user!r} are gone")
        blocks = [rows[number] for number in scope.blocks]
        if scope.content != content_of(blocks):
            raise BlockMissing(f"blocks of user {scope.user!r} were encoded anew meanwhile")
        if salt != scope.salt():
            raise ForeignKV("cache_salt is not that of these blocks, so prefixes would be mixed up")
        path = card_path(self._store.root, scope.fingerprint)
        if path not in self._cards:
            self._cards[path] = ModelCard.read(path)
        card = self._cards[path]
        card.check(self._config)
        ids = (*card.prefix_ids, *(token for block in blocks for token in block.tile.ids))
        if tuple(prompt[: len(ids)]) != ids or len(prompt) <= len(ids):
            raise ForeignKV(
                f"the prompt does not begin with the tokens of user {scope.user!r}'s blocks, or has none"
                " behind them"
            )
        placed = []
        for block in blocks:
            if block.crc is None:
                break
            placed.append(PlacedBlock(self._store.path(generation, block), block.crc, block.tokens))
        return LoadPlan(pool.layout, path, len(card.prefix_ids), tuple(placed))
