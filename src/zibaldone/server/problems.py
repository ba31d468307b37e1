"""Problem details (RFC 9457), the shape of every error that a client gets."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from zibaldone.errors import (
    ClosedMemory,
    IdConflict,
    InvalidInput,
    InvalidMessage,
    KeyDestroyed,
    MissingExtra,
    ModelFailed,
    ModelUnavailable,
    NotGranted,
    RecallGivenUp,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageUnreachable,
    UnknownName,
    ZibaldoneError,
)

MEDIA_TYPE = "application/problem+json"
_URN = "urn:zibaldone:problem:"
# Elsewhere a problem also has the members that OpenAI and Anthropic clients read.
_OWN_SHAPE = ("/v1/memory", "/mcp", "/healthz", "/readyz", "/metrics")
FOR_PROGRAMS = ("/v1/", *_OWN_SHAPE)  # what paths of no page begin with
_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_KINDS |= {413: "request_too_large", 429: "rate_limit_error"}
_NOTHING_STORED = "and nothing of this request was stored"

# By an error's class, first match: name, status, seconds until a next try, and the detail in place of its own
# text where that names files of the server.
ERRORS: tuple[tuple[type[ZibaldoneError], str, int, int | None, str], ...] = (
    (IdConflict, "id-conflict", 409, None, ""),
    (InvalidMessage, "invalid-message", 422, None, ""),
    (UnknownName, "unknown-name", 404, None, ""),
    (NotGranted, "not-granted", 403, None, ""),
    (InvalidInput, "invalid-input", 422, None, ""),
    (MissingExtra, "missing-extra", 501, None, ""),
    (ModelUnavailable, "model-unavailable", 503, 5, ""),
    (ModelFailed, "model-failed", 502, None, ""),
    (RecallGivenUp, "recall-given-up", 503, 1, ""),
    (ClosedMemory, "closed", 503, 1, "the server is shutting down: try again"),
    (StorageBusy, "storage-busy", 503, 1, f"others are writing to the memory, {_NOTHING_STORED}: try again"),
    (StorageUnreachable, "storage-unreachable", 503, 5, "the memory's database cannot be reached: try again"),
    (StorageFull, "storage-full", 507, None, f"no space is left for the memory, {_NOTHING_STORED}"),
    (
        KeyDestroyed,
        "key-destroyed",
        410,
        None,
        "the key that sealed this user's words was destroyed",
    ),
    (StorageError, "storage-failed", 500, None, "the memory's folder fails: the server's log says why"),
)


class Problem(Exception):
    """An error answer; raise it anywhere below the app."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """`name` is the last part of the problem's type; `errors` locate faults in the request."""
        super().__init__(detail)
        self.status, self.name, self.detail = status, name, detail
        self.headers, self.errors = dict(headers or {}), tuple(errors)

    def body(self, path: str) -> dict[str, Any]:
        """Return the problem as JSON for a request to this path."""
        shown: dict[str, Any] = {
            "type": f"{_URN}{self.name}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            shown["errors"] = [dict(error) for error in self.errors]
        if not path.startswith(_OWN_SHAPE):
            kind = _KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")
            shown["error"] = {"message": self.detail, "type": kind, "code": self.name, "param": None}
        return shown

    def response(self, path: str) -> JSONResponse:
        """Return the answer to a request to this path."""
        return JSONResponse(
            self.body(path), status_code=self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


def problem_of(error: Exception) -> Problem:
    """Return the problem of an error; an unexpected error is a 500 without its text."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        name = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        nothing = "nothing is here: /v1/memory/openapi.json lists what there is"
        detail = nothing if error.status_code == 404 else error.detail
        return Problem(error.status_code, name, detail, headers=error.headers)
    for kind, name, status, retry_after_s, detail in ERRORS:
        if isinstance(error, kind):
            headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
            return Problem(status, name, detail or str(error), headers=headers)
    return Problem(500, "internal", "the server failed: its log says where")


def reason(error: BaseException) -> str:
    """Describe an error: by its text if the caller's input caused it, else by its class."""
    return str(error) if isinstance(error, InvalidInput) else type(error).__name__


def log_failure(logger: logging.Logger, where: str, error: BaseException) -> None:
    """Log an error in one line, or a bug with its traceback.

    Only storage errors are logged with their text: others may quote a message.
    """
    if isinstance(error, StorageError):
        logger.warning("%s %s: %s", type(error).__name__, where, error)
    elif isinstance(error, ZibaldoneError | Problem):
        logger.warning("%s %s", type(error).__name__, where)
    else:
        places = "".join(traceback.format_tb(error.__traceback__))
        logger.error("%s %s:\n%s", type(error).__name__, where, places)
