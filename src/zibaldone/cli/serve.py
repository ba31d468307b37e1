"""`zibaldone serve`, `open` and `keys`: the server, its page, and who may use it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.server.keys import KeyStore, ServerKey

_USUAL_PORT = 8787
_SWITCH_S = 0.0005  # how long a recall keeps the event loop, and the streams that it relays, from going on


@runs("serve")
def serve(call: CliCall) -> None:
    from zibaldone.api.aio import AsyncMemory
    from zibaldone.api.config import MAINTAINED, Config
    from zibaldone.api.settings import secret, use_chat
    from zibaldone.server.app import base_url, check_binding, create_app, listening, serve_until_stopped
    from zibaldone.server.keys import KeyStore
    from zibaldone.server.memory_pool import MemoryPool
    from zibaldone.server.settings import ServerSettings, to_mode
    from zibaldone.storage.database import place_shown

    memory, given, upstream = call.folder, call.given, call.given["upstream"]
    key_variable, notes_model = given["upstream_key_env"], given["notes_model"]
    settings = ServerSettings(
        host=given["host"],
        port=given["port"],
        upstream=upstream,
        upstream_key=None if key_variable is None else secret(key_variable),
        memory_mode=to_mode(given["memory_mode"]),
        user=call.user,
        allowed_hosts=tuple(given["allow_host"] or ()),
        requests_per_minute=given["requests_per_minute"],
        max_body_bytes=given["max_body_mib"] * 2**20,
    )
    if notes_model is not None:
        if upstream is None:
            raise InvalidInput("--notes-model is a model of the upstream: give --upstream")
        use_chat(notes_model, upstream, settings.upstream_key)
    _set_up_process()
    keys = KeyStore(memory)
    check_binding(settings, keys)
    if call.user is not None and keys.exist():
        raise InvalidInput("--user is for a server without keys: here each key names its user")
    with listening(settings) as bound:
        views, processes = given["views"] or MAINTAINED, 0 if upstream is None else given["processes"]
        config = Config(maintained=views, background=not processes, blocks=given["blocks"])
        opened = AsyncMemory.from_env(memory, config=config)
        pool = MemoryPool(opened, memory, processes) if processes else None
        app = create_app(opened, settings=settings, keys=keys, pool=pool)
        out.write(f"listening on {base_url(bound)}")
        out.note(f"memory: {place_shown(memory)}")
        out.note("keys are needed" if keys.exist() else "no keys: open to this machine, and to no other")
        if upstream and not keys.exist():
            every = f"every request is of user {call.user!r}" if call.user else ""
            out.note(f"{every or 'a request names its user, or has no memory'}: see --user")
        out.note(f"upstream: {upstream}" if upstream else "no upstream: no gateway")
        serve_until_stopped(app, settings, bound)
    out.note("stopped")


@runs("open")
def open_(call: CliCall) -> None:
    from zibaldone.storage.database import url_in

    memory, port, user = call.folder, call.given["port"], call.user
    if url_in(memory) is not None:
        raise InvalidInput("open holds the memory of a folder: serve the page of a database with serve")
    from urllib.parse import urlencode

    from zibaldone.api.aio import AsyncMemory
    from zibaldone.api.config import Config
    from zibaldone.server.app import base_url, create_app, listening, serve_until_stopped
    from zibaldone.server.keys import KeyStore
    from zibaldone.server.settings import ServerSettings

    settings = ServerSettings(port=_USUAL_PORT if port is None else port)
    _set_up_process()
    keys = KeyStore(memory)
    try:
        bound = listening(settings)
    except InvalidInput:
        if port is not None:
            raise
        settings = ServerSettings(port=0)  # another server has the usual one
        bound = listening(settings)
    with bound:
        opened = AsyncMemory.from_env(memory, config=Config(background=True))
        app = create_app(opened, settings=settings, keys=keys)
        address = f"{base_url(bound)}/" + (f"?{urlencode({'user': user})}" if user else "")
        out.write(address)
        out.note(f"memory: {memory}; Ctrl-C ends")
        if call.given["browser"]:
            _open_browser(address)
        serve_until_stopped(app, settings, bound)
    out.note("stopped")


def _open_browser(address: str) -> None:
    """In a thread: what opens it may wait, and the socket that listens already keeps the request."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _set_up_process() -> None:
    import logging
    import sys

    from zibaldone.server.chores import share_heaps

    share_heaps()
    sys.setswitchinterval(_SWITCH_S)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("zibaldone").setLevel(logging.INFO)  # others' lines may have addresses in them


@runs("keys create")
def create_key(call: CliCall) -> None:
    given = call.given
    if given["admin"] == (given["user"] is not None):
        raise InvalidInput("say whom the key is for: --user NAME, or --admin for every user")
    with _opened(call.folder) as keys:
        created = keys.create(**{name: given[name] for name in ("user", "agent", "read_only", "memory_mode")})
    call.answer(created, created.token)
    if not call.as_json:
        out.note(f"key {created.key.id}: keep the token, it is not shown again")


@runs("keys list")
def list_keys(call: CliCall) -> None:
    with _opened(call.folder) as keys:
        known = keys.all_keys()
    if call.as_json:
        out.write_json(known)
    elif known:
        out.table("id", "user", "agent", "may", "created", "", rows=map(_key_row, known))
    else:
        out.note("no keys: the server listens on loopback only")


def _key_row(key: ServerKey) -> Sequence[object]:
    mode = f", by {key.memory_mode}" if key.memory_mode else ""
    may = ("reads" if key.read_only else "reads and writes") + mode
    revoked = f"revoked {key.revoked:%Y-%m-%d %H:%M}" if key.revoked else ""
    user = "every user" if key.user is None else key.user
    return key.id, user, key.agent or "", may, f"{key.created:%Y-%m-%d %H:%M}", revoked


@runs("keys revoke")
def revoke_key(call: CliCall) -> None:
    with _opened(call.folder) as keys:
        revoked = keys.revoke(call.given["key_id"])
    call.answer(revoked, f"key {revoked.id} is revoked")


def _opened(memory: Path) -> closing[KeyStore]:
    from zibaldone.server.keys import KeyStore

    return closing(KeyStore(memory))
