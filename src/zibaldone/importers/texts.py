"""Helpers of several importers: ids, citation markers, attachments, memories of assistants."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape
from typing import Any

from zibaldone.core import PROFILE, Message
from zibaldone.log.message_input import ATTACHMENTS

# In a message's metadata, what was taken out of its text, and where: [[at, text] ...]
CITATIONS = "citation_markers"
# Marks of a program's own, which it shows as links: "cite…" in private characters, "【12†source】".
_MARKER = re.compile(r"[ ]?\ue200[^\ue201\n]{0,400}\ue201|[ ]?【\d{1,4}(?::\d{1,4})?†[^】\n]{0,120}】")
_TAG = re.compile(r"<(style|script)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|br|li|h\d|div|tr)\b[^>]*>\n?", re.IGNORECASE)
_DATED = re.compile(r"(?:\d{1,4}\.\s*)?\[(\d{4}-\d\d-\d\d)\]\.?\s*(.*)")


def without_markers(text: str) -> tuple[str, dict[str, Any]]:
    """Return a text without citation markers, and the markers as metadata, to restore it by."""
    if "\ue200" not in text and "†" not in text:
        return text, {}
    taken: list[list[Any]] = []
    parts, at, kept = [], 0, 0
    for marker in _MARKER.finditer(text):
        parts.append(text[at : marker.start()])
        kept += len(parts[-1])
        taken.append([kept, marker.group()])
        at = marker.end()
    return "".join([*parts, text[at:]]), {CITATIONS: taken} if taken else {}


def attachment(kind: str, **known: object) -> dict[str, Any]:
    """Describe an attachment for a message's metadata: what is known of name, media_type, bytes, caption, id.

    The id finds its file in an export.
    """
    return {"type": kind, **{key: value for key, value in known.items() if value is not None}}


def attached(attachments: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Attachments as metadata."""
    listed = list(attachments)
    return {ATTACHMENTS: listed} if listed else {}


def with_files(text: str, files: Iterable[dict[str, Any]]) -> str:
    """Append the names of attached files to a text."""
    return "\n".join(part for part in (text, *(f"[file: {file['name']}]" for file in files)) if part)


def plain_text(html: str) -> str:
    """Return the text of HTML, its blocks apart."""
    return unescape(_TAG.sub("", _BREAK.sub("\n", html))).strip()


def branch_of(parents: Mapping[str, str], leaf: str, known: Collection[str] = ()) -> list[str]:
    """List the nodes of a tree down to a leaf: from the root, or below those that are known already."""
    branch: dict[str, None] = {}
    while leaf in parents and leaf not in branch and leaf not in known:  # a circle ends it
        branch[leaf] = None
        leaf = parents[leaf]
    return [*branch][::-1]


def titled(title: str) -> dict[str, Any]:
    """A title as metadata."""
    return {"title": title} if title else {}


def remembered_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield (text, ISO day or None) for each memory in a list, without headings and blank lines."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") or (stripped.startswith("**") and stripped.endswith("**")):
            continue  # a heading
        memory = stripped.lstrip("-*• ").strip()
        if dated := _DATED.fullmatch(memory):
            yield dated[2].strip(), dated[1]
        elif memory:
            yield memory, None


def known_of_user(
    text: str, kind: str, source: str, session: str, time: datetime | None, *, role: str = "user"
) -> Message:
    """Make a message of a program's instructions or memories, whose sentences are profile entries.

    Its id is a digest of its text, since programs repeat it in every conversation.
    """
    digest = hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()[:24]
    return Message(
        content=text,
        role=role,
        time=time,
        session=session,
        metadata={PROFILE: kind, "source": source, "title": source},
        id=f"{session}:{digest}",
    )


@dataclass(slots=True)
class Occurrences:
    """Makes ids of messages: the same in a later export; repeats at one time get a running number."""

    prefix: str
    met: Counter[str] = field(default_factory=Counter)

    def name(self, *parts: object) -> str:
        """Return the id of a message with these properties."""
        digest = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]
        self.met[digest] += 1
        again = f"#{self.met[digest]}" if self.met[digest] > 1 else ""
        return f"{self.prefix}:{digest}{again}"
