"""Commands that encrypt a memory's folder, decrypt it, and give it another key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Folder

if TYPE_CHECKING:
    from pathlib import Path

    from zibaldone.storage.converting import Converted


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

    new_key = settings.key("NEW_KEY") or b""
    user_keys = settings.user_keys()
    if user_keys is not None:
        from zibaldone.storage.keyring import change_master_key

        change_master_key(user_keys, _key(), new_key)
        out.write("the new key opens the keys of users from now on")
    if user_keys is None or _is_encrypted(memory):
        change_key(_folder(memory), _key(), new_key)
        out.write("the new key opens the folder from now on")


def _is_encrypted(memory: Path) -> bool:
    from zibaldone.storage.database import url_in
    from zibaldone.storage.folder_layout import HEADER

    return url_in(memory) is None and (memory.expanduser() / HEADER).exists()


def _folder(given: Path) -> Path:
    from zibaldone.errors import InvalidInput
    from zibaldone.storage.database import url_in

    if url_in(given) is not None:
        raise InvalidInput("what PostgreSQL keeps, its server encrypts, or the disk below it: give a folder")
    out.say_folder(given)
    return given.expanduser().absolute()


def _key() -> str | bytes:
    from zibaldone import settings

    return settings.key() or b""


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
