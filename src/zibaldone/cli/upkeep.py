"""Commands around maintenance: what views make of the log, and what models are used for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Blocks, Folder, OptionalUser, Since, Views, check_user, open_memory
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput, ModelFailed

if TYPE_CHECKING:
    from zibaldone.engine.maintenance import Maintained
    from zibaldone.models.base import ChatModel

Record = Annotated[
    Path | None,
    typer.Option("--record", help="Answer from this folder of recordings, and keep there what is new."),
]
OnMiss = Annotated[
    str | None,
    typer.Option(
        "--on-miss",
        help="What is not recorded: ask, leave_open, offline or error. Without a model: leave_open.",
    ),
]


def recorded(folder: Path | None, on_miss: str | None) -> ChatModel | None:
    """The environment's chat model, behind a folder of recordings where one is given."""
    from zibaldone import settings
    from zibaldone.models.recorded import RecordedModel

    chat = settings.chat()
    if folder is None:
        if on_miss is not None:
            raise InvalidInput("--on-miss says what becomes of what is not recorded: give --record DIR too")
        return chat
    return RecordedModel(folder, chat, on_miss or ("ask" if chat else "leave_open"))  # type: ignore[arg-type] # checked there


def worker(
    *,
    threads: Annotated[int, typer.Option("--threads", min=1, help="How many users side by side.")] = 2,
    poll_s: Annotated[
        float, typer.Option("--poll", min=0.05, help="Seconds between two looks at who lags behind.")
    ] = 5.0,
    lease_s: Annotated[
        float, typer.Option("--lease", min=0.2, help="Seconds after which a killed worker is taken over.")
    ] = 60.0,
    turn_s: Annotated[
        float, typer.Option("--turn", min=0, help="Seconds for one user, before the others are next.")
    ] = 30.0,
    view: Views = None,
    blocks: Blocks = None,
    memory: Folder,
) -> None:
    """Maintain whoever lags behind, until Ctrl-C: one of any number of workers, on any machines.

    Each user is one worker's at a time. Of a worker that is killed others take over.
    """
    import signal
    import threading

    from zibaldone.api.config import MAINTAINED, Config

    stopping = threading.Event()
    config = Config(maintained=MAINTAINED if view is None else view, blocks=blocks)
    with open_memory(memory, create=True, config=config) as opened:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        opened.admin.start_worker(threads=threads, poll_s=poll_s, lease_s=lease_s, turn_s=turn_s)
        out.write(f"working on {opened.admin.place}")
        while not stopping.wait(0.5):
            pass
    out.note("stopped")


def maintain(
    *,
    user: OptionalUser = None,
    view: Views = None,
    record: Record = None,
    on_miss: OnMiss = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Let the views read what is new, of one user or of all, and put their storage in order.

    A chat model is asked where ZIBALDONE_CHAT_MODEL names one; else plain algorithms do the work.
    """
    with open_memory(memory, chat=recorded(record, on_miss)) as opened:
        check_user(opened, user)
        with out.progress("maintaining", shown=not as_json) as progress:
            done = opened.maintain(user=user, views=view, progress=progress)
    if as_json:
        out.write_json(done)
    else:
        for line in maintained_lines(done):
            out.write(line)
    if done.behind:
        raise ModelFailed(done.behind[0].reason)


def audit(
    *,
    user: OptionalUser = None,
    since: Since = None,
    newest: Annotated[int | None, typer.Option("--newest", help="Only the newest so many.")] = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List who read, wrote and forgot, when and through which door; never what was said.

    It is noted where ZIBALDONE_AUDIT is 1, or Config(audit=True) was opened.
    """
    with open_memory(memory) as opened:
        check_user(opened, user)
        noted = opened.admin.audit(user=user, since=since, newest=newest)
    if as_json:
        out.write_json(noted)
    elif noted:
        rows = [
            (
                f"{entry.time:%Y-%m-%d %H:%M:%S}",
                entry.user,
                entry.number,
                entry.action,
                entry.operation,
                entry.door,
                entry.key or "",
                entry.count,
            )
            for entry in noted
        ]
        out.table("time", "user", "number", "action", "operation", "door", "key", "count", rows=rows)
    else:
        out.note("nothing was noted: set ZIBALDONE_AUDIT=1")


def usage(*, user: OptionalUser = None, memory: Folder, as_json: AsJson = False) -> None:
    """Show what models were used for: calls, tokens and time per user, day, view and task."""
    with open_memory(memory) as opened:
        check_user(opened, user)
        used = opened.admin.usage(user=user)
    if as_json:
        out.write_json(used)
    elif used:
        heads = [name.replace("_", " ") for name in asdict(used[0])]
        out.table(*heads, rows=[[*asdict(row).values()] for row in used])
    else:
        out.note("no model was used")


def maintained_lines(done: Maintained) -> list[str]:
    """What a maintenance did."""
    read, users = out.count(done.messages, "message"), out.count(done.users, "user")
    lines = [f"read {read} of {users}, by all views together"]
    for view, tended in done.tended:
        if tended:
            lines.append(f"view {view}: {', '.join(f'{counted.rows} {counted.kind}' for counted in tended)}")
    if done.cut_short:
        lines.append(f"of {out.count(done.cut_short, 'long message')} views read the beginning alone")
    lines += [out.receipt_summary(receipt) for receipt in done.forgotten]
    if done.model_calls or done.degraded:
        lines.append(
            f"model: {out.count(done.model_calls, 'call')}, {done.prompt_tokens} prompt and"
            f" {done.completion_tokens} completion tokens, {done.degraded} answered offline instead"
        )
    return lines


def stats(*, user: OptionalUser = None, memory: Folder, as_json: AsJson = False) -> None:
    """Show how much is stored: for one user, or without --user for the whole folder."""
    with open_memory(memory) as opened:
        check_user(opened, user)
        figures = opened.admin.stats(user=user)
    if as_json:
        out.write_json(figures)
        return
    from zibaldone.storage.database import place_shown

    out.write(f"memory: {place_shown(memory)}")
    for line in out.stats_lines(figures):
        out.write(line)


def check(*, memory: Folder, as_json: AsJson = False) -> None:
    """Compare the log with everything that was made from it."""
    with open_memory(memory) as opened:
        integrity = opened.admin.check()
    if as_json:
        out.write_json({"ok": integrity.ok, **out.fields_of(integrity)})
    else:
        checked = f"{out.count(integrity.messages, 'message')} of {out.count(integrity.users, 'user')}"
        out.write(
            f"{checked}: {out.count(len(integrity.faults), 'fault') if integrity.faults else 'all agrees'}"
        )
        for fault in integrity.faults:
            out.write(f"- {fault}")
    if not integrity.ok:
        raise typer.Exit(NOTHING_FOUND)
