"""Where an engine schedules: requests that name a memory, and what its workers are to do for them.

Imports neither torch nor the engine; a request is vLLM's, of which a few attributes are read.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zibaldone.errors import ZibaldoneError
from zibaldone.views.kvcache.serving.loading import LoadPlan, MemoryFolder
from zibaldone.views.kvcache.serving.model_card import card_path, facts_of
from zibaldone.views.kvcache.serving.scope import KEY, KVScope

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """Tokens from `start` to `end` of a request, of memory, into its blocks."""

    plan: LoadPlan
    start: int
    end: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SlotLeaving:
    """Tokens from `start` to `end` of a finished request, out of its blocks."""

    request: str
    scope: KVScope
    card: Path
    ids: tuple[int, ...]  # from `start`, one or more further than `end`
    start: int
    end: int
    block_ids: tuple[int, ...]


@dataclass
class StepWork:
    """What workers do in one step."""

    loads: list[SlotLoad] = field(default_factory=list)
    leaves: list[SlotLeaving] = field(default_factory=list)


@dataclass
class _Served:
    """A request that named a memory, on the scheduler's side."""

    scope: KVScope | None = None
    plan: LoadPlan | None = None
    card: Path | None = None
    error: str = ""
    loaded_tokens: int = 0


class SchedulerSide:
    """Holds requests against the pools that they name."""

    def __init__(self, folder: MemoryFolder, config: Any, block_tokens: int) -> None:
        """`config` is the configuration of the model that is served, as Transformers has it."""
        self._folder, self._config, self._block_tokens = folder, config, block_tokens
        self._requests: dict[str, _Served] = {}
        self._next = StepWork()

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
        self._next.loads.append(SlotLoad(served.plan, end - tokens, end, tuple(block_ids)))

    def take_work(self) -> StepWork:
        """What workers are to do in the step that begins."""
        done, self._next = self._next, StepWork()
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
                SlotLeaving(request.request_id, scope, card, ids, start, end, tuple(block_ids))
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
            scope = KVScope.of(request.kv_transfer_params)
            if scope is None:
                return _Served()
            card = card_path(self._folder.store.root, scope.fingerprint)
            facts = facts_of(card)
            facts.check(self._config)
            plan = self._folder.plan(scope, prompt, request.cache_salt, facts.prefix_ids, card)
        except ZibaldoneError as error:
            return _Served(error=str(error))
        except Exception:  # the border of an engine: it would end with all of its requests
            _logger.exception("the memory of request %s cannot be read", request.request_id)
            return _Served(error="the memory cannot be read: the log of vLLM says why")
        return _Served(scope, plan, card)
