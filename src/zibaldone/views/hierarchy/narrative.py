"""How an episode is told without a model (appendix C.1): its title, and its messages with dates resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zibaldone.core import Message
from zibaldone.text.dated_text import day_in_words, resolved
from zibaldone.text.facts import day_of, parties_of
from zibaldone.text.titles import NO_STATISTICS, telling

_TITLE_WORDS = 12
_SPEAKERS = 3  # named in a title


def speaker_of(message: Message) -> str:
    """How the narrative calls who speaks: by name, or "the user", "the assistant"."""
    return message.name or f"the {message.role}"


def title(messages: Sequence[Message], df: Mapping[str, int] = NO_STATISTICS, n: int = 0) -> str:
    """At most twelve words: the day, who speaks, and what the episode speaks of most; see `telling`."""
    opening = f"{day_in_words(day_of(messages[0]))}, {_speakers(messages)}"
    room = _TITLE_WORDS - len(opening.split())
    texts = [message.content for message in messages]
    subjects = telling(texts, max(room, 0), parties=parties_of(messages), df=df, n=n)
    return f"{opening}: {', '.join(subjects)}" if subjects else opening


def narrative(messages: Sequence[Message]) -> str:
    """Who talked when, and then what each said, a line per message, with relative dates resolved.

    Nothing is left out but messages of white space. The time is given to the minute and in the zone in
    which it was stored.
    """
    lines = [f"On {_clock(messages[0])}, {_speakers(messages, most=len(messages))} talked."]
    before = day_of(messages[0])
    for message in messages:
        content = " ".join(message.content.split())
        if not content:
            continue
        if (day := day_of(message)) != before:
            lines.append(f"On {_clock(message)}:")
            before = day
        lines.append(f"{message.name or message.role.capitalize()}: {resolved(content, day)}")
    return "\n".join(lines)


def _speakers(messages: Sequence[Message], most: int = _SPEAKERS) -> str:
    speakers = list(dict.fromkeys(speaker_of(message) for message in messages))
    shown = speakers[:most] if len(speakers) <= most else [*speakers[: most - 1], "others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _clock(message: Message) -> str:
    assert message.time is not None
    day = day_in_words(message.time.date(), weekday=True).replace(",", "")
    return f"{day} at {message.time:%H:%M}"
