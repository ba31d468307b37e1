"""Completion by a shell: the users and sessions of the memory that is meant.

It reads the log alone, with no model loaded, and offers nothing where something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from zibaldone.cli.client import default_folder, has_user_keys
from zibaldone.errors import ZibaldoneError

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BUSY_S = 0.5
T = TypeVar("T")


def users_of(ctx: typer.Context, incomplete: str) -> list[str]:
    """Users whose names begin so."""

    def users(connection: Connection) -> list[str]:
        from zibaldone import log

        return log.all_users(connection)

    return _beginning(incomplete, _read(ctx, users))


def sessions_of(ctx: typer.Context, incomplete: str) -> list[str]:
    """Sessions, whose names begin so, of the user who is named already."""

    def sessions(connection: Connection) -> list[str]:
        from zibaldone import log

        held = log.sessions(connection, typed(ctx, "user", ctx.params.get("user")) or "me", prefix=incomplete)
        return [session.session for session in held]

    return _beginning(incomplete, _read(ctx, sessions))


def typed(ctx: Any, name: str, default: Any = None) -> Any:
    """An option of every command as it was typed, behind the command or before it; else the default."""
    here = ctx
    while here is not None:
        source = here.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            return here.params[name]
        here = here.parent
    return default


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _read(ctx: typer.Context, read: Callable[[Connection], list[str]]) -> list[str]:
    try:
        return read_log(Path(typed(ctx, "memory", ctx.params.get("memory")) or default_folder()), read) or []
    except (ZibaldoneError, OSError, RuntimeError):
        return []


def read_log(folder: Path, read: Callable[[Connection], T]) -> T | None:
    """Return the result of `read` on a memory's database, with no model loaded; None without a memory.

    Raises a StorageError.
    """
    from zibaldone.storage.opening import is_there, open_database

    if not is_there(folder):
        return None
    key, user_keys, wall_key = _keys_of(folder)
    database = open_database(folder, busy_timeout_s=_BUSY_S, key=key, user_keys=user_keys, wall_key=wall_key)
    try:
        with database.read() as connection:
            return read(connection)
    finally:
        database.close()


def _keys_of(folder: Path) -> tuple[str | bytes | None, str | Path | None, str | bytes | None]:
    """Read the keys of a memory that has any; settings take long to load, and others need none."""
    from zibaldone.storage.database import url_in
    from zibaldone.storage.folder_layout import HEADER

    if not (folder / HEADER).exists() and not has_user_keys() and url_in(folder) is None:
        return None, None, None
    from zibaldone.api import settings

    return settings.key(), settings.text("USER_KEYS"), settings.key("WALL_KEY")
