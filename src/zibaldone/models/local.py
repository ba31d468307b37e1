"""A local Transformers model as a chat model with log-probabilities; needs the extra `kv`.

What two requests begin with alike is computed once: the keys and values of the last prompt are kept, and cut
back to where the next one differs.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any

from zibaldone.errors import MissingExtra, ModelFailed
from zibaldone.models.base import ChatReply, ChatRequest, TokenLogprob
from zibaldone.models.cache_argument import cache_argument, cache_of

_DEFAULT_TOKENS = 128


class LocalChat:
    """Greedy answers of a causal language model, one at a time. Safe to share among threads.

    It takes neither temperatures nor schemas: give the schema's task to a server.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Both as Transformers loads them, the model in evaluation mode. Raises MissingExtra."""
        try:
            self._torch: Any = import_module("torch")
        except ImportError as error:
            raise MissingExtra("a local model needs torch: pip install 'zibaldone[kv]'") from error
        self._model, self._tokenizer = model, tokenizer
        self._lock = threading.Lock()
        self._ids: list[int] = []  # whose keys and values are in the cache
        self._cache: Any = None
        self.computed_tokens = 0  # of prompts, without those that were in the cache

    @property
    def name(self) -> str:
        """The checkpoint's."""
        config = self._model.config
        return str(getattr(config, "name_or_path", "") or type(self._model).__name__)

    def chat(self, request: ChatRequest) -> ChatReply:
        """A greedy answer. Raises ModelFailed when the model's library fails."""
        ids = self._prompt(request)
        most = request.max_tokens or _DEFAULT_TOKENS
        with self._lock:
            try:
                tokens, ended = self._answer(ids, most, request.logprobs)
            except Exception as error:  # out of memory, an index out of range: there is no answer
                self._ids, self._cache = [], None
                raise ModelFailed(f"{self.name!r} failed: {error!r}") from error
        answer = [token for token, _ in tokens]
        return ChatReply(
            str(self._tokenizer.decode(answer, skip_special_tokens=True)),
            "stop" if ended else "length",
            len(ids),
            len(answer),
            tuple(told for _, told in tokens) if request.logprobs is not None else None,
        )

    def _prompt(self, request: ChatRequest) -> list[int]:
        turns = [{"role": turn.role, "content": turn.content} for turn in request.turns]
        if getattr(self._tokenizer, "chat_template", None):
            text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            ids = self._tokenizer("\n\n".join(turn["content"] for turn in turns))["input_ids"]
        if not ids:
            raise ModelFailed("the prompt has no token")
        return [int(one) for one in ids]

    def _answer(
        self, ids: Sequence[int], most: int, alternatives: int | None
    ) -> tuple[list[tuple[int, TokenLogprob]], bool]:
        """Tokens of the answer, and whether the model ended it."""
        torch = self._torch
        ends = self._ends()
        answer: list[tuple[int, TokenLogprob]] = []
        with torch.inference_mode():
            cache, known = self._reused(ids)
            self._ids, self._cache = [], None  # should it fail, nothing half done is reused
            self.computed_tokens += len(ids) - known
            given = list(ids[known:])
            while True:
                out = self._model(
                    input_ids=torch.tensor([given], device=self._model.device),
                    **cache_argument(self._model, cache),
                    use_cache=True,
                )
                cache = cache_of(out)
                logprobs = out.logits[0, -1].float().log_softmax(-1)
                token = int(logprobs.argmax())
                ended = token in ends
                if not ended:
                    answer.append((token, self._told(logprobs, token, alternatives or 0)))
                if ended or len(answer) >= most:
                    break
                given = [token]
            self._ids = [*ids, *(token for token, _ in answer)]
            self._cache = cache
        return answer, ended

    def _reused(self, ids: Sequence[int]) -> tuple[Any, int]:
        """The cache as far as it fits, and for how many tokens that is; the last one is always computed."""
        pairs = zip(self._ids, ids[:-1], strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        held = 0 if self._cache is None else int(self._cache.get_seq_length())
        known = min(known, held)
        if not known or not self._can_be_cut():
            return None, 0
        if held > known:
            self._cache.crop(known - held)
        return self._cache, known

    def _can_be_cut(self) -> bool:
        """A sliding window has dropped what a shorter text would need, and a running state cannot go back."""
        config = self._model.config.get_text_config(decoder=True)
        kinds = getattr(config, "layer_types", None)
        return set(kinds) == {"full_attention"} if kinds else not getattr(config, "sliding_window", None)

    def _ends(self) -> frozenset[int]:
        config = getattr(self._model, "generation_config", None)
        given = getattr(config, "eos_token_id", None)
        ends = given if isinstance(given, (list, tuple)) else [given]
        own = getattr(self._tokenizer, "eos_token_id", None)
        return frozenset(int(one) for one in (*ends, own) if one is not None)

    def _told(self, logprobs: Any, token: int, alternatives: int) -> TokenLogprob:
        others: tuple[tuple[str, float], ...] = ()
        if alternatives:
            values, places = logprobs.topk(min(alternatives, len(logprobs)))
            others = tuple(
                (str(self._tokenizer.decode([int(place)])), float(value))
                for value, place in zip(values, places, strict=True)
            )
        return TokenLogprob(str(self._tokenizer.decode([token])), float(logprobs[token]), others)
