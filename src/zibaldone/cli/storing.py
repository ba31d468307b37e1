"""Commands around where a memory is stored: encrypt it, let a role serve it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.errors import InvalidInput

_BUSY_S = 30.0


@runs("admin encrypt")
@runs("admin decrypt")
def convert(call: CliCall) -> None:
    from zibaldone.storage.converting import decrypt_folder, encrypt_folder

    encrypts = call.operation.name == "admin encrypt"
    converted = (encrypt_folder if encrypts else decrypt_folder)(_folder(call.folder), _key())
    lines = ["encrypted" if encrypts else "decrypted: its files are plain"]
    if converted.others:
        lines.append(f"left as they are, since they are not the memory's: {out.some(converted.others)}")
    if encrypts:
        lines.append(
            "The plain files are deleted, not overwritten: backups and the disk may still have them."
        )
    call.answer(converted, "\n".join(lines))


@runs("admin rekey")
def rekey(call: CliCall) -> None:
    from zibaldone.api import settings
    from zibaldone.storage.converting import change_key
    from zibaldone.storage.database import url_in
    from zibaldone.storage.folder_layout import HEADER

    new_key = settings.key("NEW_KEY") or b""
    user_keys = settings.text("USER_KEYS")
    if user_keys is not None:
        from zibaldone.storage.keyring import change_master_key

        change_master_key(user_keys, _key(), new_key)
        out.write("the new key opens the keys of users from now on")
    is_encrypted = url_in(call.folder) is None and (call.folder.expanduser() / HEADER).exists()
    if user_keys is None or is_encrypted:
        change_key(_folder(call.folder), _key(), new_key)
        out.write("the new key opens the folder from now on")


def _folder(given: Path) -> Path:
    from zibaldone.storage.database import url_in

    if url_in(given) is not None:
        raise InvalidInput("what PostgreSQL keeps, its server encrypts, or the disk below it: give a folder")
    out.say_folder(given)
    return given.expanduser().absolute()


def _key() -> str | bytes:
    from zibaldone.api import settings

    return settings.key() or b""


@runs("admin wall")
def wall(call: CliCall) -> None:
    from zibaldone.api import settings
    from zibaldone.storage.database import url_in

    if (url := url_in(call.folder)) is None:
        raise InvalidInput("a folder has no roles: give the URL of a memory in PostgreSQL")
    from zibaldone.storage.postgres import PostgresDatabase

    opened = PostgresDatabase(url, busy_timeout_s=_BUSY_S, wall_key=settings.key("WALL_KEY"))
    with closing(opened) as database:
        database.admit(call.given["role"])
    out.write(f"{call.given['role']} may serve {database.name}, with this key in ZIBALDONE_WALL_KEY")
