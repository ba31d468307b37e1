"""Commands around messages: what goes into a memory, what is recalled of it, what goes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import (
    MYSELF,
    AsJson,
    Folder,
    InSession,
    NotInSession,
    Now,
    OptionalUser,
    Roles,
    Since,
    Until,
    User,
    Views,
    WithNoise,
    holds_memory,
    json_lines,
    memory_of,
    open_memory,
    standard_input,
    standard_input_file,
    whole_session,
)
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory


def add(
    *,
    text: Annotated[
        str, typer.Argument(help="The message; '-' or nothing reads it from standard input.")
    ] = "-",
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Standard input has a message a line, as JSON objects.")
    ] = False,
    role: Annotated[
        str | None, typer.Option("--role", help="Who speaks: user, assistant, ...", show_default="user")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The speaker's name.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="When: ISO 8601, else UTC now.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="The session; else 'default'.")
    ] = None,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Store a message, or a message for each line of standard input."""
    if jsonl and (text != "-" or (role, name, time) != (None, None, None)):
        raise InvalidInput("--jsonl reads messages from standard input: no text, --role, --name or --time")
    given: list[dict[str, Any]] = []
    if jsonl:
        given = json_lines(standard_input())
    else:
        content = standard_input().rstrip("\r\n") if text == "-" else text
        if not content.strip():
            raise InvalidInput("nothing to add: the text is empty")
        given = [{"content": content, "role": role, "name": name, "time": time}]
    with open_memory(memory, create=True) as opened:
        stored = opened.add(given, user=user, session=session)
    if as_json:
        out.write_json({"user": user, "messages": [out.message_object(message) for message in stored]})
        return
    for message in stored:
        out.write(out.message_line(message))


def import_(
    *,
    path: Annotated[
        Path,
        typer.Argument(
            help="An export as it was downloaded (.zip), its folder, or a file; '-' is standard input.",
        ),
    ],
    file_format: Annotated[
        str | None,
        typer.Option("--format", help="Which format it is; else told by the content."),
    ] = None,
    branches: Annotated[
        str, typer.Option("--branches", help="current, or all: what was edited or retried since, too.")
    ] = "current",
    strict: Annotated[
        bool, typer.Option("--strict", help="All or nothing: stop at the first fault, store nothing.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Bring back messages that were forgotten, too.")
    ] = False,
    attachments: Annotated[
        bool, typer.Option("--attachments", help="Keep images and files, too, where the export holds them.")
    ] = False,
    user: OptionalUser = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Import conversations: an export of ChatGPT, Claude, WhatsApp, Slack and others, or chats as JSON.

    What cannot be read is listed at the end and holds nothing else up. Importing again adds only what is new;
    what has changed since stays as it was stored first, and what was forgotten stays forgotten. Ctrl-C keeps
    what is complete. Without --user, a file that names its users keeps them, and any other goes to 'me'.
    """
    from zibaldone.core.validation import key
    from zibaldone.engine.imports import ImportInterrupted, must_be_readable
    from zibaldone.importers import get, recognise
    from zibaldone.importers.importing import NoUser, reading
    from zibaldone.importers.source import OpenedSource

    if user is not None:
        key("user", user)
    given = standard_input_file() if str(path) == "-" else path
    if file_format is not None:
        get(file_format)
    elif isinstance(given, Path):
        recognise(given)
    options: dict[str, Any] = {
        "format": file_format,
        "branches": branches,
        "strict": strict,
        "again": again,
        "attachments": attachments,
    }
    if isinstance(given, Path) and not holds_memory(memory):  # then what cannot be imported makes none
        with OpenedSource(given) as source:
            must_be_readable(reading(source, file_format, options["branches"]), strict=strict)
    bar_of = out.progress("importing", shown=not as_json, of_bytes=True)
    with open_memory(memory, create=True) as opened, bar_of as bar:
        try:
            try:
                done = opened.admin.import_(given, user=user, progress=bar, **options)
            except NoUser:
                done = opened.admin.import_(given, user=MYSELF, progress=bar, **options)
        except ImportInterrupted as stopped:
            done = stopped.report
    if as_json:
        out.write_json(done)
    else:
        out.write(out.import_summary(done))
        for line in out.refused_lines(done):
            out.note(line, "yellow")
        if attachments and done.added and not done.files:
            out.note("no attachment was kept: the export holds no file of a message that was added")
    if not done.complete:
        out.note("stopped: what is counted is stored; the same command goes on from there", "bold")
        raise typer.Exit(out.INTERRUPTED)
    if done.users and not as_json:
        option = "" if done.users[0] == MYSELF else f" --user {done.users[0]!r}"
        out.note(f'next: zibaldone recall "your question"{option}')


def recall(
    *,
    question: Annotated[str, typer.Argument(help="What to remember.")],
    budget: Annotated[int, typer.Option("--budget", "-b", help="At most so many tokens.")] = 2000,
    session: InSession = None,
    exclude_session: NotInSession = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    floor: Annotated[
        float | None,
        typer.Option("--floor", help="Recall nothing below this confidence."),
    ] = None,
    view: Views = None,
    now: Now = None,
    noise: WithNoise = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show the plan, and every candidate with its fate.")
    ] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Recall what memory knows about a question: a context ready for a prompt."""
    from zibaldone.log.filters import Filter

    with memory_of(memory, user) as opened:
        recalled = opened.recall(
            question,
            user=user,
            filter=Filter(
                session=whole_session(opened, user, session),
                exclude_session=whole_session(opened, user, exclude_session),
                roles=roles or None,
                since=since,
                until=until,
            ),
            budget_tokens=budget,
            views=view or None,
            now=now,
            include_tool_traffic=noise,
            min_confidence=floor,
        )
        if as_json:
            out.write_json(out.recall_object(recalled, why=why))
        elif recalled:
            out.write(recalled.text)
        if why and not as_json:
            out.write("")
            out.plan(recalled.trace)
            out.decisions(recalled)
    if not recalled:
        out.note(f"nothing found for user {user!r} (confidence {recalled.confidence:.2f})")
        raise typer.Exit(NOTHING_FOUND)
    if not as_json:
        out.note(out.recall_summary(recalled))


def search(
    *,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 10,
    session: InSession = None,
    exclude_session: NotInSession = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List the passages that fit a query best, best first: for looking around, without a budget."""
    from zibaldone.log.filters import Filter

    with memory_of(memory, user) as opened:
        passages = opened.search(
            query,
            user=user,
            limit=limit,
            filter=Filter(
                session=whole_session(opened, user, session),
                exclude_session=whole_session(opened, user, exclude_session),
                roles=roles or None,
                since=since,
                until=until,
            ),
            now=now,
        )
    if as_json:
        out.write_json(passages)
    elif passages:
        out.passage_table(passages)
    if not passages:
        out.note(f"nothing found for user {user!r}")
        raise typer.Exit(NOTHING_FOUND)


def messages(
    *,
    session: InSession = None,
    after: Annotated[int, typer.Option("--after", help="Only those above this seq.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many.")] = None,
    last: Annotated[int | None, typer.Option("--last", help="Only the newest so many.")] = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    noise: WithNoise = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List messages in the order in which they were stored."""
    from zibaldone.log.filters import Filter

    with memory_of(memory, user) as opened:
        stored = opened.messages(
            user=user,
            filter=Filter(
                session=whole_session(opened, user, session), roles=roles or None, since=since, until=until
            ),
            after=after,
            limit=limit,
            last=last,
            include_tool_traffic=noise,
        )
    if as_json:
        out.write_json([out.message_object(message) for message in stored])
        return
    for message in stored:
        out.write(out.message_line(message))


def show(
    *,
    seq: Annotated[int, typer.Argument(help="The message's number, as lists show it.")],
    around: Annotated[
        int, typer.Option("--around", min=0, help="Also so many before and after it in its session.")
    ] = 0,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show a message whole, with all that is known of it and its corrections."""
    from zibaldone.log.filters import Filter

    with memory_of(memory, user) as opened:
        versions = opened.user(user).versions(seq)
        if not versions:
            raise InvalidInput(f"user {user!r} has no message {seq}: 'zibaldone messages' lists them")
        within = opened.messages(user=user, filter=Filter(session=versions[0].session)) if around else []
    if as_json:
        out.write_json([out.message_object(message) for message in versions])
        return
    place = next((i for i, message in enumerate(within) if message.seq == versions[0].seq), 0)
    for message in within[max(0, place - around) : place]:
        out.write(out.message_line(message) + "\n")
    out.write(out.shown_message(versions))
    for message in within[place + 1 : place + 1 + around]:
        out.write("\n" + out.message_line(message))


def timeline(
    *,
    subject: Annotated[str, typer.Argument(help="What about; everything unless given.")] = "",
    session: InSession = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many lines.")] = 100,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show a dated line for each session, and what a model noted, in the order of time."""
    from zibaldone.recall.timeline import text_of

    with memory_of(memory, user) as opened:
        lines = opened.user(user).timeline(
            subject, session=whole_session(opened, user, session), since=since, until=until, limit=limit
        )
    if as_json:
        out.write_json(lines)
    elif lines:
        out.write(text_of(lines))
    if not lines:
        about = f" about {subject!r}" if subject else ""
        out.note(f"nothing found{about} for user {user!r}")
        raise typer.Exit(NOTHING_FOUND)


def sessions(*, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """List a user's sessions."""
    with memory_of(memory, user) as opened:
        held = opened.user(user).sessions()
    if as_json:
        out.write_json(held)
    elif held:
        out.session_table(held)


def users(*, memory: Folder, as_json: AsJson = False) -> None:
    """List whose memories the folder holds."""
    with open_memory(memory) as opened:
        names = opened.users()
    if as_json:
        out.write_json(names)
        return
    for name in names:
        out.write(name)


def export(
    *,
    path: Annotated[Path, typer.Argument(help="The file to write; '-' is standard output.")],
    attachments: Annotated[
        bool, typer.Option("--attachments", help="A .zip, with the images and files that were kept.")
    ] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Write a user's messages as JSON Lines, which import reads back exactly."""
    if attachments and str(path) == "-":
        raise InvalidInput("an archive is not written to standard output: give a path, such as mine.zip")
    with memory_of(memory, user) as opened:
        if str(path) == "-":
            _export_to_standard_output(opened, user)
            return
        count = opened.user(user).export(path=path, attachments=attachments)
    if as_json:
        out.write_json({"user": user, "path": path, "messages": count})
    else:
        out.write(f"{out.count(count, 'message')} written to {path}")


def _export_to_standard_output(opened: Memory, user: str) -> None:
    from zibaldone.importers.export import to_line

    after = 0
    while page := opened.messages(user=user, after=after, limit=1000, include_tool_traffic=True):
        for message in page:
            out.write(to_line(message))
        after = page[-1].seq
    if not after:
        raise InvalidInput(f"user {user!r} has no messages: nothing to export")
