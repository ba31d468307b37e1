"""Commands around messages: what goes into a memory, what is shown of it, what goes out."""

from __future__ import annotations

from typing import Any

import typer

from zibaldone.cli import output as out
from zibaldone.cli import showing
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.input import MYSELF, open_memory, standard_input, standard_input_file
from zibaldone.errors import InvalidInput


@runs("addMessages")
def add(call: CliCall) -> None:
    """Store a message. 'zibaldone import -' reads many from standard input."""
    text = call.given["text"]
    content = standard_input().rstrip("\r\n") if text == "-" else text
    if not content.strip():
        raise InvalidInput("nothing to add: the text is empty")
    message = {name: call.given[name] for name in ("role", "name", "time")}
    with open_memory(call.folder, create=True) as memory:
        stored = call.run(memory, messages=[{"content": content, **message}])
    if call.as_json:
        out.write_json({"user": call.user, "messages": stored})
    else:
        call.show(stored)


@runs("importFile")
def import_(call: CliCall) -> None:
    from zibaldone.core.validation import key
    from zibaldone.engine.imports import ImportInterrupted
    from zibaldone.importers.importing import NoUser

    path, user = call.given["path"], call.user
    if user is not None:
        key("user", user)
    given = standard_input_file() if str(path) == "-" else path
    bar_of = out.progress("importing", shown=not call.as_json)
    with open_memory(call.folder, create=True) as memory, bar_of as bar:
        options: dict[str, Any] = {**call.options(memory), "path": given, "progress": bar}
        try:
            try:
                done = memory.admin.import_(user=user, **options)
            except NoUser:
                done = memory.admin.import_(user=MYSELF, **options)
        except ImportInterrupted as stopped:
            done = stopped.report
    if call.as_json:
        out.write_json(done)
    else:
        out.write(showing.import_summary(done))
        for line in (*showing.refused_lines(done), *done.notes):
            out.note(line, "yellow")
        if call.given["attachments"] and done.added and not done.files:
            out.note("no attachment was kept: the export holds no file of a message that was added")
    if not done.complete:
        out.note("stopped: what is counted is stored; the same command goes on from there", "bold")
        raise typer.Exit(out.INTERRUPTED)
    if done.users and not call.as_json:
        option = "" if done.users[0] == MYSELF else f" --user {done.users[0]!r}"
        out.note(f'next: zibaldone recall "your question"{option}')


@runs("showMessage")
def show(call: CliCall) -> None:
    from zibaldone.log.filters import Filter

    around = call.given["around"]
    with call.opened() as memory:
        versions = call.run(memory)
        if not versions:
            raise InvalidInput(
                f"user {call.user!r} has no message {call.given['which']}: 'zibaldone messages' lists them"
            )
        of_session = Filter(session=versions[0].session)
        within = memory.messages(user=call.whose, filter=of_session) if around else []
    if call.as_json:
        out.write_json(versions)
        return
    place = next((i for i, message in enumerate(within) if message.seq == versions[0].seq), 0)
    before, after = within[max(0, place - around) : place], within[place + 1 : place + 1 + around]
    lines = [list(map(showing.message_line, messages)) for messages in (before, after)]
    out.write("\n\n".join([*lines[0], showing.message_in_full(versions), *lines[1]]))


@runs("exportMessages")
def export(call: CliCall) -> None:
    """Write a user's messages as JSON Lines, which import reads back exactly."""
    from zibaldone.importers.export import to_line

    path = call.given["path"]
    if call.given["attachments"] and str(path) == "-":
        raise InvalidInput("an archive is not written to standard output: give a path, such as mine.zip")
    with call.opened() as memory:
        if str(path) == "-":
            for message in memory.messages(user=call.whose, include_tool_traffic=True):
                out.write(to_line(message))
            return
        count = call.run(memory)
    call.answer(
        {"user": call.user, "path": path, "messages": count},
        f"{out.count(count, 'message')} written to {path}",
    )
