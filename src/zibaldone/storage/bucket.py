"""A bucket of an S3-compatible store, by `obstore` (extra `s3`): objects of one memory below a prefix.

An object is written once, under a key that nobody has, and only where none is (If-None-Match): so a put can
be tried again whatever became of the first. Credentials are obstore's matter: AWS_ACCESS_KEY_ID and the like,
or a role of the machine.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

from zibaldone.core.validation import shown
from zibaldone.errors import (
    InvalidInput,
    MissingExtra,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnreachable,
    StorageUnusable,
)

if TYPE_CHECKING:
    from obstore.store import S3Store

_OPTIONS = ("endpoint", "region")  # of a URL, which is kept in the database: nothing secret
_FORM = "s3://bucket/prefix, with ?endpoint=https://host where it is not AWS"
_ATTEMPTS = 3  # of a put, and of a request that the store itself tries again
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_REQUEST_S, _CONNECT_S = 20, 4
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BucketUrl:
    """A parsed s3://bucket/prefix?endpoint=...&region=..."""

    bucket: str
    prefix: str  # without slashes at its ends; may be empty
    options: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """The URL without options: equal for two URLs of the same objects."""
        return f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")

    def __str__(self) -> str:
        return self.place + (f"?{urlencode(self.options, safe=':/')}" if self.options else "")


def bucket_url(given: str) -> BucketUrl:
    """Parse a bucket's URL. Raises InvalidInput."""
    if not isinstance(given, str):
        raise InvalidInput(f"blocks must be {_FORM}, not {shown(given)}")
    try:
        split = urlsplit(given)
        options = parse_qs(split.query, strict_parsing=bool(split.query))
        port = split.port
    except (ValueError, AttributeError) as error:
        raise InvalidInput(f"blocks must be {_FORM}, not {shown(given)}") from error
    if split.scheme != "s3" or not split.hostname or port or split.fragment:
        raise InvalidInput(f"blocks must be {_FORM}, not {shown(given)}")
    if split.username is not None or not set(options) <= set(_OPTIONS):
        raise InvalidInput(
            f"the URL of a bucket is stored, and may have {' and '.join(_OPTIONS)} alone: keys belong into"
            " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the rest into AWS_* variables"
        )
    return BucketUrl(
        split.netloc,
        split.path.strip("/"),
        tuple(sorted((name, values[-1]) for name, values in options.items())),
    )


class Bucket:
    """A bucket's objects by key. Safe to share among threads; not usable in a forked child."""

    def __init__(self, url: BucketUrl, folder: str) -> None:
        """`folder` is the prefix of this memory's keys. Sends no request. Raises MissingExtra."""
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[s3]'") from error
        self.url, self.folder, self.name = url, folder, url.place
        options = dict(url.options)
        self._store: S3Store = S3Store(
            url.bucket,
            prefix="/".join(part for part in (url.prefix, folder) if part),
            config=options,  # type: ignore[arg-type] # those of _OPTIONS
            checksum_algorithm="SHA256",  # what arrives otherwise than it was sent is refused
            client_options={
                "allow_http": options.get("endpoint", "").startswith("http://"),
                "connect_timeout": timedelta(seconds=_CONNECT_S),
                "timeout": timedelta(seconds=_REQUEST_S),
            },
            retry_config={
                "max_retries": _ATTEMPTS - 1,
                "retry_timeout": timedelta(seconds=_ATTEMPTS * _REQUEST_S),
                "backoff": {
                    "init_backoff": timedelta(seconds=_FIRST_PAUSE_S),
                    "max_backoff": timedelta(seconds=_LONGEST_PAUSE_S),
                },
            },
        )
        self._process = os.getpid()

    def get(self, key: str) -> bytes:
        """Return an object. Raises KeyError if there is none, StorageUnusable and StorageUnreachable."""
        import obstore

        def got() -> bytes:
            return bytes(obstore.get(self._store, key).bytes())

        try:
            return self._done(got, f"object {key} cannot be read")
        except FileNotFoundError as error:
            raise KeyError(key) from error

    def create(self, key: str, data: bytes) -> None:
        """Write a new object atomically and durably.

        Raises StorageCorrupt where another stands under the key, StorageFull, StorageUnusable and
        StorageUnreachable.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def put() -> bool:
            try:
                obstore.put(self._store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                is_new = self._done(put, f"object {key} cannot be written")
            except FileNotFoundError as error:
                raise StorageUnusable(f"{self.name}: there is no such bucket") from error
            except StorageUnreachable:  # obstore tries reads again, and a put only where an answer came
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(_FIRST_PAUSE_S * 2**attempt)
                continue
            if not is_new and self.get(key) != data:
                raise StorageCorrupt(f"{self.name}: another object stands under the new key {key}")
            return

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; absent ones are ignored. Raises StorageUnusable and StorageUnreachable."""
        import obstore

        if keys:
            self._done(lambda: obstore.delete(self._store, list(keys)), "objects cannot be deleted")

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """Yield (key, age in seconds) of every object with this prefix, in order."""
        import obstore

        folder, slash, _ = prefix.rpartition("/")

        def listed() -> list[Any]:
            pages = obstore.list(self._store, folder + slash or None)
            return [entry for page in pages for entry in page]

        now = datetime.now(UTC)
        for entry in sorted(self._done(listed, "objects cannot be listed"), key=lambda e: str(e["path"])):
            if entry["path"].startswith(prefix):
                yield entry["path"], max(0.0, (now - entry["last_modified"]).total_seconds())

    def _done(self, request: Callable[[], R], what: str) -> R:
        if os.getpid() != self._process:  # obstore's threads are the parent's
            raise StorageUnusable(
                f"{self.name}: {what}, since this process was forked from one that had it open:"
                " start processes with 'spawn', or open the memory after the fork"
            )
        from obstore.exceptions import BaseError

        try:
            return request()
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StorageUnusable(f"{self.name}: {what}: there is no such bucket") from error
            raise
        except BaseError as error:
            raise self._typed(error, what) from error

    def _typed(self, error: BaseException, what: str) -> StorageError:
        from obstore.exceptions import (
            InvalidPathError,
            NotSupportedError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        text = str(error)
        status = int(match[1]) if (match := _STATUS.search(text)) else 0
        code = match[1] if (match := _CODE.search(text)) else ""
        why = code or (f"HTTP {status}" if status else "")
        if status == 507 or "StorageFull" in code or "Quota" in code:
            return StorageFull(f"{self.name}: {what}: no space is left ({why})")
        if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in (401, 403):
            return StorageUnusable(
                f"{self.name}: {what}: access is denied ({why}): check AWS_ACCESS_KEY_ID,"
                " AWS_SECRET_ACCESS_KEY and the bucket's policy"
            )
        if isinstance(error, InvalidPathError | NotSupportedError) or 400 <= status < 429:
            return StorageUnusable(f"{self.name}: {what} ({why or text.splitlines()[0][:200]})")
        why = why or text.splitlines()[0].rpartition(" - ")[2][:200]
        return StorageUnreachable(f"{self.name}: {what} ({why}): try again")
