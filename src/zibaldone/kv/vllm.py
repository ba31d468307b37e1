"""Memory blocks in stock vLLM: a KV connector that writes a pool's blocks into the slots of a request.

    vllm serve MODEL --kv-transfer-config '{"kv_connector": "ZibaldoneConnector",
      "kv_connector_module_path": "zibaldone.kv.vllm", "kv_role": "kv_both", "kv_load_failure_policy": "recompute",
      "kv_connector_extra_config": {"folder": "FOLDER OF THE MEMORY"}}'

KVMemory.prompt() makes the requests (docs/kv.md). What cannot be loaded is computed from the prompt's tokens, as
any text is: a request that names no memory, another's, or one that was made anew meanwhile, is answered and
its response says why (kv_transfer_params.zibaldone.error).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from zibaldone.errors import BlockMissing, InvalidInput, MissingExtra, UnsupportedModel, ZibaldoneError
from zibaldone.validation import shown
from zibaldone.views.kvcache.model.tap import Raw, RawKV
from zibaldone.views.kvcache.serving.leavings import write_left
from zibaldone.views.kvcache.serving.loading import LoadPlan, MemoryFolder
from zibaldone.views.kvcache.serving.model_card import ModelCard, card_path, facts_of
from zibaldone.views.kvcache.serving.paged_cache import PagedLayer, WriteSlots
from zibaldone.views.kvcache.serving.paging import HeadRange, head_range, slots_of
from zibaldone.views.kvcache.serving.scope import KEY, MemoryScope
from zibaldone.views.kvcache.storage.block_files import PoolFiles, checksum
from zibaldone.views.kvcache.storage.codec import decode

try:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import (
        KVConnectorBase_V1,
        KVConnectorMetadata,
        KVConnectorRole,
    )
    from vllm.distributed.parallel_state import (
        get_tensor_model_parallel_rank,
        get_tensor_model_parallel_world_size,
    )
    from vllm.model_executor.models.utils import extract_layer_index
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] != "vllm":
        raise
    raise MissingExtra(
        "no module 'vllm': the connector runs inside vLLM, pip install 'zibaldone[vllm]' into its environment"
    ) from error

_logger = logging.getLogger(__name__)

__all__ = ["ZibaldoneConnector"]


@dataclass(frozen=True, slots=True)
class Load:
    """Tokens from `start` to `end` of a request, of memory, into its blocks."""

    plan: LoadPlan
    start: int
    end: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Tokens from `start` to `end` of a finished request, out of its blocks."""

    request: str
    scope: MemoryScope
    card: Path
    ids: tuple[int, ...]  # from `start`, one or more further than `end`
    start: int
    end: int
    block_ids: tuple[int, ...]


@dataclass
class ZibaldoneMetadata(KVConnectorMetadata):
    """What workers do in one step."""

    loads: list[Load] = field(default_factory=list)
    leaves: list[Leave] = field(default_factory=list)


@dataclass
class _Served:
    """A request that named a memory, on the scheduler's side."""

    scope: MemoryScope | None = None
    plan: LoadPlan | None = None
    card: Path | None = None
    error: str = ""
    loaded_tokens: int = 0


class ZibaldoneConnector(KVConnectorBase_V1):  # type: ignore[misc, unused-ignore]
    """vLLM's contract: half of it runs beside the scheduler, half in each worker."""

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        """Raises InvalidInput where the configuration names no memory's folder."""
        super().__init__(vllm_config, role, kv_cache_config)
        folder = self._kv_transfer_config.get_from_extra_config("folder", None)
        if not isinstance(folder, str) or not folder:
            raise InvalidInput(
                "kv_connector_extra_config must have a folder, that of the Memory whose blocks are served, not"
                f" {shown(folder)}: {{'folder': './memory'}}"
            )
        groups = kv_cache_config.kv_cache_groups if kv_cache_config is not None else ()
        if len(groups) > 1:
            raise InvalidInput("this cache has several groups: start vLLM with --disable-hybrid-kv-cache-manager")
        self._block_tokens = int(
            groups[0].kv_cache_spec.block_size if groups else vllm_config.cache_config.block_size
        )
        if role == KVConnectorRole.SCHEDULER:
            model = vllm_config.model_config.hf_config
            self._scheduler = SchedulerSide(Path(folder), model, self._block_tokens)
        else:
            self._worker = WorkerSide(vllm_config, self._block_tokens)

    # The scheduler's side

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int | None, bool]:
        return self._scheduler.matched(request, num_computed_tokens), False

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        if num_external_tokens:
            self._scheduler.load(request, blocks.get_block_ids()[0], num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:  # noqa: ARG002
        return self._scheduler.metadata()

    def request_finished(self, request: Any, block_ids: list[int]) -> tuple[bool, dict[str, Any] | None]:
        return self._scheduler.finish(request, block_ids)

    def shutdown(self) -> None:
        if self.role == KVConnectorRole.SCHEDULER:
            self._scheduler.close()

    # The workers' side

    def register_kv_caches(self, kv_caches: dict[str, torch.Tensor]) -> None:
        self._worker.register(list(kv_caches))

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:  # noqa: ARG002
        self._worker.load(self._metadata().loads)

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Everything is loaded by then."""

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """Nothing yet: what a request computed stays in its blocks, and is read in one go when it has ended."""

    def wait_for_save(self) -> None:
        self._worker.leave(self._metadata().leaves)

    def get_finished(self, finished_req_ids: set[str]) -> tuple[set[str] | None, set[str] | None]:  # noqa: ARG002
        return self._worker.take_left(), None

    def get_block_ids_with_load_errors(self) -> set[int]:
        return self._worker.take_failed()

    def _metadata(self) -> ZibaldoneMetadata:
        metadata = self._get_connector_metadata()
        assert isinstance(metadata, ZibaldoneMetadata)
        return metadata


class SchedulerSide:
    """Holds requests against the pools that they name."""

    def __init__(self, folder: Path, config: Any, block_tokens: int) -> None:
        """`config` is the configuration of the model that is served, as Transformers has it."""
        self._folder, self._config, self._block_tokens = MemoryFolder(folder), config, block_tokens
        self._requests: dict[str, _Served] = {}
        self._next = ZibaldoneMetadata()

    def close(self) -> None:
        self._folder.close()

    def matched(self, request: Any, computed: int) -> int:
        """Tokens behind the computed ones that are memory and need not be computed."""
        served = self._served(request)
        return max(0, served.plan.tokens - computed) if served.plan is not None else 0

    def load(self, request: Any, block_ids: Sequence[int], tokens: int) -> None:
        """These blocks are the request's: its memory's last `tokens` tokens are to be loaded."""
        served = self._served(request)
        if served.plan is None:
            return
        end = served.plan.tokens
        served.loaded_tokens = tokens
        self._next.loads.append(Load(served.plan, end - tokens, end, tuple(block_ids)))

    def metadata(self) -> ZibaldoneMetadata:
        """What workers are to do in the step that begins."""
        done, self._next = self._next, ZibaldoneMetadata()
        return done

    def finish(self, request: Any, block_ids: Sequence[int]) -> tuple[bool, dict[str, Any] | None]:
        """Whether the blocks have to stay for now, and what the response says."""
        served = self._requests.pop(request.request_id, None)
        if served is None or (served.scope is None and not served.error):
            return False, None
        reported: dict[str, Any] = {"loaded_tokens": served.loaded_tokens}
        if served.error:
            reported["error"] = served.error
        plan, scope, card = served.plan, served.scope, served.card
        keeps = scope is not None and scope.keep and plan is not None and card is not None
        ended = str(request.get_finished_reason()) in ("stop", "length")
        start = plan.tokens if plan is not None else 0
        end = min(int(request.num_computed_tokens), len(request.all_token_ids) - 1)
        if keeps and ended and start < end <= len(block_ids) * self._block_tokens:
            assert scope is not None
            assert card is not None
            ids = tuple(int(token) for token in request.all_token_ids[start:])
            self._next.leaves.append(
                Leave(request.request_id, scope, card, ids, start, end, tuple(block_ids))
            )
            return True, {KEY: reported}
        return False, {KEY: reported}

    def _served(self, request: Any) -> _Served:
        served = self._requests.get(request.request_id)
        if served is None:
            served = self._requests[request.request_id] = self._read(request)
            if served.error:
                _logger.warning("request %s is answered without memory: %s", request.request_id, served.error)
        return served

    def _read(self, request: Any) -> _Served:
        prompt = list(request.prompt_token_ids or [])
        try:
            scope = MemoryScope.of(request.kv_transfer_params)
            if scope is None:
                return _Served()
            card = card_path(self._folder.store.root, scope.fingerprint)
            facts = facts_of(card)
            facts.check(self._config)
            plan = self._folder.plan(scope, prompt, request.cache_salt, facts.prefix_ids, card)
        except ZibaldoneError as error:
            return _Served(error=str(error))
        return _Served(scope, plan, card)


class WorkerSide:
    """Writes memory into one worker's cache, and reads out of it what requests computed."""

    def __init__(self, vllm_config: Any, block_tokens: int) -> None:
        self._context = vllm_config.compilation_config.static_forward_context
        self._dtype: torch.dtype = vllm_config.model_config.dtype
        self._pipeline = int(vllm_config.parallel_config.pipeline_parallel_size)
        self._block_tokens = block_tokens
        self._names: list[str] = []
        self._layers: dict[int, PagedLayer] = {}
        self._cards: dict[Path, ModelCard] = {}
        self._failed: set[int] = set()
        self._left: set[str] = set()

    def register(self, names: Sequence[str]) -> None:
        """The layers that have a cache."""
        self._names, self._layers = list(names), {}

    def load(self, loads: Sequence[Load]) -> None:
        """Before a step's pass: keys at their positions, and values, of all layers."""
        for load in loads:
            try:
                self._load(load)
            except (ZibaldoneError, OSError) as error:
                first, last = load.start // self._block_tokens, -(-load.end // self._block_tokens)
                self._failed.update(load.block_ids[first:last])
                _logger.warning("memory was not loaded, and is computed: %s", error)

    def leave(self, leaves: Sequence[Leave]) -> None:
        """Keys without positions, and values, of what finished requests computed."""
        for leave in leaves:
            try:
                self._leave(leave)
            except (ZibaldoneError, OSError) as error:
                _logger.warning("keys of a request are not left, they will be encoded: %s", error)
            finally:
                self._left.add(leave.request)

    def take_failed(self) -> set[int]:
        """Blocks that were not filled since this was last asked for."""
        failed, self._failed = self._failed, set()
        return failed

    def take_left(self) -> set[str] | None:
        """Requests whose blocks are not needed any more."""
        left, self._left = self._left, set()
        return left or None

    def _load(self, load: Load) -> None:
        card = self._card(load.plan.card)
        first, parts = _parts(load, card)
        slots = slots_of(load.block_ids, self._block_tokens, load.start, load.end)
        positions = torch.tensor(slots.tokens)
        if not len(positions):
            return
        for number, layer in self._paged().items():
            of_layer = card.layers[number]
            heads = self._heads(of_layer.kv_heads).heads
            keys = torch.cat([part[number].keys[heads] for part in parts], dim=1)[:, positions - first]
            values = torch.cat([part[number].values[heads] for part in parts], dim=1)[:, positions - first]
            _check(keys, values, layer, number)
            rotated = of_layer.rotate(keys, positions)
            layer.write(RawKV(rotated.to(self._dtype), values.to(self._dtype)), slots.slots)

    def _leave(self, leave: Leave) -> None:
        card = self._card(leave.card)
        heads = self._heads(card.layers[0].kv_heads)
        slots = slots_of(leave.block_ids, self._block_tokens, leave.start, leave.end)
        if not heads.leads or len(slots.tokens) < leave.end - leave.start:
            return  # another rank's; or a window has moved on over a part of it
        positions = torch.tensor(slots.tokens)
        raw = {}
        for number, layer in self._paged().items():
            kv = layer.read(slots.slots)
            raw[number] = RawKV(card.layers[number].rotate_back(kv.keys, positions), kv.values)
        ranks = min(get_tensor_model_parallel_world_size(), card.layers[0].kv_heads)
        root = leave.card.parent.parent
        write_left(
            root, leave.scope.user, leave.scope.keep, leave.ids, raw, heads, files=ranks * self._pipeline
        )

    def _heads(self, kv_heads: int) -> HeadRange:
        return head_range(kv_heads, get_tensor_model_parallel_rank(), get_tensor_model_parallel_world_size())

    def _card(self, path: Path) -> ModelCard:
        if path not in self._cards:
            self._cards[path] = ModelCard.read(path)
        return self._cards[path]

    def _paged(self) -> dict[int, PagedLayer]:
        """By number, the layers of this worker; asked for when their caches are there."""
        if not self._layers:
            for name in self._names:
                module = self._context[name]
                cache = module.kv_cache[0] if isinstance(module.kv_cache, list) else module.kv_cache
                self._layers[extract_layer_index(name)] = PagedLayer(
                    cache,
                    _kernel(module, cache),
                    module.num_kv_heads,
                    module.head_size,
                    getattr(module, "head_size_v", module.head_size),
                    self._block_tokens,
                )
        return self._layers


def _kernel(module: Any, cache: torch.Tensor) -> WriteSlots:
    """The attention's own way of writing into its cache."""
    write = getattr(module.impl, "do_kv_cache_update", None)
    if write is None:
        raise UnsupportedModel(
            f"{type(module.impl).__name__} writes its cache in no way that is known here: take another"
            " attention backend (--attention-backend)"
        )

    def written(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor) -> None:
        write(module, keys, values, cache, slots)

    return written


def _parts(load: Load, card: ModelCard) -> tuple[int, list[Raw]]:
    """(position of the first, raw keys and values): prefix and blocks that reach from `start` to `end`."""
    plan, files = load.plan, PoolFiles(load.plan.files, load.plan.layout, ())
    parts: list[Raw] = []
    at = first = 0
    if plan.prefix_tokens:
        if load.start < plan.prefix_tokens and card.prefix is not None:
            parts.append(card.prefix)
        at = plan.prefix_tokens
        first = 0 if parts else at
    wanted = []
    for block in plan.blocks:
        if at + block.tokens > load.start:
            wanted.append(block)
            if not parts and len(wanted) == 1:
                first = at
        at += block.tokens
    files.announce([block.slot for block in wanted])
    for block in wanted:
        data = files.read(block.slot)
        if checksum(data) != block.checksum:
            raise BlockMissing(f"a KV block is not in place {block.slot} any more, or is damaged")
        parts.append(decode(data, block.tokens, plan.layout))
    return first, parts


def _check(keys: torch.Tensor, values: torch.Tensor, layer: PagedLayer, number: int) -> None:
    ours = keys.shape[0], keys.shape[2], values.shape[2]
    theirs = layer.heads, layer.key_dim, layer.value_dim
    if ours != theirs:
        raise UnsupportedModel(
            f"layer {number} has (heads, key, value) {ours} in the pool and {theirs} in this worker: serve the"
            " model that KVMemory has attached"
        )
