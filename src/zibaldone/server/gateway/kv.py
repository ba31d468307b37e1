"""Memory as keys and values, for an upstream that loads a KVMemory's blocks (`adapters.vllm`).

The upstream renders a chat request to tokens, and is sent these behind the memory's, with the request as it
was: tools, streams and the like stay the upstream's. Whatever stands in the way, memory is text as usual.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from zibaldone.core import CORRECTS, NOISE, Evidence
from zibaldone.errors import BlockMissing, StorageBusy
from zibaldone.server.gateway.json_body import (
    JsonObject,
    NotAnObject,
    dumped,
    encoded,
    mapping,
    read_object,
    sequence,
)
from zibaldone.server.gateway.upstream import UpstreamAnswer, whole
from zibaldone.server.problems import Problem, log_failure, reason
from zibaldone.text.rendering import mark

if TYPE_CHECKING:
    from zibaldone.api.kv import KVMemory

Render = Callable[[bytes], Awaitable[UpstreamAnswer]]
_TAKEN = ("cache_salt", "echo", "prompt_logprobs")  # members that ask for something else
_ROLES = ("user", "assistant")  # whose turns may stand before the client's own instructions
_IN_OTHER_WORDS = "it is in other words than its messages, or says more of them"
_logger = logging.getLogger(__name__)


class NoKVMemory(Exception):
    """A request cannot have its memory as keys and values. Argument: why."""


class _BatchEnded(Exception):
    """More of a user's messages are to be encoded."""


class KVPrompts:
    """Prompts for the upstream, by a KVMemory, which a thread keeps in step with the log."""

    def __init__(self, kv: KVMemory) -> None:
        self._kv = kv
        self._special = _special_tokens(kv.view.encoder.tokenizer)
        self._due: set[str] = set()  # users whose messages are to be encoded
        self._encoding = ThreadPoolExecutor(1, "zibaldone-kv-encode")
        self._asking = ThreadPoolExecutor(1, "zibaldone-kv-prompt")  # never waits for the model

    def close(self) -> None:
        """Stop encoding before the model's next pass, and detach from it."""
        self._encoding.shutdown(wait=False, cancel_futures=True)
        self._asking.shutdown(wait=False, cancel_futures=True)
        self._kv.close()

    def catch_up(self, user: str) -> None:
        """Have a user's messages encoded in the background, once for all calls until that begins."""
        if user not in self._due:
            self._due.add(user)
            with suppress(RuntimeError):  # closed meanwhile: the next server encodes them
                self._encoding.submit(self._encode, user)

    def _encode(self, user: str) -> None:
        """Encode a batch of a user's messages; the next one comes after the other users' that are due."""
        self._due.discard(user)
        try:
            self._kv.memory.maintain(user=user, views=[self._kv.view.name], progress=_end_batch)
            self._kv.remember(user=user)  # nothing is left but what is damaged
        except _BatchEnded:
            self.catch_up(user)
        except Exception as error:  # noqa: BLE001 - a thread's border: the next answer begins anew
            log_failure(_logger, "of encoding messages", error)

    async def members(
        self,
        body: JsonObject,
        render: Render,
        question: str,
        *,
        user: str,
        evidence: Sequence[Evidence],
        budget_tokens: int,
        deadline: float,
    ) -> tuple[dict[str, str], int]:
        """Return further members of a chat request, and the tokens of memory that they stand for.

        Keys are of whole messages, so these may have twice the budget. `deadline` is by the event loop's
        clock. Raises NoKVMemory unless the keys are there, and all that the evidence says as text.
        """
        if any(body[name] for name in _TAKEN) or not _is_text(body):
            raise NoKVMemory("the request has parts that go with text alone")
        seqs = _messages(evidence)
        try:
            async with asyncio.timeout_at(deadline):
                rendered = await _rendered(body, render)
                make = partial(
                    self._kv.prompt,
                    question,
                    user=user,
                    budget_tokens=2 * budget_tokens,
                    seqs=seqs,
                    rendered=rendered,
                    encode=False,
                )
                prompt = await asyncio.get_running_loop().run_in_executor(self._asking, make)
        except (TimeoutError, StorageBusy, BlockMissing) as late:
            self.catch_up(user)
            raise NoKVMemory("its keys are not ready yet") from late
        except NoKVMemory:
            raise
        except Exception as error:  # of a model, a driver or a file: text needs none of them
            self.catch_up(user)
            log_failure(_logger, "of memory as keys and values", error)
            raise NoKVMemory(reason(error)) from error
        if prompt.scope is None or not prompt.is_whole:
            self.catch_up(user)
            raise NoKVMemory("not all of it has keys, or room for them")
        texts = {cited.seq: cited.text for cited in prompt.citations}
        if any(unit.text not in texts.get(unit.sources[0], "") for unit in evidence):
            raise NoKVMemory(_IN_OTHER_WORDS)
        if any(one in cited.speaker + cited.text for cited in prompt.citations for one in self._special):
            raise NoKVMemory("a message in it has special tokens of the model")
        params = {**prompt.scope.params(), "prompt_token_ids": list(prompt.ids)}
        members = {"kv_transfer_params": dumped(params), "cache_salt": dumped(prompt.salt)}
        return members, prompt.memory_tokens


def _end_batch(done: int, total: int) -> None:
    if done < total:
        raise _BatchEnded


def _messages(evidence: Sequence[Evidence]) -> list[int]:
    """Return the seqs of evidence that is one message each, of a user or an assistant. Raises NoKVMemory."""
    for unit in evidence:
        if unit.standing or len(unit.sources) != 1 or mark(unit) or not unit.is_dated:
            raise NoKVMemory(_IN_OTHER_WORDS)
        if unit.role not in _ROLES or not unit.metadata.keys().isdisjoint((CORRECTS, NOISE)):
            raise NoKVMemory("a message in it is neither the user's nor an assistant's own")
    return list(dict.fromkeys(unit.sources[0] for unit in evidence))


def _special_tokens(tokenizer: Any) -> frozenset[str]:
    """Return the texts that a tokenizer of Transformers reads as marks, such as the end of a turn."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return frozenset({str(one) for one in added if one.special} | set(tokenizer.all_special_tokens))


async def _rendered(body: JsonObject, render: Render) -> list[int]:
    """Return the tokens of a request as the upstream renders it. Raises NoKVMemory."""
    try:
        answer = await render(
            encoded(body.rewritten({"stream": "false"}, removed=["memory", "stream_options"]))
        )
        data = await whole(answer)
        ids = read_object(data)["token_ids"] if answer.is_success else None
    except (Problem, NotAnObject) as error:
        raise NoKVMemory("the upstream did not render the request") from error
    if not isinstance(ids, list) or not ids or any(type(token) is not int for token in ids):
        raise NoKVMemory(
            f"the upstream did not render the request ({answer.status_code}): start vLLM with"
            " --enable-scale-out"
        )
    return ids


def _is_text(body: JsonObject) -> bool:
    """True if no message has a picture or the like: vLLM then leaves forwarded tokens aside."""
    parts: list[Any] = []
    for message in sequence(body["messages"]):
        content = mapping(message).get("content")
        parts += content if isinstance(content, list) else ()
    return all(mapping(part).get("type") == "text" for part in parts)
