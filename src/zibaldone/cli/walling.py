"""The command that lets a role of PostgreSQL serve behind the wall between users."""

from __future__ import annotations

from typing import Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import Folder
from zibaldone.errors import InvalidInput

_BUSY_S = 30.0


def wall(
    *,
    role: Annotated[str, typer.Argument(help="A role of PostgreSQL that does not own the tables.")],
    memory: Folder,
) -> None:
    """Let a role serve a memory in PostgreSQL that must prove whose rows it means.

    Run it as the owner of the tables, with the key in ZIBALDONE_WALL_KEY_COMMAND or ZIBALDONE_WALL_KEY.
    Whoever opens the memory as that role needs the same key; run it again to give the role another.
    """
    from zibaldone import settings
    from zibaldone.storage.database import url_in

    if (url := url_in(memory)) is None:
        raise InvalidInput("a folder has no roles: give the URL of a memory in PostgreSQL")
    from zibaldone.storage.postgres import PostgresDatabase

    database = PostgresDatabase(url, busy_timeout_s=_BUSY_S, wall_key=settings.wall_key())
    try:
        database.admit(role)
    finally:
        database.close()
    out.write(f"{role} may serve {database.name}, with this key in ZIBALDONE_WALL_KEY")
