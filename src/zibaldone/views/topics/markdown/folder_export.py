"""Export of topic documents to a folder: a file `ID.md` for each, and `index.md`, which names the owner."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from zibaldone.errors import InvalidInput
from zibaldone.views.topics.markdown.document import Document, front_matter, render
from zibaldone.views.topics.markdown.entry import When

INDEX = "index.md"


def write_folder(folder: Path, documents: Sequence[Document], user: str, time: When) -> tuple[str, ...]:
    """Write documents and index; returns the names of the files, the index last.

    In an earlier export of the same user the files of that export are replaced, or removed when their
    documents are gone. Raises InvalidInput, and nothing is written, for any other folder that is not empty.
    """
    texts = {f"{one.id}.md": render(one) for one in documents}
    try:
        earlier = list(folder.iterdir()) if folder.exists() else []
        index = folder / INDEX
        if earlier and not (index.is_file() and f"\nowner: {owner_of(user)}\n" in _text(index)):
            raise InvalidInput(
                f"{str(folder)!r} is neither empty nor an export of user {user!r}: choose a new folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        # First: what is written by halves can be replaced.
        index.write_text(_index(documents, user, time), encoding="utf-8", newline="")
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
        for path in earlier:
            if path.suffix == ".md" and path.name not in {*texts, INDEX} and "\ntoken_count: " in _text(path):
                path.unlink()
    except OSError as error:
        raise InvalidInput(
            f"cannot write {str(folder)!r} ({error.strerror}): choose another folder"
        ) from error
    return (*sorted(texts), INDEX)


def owner_of(user: str) -> str:
    """Digest by which a folder is known to be a user's."""
    return hashlib.blake2b(user.encode(), digest_size=8, person=b"owner").hexdigest()


def _index(documents: Sequence[Document], user: str, time: When) -> str:
    lines = [f"{front_matter({'exported': str(time), 'owner': owner_of(user)})}\n# Topics\n"]
    for document in documents:
        title = re.sub(r"([\\\[\]])", r"\\\1", document.title)
        link = f"[{title}]({document.id}.md)"
        lines.append(f"- {link}: {document.summary}" if document.summary else f"- {link}")
    return "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
