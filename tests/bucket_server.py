"""A server on the loopback that speaks as much of S3's protocol as a bucket needs, and misbehaves.

GET, PUT (with If-None-Match), POST ?delete and GET ?list-type=2, paths in the style of
`http://host/bucket/key`. Signatures are not checked, only whose key signed.
"""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

_PAGE = 1000  # keys of one answer to a listing
_SIGNED_BY = re.compile(r"Credential=([^/,]+)/")
_RANGE = re.compile(r"bytes=(\d+)-\d*")
_KEYS = re.compile(r"<Key>(.*?)</Key>", re.DOTALL)


class BucketMisbehaviour(Enum):
    """What the server may do to one request."""

    SERVER_ERROR = "500"
    SLOW_DOWN = "503"
    DENIED = "403"
    NO_BUCKET = "404: the bucket is not there"
    FULL = "507: no space"
    HANG = "nothing comes, until the server is closed"
    CUT = "the body ends in the middle, and the connection with it"

    LOST_ANSWER = "it is done, and the connection is reset before it is said"


class FakeBucketServer:
    """Close it in the end; `url` is what a memory takes as its `blocks`.

    What stands in `misbehave` happens to the requests that come next, one each; `always` to every request.
    """

    def __init__(self) -> None:
        self.bucket, self.access_key, self.page = "memories", "AKIATEST", _PAGE
        self.misbehave: deque[BucketMisbehaviour] = deque()
        self.always: BucketMisbehaviour | None = None
        self.requests: list[str] = []  # "GET key", in the order in which they came
        self.objects: dict[str, tuple[bytes, datetime]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        """Such as http://127.0.0.1:34567."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Of a prefix in the bucket, with the endpoint."""
        return f"s3://{self.bucket}/tests?endpoint={self.endpoint}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client finds its key in."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def close(self) -> None:
        """Let go of whatever hangs, and end."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self, request: str) -> BucketMisbehaviour | None:
        with self._lock:
            self.requests.append(request)
            return self.misbehave.popleft() if self.misbehave else self.always

    def _put(self, key: str, data: bytes, *, create: bool) -> bool:
        with self._lock:
            if create and key in self.objects:
                return False
            self.objects[key] = (data, datetime.now(UTC))
            return True

    def _delete(self, keys: list[str]) -> None:
        with self._lock:
            for key in keys:
                self.objects.pop(key, None)

    def _listing(self, prefix: str, after: str) -> str:
        with self._lock:
            keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
            shown = [(key, *self.objects[key]) for key in keys[: self.page]]
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{_etag(data)}</ETag>"
            f"<LastModified>{since.strftime('%Y-%m-%dT%H:%M:%S.%f')[:-3]}Z</LastModified></Contents>"
            for key, data, since in shown
        )
        is_cut = len(keys) > self.page
        then = f"<NextContinuationToken>{escape(shown[-1][0])}</NextContinuationToken>" if is_cut else ""
        return (
            f"<ListBucketResult><Name>{self.bucket}</Name><KeyCount>{len(shown)}</KeyCount>"
            f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>{rows}{then}</ListBucketResult>"
        )

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's
        class BucketHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # head and body in one packet

            def do_GET(self) -> None:
                """An object, or a page of a listing."""
                if (request := self._asked()) is None:
                    return
                key, query, happens = request
                if "list-type" in query:
                    begin = query.get("continuation-token", query.get("start-after", [""]))[0]
                    self._answer(200, server._listing(query.get("prefix", [""])[0], begin))
                elif (there := server.objects.get(key)) is None:
                    self._refuse(404, "NoSuchKey")
                else:
                    self._send_object(*there, happens)

            def do_PUT(self) -> None:
                """An object; `If-None-Match: *` where none may be there."""
                body = self._body()
                if (request := self._asked()) is None:
                    return
                key, _, happens = request
                digest = self.headers.get("x-amz-checksum-sha256")
                if digest and base64.b64decode(digest) != hashlib.sha256(body).digest():
                    self._refuse(400, "BadDigest")
                elif not server._put(key, body, create=self.headers.get("If-None-Match") == "*"):
                    self._refuse(412, "PreconditionFailed")
                elif happens is BucketMisbehaviour.LOST_ANSWER:
                    self._reset()
                else:
                    self._answer(200, "", {"ETag": _etag(body)})

            def do_POST(self) -> None:
                """Several objects are deleted."""
                body = self._body()
                if self._asked() is None:
                    return
                keys = [unescape(key) for key in _KEYS.findall(body.decode())]
                server._delete(keys)
                rows = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
                self._answer(200, f"<DeleteResult>{rows}</DeleteResult>")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Quiet."""

            def _body(self) -> bytes:
                if "chunked" in self.headers.get("Transfer-Encoding", ""):
                    parts = []
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        parts.append(self.rfile.read(size))
                        self.rfile.readline()
                    self.rfile.readline()
                    return b"".join(parts)
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def _asked(self) -> tuple[str, dict[str, list[str]], BucketMisbehaviour | None] | None:
                """Key, query and what happens; None where an answer was given already."""
                split = urlsplit(self.path)
                bucket, _, key = unquote(split.path).lstrip("/").partition("/")
                happens = server._next(f"{self.command} {key or '?' + split.query.partition('&')[0]}")
                signed = _SIGNED_BY.search(self.headers.get("Authorization", ""))
                if happens in _REFUSALS:
                    self._refuse(*_REFUSALS[happens])
                elif happens is BucketMisbehaviour.HANG:
                    server._closing.wait()
                    self.close_connection = True
                elif happens is BucketMisbehaviour.LOST_ANSWER and self.command != "PUT":
                    self._reset()
                elif signed is None or signed[1] != server.access_key:
                    self._refuse(403, "InvalidAccessKeyId")
                elif bucket != server.bucket:
                    self._refuse(404, "NoSuchBucket")
                else:
                    return key, parse_qs(split.query, keep_blank_values=True), happens
                return None

            def _send_object(self, data: bytes, since: datetime, happens: BucketMisbehaviour | None) -> None:
                whole, etag, part = len(data), _etag(data), _RANGE.fullmatch(self.headers.get("Range", ""))
                if part:  # of what was cut off before
                    begin = int(part[1])
                    data = data[begin:]
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {begin}-{whole - 1}/{whole}")
                else:
                    self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("ETag", etag)
                self.send_header("Last-Modified", format_datetime(since, usegmt=True))
                self.end_headers()
                with suppress(OSError):
                    if happens is BucketMisbehaviour.CUT:
                        self.wfile.write(data[: len(data) // 2])
                        self.wfile.flush()
                        self._reset()
                    else:
                        self.wfile.write(data)

            def _refuse(self, status: int, code: str) -> None:
                self._answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>")

            def _answer(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
                data = body.encode()
                with suppress(OSError):
                    self.send_response(status)
                    for name, value in (headers or {}).items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", "application/xml")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            def _reset(self) -> None:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.wfile.close()
                self.rfile.close()
                self.connection.close()
                self.wfile = self.rfile = BytesIO()  # nothing more is sent

        return BucketHandler


_REFUSALS = {
    BucketMisbehaviour.SERVER_ERROR: (500, "InternalError"),
    BucketMisbehaviour.SLOW_DOWN: (503, "SlowDown"),
    BucketMisbehaviour.DENIED: (403, "AccessDenied"),
    BucketMisbehaviour.NO_BUCKET: (404, "NoSuchBucket"),
    BucketMisbehaviour.FULL: (507, "XMinioStorageFull"),
}


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
