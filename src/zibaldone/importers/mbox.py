"""Mail in an mbox file, such as Google Takeout's and Thunderbird's: each thread is a session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any, BinaryIO

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import HEAD_BYTES, Importer, each
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import Occurrences, attached, attachment, plain_text, with_files

_FROM = re.compile(rb"From [^\n]*\d\d:\d\d[^\n]*\n")
_REPLY = re.compile(r"^\s*(?:(?:re|aw|fwd?|wg)\s*:\s*)+", re.IGNORECASE)
_MOST_BYTES = 64 * 2**20  # of one mail


class Mbox(Importer):
    """Session: the thread, by its first mail's id. Who wrote is the name; the subject is the title."""

    name = "mbox"
    among_people = True
    looks_for = "line 'From ' with a time before the headers of a mail"
    in_folders = r"(?:\.|/)mbox\Z|(?:\A|/)[^./]+\Z"  # Thunderbird's have no ending

    def files(self, source: ImportSource) -> list[str]:
        """List the mailboxes, by the line before the first mail: mails may be of any charset."""
        named = [name for name in source.names if source.only or re.search(self.in_folders, name)]
        return [name for name in named if _FROM.match(source.head(name, HEAD_BYTES).lstrip())]

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield each mail."""
        ids = Occurrences("mbox")
        with source.open(name) as stream:
            nodes = (Node(raw, f"mail {i}", source.where(name)) for i, raw in enumerate(_split(stream), 1))
            yield from each(nodes, lambda node: _mail(node, ids))


def _mail(node: Node, ids: Occurrences) -> Iterator[Message]:
    try:
        mail = message_from_bytes(node.value, policy=policy.default)
        assert isinstance(mail, EmailMessage)  # the policy makes these
        yield from _message(mail, node, ids)
    except InvalidImport:
        raise
    except (MessageError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The standard library's parser trips over headers that are no headers.
        raise node.error(f"cannot be parsed ({error})") from error


def _split(stream: BinaryIO) -> Iterator[bytes]:
    """The mails of a file; a line of a body that looks like a border has a mark before it."""
    mail: list[bytes] = []
    size, rest = 0, b""
    while data := stream.read(1 << 20):
        pieces = (rest + data).splitlines(keepends=True)
        rest = pieces.pop() if pieces and not pieces[-1].endswith(b"\n") else b""
        for line in pieces:
            if _FROM.match(line):
                if mail:
                    yield b"".join(mail)
                mail, size = [], 0
            elif (size := size + len(line)) <= _MOST_BYTES:
                mail.append(line[1:] if line.startswith(b">From ") else line)
    mail.append(rest)
    if any(mail):
        yield b"".join(mail)


def _message(mail: EmailMessage, node: Node, ids: Occurrences) -> Iterator[Message]:
    subject, sender = str(mail.get("subject", "")).strip(), str(mail.get("from", ""))
    name, address = parseaddr(sender)
    body = mail.get_body(preferencelist=("plain", "html"))
    text = _text(body) if isinstance(body, EmailMessage) else ""
    if body is not None and body.get_content_type() == "text/html":
        lines = (" ".join(line.split()) for line in plain_text(text).splitlines())
        text = "\n".join(filter(None, lines))
    files = [
        attachment("file", name=part.get_filename(), media_type=part.get_content_type())
        for part in mail.iter_attachments()
        if part.get_filename()
    ]
    content = with_files(text.strip(), files)
    if not content:
        return
    date = mail.get("date")
    own_id = str(mail.get("message-id", "")).strip("<> \n") or ids.name(sender, subject, date, content)
    thread = str(mail.get("references", "") or mail.get("in-reply-to", "")).split()
    metadata: dict[str, Any] = {"title": _REPLY.sub("", subject)} if subject else {}
    if to := str(mail.get("to", "")):
        metadata["to"] = to
    name = " ".join((name or address).split())
    time = date.datetime if date is not None else None
    session = f"mail:{thread[0].strip('<>') if thread else own_id}"
    metadata |= attached(files)
    content = content.replace("\r\n", "\n")
    yield node.message(Message(content, "user", name or None, time, session, metadata, f"mail:{own_id}"))


def _text(body: EmailMessage) -> str:
    try:
        return str(body.get_content())
    except LookupError:  # a charset that nobody knows
        return bytes(body.get_payload(decode=True) or b"").decode("utf-8", "replace")
