"""The stylesheet, htmx, and the few lines of script of our own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}

_KEPT = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}


def static_routes() -> Sequence[Route]:
    """/static, and the icon that browsers ask for beside a plain text; open to all: no memory in it."""
    folder = files("zibaldone.server.page") / "static"
    held = {file.name: file.read_bytes() for file in folder.iterdir()}

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in held:
            raise HTTPException(404)
        return Response(
            held[name],
            media_type=_TYPES[name.rpartition(".")[2]],
            headers=_KEPT,
        )

    async def icon(_: Request) -> Response:
        return Response(held["mark.svg"], media_type=_TYPES["svg"], headers=_KEPT)

    return [
        Route("/static/{name}", static, methods=["GET"]),
        Route("/favicon.ico", icon, methods=["GET"]),
    ]
