"""The command that moves a memory's blocks into a bucket."""

from __future__ import annotations

from typing import Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Folder
from zibaldone.errors import InvalidInput


def move_blocks(
    *,
    bucket: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="Where to: s3://bucket/prefix."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Delete what a move that is not done has copied.")
    ] = False,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Move blocks of chunks into a bucket, and save indexes there from then on.

    Close the memory before, in every process. Stopped half way, run it again. Until it is done the blocks
    are where they were.
    """
    from zibaldone import settings
    from zibaldone.storage.moving import move_blocks as move
    from zibaldone.storage.moving import undo_move
    from zibaldone.storage.opening import is_there, open_database

    if (bucket is None) != undo:
        raise InvalidInput("give the URL of a bucket, such as s3://bucket/prefix, or --undo")
    if not is_there(memory):
        raise InvalidInput(f"there is no memory in {str(memory)!r}: give the folder or the URL of one")
    out.say_folder(memory)
    database = open_database(
        memory.expanduser(),
        busy_timeout_s=_BUSY_S,
        key=settings.key(),
        user_keys=settings.user_keys(),
        wall_key=settings.wall_key(),
    )
    try:
        if bucket is None:
            done = undo_move(database)
        else:
            with out.progress("moving", shown=not as_json) as progress:
                done = move(database, bucket, progress)
    finally:
        database.close()
    if as_json:
        out.write_json(done)
    elif undo:
        out.write(f"undone: {done.blocks} objects ({done.bytes / 1e6:.1f} MB) deleted from {done.url}")
    else:
        out.write(f"{done.blocks} blocks ({done.bytes / 1e6:.1f} MB) are in {done.url}")


_BUSY_S = 30.0
