"""Names that were made and not grown: `user_id`, `v2.3.1`, `src/app.py`, `10.0.0.7:5432`, `ERR-404`.

To an index they are several words, each as common as any. Whole they stand in few places.
"""

from __future__ import annotations

from zibaldone.text.patterns import lazy_pattern

_PIECE = r"[\p{L}\p{M}\p{N}]+"
_WRITTEN = lazy_pattern(rf"{_PIECE}(?:(?:[_./:@#\\-]|::|->){_PIECE})+")
# A hyphen or a slash between words makes no code of them, nor does a dot behind a sentence: "and/or", "e.g".
_MADE = lazy_pattern(r"_|\p{N}|\p{L}{2}(?:[.:@#\\]|::|->)\p{L}|\p{L}{2}/\p{L}+[/.]")


def codes(text: str) -> tuple[str, ...]:
    """Those of a text, in lower case and in order, each once."""
    if not any(sign in text for sign in "_./:@#\\-"):
        return ()
    written = (match.group().casefold() for match in _WRITTEN.finditer(text))
    return tuple(dict.fromkeys(code for code in written if _MADE.search(code)))


def has_code(text: str, code: str) -> bool:
    """Whether a text has the code, and not only as a part of a longer word: `id` is none of `user_id`."""
    text = text.casefold()
    place = text.find(code)  # and no pattern: compiled ones are kept, and this one would be of a question
    while place >= 0:
        around = text[max(place - 1, 0) : place] + text[place + len(code) : place + len(code) + 1]
        if not any(letter == "_" or letter.isalnum() for letter in around):
            return True
        place = text.find(code, place + 1)
    return False
