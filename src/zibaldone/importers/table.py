"""CSV with named columns: a row is a message. Which column is what, their names say."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from zibaldone.core import DEFAULT_SESSION, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Item, NotImported, OfUser
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, head_of
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import lines
from zibaldone.importers.texts import Occurrences

_COLUMNS = {
    "content": ("content", "message", "text", "body"),
    "role": ("role", "sender_type"),
    "name": ("name", "sender", "author", "speaker", "from", "username"),
    "time": ("time", "timestamp", "date", "datetime", "created_at", "sent_at"),
    "session": ("session", "session_id", "conversation", "conversation_id", "thread_id", "channel"),
    "user": ("user", "user_id"),
    "id": ("id", "message_id"),
}
_DIALECTS = (",", ";", "\t")
_MOST_FIELD = 16 * 2**20


class NamedColumns(Importer):
    """User, session, role, name and time: from the columns of these names; any other column is metadata."""

    name = "csv"
    looks_for = "line of column names, among them 'content', 'message', 'text' or 'body' and another"
    names_users = True

    def fits(self, head: Head) -> bool:
        """Recognise a table by its first line."""
        return head.text[:1] not in "[{" and _columns(head) is not None

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the message of each row."""
        where = source.where(name)
        known = _columns(head_of(source, name))
        if known is None:
            raise InvalidImport(f"{where}: line 1: names no column 'content', 'message', 'text' or 'body'")
        separator, columns = known
        csv.field_size_limit(_MOST_FIELD)
        ids = Occurrences("csv")
        with source.open(name) as stream:
            rows = csv.DictReader((line + "\n" for _, line in lines(stream, where)), delimiter=separator)
            nodes = (Node(row, f"line {rows.line_num}", where) for row in rows)
            try:
                yield from each(nodes, lambda node: _messages(node, columns, ids))
            except csv.Error as error:
                yield NotImported(f"{where}: line {rows.line_num}", f"is no CSV ({error})")


def _columns(head: Head) -> tuple[str, dict[str, str]] | None:
    """Return the separator, and the known columns' names by field; None if there is no content."""
    line = head.text.split("\n", 1)[0]
    for separator in _DIALECTS:
        names = next(csv.reader([line.strip("\r")], delimiter=separator), [])
        by_name = {name.strip().lower().replace(" ", "_"): name for name in names}
        columns = {
            what: next(by_name[alias] for alias in aliases if alias in by_name)
            for what, aliases in _COLUMNS.items()
            if any(alias in by_name for alias in aliases)
        }
        if "content" in columns and len(columns) > 1:
            return separator, columns
    return None


def _messages(node: Node, columns: dict[str, str], ids: Occurrences) -> Iterator[Item]:
    """Yield a row's message, unless it is empty."""
    row = node.value
    cells = {
        what: cell
        for what, name in columns.items()
        if isinstance(cell := row.get(name), str) and cell.strip()
    }
    user, content = cells.get("user"), cells.get("content")
    if content is None:
        return
    stamp = cells.get("time")
    number = stamp is not None and stamp.replace(".", "", 1).isdigit()
    time = Node(float(stamp) if stamp and number else stamp, f"{node.at}: {columns.get('time')}", node.path)
    metadata = {
        str(name): cell
        for name, cell in row.items()
        if name is not None and name not in columns.values() and cell not in (None, "")
    }
    own_id = cells.get("id")
    made_id = ids.name(user, cells.get("session"), stamp, cells.get("name"), content)
    message = Message(
        content,
        role=cells.get("role", "user").lower(),
        name=cells.get("name"),
        time=time.time() if stamp else None,
        session=cells.get("session", DEFAULT_SESSION),
        metadata=metadata,
        id=f"csv:{own_id}" if own_id else made_id,
    )
    checked = node.message(message)
    yield checked if user is None else OfUser(user, checked)
