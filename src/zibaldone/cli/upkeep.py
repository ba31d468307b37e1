"""Commands around maintenance: what views make of the log, and what models are used for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, OptionalUser, User, open_memory
from zibaldone.errors import InvalidInput, ModelFailed

if TYPE_CHECKING:
    from zibaldone.maintenance import Maintained
    from zibaldone.models.base import ChatModel
    from zibaldone.views.chunks import Past, StoredChunk
    from zibaldone.views.hierarchy import Episode, Theme

Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        help="Answer from this folder of recordings, and keep there what is new.",
        show_default=False,
    ),
]
OnMiss = Annotated[
    str | None,
    typer.Option(
        "--on-miss",
        help="What is not recorded: ask, leave_open, offline or error. Without a model: leave_open.",
        show_default=False,
    ),
]

_NO_HIERARCHY = "nothing yet: 'zibaldone maintain --view hierarchy' makes episodes and themes"


def recorded(folder: Path | None, on_miss: str | None) -> ChatModel | None:
    """The environment's chat model, behind a folder of recordings where one is given."""
    from zibaldone import settings
    from zibaldone.models.recorded import RecordedModel

    chat = settings.chat(settings.FROM_ENVIRONMENT)
    if folder is None:
        if on_miss is not None:
            raise InvalidInput("--on-miss says what becomes of what is not recorded: give --record DIR too")
        return chat
    return RecordedModel(folder, chat, on_miss or ("ask" if chat else "leave_open"))  # type: ignore[arg-type] # checked there


def maintain(
    *,
    user: OptionalUser = None,
    view: Annotated[
        list[str] | None, typer.Option("--view", help="Only this view (repeatable).", show_default=False)
    ] = None,
    record: Record = None,
    on_miss: OnMiss = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Let the views read what is new, of one user or of all, and put their storage in order.

    A chat model is asked where ZIBALDONE_CHAT_MODEL names one; else plain algorithms do the work.
    """
    with open_memory(memory, chat=recorded(record, on_miss)) as opened:
        if user is not None and user not in opened.users():
            raise InvalidInput(f"no user {user!r}: 'zibaldone users' lists them")
        with out.progress("maintaining", shown=not as_json) as progress:
            done = opened.maintain(user=user, views=view, progress=progress)
    if as_json:
        out.write_json(done)
    else:
        for line in maintained_lines(done):
            out.write(line)
    if done.behind:
        raise ModelFailed(done.behind[0].reason)


def chunks(
    number: Annotated[int | None, typer.Argument(help="Show this one's items.", show_default=False)] = None,
    *,
    history: Annotated[bool, typer.Option("--history", help="Show what was superseded instead.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show what the chunks view remembers, or remembered."""
    with open_memory(memory) as opened:
        found = opened.chunks(user=user)
        past = opened.history(user=user)
    if number is not None:
        found = [chunk for chunk in found if chunk.id == number]
        past = [one for one in past if one.chunk == number]
        if not found:
            raise InvalidInput(f"user {user!r} has no chunk {number}: 'zibaldone chunks' lists them")
    if as_json:
        out.write_json(past if history else found)
    elif history:
        for one in past:
            out.write(past_line(one))
    elif number is not None:
        for line in chunk_lines(found[0]):
            out.write(line)
    elif found:
        out.table("chunk", "from", "to", "items", "tokens", "summary", rows=[chunk_row(one) for one in found])
    if not (past if history else found):
        out.note("nothing yet: 'zibaldone maintain' makes chunks of every 1024 tokens or so")


def themes(
    number: Annotated[
        int | None, typer.Argument(help="Show this one's semantics.", show_default=False)
    ] = None,
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show the hierarchy view's themes, the fullest first."""
    with open_memory(memory) as opened:
        found = sorted(opened.themes(user=user), key=lambda one: (-len(one.semantics), one.id))
    if number is not None:
        found = [theme for theme in found if theme.id == number]
        if not found:
            raise InvalidInput(f"user {user!r} has no theme {number}: 'zibaldone themes' lists them")
    if as_json:
        out.write_json(found)
    elif number is not None:
        for line in theme_lines(found[0]):
            out.write(line)
    elif found:
        rows = [[one.id, len(one.semantics), one.name, one.semantics[0].text] for one in found]
        out.table("theme", "semantics", "name", "such as", rows=rows)
    if not found:
        out.note(_NO_HIERARCHY)


def episodes(
    number: Annotated[int | None, typer.Argument(help="Tell this one.", show_default=False)] = None,
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show the hierarchy view's episodes."""
    with open_memory(memory) as opened:
        found = opened.episodes(user=user)
    if number is not None:
        found = [episode for episode in found if episode.id == number]
        if not found:
            raise InvalidInput(f"user {user!r} has no episode {number}: 'zibaldone episodes' lists them")
    if as_json:
        out.write_json(found)
    elif number is not None:
        for line in episode_lines(found[0]):
            out.write(line)
    elif found:
        rows = [[one.id, one.session, len(one.seqs), one.title] for one in found]
        out.table("episode", "session", "messages", "title", rows=rows)
    if not found:
        out.note(_NO_HIERARCHY)


def usage(*, user: OptionalUser = None, memory: Folder, as_json: AsJson = False) -> None:
    """Show what models were used for: calls, tokens and time per user, day, view and task."""
    with open_memory(memory) as opened:
        found = opened.usage(user=user)
    if as_json:
        out.write_json(found)
    elif found:
        names = (
            "user",
            "day",
            "view",
            "task",
            "calls",
            "degraded",
            "prompt_tokens",
            "completion_tokens",
            "ms",
        )
        heads = [name.replace("_", " ") for name in names]
        out.table(*heads, rows=[[asdict(one)[name] for name in names] for one in found])
    else:
        out.note("no model was used")


def maintained_lines(done: Maintained) -> list[str]:
    """What a maintenance did."""
    lines = [f"read {out.count(done.messages, 'message')} of {out.count(done.users, 'user')}"]
    for view, tended in done.tended:
        if tended:
            lines.append(f"view {view}: {', '.join(f'{counted.rows} {counted.kind}' for counted in tended)}")
    if done.model_calls or done.degraded:
        lines.append(
            f"model: {out.count(done.model_calls, 'call')}, {done.prompt_tokens} prompt and"
            f" {done.completion_tokens} completion tokens, {done.degraded} answered offline instead"
        )
    return lines


def chunk_row(chunk: StoredChunk) -> list[object]:
    """One line of the list."""
    return [
        chunk.id,
        chunk.first.date().isoformat(),
        chunk.last.date().isoformat(),
        len(chunk.items),
        f"{chunk.tokens} of {chunk.raw_tokens}",
        chunk.summary,
    ]


def chunk_lines(chunk: StoredChunk) -> list[str]:
    """All of a chunk."""
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


def past_line(one: Past) -> str:
    """One entry of the history."""
    by = ", ".join(map(str, one.by_sources))
    was = ", ".join(map(str, one.item.sources))
    return f"chunk {one.chunk}, messages {was}: {one.item.text!r} ({one.reason} by message {by})"


def theme_lines(theme: Theme) -> list[str]:
    """All of a theme."""
    near = ", ".join(map(str, theme.near[:5]))
    return [
        f"theme {theme.id}: {theme.name}" + (f" (near: {near})" if near else ""),
        *(f"[{', '.join(map(str, one.seqs))}] {one.time.date()} {one.text}" for one in theme.semantics),
    ]


def episode_lines(episode: Episode) -> list[str]:
    """All of an episode."""
    made = f"made by {episode.made_by}" if episode.made_by else "made without a model"
    return [
        f"episode {episode.id}: {episode.title}",
        f"session {episode.session}, messages {episode.seqs[0]} to {episode.seqs[-1]}, "
        + made
        + (f"; {episode.degraded}" if episode.degraded else ""),
        "",
        episode.narrative,
    ]
