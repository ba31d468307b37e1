"""What the command line writes: answers on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from zibaldone.core import Evidence, Message, Trace
    from zibaldone.engine.forgetting import Receipt
    from zibaldone.engine.imports import Imported
    from zibaldone.engine.inspection import Stats
    from zibaldone.engine.verification.receipts import Verification
    from zibaldone.log import Session
    from zibaldone.recall.result import Recall
    from zibaldone.views.base import Counted

NOTHING_FOUND, BAD_INPUT, STORAGE_FAILED, MODEL_FAILED = 1, 2, 3, 4  # exit codes
_SHORT_CELL, _SHORT_NAME = 18, 36  # columns, such as of a date, and of a word such as a UUID: never broken
_LONG_CELL = 24  # columns that are left at least to words, which are
_GAP = 2
_BREAKS = re.compile(r"[\t\n\r]+")
INTERRUPTED = 130
_WORTH_TELLING_BYTES = 5_000_000
_MOST_REFUSED = 20  # lines of what could not be imported
_FIRST_WORDS = 160  # characters shown of a passage: two lines or three
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def fields_of(value: object) -> dict[str, object]:
    """A dataclass as a JSON object."""
    shown = plain(value)
    assert isinstance(shown, dict)
    return shown


def plain(value: object) -> object:
    """A result as JSON: dataclasses become objects (less their unprinted fields), times ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def write_json(value: object) -> None:
    """One JSON value, and nothing else, on standard output."""
    shown = json.dumps(plain(value), ensure_ascii=False, indent=2)
    write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", shown))


def write(text: str) -> None:
    """Text on standard output: a terminal gets it without control characters, all else word for word."""
    # bytes, since typer takes escape sequences out of text that goes into a pipe or a file
    typer.echo(visible(text) if _is_terminal() else text.encode())


def give_up_standard_output() -> None:
    """Let what is still to be written go nowhere, since the end of the process would try again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def note(text: str, style: str = "dim") -> None:
    """A line on standard error."""
    Console(stderr=True, highlight=False).print(Text(visible(text), style=style), soft_wrap=True)


def visible(text: str) -> str:
    """Text that cannot steer a terminal: other people's words may hold escape sequences."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def say_folder(folder: object) -> None:
    """Which folder is in use, in a line on standard error, where that is a terminal."""
    if _errors_are_seen():
        from zibaldone.storage.database import place_shown

        note(f"memory: {place_shown(str(folder))}")


def table(*columns: str, rows: Sequence[Sequence[object]]) -> None:
    """Rows on standard output. On a terminal, columns; where it is too narrow for them, a block for each row.

    Elsewhere a line for each row, its cells with tabs between them: nothing is cut or wrapped, however long.
    """
    cells = [[visible(str(value)) for value in row] for row in rows]
    console = Console(highlight=False)
    if not console.is_terminal:
        for line in ([*columns], *cells):
            write("\t".join(_BREAKS.sub(" ", cell) for cell in line))
        return
    numbers = [
        bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))
    ]
    if _fits(columns, cells, console.width):
        console.print(_in_columns(columns, cells, numbers))
    else:
        console.print(_in_blocks(columns, cells, console.width))


def _fits(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> bool:
    """True if each short column has room in one line, and what is left is enough for the long ones."""
    needed = (len(columns) - 1) * _GAP
    for place, column in enumerate(columns):
        longest = max([cell_len(column), *(cell_len(row[place]) for row in cells)])
        needed += longest if all(_is_short(row[place]) for row in cells) else _LONG_CELL
    return needed <= width


def _in_columns(columns: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool]) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        is_short = all(_is_short(row[place]) for row in cells)
        made.add_column(
            column, justify="right" if numbers[place] else "left", overflow="fold", no_wrap=is_short
        )
    for row in cells:
        made.add_row(*(Text(cell) for cell in row))
    return made


def _in_blocks(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Group:
    """Short cells with their names, as many as go in a line; long ones below them, wrapped between words."""
    lines: list[Text] = []
    for row in cells:
        if lines:
            lines.append(Text())
        named = zip(columns, row, strict=True)
        short = [_named(column, cell, width) for column, cell in named if cell and _is_short(cell)]
        lines += [Text(line, style="bold") for line in _filled(short, width)]
        lines += [Text(cell, overflow="fold") for cell in row if not _is_short(cell)]
    return Group(*lines)


def _is_short(cell: str) -> bool:
    """True if it stands in one line: such as a date, a number, a name."""
    return cell_len(cell) <= (_SHORT_CELL if " " in cell else _SHORT_NAME)


def _named(column: str, cell: str, width: int) -> str:
    named = f"{column} {cell}".strip()
    return named if cell_len(named) <= width else cell


def _filled(cells: Sequence[str], width: int) -> list[str]:
    lines: list[str] = []
    for cell in cells:
        longer = f"{lines[-1]}   {cell}" if lines else ""
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(cell)
    return lines


def message_line(message: Message) -> str:
    """A message as a line of a listing; its own line breaks are kept."""
    time = f"{message.time:%Y-%m-%d %H:%M}" if message.time else ""
    return f"{message.seq}  {time}  [{message.session}]  {message.speaker}: {message.content}"


def message_object(message: Message) -> dict[str, object]:
    """A message with the fields of an exported line, the empty ones too, and its seq in front."""
    from zibaldone.importers.export import to_object

    return {"seq": message.seq, **to_object(message)}


def recall_object(recalled: Recall, *, why: bool) -> dict[str, object]:
    """A recall as JSON; what was decided about each candidate only when asked for."""
    names = ("query", "text", "tokens", "confidence", "evidence", "citations")
    shown = {name: getattr(recalled, name) for name in names}
    return {**shown, "trace": recalled.trace} if why else shown


def recall_summary(recalled: Recall) -> str:
    """How much was recalled, from where, how fast."""
    seqs = sorted({citation.seq for citation in recalled.citations})
    passages = count(len(recalled.evidence), "passage")
    likely = f"confidence {recalled.confidence:.2f}"
    cost = f"{recalled.tokens} tokens, {passages}, {likely}, {recalled.trace.ms:.1f} ms"
    return f"{cost}; cites messages {some(seqs)}"


def plan(trace: Trace) -> None:
    """What the answer was taken to need, how likely memory has it, and what each part of the text took."""
    write(f"aim {trace.aim}, confidence {trace.confidence:.3f}, floor {trace.floor:.3f}")
    if trace.parts:
        rows = [(part.name, part.room_tokens, part.tokens, part.units) for part in trace.parts]
        table("part", "room", "tokens", "units", rows=rows)
        write("")


def decisions(recalled: Recall) -> None:
    """Every candidate: what became of it, why, and what each channel said."""
    rows = [
        (
            decision.rank,
            "kept" if decision.kept else "dropped",
            decision.evidence.view,
            ", ".join(map(str, decision.evidence.sources)),
            decision.evidence.tokens,
            " ".join(f"{c.channel}#{c.rank}" for c in decision.evidence.channels if c.rank),
            decision.reason,
            short(decision.evidence.text),
        )
        for decision in recalled.trace.decisions
    ]
    table("rank", "", "view", "messages", "tokens", "channels", "why", "text", rows=rows)


def passage_table(passages: Sequence[Evidence]) -> None:
    """A row for each passage, with its first words."""
    from zibaldone.text.rendering import NO_DATE, mark

    rows = [
        (
            rank,
            f"{passage.time:%Y-%m-%d}" if passage.is_dated else NO_DATE,
            passage.session,
            ", ".join(map(str, passage.sources)),
            passage.speaker or "",
            round(passage.score, 3),
            short(passage.text, _FIRST_WORDS) + mark(passage),
        )
        for rank, passage in enumerate(passages, 1)
    ]
    table("rank", "date", "session", "messages", "speaker", "score", "text", rows=rows)


def shown_message(versions: Sequence[Message]) -> str:
    """A message with all that is known of it; where it was corrected, each version, the last one holds."""
    first, *corrections = versions
    about = [
        ("message", first.seq),
        ("session", first.session),
        ("time", f"{first.time:%Y-%m-%d %H:%M}" if first.time else ""),
        ("role", first.role),
        ("name", first.name or ""),
        ("id", first.id or ""),
        *((f"metadata {key}", value) for key, value in first.metadata.items()),
    ]
    lines = [f"{name}: {value}" for name, value in about if value != ""]
    texts = [first.content, *(f"corrected by message {later.seq}:\n{later.content}" for later in corrections)]
    return "\n\n".join(["\n".join(lines), *texts])


def session_table(sessions: Sequence[Session]) -> None:
    """A row for each session; titles where any has one."""
    titled = any(s.title for s in sessions)
    rows = [
        (
            s.session,
            *((short(s.title),) if titled else ()),
            s.messages,
            s.first_seq,
            s.last_seq,
            f"{s.start:%Y-%m-%d}",
            f"{s.end:%Y-%m-%d}",
        )
        for s in sessions
    ]
    names = ("session", *(("title",) if titled else ()), "messages", "first seq", "last seq", "from", "to")
    table(*names, rows=rows)


def import_summary(done: Imported) -> str:
    """What an import brought."""
    there = done.read - done.added - done.forgotten
    known = f", {there} were there already" if there > 0 else ""
    if done.changed:
        known += f" ({done.changed} of them changed since: kept as first stored)"
    if done.forgotten:
        known += f", {done.forgotten} were forgotten before and stay so (--again brings them back)"
    noise = f", {done.noise} of them calls, tool results and other noise" if done.noise else ""
    noise += f", {count(done.files, 'attachment')} kept" if done.files else ""
    refused = f"; {done.refusals} could not be read" if done.refusals else ""
    return (
        f"{done.format}: {count(done.read, 'message')} in {count(done.conversations, 'conversation')}"
        f" for {some(done.users)}: {done.added} added{noise}{known}{refused}"
    )


def refused_lines(done: Imported) -> Iterator[str]:
    """What could not be imported: which, where, why."""
    for refused in done.refused[:_MOST_REFUSED]:
        which = repr(refused.conversation) if refused.conversation else ""
        yield ": ".join(part for part in ("not imported", which, refused.where, refused.why) if part)
    if done.refusals > _MOST_REFUSED:
        yield f"and {done.refusals - _MOST_REFUSED} more: --json lists them"


def receipt_object(receipt: Receipt) -> dict[str, object]:
    """A receipt as JSON, with the number of messages."""
    return {"messages": receipt.messages, **fields_of(receipt)}


def receipt_summary(receipt: Receipt) -> str:
    """What went, or would go."""
    verb = "would forget" if receipt.dry_run else "forgot"
    numbers = f" (seq {some(receipt.seqs)})" if receipt.seqs else ""
    touched = [view for view in receipt.views if any(counted.rows for counted in view.counts)]
    derived = "".join(f"; view {view.view}: {_counts(view.counts)}" for view in touched)
    later = f"; {receipt.remains}" if receipt.remains else ""
    shredded = "; the user's key is destroyed: no copy can be read" if receipt.key else ""
    return (
        f"{verb} {count(receipt.messages, 'message')} of {receipt.user!r}{numbers}{derived}{later}{shredded}"
    )


def verification_lines(verified: Verification) -> Iterator[str]:
    """What was looked at, how much of each, and what is left."""
    yield (
        f"looked for {count(verified.looked_for - verified.excused, 'piece')} of"
        f" {count(verified.texts, 'text')} of {count(verified.messages, 'forgotten message')} of"
        f" {verified.user!r}"
    )
    if verified.excused:
        yield f"left out {verified.excused}: messages that are still there say the same"
    if verified.too_short:
        yield f"not looked for: {count(verified.too_short, 'text')} of less than 8 bytes"
    for kind in ("table", "file", "object", "export"):
        looked = [look for look in verified.looked_at if look.kind == kind]
        if not looked:
            continue
        rows = f", {count(sum(look.rows for look in looked), 'row')}" if kind == "table" else ""
        size = f"{sum(look.bytes for look in looked):,} bytes"
        yield f"{count(len(looked), kind)}{rows}, {size}: {some([look.name for look in looked], 60)}"
    if verified.unreadable:
        yield f"{count(verified.unreadable, 'piece')} unreadable: the key is destroyed"
    for left in verified.leftovers:
        yield f"- {left.kind} in {left.where}: {left.words}"
    if verified.purge_is_due:
        yield "- the files are still to be written anew: close every other process, and open the memory again"
    yield "nothing is left" if verified.ok else f"{count(len(verified.leftovers), 'leftover')}"


def stats_lines(stats: Stats) -> Iterator[str]:
    """What a memory holds, a line for each figure."""
    yield from (f"users: {stats.users}", f"sessions: {stats.sessions}", f"messages: {stats.messages}")
    for view in stats.views:
        yield f"view {view.view}: {_counts(view.counts)}" + (
            f"; {view.lag} messages behind" if view.lag else ""
        )
    yield f"on disk: {stats.bytes_on_disk / 1e6:.1f} MB"


@contextmanager
def progress(label: str, *, shown: bool, of_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, when that is a terminal; give what is yielded (done, total).

    Of bytes there is elsewhere a plain line for every tenth.
    """
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield _plain_progress(label) if shown and of_bytes else (lambda _done, _total: None)
        return
    counted = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), counted, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain_progress(label: str) -> Callable[[int, int], None]:
    """Lines on standard error, of what takes long enough to have several."""
    shown = [0]

    def show(done: int, total: int) -> None:
        tenth = 10 * done // total if total > _WORTH_TELLING_BYTES else 0
        if tenth > shown[0]:
            shown[0] = tenth
            note(f"{label}: {10 * tenth} % of {total / 1e6:.0f} MB")

    return show


def _errors_are_seen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()  # None: closed when the process began


def short(text: str, most: int = 60) -> str:
    """A text in one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _counts(counts: Sequence[Counted]) -> str:
    return ", ".join(f"{counted.rows} {counted.kind}" for counted in counts) or "empty"


def some(values: Sequence[object], most: int = 10) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more if values else "nobody"


def count(number: int, thing: str) -> str:
    """A number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
