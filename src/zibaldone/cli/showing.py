"""Results of operations as people read them: tables, and texts of a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zibaldone.cli import output as out
from zibaldone.cli.frame import AS_JSON, SHOWN, CliCall, shows
from zibaldone.cli.output import count, short, some

if TYPE_CHECKING:
    from datetime import date, datetime

    from zibaldone.core import Evidence, Message
    from zibaldone.engine.forgetting import Receipt
    from zibaldone.engine.imports import Imported
    from zibaldone.engine.verification.receipts import Verification
    from zibaldone.log.audit import AuditEntry
    from zibaldone.log.grants import Grant
    from zibaldone.recall.result import Recall
    from zibaldone.views.base import Counted
    from zibaldone.views.notes import UserNote
    from zibaldone.views.topics.markdown.document import Document

_MOST_REFUSED = 20  # lines of what could not be imported
_FIRST_WORDS = 160  # characters shown of a passage: two lines or three

# Tables: the columns, and a row


def _note_row(note: UserNote) -> Sequence[object]:
    state = [name for name in ("pinned", "edited", "retired") if getattr(note, name)]
    if note.superseded_by is not None:
        state.append(f"superseded by {note.superseded_by}")
    if note.ended_by is not None:
        state.append(f"ended by message {note.ended_by}")
    said_by = "" if note.about == "user" else f"{note.about}: "
    day = note.time.date() if note.is_dated else ""
    return note.id, note.kind, day, ", ".join(state), said_by + note.text


def _document_row(held: Document) -> Sequence[object]:
    return held.id, len(held.entries), held.token_count, held.title, held.summary


def _passage_row(passage: Evidence) -> Sequence[object]:
    from zibaldone.text.rendering import NO_DATE, mark

    day = passage.time.date() if passage.is_dated else NO_DATE
    sources, text = ", ".join(map(str, passage.sources)), short(passage.text, _FIRST_WORDS) + mark(passage)
    return day, passage.session, sources, passage.speaker or "", text


def _days(first: datetime, last: datetime) -> tuple[date, date]:
    return first.date(), last.date()


def _may(grant: Grant) -> str:
    return "read and write" if grant.write else "read"


def _audit_row(entry: AuditEntry) -> Sequence[object]:
    values = (getattr(entry, name) for name in _AUDIT[1:])
    return f"{entry.time:%Y-%m-%d %H:%M:%S}", *("" if value is None else value for value in values)


_TOPICS = ("id", "entries", "tokens", "title", "summary")
_AUDIT = ("time", "user", "number", "action", "operation", "door", "key", "count")
_TABLES: dict[str, tuple[Sequence[str], Callable[[Any], Sequence[object]]]] = {
    "getProfile": (("id", "kind", "date", "", "entry"), _note_row),
    "listDocuments": (_TOPICS, _document_row),
    "listChunks": (
        ("chunk", "from", "to", "items", "tokens", "summary"),
        lambda held: (held.id, *_days(held.first, held.last), len(held.items), held.tokens, held.summary),
    ),
    "listThemes": (
        ("theme", "semantics", "from", "to", "name"),
        lambda held: (held.id, len(held.semantics), *_days(held.start, held.end), held.name),
    ),
    "listEpisodes": (
        ("episode", "session", "messages", "title"),
        lambda held: (held.id, held.session, len(held.seqs), held.title),
    ),
    "listSessions": (
        ("session", "messages", "first seq", "last seq", "from", "to", "title"),
        lambda held: (
            held.session,
            held.messages,
            held.first_seq,
            held.last_seq,
            *_days(held.start, held.end),
            short(held.title),
        ),
    ),
    "listAudit": (_AUDIT, _audit_row),
    "listGrants": (
        ("user", "shared memory", "may", "since"),
        lambda grant: (grant.user, grant.scope, _may(grant), grant.since.date()),
    ),
}


def _table(call: CliCall, held: Any) -> None:
    columns, row = _TABLES[call.operation.name]
    out.table(*columns, rows=map(row, held))


SHOWN.update(dict.fromkeys(_TABLES, _table))
AS_JSON["listDocuments"] = lambda held: [dict(zip(_TOPICS, _document_row(doc), strict=True)) for doc in held]
for _name in ("addProfileEntry", "pinProfileEntry", "editProfileEntry", "retireProfileEntry"):
    SHOWN[_name] = lambda _, note: out.table(*_TABLES["getProfile"][0], rows=[_note_row(note)])


@shows("search")
def _passages(_: CliCall, passages: Sequence[Evidence]) -> None:
    rows = ((rank, *_passage_row(passage)) for rank, passage in enumerate(passages, 1))
    out.table("rank", "date", "session", "messages", "speaker", "text", rows=rows)


@shows("getUsage")
def _usage(_: CliCall, used: Sequence[Any]) -> None:
    heads = (name.replace("_", " ") for name in asdict(used[0]))
    out.table(*heads, rows=(list(asdict(row).values()) for row in used))


# Messages


def message_line(message: Message) -> str:
    """A message as a line of a listing; its own line breaks are kept."""
    time = f"{message.time:%Y-%m-%d %H:%M}" if message.time else ""
    return f"{message.seq}  {time}  [{message.session}]  {message.speaker}: {message.content}"


def message_in_full(versions: Sequence[Message]) -> str:
    """A message with all that is known of it; where it was corrected, each version, the last one holds."""
    first, *corrections = versions
    about = {
        "message": first.seq,
        "session": first.session,
        "time": f"{first.time:%Y-%m-%d %H:%M}" if first.time else "",
        "role": first.role,
        "name": first.name or "",
        "id": first.id or "",
        **{f"metadata {key}": value for key, value in first.metadata.items()},
    }
    head = "\n".join(f"{name}: {value}" for name, value in about.items() if value != "")
    later = (f"corrected by message {message.seq}:\n{message.content}" for message in corrections)
    return "\n\n".join([head, first.content, *later])


# What was recalled


def recall_object(recalled: Recall, *, why: bool) -> dict[str, object]:
    """A recall as JSON; what was decided about each candidate only when asked for."""
    names = ("query", "text", "tokens", "confidence", "evidence", "citations")
    shown = {name: getattr(recalled, name) for name in names}
    return {**shown, "trace": recalled.trace} if why else shown


def recall_summary(recalled: Recall) -> str:
    """Summarise a recall: tokens, passages, confidence, time and cited messages."""
    cited = sorted({(citation.scope, citation.seq) for citation in recalled.citations})
    seqs = [f"{scope} {seq}" if scope else seq for scope, seq in cited]
    passages = count(len(recalled.evidence), "passage")
    likely = f"confidence {recalled.confidence:.2f}"
    cost = f"{recalled.tokens} tokens, {passages}, {likely}, {recalled.trace.ms:.1f} ms"
    return f"{cost}; cites messages {some(seqs)}"


def write_reasons(recalled: Recall) -> None:
    """Write aim and confidence, each part's budget and use, and why each candidate was kept or dropped."""
    trace = recalled.trace
    out.write(f"aim {trace.aim}, confidence {trace.confidence:.3f}, floor {trace.floor:.3f}")
    if trace.parts:
        parts = [(part.name, part.room_tokens, part.tokens, part.units) for part in trace.parts]
        out.table("part", "budget", "tokens", "units", rows=parts)
        out.write("")
    rows = [
        (
            decision.rank,
            "kept" if decision.kept else "dropped",
            f"{decision.evidence.scope} {decision.evidence.view}".strip(),
            ", ".join(map(str, decision.evidence.sources)),
            decision.evidence.tokens,
            " ".join(f"{c.channel}#{c.rank}" for c in decision.evidence.channels if c.rank),
            decision.reason,
            short(decision.evidence.text),
        )
        for decision in trace.decisions
    ]
    out.table("rank", "decision", "view", "messages", "tokens", "channels", "why", "text", rows=rows)


def _timeline(lines: Any) -> str:
    from zibaldone.recall.timeline import text_of

    return text_of(lines)


_TEXTS: dict[str, Callable[[Any], str]] = {
    "addMessages": lambda messages: "\n".join(map(message_line, messages)),
    "listMessages": lambda messages: "\n".join(map(message_line, messages)),
    "listUsers": "\n".join,
    "grant": lambda grant: f"{grant.user} may {_may(grant)} {grant.scope}",
    "revoke": lambda grant: f"{grant.user} may {_may(grant)} {grant.scope} no longer",
    "getTopic": lambda text: text.rstrip("\n"),
    "exportTopics": lambda done: f"{count(len(done.files) - 1, 'document')} written to {done.folder}",
    "timeline": _timeline,
}
SHOWN.update(dict.fromkeys(_TEXTS, lambda call, result: out.write(_TEXTS[call.operation.name](result))))

# What was imported, forgotten, counted


def import_summary(done: Imported) -> str:
    """Summarise an import in a line."""
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
    """List what could not be imported: which, where, why."""
    for refused in done.refused[:_MOST_REFUSED]:
        which = repr(refused.conversation) if refused.conversation else ""
        yield ": ".join(part for part in ("not imported", which, refused.where, refused.why) if part)
    if done.refusals > _MOST_REFUSED:
        yield f"and {done.refusals - _MOST_REFUSED} more: --json lists them"


def receipt_summary(receipt: Receipt) -> str:
    """Summarise a receipt in a line: what was forgotten, or would be."""
    verb = "would forget" if receipt.dry_run else "forgot"
    numbers = f" (seq {some(receipt.seqs)})" if receipt.seqs else ""
    rows = {
        view.view: sum(counted.rows for counted in view.counts if counted.kind != "vectors")
        for view in receipt.views
    }
    grants = rows.pop("grants", 0)
    made = sum(rows.values())
    derived = f", and {count(made, 'piece')} made from them" if made else ""
    derived += f"; {count(grants, 'grant')}" if grants else ""
    later = f"; {receipt.remains}" if receipt.remains else ""
    shredded = "; the user's key is destroyed: no copy can be read" if receipt.key else ""
    return (
        f"{verb} {count(receipt.messages, 'message')} of {receipt.user!r}{numbers}{derived}{later}{shredded}"
    )


def verification_lines(verified: Verification) -> Iterator[str]:
    """List what a verification looked at, how much of each, and what is left."""
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
    for left in verified.leftovers:
        yield f"- {left.kind} in {left.where}: {left.words}"
    if verified.purge_is_due:
        yield "- the files are still to be written anew: close every other process, and open the memory again"
    yield "nothing is left" if verified.ok else f"{count(len(verified.leftovers), 'leftover')}"


@shows("getStats")
def _stats(call: CliCall, stats: Any) -> None:
    from zibaldone.storage.database import place_shown

    out.write(f"memory: {place_shown(call.folder)}")
    for name in ("users", "sessions", "messages"):
        out.write(f"{name}: {getattr(stats, name)}")
    for view in stats.views:
        behind = f"; {count(view.lag, 'message')} behind" if view.lag else ""
        out.write(f"view {view.view}: {counts_in(view.counts)}{behind}")
    out.write(f"on disk: {stats.bytes_on_disk / 1e6:.1f} MB")


def counts_in(counts: Sequence[Counted]) -> str:
    """Rows of each kind."""
    return ", ".join(f"{counted.rows} {counted.kind}" for counted in counts) or "empty"
