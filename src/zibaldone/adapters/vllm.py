"""Memory blocks in stock vLLM: a KV connector that writes a pool's blocks into the slots of a request.

    vllm serve MODEL --kv-transfer-config '{"kv_connector": "ZibaldoneConnector",
      "kv_connector_module_path": "zibaldone.adapters.vllm", "kv_role": "kv_both",
      "kv_load_failure_policy": "recompute",
      "kv_connector_extra_config": {"folder": "FOLDER OF THE MEMORY"}}'

KVMemory.prompt() makes the requests (docs/kv.md). What cannot be loaded is computed from the prompt's tokens,
as any text is: a request that names another's memory, or one that was made anew meanwhile, is answered, and
its response says why (kv_transfer_params.zibaldone.error).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from zibaldone.core.validation import shown
from zibaldone.engine import generations
from zibaldone.errors import InvalidInput, MissingExtra, UnsupportedModel
from zibaldone.views.kvcache.serving.scheduling import SchedulerSide, SlotLoad
from zibaldone.views.kvcache.serving.working import PagedLayer, RankShare, WorkerSide, WriteSlots

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

__all__ = ["ZibaldoneConnector"]


@dataclass
class ZibaldoneMetadata(KVConnectorMetadata):  # type: ignore[misc, unused-ignore]
    """Data that the scheduler's side sends to the workers with a step."""

    loads: list[SlotLoad] = field(default_factory=list)


class ZibaldoneConnector(KVConnectorBase_V1):  # type: ignore[misc, unused-ignore]
    """vLLM's connector: one half runs beside the scheduler, the other in each worker."""

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        """Raises InvalidInput if the configuration names no memory's folder."""
        super().__init__(vllm_config, role, kv_cache_config)
        folder = self._kv_transfer_config.get_from_extra_config("folder", None)
        if not isinstance(folder, str) or not folder:
            raise InvalidInput(
                "kv_connector_extra_config must have a folder, that of the Memory whose blocks are served,"
                f" not {shown(folder)}: {{'folder': './memory'}}"
            )
        groups = kv_cache_config.kv_cache_groups if kv_cache_config is not None else ()
        if len(groups) > 1:
            raise InvalidInput(
                "this cache has several groups: start vLLM with --disable-hybrid-kv-cache-manager"
            )
        self._block_tokens = int(
            groups[0].kv_cache_spec.block_size if groups else vllm_config.cache_config.block_size
        )
        if role == KVConnectorRole.SCHEDULER:
            model = vllm_config.model_config.hf_config
            self._scheduler = SchedulerSide(Path(folder), generations.serving, model)

    # The scheduler's side

    def on_new_request(self, request: Any) -> None:
        self._scheduler.begin(request)

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int | None, bool]:
        tokens = self._scheduler.matched(request, num_computed_tokens)
        return tokens, bool(tokens)  # loaded between steps: no request waits for another's memory

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        if num_external_tokens:
            self._scheduler.load(request, blocks.get_block_ids()[0], num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:  # noqa: ARG002
        return ZibaldoneMetadata(self._scheduler.take_loads())

    def update_connector_output(self, connector_output: Any) -> None:
        done = connector_output.finished_recving or ()
        self._scheduler.loaded(done, connector_output.invalid_block_ids)

    def request_finished(self, request: Any, block_ids: list[int]) -> tuple[bool, dict[str, Any] | None]:  # noqa: ARG002
        return False, self._scheduler.finish(request)

    def shutdown(self) -> None:
        if self.role == KVConnectorRole.SCHEDULER:
            self._scheduler.close()
        elif hasattr(self, "_worker"):
            self._worker.close()

    # The workers' side

    def register_kv_caches(self, kv_caches: dict[str, torch.Tensor]) -> None:
        context = self._vllm_config.compilation_config.static_forward_context
        layers = {extract_layer_index(name): _paged(context[name]) for name in kv_caches}
        share = RankShare(get_tensor_model_parallel_rank(), get_tensor_model_parallel_world_size())
        dtype = self._vllm_config.model_config.dtype
        self._worker = WorkerSide(layers, dtype, self._block_tokens, share)

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:  # noqa: ARG002
        metadata = self._get_connector_metadata()
        assert isinstance(metadata, ZibaldoneMetadata)
        self._worker.start(metadata.loads)

    def get_finished(self, finished_req_ids: set[str]) -> tuple[set[str] | None, set[str] | None]:  # noqa: ARG002
        return None, self._worker.take_finished()

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Do nothing: a request is scheduled once everything is loaded."""

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """Do nothing: the memory's owner encodes what a request computed from the log."""

    def wait_for_save(self) -> None:
        """Do nothing: nothing is saved."""

    def get_block_ids_with_load_errors(self) -> set[int]:
        return self._worker.take_failed()


def _paged(module: Any) -> PagedLayer:
    """Cache of an attention layer."""
    cache = module.kv_cache[0] if isinstance(module.kv_cache, list) else module.kv_cache
    value_dim = getattr(module, "head_size_v", module.head_size)
    kernel = _kernel(module, cache)
    return PagedLayer(cache.device, kernel, module.num_kv_heads, module.head_size, value_dim)


def _kernel(module: Any, cache: torch.Tensor) -> WriteSlots:
    """The function by which the attention itself writes into its cache."""
    write = getattr(module.impl, "do_kv_cache_update", None)
    if write is None:
        raise UnsupportedModel(
            f"{type(module.impl).__name__} writes its cache in no way that is known here: take another"
            " attention backend (--attention-backend)"
        )

    def written(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor) -> None:
        write(module, keys, values, cache, slots)

    return written
