"""Encrypted folders: their keys, and the cipher of files beside the database.

A random key of the folder's own encrypts everything: SQLCipher the database (AES-256 per page, with an HMAC),
AES-GCM blocks and saved indexes, each bound to its place. It lies in `encryption.json`, encrypted by the key
that the user gives: so another key is given by writing that one file anew. The file is what says that a
folder is encrypted: `converting` rests on that.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from zibaldone.errors import (
    InvalidInput,
    KeyMissing,
    MissingExtra,
    NotEncrypted,
    StorageCorrupt,
    StorageUnusable,
    WrongKey,
)
from zibaldone.storage.folder_layout import ENCRYPTED_FILE, HEADER, sync_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
LEAST_CHARACTERS = 12  # of a passphrase
_NONCE_BYTES = 12
_SCRYPT = {"n": 1 << 15, "r": 8, "p": 1}  # 32 MB and about a tenth of a second
_SCRYPT_MEMORY = 1 << 26


@dataclass(frozen=True, slots=True)
class FolderKeys:
    """The keys of an encrypted folder."""

    data: bytes = field(repr=False)  # KEY_BYTES, of which the others are made

    @property
    def sqlcipher_literal(self) -> str:
        """The page key as a raw-key literal of SQLCipher, which it does not stretch."""
        return f"x'{self.page_key.hex()}'"

    @property
    def page_key(self) -> bytes:
        """The key of the database's pages."""
        return self.derive("database")

    def files(self) -> FileCipher:
        """The cipher of files beside the database."""
        return FileCipher(aead(self.derive("files")))

    def derive(self, use: str) -> bytes:
        """Derive the key for one use."""
        return hashlib.blake2b(b"zibaldone " + use.encode(), key=self.data, digest_size=KEY_BYTES).digest()


@dataclass(frozen=True, slots=True)
class FileCipher:
    """AES-GCM bound to a place: data encrypted for one place does not decrypt in another."""

    overhead_bytes: ClassVar = _NONCE_BYTES + 16  # its tag

    _cipher: AESGCM = field(repr=False)

    def encrypt(self, data: bytes, place: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, place.encode())

    def decrypt(self, data: bytes, place: str) -> bytes:
        """Decrypt; raise ValueError if the data was changed, or encrypted for another place or key."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], place.encode())
        except InvalidTag as error:
            raise ValueError("changed, or of another place or key") from error


def folder_keys(folder: Path, key: str | bytes | None, *, is_plain: bool) -> FolderKeys | None:
    """The keys of an encrypted folder, or None for a plain one; a new folder with a key gets some.

    `is_plain` says whether a database that is not encrypted is there. Raises KeyMissing, WrongKey,
    NotEncrypted, StorageCorrupt, and MissingExtra.
    """
    header = folder / HEADER
    if not header.exists():
        if (folder / ENCRYPTED_FILE).exists() and not is_plain:
            raise StorageCorrupt(
                f"{str(header)!r} is missing, and without it nobody can read the folder: restore a copy of it"
            )
        if key is None:
            return None
        if is_plain:
            raise NotEncrypted(
                f"{str(folder)!r} is not encrypted: open it without a key, or run 'zibaldone admin encrypt'"
            )
        keys, text = new_header(key)
        if put_header(folder, text):
            return keys
    if key is None:
        raise KeyMissing(
            f"{str(folder)!r} is encrypted: give Memory(key=...), or set ZIBALDONE_KEY_COMMAND or"
            " ZIBALDONE_KEY and open with Memory.from_env()"
        )
    return open_header(folder, key)


def new_header(key: str | bytes) -> tuple[FolderKeys, str]:
    """Create new keys, and the header that keeps them."""
    keys = FolderKeys(secrets.token_bytes(KEY_BYTES))
    return keys, wrap_keys(keys, key)


def wrap_keys(keys: FolderKeys, key: str | bytes) -> str:
    """The text of a header that keeps these keys, encrypted by a user's."""
    stretched, salt = not _is_random(key), secrets.token_bytes(16)
    cipher = FileCipher(aead(_key_bytes(key, salt, stretched=stretched)))
    about = {"version": 1, "kdf": "scrypt" if stretched else "none", "salt": salt.hex()}
    return json.dumps({**about, "keys": cipher.encrypt(keys.data, HEADER).hex()}, indent=1) + "\n"


def open_header(folder: Path, key: str | bytes) -> FolderKeys:
    """The keys that a folder's header keeps. Raises WrongKey and StorageCorrupt."""
    try:
        text = (folder / HEADER).read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise _damaged_header(str(folder / HEADER)) from error
    return unwrap_keys(text, key, str(folder / HEADER), str(folder))


def unwrap_keys(text: str, key: str | bytes, name: str, what: str) -> FolderKeys:
    """The keys that a header keeps; `name` is its own, and `what` that of what they open."""
    try:
        given = json.loads(text)
        version, kdf = given["version"], given["kdf"]
        salt, wrapped = bytes.fromhex(given["salt"]), bytes.fromhex(given["keys"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged_header(name) from error
    if version != 1 or kdf not in ("scrypt", "none"):
        raise StorageUnusable(f"{name!r} is of a newer version: pip install -U zibaldone")
    wrong = WrongKey(f"the key is not that of {what!r}: nothing was opened")
    if (kdf == "none") != _is_random(key):
        raise wrong
    cipher = FileCipher(aead(_key_bytes(key, salt, stretched=kdf == "scrypt")))
    try:
        return FolderKeys(cipher.decrypt(wrapped, HEADER))
    except ValueError:
        raise wrong from None


def _damaged_header(name: str) -> StorageCorrupt:
    return StorageCorrupt(f"{name!r} is damaged, and without it nobody can read the folder: restore a copy")


def put_header(folder: Path, text: str, *, over: bool = False) -> bool:
    """Write the header, whole or not at all; False if there is one. With `over`, replace it."""
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{HEADER}.")  # of mode 0600
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if over:
            beside.replace(folder / HEADER)
        else:
            (folder / HEADER).hardlink_to(beside)
    except (FileExistsError, FileNotFoundError):  # the latter: whoever was first has tidied up
        if over or not (folder / HEADER).exists():
            raise
        return False
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(folder)
    return True


def sqlcipher() -> Any:
    """The driver. Raises MissingExtra."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise MissingExtra("no module 'sqlcipher3': pip install 'zibaldone[encryption]'") from error
    return dbapi2


def check_extra() -> None:
    """Raise MissingExtra if the encryption extra is not installed."""
    sqlcipher()
    aead(bytes(KEY_BYTES))


def _is_random(key: str | bytes) -> bool:
    """True if a key is 32 random bytes, as such or in hexadecimal, so that nobody can guess it."""
    if isinstance(key, bytes):
        return len(key) == KEY_BYTES
    return len(key) == 2 * KEY_BYTES and all(digit in "0123456789abcdefABCDEF" for digit in key)


def _key_bytes(key: str | bytes, salt: bytes, *, stretched: bool) -> bytes:
    """Turn the user's key into KEY_BYTES bytes; a passphrase is stretched with scrypt."""
    if not stretched:
        return bytes.fromhex(key) if isinstance(key, str) else key
    secret = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    return hashlib.scrypt(secret, salt=salt, dklen=KEY_BYTES, maxmem=_SCRYPT_MEMORY, **_SCRYPT)


def check_key(key: object) -> str | bytes | None:
    """Check a key: None, 32 bytes, these in hexadecimal, or a passphrase. Raises InvalidInput."""
    if key is None or (isinstance(key, str | bytes) and (_is_random(key) or len(key) >= LEAST_CHARACTERS)):
        return key
    raise InvalidInput(
        f"key must be {KEY_BYTES} random bytes, these in hexadecimal, or a passphrase of at least"
        f" {LEAST_CHARACTERS} characters"
    )


def aead(key: bytes) -> AESGCM:
    """The cipher. Raises MissingExtra."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra("no module 'cryptography': pip install 'zibaldone[encryption]'") from error
    return AESGCM(key)
