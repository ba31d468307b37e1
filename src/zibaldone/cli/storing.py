"""Commands around where a memory is stored: encrypt it, move its blocks, let a role serve it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Folder
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.storage.converting import Converted

_BUSY_S = 30.0


def encrypt(*, memory: Folder, as_json: AsJson = False) -> None:
    """Encrypt the memory's folder with the key of ZIBALDONE_KEY_COMMAND or ZIBALDONE_KEY.

    Close the memory before, in every process. Stopped half way, run it again. Without the key nobody can read
    the folder any more: keep it where the folder is not.
    """
    from zibaldone.storage.converting import encrypt_folder

    _show(encrypt_folder(_folder(memory), _key()), as_json=as_json)


def decrypt(*, memory: Folder, as_json: AsJson = False) -> None:
    """Write the memory's folder as plain files again."""
    from zibaldone.storage.converting import decrypt_folder

    _show(decrypt_folder(_folder(memory), _key()), as_json=as_json)


def rekey(*, memory: Folder) -> None:
    """Give the folder another key: that of ZIBALDONE_NEW_KEY_COMMAND or ZIBALDONE_NEW_KEY.

    Where ZIBALDONE_USER_KEYS names a place of users' keys, the new key opens these from now on.

    Whoever has the old key and an old copy of encryption.json can still read: to be safe from them decrypt
    the folder and encrypt it anew.
    """
    from zibaldone import settings
    from zibaldone.storage.converting import change_key
    from zibaldone.storage.database import url_in
    from zibaldone.storage.folder_layout import HEADER

    new_key = settings.key(settings.FROM_ENVIRONMENT, "NEW_KEY") or b""
    user_keys = settings.user_keys(settings.FROM_ENVIRONMENT)
    if user_keys is not None:
        from zibaldone.storage.keyring import change_master_key

        change_master_key(user_keys, _key(), new_key)
        out.write("the new key opens the keys of users from now on")
    is_encrypted = url_in(memory) is None and (memory.expanduser() / HEADER).exists()
    if user_keys is None or is_encrypted:
        change_key(_folder(memory), _key(), new_key)
        out.write("the new key opens the folder from now on")


def _folder(given: Path) -> Path:
    from zibaldone.storage.database import url_in

    if url_in(given) is not None:
        raise InvalidInput("what PostgreSQL keeps, its server encrypts, or the disk below it: give a folder")
    out.say_folder(given)
    return given.expanduser().absolute()


def _key() -> str | bytes:
    from zibaldone import settings

    return settings.key(settings.FROM_ENVIRONMENT) or b""


def _show(converted: Converted, *, as_json: bool) -> None:
    if as_json:
        out.write_json(converted)
        return
    what = "encrypted" if converted.encrypted else "decrypted: its files are plain"
    sizes = f"{converted.bytes_before / 1e6:.1f} MB before, {converted.bytes_after / 1e6:.1f} MB now"
    out.write(f"{what} ({sizes})")
    if converted.others:
        out.write(f"left as they are, since they are not the memory's: {out.some(converted.others)}")
    if converted.encrypted:
        out.write("The plain files are deleted, not overwritten: backups and the disk may still have them.")


def move_blocks(
    *,
    bucket: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Where to: s3://bucket/prefix.")
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
        key=settings.key(settings.FROM_ENVIRONMENT),
        user_keys=settings.user_keys(settings.FROM_ENVIRONMENT),
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


COMMANDS = (encrypt, decrypt, rekey, move_blocks, wall)
