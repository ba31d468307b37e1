"""An answer that is remembered: the keys that its making left become its turns' (Algorithm 1, lines 7-8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from zibaldone.views.kvcache.generate.generation import PromptContext, finish
from zibaldone.views.kvcache.model.encoding import Encoder, cut
from zibaldone.views.kvcache.model.tap import Raw
from zibaldone.views.kvcache.model.turns import question_of, tokens_of

Keys = Callable[[], Sequence[tuple[Raw, Sequence[int]]]]


def keys_of(
    encoder: Encoder, context: PromptContext, raw: Raw, answer: Sequence[int], query: str, now: datetime
) -> Keys:
    """(keys, token ids) of a question and its answer, made when called from what was caught."""
    question = question_of(encoder.tokenizer, encoder.form, query, now)
    ids = (*question.ids, *answer, *tokens_of(encoder.tokenizer, encoder.form.answer_end))
    middle = len(question.turn)

    def finished() -> Sequence[tuple[Raw, Sequence[int]]]:
        whole = finish(encoder, context, raw, ids, len(question.ids) + len(answer))
        return [(cut(whole, 0, middle), ids[:middle]), (cut(whole, middle), ids[middle:])]

    return finished
