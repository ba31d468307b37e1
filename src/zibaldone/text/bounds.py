"""Bounds on the text that is read of a message or a question, so that its cost is bounded.

The log keeps all of a text, and the index of words and vectors, the tokenizer and keys and values have all of
it: their work rises with its length alone. Whoever reads a text for what it means (views, their grammars, the
models that they ask) gets so much of it. What is left out is counted in the report of a maintenance, and is
in the trace of a recall.
"""

from __future__ import annotations

from dataclasses import replace

from zibaldone.core import Message

MESSAGE_CHARS_READ = 32_768  # of a message: its beginning
QUESTION_CHARS_READ = 4_096  # of a question: its beginning and its end, since people ask before or after
_WITHIN = 64  # characters in which a cut looks for white space


def is_long(message: Message) -> bool:
    """True if readers get the beginning of a message alone."""
    return len(message.content) > MESSAGE_CHARS_READ


def as_read(message: Message) -> Message:
    """The message as views read it: places in its content are places in what the log has."""
    if not is_long(message):
        return message
    content = message.content[:MESSAGE_CHARS_READ]
    return replace(message, content=content[: _last_space(content)])


def question_as_read(text: str) -> str:
    """The first and the last words of a question that is too long to be read."""
    half = (QUESTION_CHARS_READ - 1) // 2
    first, last = text[:half], text[-half:]
    return f"{first[: _last_space(first)]}\n{last[_first_word(last) :]}"


def _last_space(text: str) -> int:
    at = max(text.rfind(space, len(text) - _WITHIN) for space in " \n")
    return at if at >= 0 else len(text)


def _first_word(text: str) -> int:
    return 1 + max(text.find(space, 0, _WITHIN) for space in " \n")
