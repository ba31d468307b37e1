"""Commands that show what views made: chunks, themes, episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, memory_of
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.views.chunks import Past, StoredChunk
    from zibaldone.views.hierarchy import Episode, Theme

T = TypeVar("T", "StoredChunk", "Theme", "Episode")
_NO_HIERARCHY = "nothing yet: 'zibaldone maintain --view hierarchy' makes episodes and themes"


def chunks(
    number: Annotated[int | None, typer.Argument(help="Show this one's items.")] = None,
    *,
    history: Annotated[bool, typer.Option("--history", help="Show what was superseded instead.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show what the chunks view remembers, or remembered."""
    with memory_of(memory, user) as opened:
        held = opened.user(user).chunks()
        past = opened.user(user).superseded()
    held = _numbered(held, number, f"user {user!r} has no chunk {number}: 'zibaldone chunks' lists them")
    past = [entry for entry in past if number in (None, entry.chunk)]
    if as_json:
        out.write_json(past if history else held)
    elif history:
        for version in past:
            out.write(past_line(version))
    elif number is not None:
        for line in chunk_lines(held[0]):
            out.write(line)
    elif held:
        out.table(
            "chunk", "from", "to", "items", "tokens", "summary", rows=[chunk_row(chunk) for chunk in held]
        )
    if not (past if history else held):
        out.note("nothing yet: 'zibaldone maintain' makes chunks of every 1024 tokens or so")


def themes(
    number: Annotated[int | None, typer.Argument(help="Show this one's semantics.")] = None,
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show the hierarchy view's themes, the fullest first."""
    with memory_of(memory, user) as opened:
        held = sorted(opened.user(user).themes(), key=lambda theme: (-len(theme.semantics), theme.id))
    held = _numbered(held, number, f"user {user!r} has no theme {number}: 'zibaldone themes' lists them")
    if as_json:
        out.write_json(held)
    elif number is not None:
        for line in theme_lines(held[0]):
            out.write(line)
    elif held:
        rows = [
            [theme.id, len(theme.semantics), theme.start.date(), theme.end.date(), theme.name]
            for theme in held
        ]
        out.table("theme", "semantics", "from", "to", "name", rows=rows)
    if not held:
        out.note(_NO_HIERARCHY)


def episodes(
    number: Annotated[int | None, typer.Argument(help="Tell this one.")] = None,
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show the hierarchy view's episodes."""
    with memory_of(memory, user) as opened:
        held = opened.user(user).episodes()
    held = _numbered(held, number, f"user {user!r} has no episode {number}: 'zibaldone episodes' lists them")
    if as_json:
        out.write_json(held)
    elif number is not None:
        for line in episode_lines(held[0]):
            out.write(line)
    elif held:
        rows = [[episode.id, episode.session, len(episode.seqs), episode.title] for episode in held]
        out.table("episode", "session", "messages", "title", rows=rows)
    if not held:
        out.note(_NO_HIERARCHY)


def _numbered(held: list[T], number: int | None, otherwise: str) -> list[T]:
    """What has the number; all without one."""
    chosen = [thing for thing in held if number in (None, thing.id)]
    if number is not None and not chosen:
        raise InvalidInput(otherwise)
    return chosen


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


def past_line(entry: Past) -> str:
    """One entry of the history."""
    by = ", ".join(map(str, entry.by_sources))
    was = ", ".join(map(str, entry.item.sources))
    return f"chunk {entry.chunk}, messages {was}: {entry.item.text!r} ({entry.reason} by message {by})"


def theme_lines(theme: Theme) -> list[str]:
    """All of a theme."""
    near = ", ".join(map(str, theme.near[:5]))
    return [
        f"theme {theme.id}: {theme.name}" + (f" (near: {near})" if near else ""),
        *(
            f"[{', '.join(map(str, semantic.seqs))}] {semantic.time.date()} {semantic.text}"
            for semantic in theme.semantics
        ),
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
