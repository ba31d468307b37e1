"""A caller's tokenizer beside ours.

Units are cut and counted with ours, whatever counts the budgets: what is stored depends on no tokenizer that
comes and goes. A view is asked for as much as the budget is in our tokens, and what it finds is counted anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput
from zibaldone.models.base import Tokenizer

# By which two tokenizers are compared: talk, numbers, other scripts, and what looks like code.
_SAMPLE: Final = """
On Thursday, 25 May 2023, we drove to the lake: Melanie, her sister and the two dogs. It rained until 14:30!
I paid $1,249.99 for it; the warranty (number A-4471-XK) runs out in 36 months, doesn't it?
Am Donnerstag gehen wir in die Müllerstraße. Мы живём в Москве. 昨日は図書館で本を読みました。
for row in table[1:]: total += float(row["price"]) * 0.97
"""
_LEAST, _MOST = 0.1, 20.0


@dataclass(frozen=True, slots=True)
class OwnTokens:
    """The caller's tokenizer, and its tokens' length in ours."""

    tokenizer: Tokenizer
    our_tokens: float

    def in_ours(self, tokens: int) -> int:
        """Convert a number of the caller's tokens into ours, about."""
        return max(1, math.ceil(tokens * self.our_tokens))


def own_tokens(tokenizer: Tokenizer, ours: Tokenizer) -> OwnTokens:
    """Check a tokenizer and compare it with ours. Raises InvalidInput."""
    if not callable(getattr(tokenizer, "count", None)):
        raise InvalidInput(f"tokenizer must have count(texts), not be {shown(tokenizer)}")
    texts = ["", _SAMPLE]
    try:
        counts: object = tokenizer.count(texts)
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"tokenizer.count(texts) takes no list of texts: {error}") from error
    good = isinstance(counts, list) and len(counts) == len(texts) and bool(counts[1])
    if not isinstance(counts, list) or not good or any(type(n) is not int or n < 0 for n in counts):
        raise InvalidInput(
            "tokenizer.count(texts) must give the number of tokens of each text, as a list of whole numbers:"
            f" of an empty and of a longer text it gave {shown(counts)}"
        )
    ratio = ours.count([_SAMPLE])[0] / counts[1]
    return OwnTokens(tokenizer, min(max(ratio, _LEAST), _MOST))
