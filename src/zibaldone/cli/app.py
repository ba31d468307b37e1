"""The command line.

Everything heavy is imported by the command that needs it, so that `zibaldone --help` answers at once.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from zibaldone.cli import output as out
from zibaldone.cli import topics as cli_topics
from zibaldone.cli import upkeep as cli_upkeep
from zibaldone.cli.input import (
    MYSELF,
    AsJson,
    Folder,
    InSession,
    OptionalUser,
    User,
    confirmed,
    json_lines,
    open_memory,
    standard_input,
)
from zibaldone.errors import InvalidInput, MissingExtra, ModelFailed, StorageError, ZibaldoneError

if TYPE_CHECKING:
    from zibaldone.memory import Memory

NOTHING_FOUND, BAD_INPUT, STORAGE_FAILED, MODEL_FAILED = 1, 2, 3, 4
_EPILOG = (
    "Exit codes: 0 done; 1 nothing found, or a check found faults; 2 bad input or usage;"
    " 3 the memory's folder cannot be used; 4 a model failed or an extra is not installed."
)


class _Commands(TyperGroup):
    """The process border: errors that are raised on purpose become a line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ZibaldoneError as error:
            out.note(f"error: {' '.join(str(error).split())}", "red")
            raise typer.Exit(_exit_code(error)) from error
        except OSError as error:  # of standard output: all others are one of ours by now
            if error.errno == errno.EPIPE:
                raise  # click knows: whoever read has gone
            out.give_up_standard_output()
            out.note(f"error: standard output cannot be written ({error.strerror})", "red")
            raise typer.Exit(BAD_INPUT) from error


def _exit_code(error: ZibaldoneError) -> int:
    if isinstance(error, ModelFailed | MissingExtra):
        return MODEL_FAILED
    return STORAGE_FAILED if isinstance(error, StorageError) else BAD_INPUT


app = typer.Typer(
    name="zibaldone",
    help="Memory for LLM agents: every message kept once, word for word, and recalled with its source.",
    epilog=_EPILOG,
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


@app.command()
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
    name: Annotated[
        str | None, typer.Option("--name", help="The speaker's name.", show_default=False)
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="When: ISO 8601, else UTC now.", show_default=False)
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="The session; else 'default'.", show_default=False)
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


@app.command("import")
def import_(
    *,
    path: Annotated[
        Path,
        typer.Argument(help="A file of conversations, or the folder of a BEAM chat.", show_default=False),
    ],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="chatgpt, claude, jsonl, locomo, longmemeval or beam; else told by the content.",
            show_default=False,
        ),
    ] = None,
    user: OptionalUser = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Import conversations: a ChatGPT or Claude export, JSON Lines, LoCoMo, LongMemEval, BEAM.

    Importing a file again adds only what is new in it; what has changed since stays as it was stored first,
    and what was forgotten comes back. Without --user, a file that names its users keeps them, and any other
    goes to 'me'.
    """
    from zibaldone.importers.importing import read_file
    from zibaldone.validation import key

    if user is not None:
        key("user", user)
    file = read_file(path, file_format)  # before the memory is opened, so that one with a fault makes none
    whose = user if user is not None or file.names_its_users else MYSELF
    with (
        out.progress("importing", shown=not as_json) as progress,
        open_memory(memory, create=True) as opened,
    ):
        done = opened.import_(file, user=whose, progress=progress)
    if as_json:
        out.write_json(done)
        return
    out.write(out.import_summary(done))
    if done.users:
        option = "" if done.users[0] == MYSELF else f" --user {done.users[0]!r}"
        out.note(f'next: zibaldone recall "your question"{option}')


@app.command()
def recall(
    *,
    question: Annotated[str, typer.Argument(help="What to remember.", show_default=False)],
    budget: Annotated[int, typer.Option("--budget", "-b", help="At most so many tokens.")] = 1000,
    session: InSession = None,
    floor: Annotated[
        float | None, typer.Option("--floor", help="Recall nothing below this relevance.", show_default=False)
    ] = None,
    view: Annotated[
        list[str] | None, typer.Option("--view", help="Ask only this view (repeatable).", show_default=False)
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show every candidate and its fate.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Recall what memory knows about a question: a context ready for a prompt."""
    chosen: dict[str, Any] = {} if floor is None else {"floor": floor}
    with open_memory(memory) as opened:
        found = opened.recall(
            question, user=user, session=session, budget_tokens=budget, views=view or None, **chosen
        )
        if as_json:
            out.write_json(out.recall_object(found, why=why))
        elif found:
            out.write(found.text)
        if why and not as_json:
            out.write("")
            out.decisions(found)
    if not found:
        out.note(f"nothing found for user {user!r}")
        raise typer.Exit(NOTHING_FOUND)
    if not as_json:
        out.note(out.recall_summary(found))


@app.command()
def messages(
    *,
    session: InSession = None,
    after: Annotated[int, typer.Option("--after", help="Only those above this seq.")] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="At most so many.", show_default=False)
    ] = None,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List messages in the order in which they were stored."""
    with open_memory(memory) as opened:
        found = opened.messages(user=user, session=session, after=after, limit=limit)
    if as_json:
        out.write_json([out.message_object(message) for message in found])
        return
    for message in found:
        out.write(out.message_line(message))


@app.command()
def sessions(*, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """List a user's sessions."""
    with open_memory(memory) as opened:
        found = opened.sessions(user=user)
    if as_json:
        out.write_json(found)
    elif found:
        out.session_table(found)


@app.command()
def users(*, memory: Folder, as_json: AsJson = False) -> None:
    """List whose memories the folder holds."""
    with open_memory(memory) as opened:
        found = opened.users()
    if as_json:
        out.write_json(found)
        return
    for name in found:
        out.write(name)


@app.command()
def forget(
    *,
    seq: Annotated[
        list[int] | None,
        typer.Option("--seq", help="The message of this seq (repeatable).", show_default=False),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="A whole session.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", help="What happened before: ISO 8601.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of the user's memory.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Remove messages and all that was made from them, for good."""
    if not (seq or session or before or everything):
        raise InvalidInput("say what to forget: --seq, --session, --before or --all")
    what: dict[str, Any] = {
        "seqs": seq or None,
        "session": session,
        "before": before,
        "everything": everything,
    }
    with open_memory(memory) as opened:
        receipt = opened.forget(user=user, **what, dry_run=True)
        if not dry_run and receipt.messages:
            if not (yes or confirmed(out.receipt_summary(receipt))):
                raise typer.Exit(NOTHING_FOUND)
            receipt = opened.forget(user=user, **what)
    if as_json:
        out.write_json(out.receipt_object(receipt))
    elif receipt.messages:
        out.write(out.receipt_summary(receipt))
    if not receipt.messages:
        out.note(f"nothing found to forget for user {user!r}")
        raise typer.Exit(NOTHING_FOUND)


@app.command()
def export(
    *,
    path: Annotated[
        Path, typer.Argument(help="The file to write; '-' is standard output.", show_default=False)
    ],
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Write a user's messages as JSON Lines, which import reads back exactly."""
    with open_memory(memory) as opened:
        if str(path) == "-":
            _export_to_standard_output(opened, user)
            return
        count = opened.export(user=user, path=path)
    if as_json:
        out.write_json({"user": user, "path": path, "messages": count})
    else:
        out.write(f"{out.count(count, 'message')} written to {path}")


def _export_to_standard_output(opened: Memory, user: str) -> None:
    from zibaldone.importers.export import to_line

    after = 0
    while page := opened.messages(user=user, after=after, limit=1000):
        for message in page:
            out.write(to_line(message))
        after = page[-1].seq
    if not after:
        raise InvalidInput(f"user {user!r} has no messages: nothing to export")


app.command()(cli_upkeep.maintain)
app.command()(cli_upkeep.chunks)
app.command()(cli_upkeep.themes)
app.command()(cli_upkeep.episodes)
app.add_typer(cli_topics.app, name="topics")
app.command()(cli_upkeep.usage)


@app.command()
def stats(*, user: OptionalUser = None, memory: Folder, as_json: AsJson = False) -> None:
    """Show how much is stored: for one user, or without --user for the whole folder."""
    with open_memory(memory) as opened:
        if user is not None and user not in opened.users():
            raise InvalidInput(f"no user {user!r}: 'zibaldone users' lists them")
        found = opened.stats(user=user)
    if as_json:
        out.write_json(found)
        return
    for line in out.stats_lines(found):
        out.write(line)


@app.command()
def check(*, memory: Folder, as_json: AsJson = False) -> None:
    """Compare the log with everything that was made from it."""
    with open_memory(memory) as opened:
        found = opened.check_integrity()
    if as_json:
        out.write_json(
            {"ok": found.ok, "users": found.users, "messages": found.messages, "faults": found.faults}
        )
    else:
        checked = f"{out.count(found.messages, 'message')} of {out.count(found.users, 'user')}"
        out.write(f"{checked}: {out.count(len(found.faults), 'fault') if found.faults else 'all agrees'}")
        for fault in found.faults:
            out.write(f"- {fault}")
    if not found.ok:
        raise typer.Exit(NOTHING_FOUND)


@app.command(
    add_help_option=False,
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
def bench(context: typer.Context) -> None:
    """Measure recall and speed, with naive baselines beside the engine; 'bench --help' says more."""
    from typer.main import get_command

    from zibaldone.cli.bench import bench_app

    mounted = typer.Typer(add_completion=False)
    mounted.add_typer(bench_app, name="bench")
    code = get_command(mounted).main(["bench", *context.args], prog_name="zibaldone", standalone_mode=False)
    raise typer.Exit(code if isinstance(code, int) else 0)


@app.command()
def demo(
    *,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Keep the demo's memory here.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask ten questions to a sample of seven months."""
    from rich.console import Console

    from zibaldone import demo as shown

    shown.run(Console(), folder, as_json=as_json)


@app.command()
def version(*, as_json: AsJson = False) -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    number = installed("zibaldone")
    if as_json:
        out.write_json({"version": number})
    else:
        out.write(number)
