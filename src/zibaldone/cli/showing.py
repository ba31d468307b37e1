"""Results of operations as people read them: tables, and texts of a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zibaldone.cli import output as out
from zibaldone.cli.frame import AS_JSON, SHOWN, CliCall, shows
from zibaldone.cli.output import count, short, some

if TYPE_CHECKING:
    from zibaldone.core import Evidence, Message
    from zibaldone.engine.forgetting import Receipt
    from zibaldone.engine.imports import Imported
    from zibaldone.engine.verification.receipts import Verification
    from zibaldone.log import Session
    from zibaldone.log.audit import AuditEntry
    from zibaldone.log.grants import Grant
    from zibaldone.recall.result import Recall
    from zibaldone.views.base import Counted
    from zibaldone.views.chunks.chunk import Past, StoredChunk
    from zibaldone.views.hierarchy.nodes import Episode
    from zibaldone.views.hierarchy.themes import Theme
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


def _may(grant: Grant) -> str:
    return "read and write" if grant.write else "read"


def _audit_row(entry: AuditEntry) -> Sequence[object]:
    values = (getattr(entry, name) for name in _AUDIT[1:])
    return f"{entry.time:%Y-%m-%d %H:%M:%S}", *("" if value is None else value for value in values)


_AUDIT = ("time", "user", "number", "action", "operation", "door", "key", "count")
_TABLES: dict[str, tuple[Sequence[str], Callable[[Any], Sequence[object]]]] = {
    "getProfile": (("id", "kind", "date", "", "entry"), _note_row),
    "listDocuments": (("id", "entries", "tokens", "title", "summary"), _document_row),
    "listThemes": (
        ("theme", "semantics", "from", "to", "name"),
        lambda held: (held.id, len(held.semantics), held.start.date(), held.end.date(), held.name),
    ),
    "listEpisodes": (
        ("episode", "session", "messages", "title"),
        lambda held: (held.id, held.session, len(held.seqs), held.title),
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
for _name in ("addProfileEntry", "pinProfileEntry", "editProfileEntry", "retireProfileEntry"):
    SHOWN[_name] = lambda _, note: out.table(*_TABLES["getProfile"][0], rows=[_note_row(note)])


@shows("listChunks")
def _chunks(call: CliCall, held: Sequence[Any]) -> None:
    if call.given["history"]:
        for entry in held:
            out.write(_past_line(entry))
        return
    rows = (
        (
            chunk.id,
            chunk.first.date(),
            chunk.last.date(),
            len(chunk.items),
            f"{chunk.tokens} of {chunk.raw_tokens}",
            chunk.summary,
        )
        for chunk in held
    )
    out.table("chunk", "from", "to", "items", "tokens", "summary", rows=rows)


@shows("search")
def _passages(_: CliCall, passages: Sequence[Evidence]) -> None:
    rows = ((rank, *_passage_row(passage)) for rank, passage in enumerate(passages, 1))
    out.table("rank", "date", "session", "messages", "speaker", "text", rows=rows)


@shows("getUsage")
def _usage(_: CliCall, used: Sequence[Any]) -> None:
    heads = (name.replace("_", " ") for name in asdict(used[0]))
    out.table(*heads, rows=(list(asdict(row).values()) for row in used))


@shows("listSessions")
def _sessions(_: CliCall, sessions: Sequence[Session]) -> None:
    """Write a row for each session, with titles where any has one."""
    titled = any(held.title for held in sessions)
    rows = []
    for held in sessions:
        title = (short(held.title),) if titled else ()
        seqs, days = (held.first_seq, held.last_seq), (held.start.date(), held.end.date())
        rows.append((held.session, *title, held.messages, *seqs, *days))
    heads = ("title",) if titled else ()
    out.table("session", *heads, "messages", "first seq", "last seq", "from", "to", rows=rows)


# Messages


def message_object(message: Message) -> dict[str, object]:
    """A message with the fields of an exported line, the empty ones too, and its seq in front."""
    from zibaldone.importers.export import to_object

    return {"seq": message.seq, **to_object(message)}


def message_objects(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Messages as JSON."""
    return list(map(message_object, messages))


AS_JSON["listMessages"] = AS_JSON["showMessage"] = message_objects


def message_line(message: Message) -> str:
    """A message as a line of a listing; its own line breaks are kept."""
    time = f"{message.time:%Y-%m-%d %H:%M}" if message.time else ""
    return f"{message.seq}  {time}  [{message.session}]  {message.speaker}: {message.content}"


@shows("listMessages")
def write_messages(_: CliCall, messages: Sequence[Message]) -> None:
    """Write a line for each message."""
    for message in messages:
        out.write(message_line(message))


SHOWN["addMessages"] = write_messages


@shows("grant")
@shows("revoke")
def _granted(call: CliCall, grant: Grant) -> None:
    again = " no longer" if call.operation.name == "revoke" else ""
    out.write(f"{grant.user} may {_may(grant)} {grant.scope}{again}")


@shows("listUsers")
def _users(_: CliCall, names: Sequence[str]) -> None:
    for name in names:
        out.write(name)


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


@shows("timeline")
def _timeline(_: CliCall, lines: Any) -> None:
    from zibaldone.recall.timeline import text_of

    out.write(text_of(lines))


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


def receipt_object(receipt: Receipt) -> dict[str, object]:
    """A receipt as JSON, with the number of messages."""
    return {"messages": receipt.messages, **out.fields_of(receipt)}


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


# What views made, one thing in full


def document_object(document: Document) -> dict[str, object]:
    """A topic document as JSON, without its text."""
    names = ("id", "entries", "tokens", "title", "summary")
    created = str(document.created_time or "") or None
    return {**dict(zip(names, _document_row(document), strict=True)), "created": created}


AS_JSON["listDocuments"] = lambda documents: list(map(document_object, documents))


def chunk_lines(chunk: StoredChunk) -> list[str]:
    """Show a chunk in full."""
    made = f"made by {chunk.made_by}, version {chunk.version}"
    tokens = f"{chunk.tokens} of {chunk.raw_tokens} tokens"
    return [
        f"chunk {chunk.id}, {chunk.first.date()} to {chunk.last.date()}, {tokens}",
        f"summary: {chunk.summary}",
        f"keywords: {', '.join(chunk.keywords[:16])}",
        f"entities: {', '.join(chunk.entities)}",
        made + (f"; {chunk.degraded}" if chunk.degraded else ""),
        "",
        *(
            f"[{', '.join(map(str, item.sources))}] {f'{item.speaker}: ' if item.speaker else ''}{item.text}"
            for item in chunk.items
        ),
    ]


def _past_line(entry: Past) -> str:
    """Show a superseded item in a line."""
    by = ", ".join(map(str, entry.by_sources))
    was = ", ".join(map(str, entry.item.sources))
    return f"chunk {entry.chunk}, messages {was}: {entry.item.text!r} ({entry.reason} by message {by})"


def theme_lines(theme: Theme) -> list[str]:
    """Show a theme in full."""
    near = ", ".join(map(str, theme.near[:5]))
    return [
        f"theme {theme.id}: {theme.name}" + (f" (near: {near})" if near else ""),
        *(
            f"[{', '.join(map(str, semantic.seqs))}] {semantic.time.date()} {semantic.text}"
            for semantic in theme.semantics
        ),
    ]


def episode_lines(episode: Episode) -> list[str]:
    """Show an episode in full."""
    made = f"made by {episode.made_by}" if episode.made_by else "made without a model"
    made += f"; {episode.degraded}" if episode.degraded else ""
    return [
        f"episode {episode.id}: {episode.title}",
        f"session {episode.session}, messages {episode.seqs[0]} to {episode.seqs[-1]}, {made}",
        "",
        episode.narrative,
    ]
