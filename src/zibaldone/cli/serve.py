"""`zibaldone serve`, `open` and `keys`: the server, its page, and who may use it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Blocks, Folder, OptionalUser
from zibaldone.cli.opening import Background, Status, Stop, in_background
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.server.keys import KeyStore

keys_app = typer.Typer(help="Keys of the server: make, list and revoke them.", no_args_is_help=True)

_USUAL_PORT = 8787
_SWITCH_S = 0.0005  # how long a recall keeps the event loop, and the streams that it relays, from going on


def serve(
    *,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; other machines need a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0: any that is free.")] = _USUAL_PORT,
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream", help="The model server that the gateway stands before: http://localhost:8000/v1."
        ),
    ] = None,
    upstream_key_env: Annotated[
        str | None,
        typer.Option("--upstream-key-env", help="The environment variable with the upstream's key."),
    ] = None,
    notes_model: Annotated[
        str | None,
        typer.Option(
            "--notes-model",
            help="The upstream's model that reads conversations for notes, at its price; none unless given.",
        ),
    ] = None,
    memory_mode: Annotated[
        str,
        typer.Option(
            "--memory-mode",
            help="How the gateway's model gets at memory: context, tool (it searches) or both.",
        ),
    ] = "context",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A name by which clients reach this server (repeatable)."),
    ] = None,
    requests_per_minute: Annotated[
        int, typer.Option("--requests-per-minute", min=0, help="Of one key; 0: no limit.")
    ] = 6000,
    max_body_mib: Annotated[int, typer.Option("--max-body-mib", min=1, help="Of one request.")] = 32,
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            min=0,
            max=64,
            help="That recall and store for the gateway, each for its share of users; 0: the server's own.",
        ),
    ] = 1,
    blocks: Blocks = None,
    memory: Folder,
) -> None:
    """Serve the memory over HTTP: a page, REST, MCP, and a gateway before a model server."""
    from zibaldone.api.aio import AsyncMemory
    from zibaldone.api.config import Config
    from zibaldone.server.app import base_url, check_binding, create_app, listening, serve_until_stopped
    from zibaldone.server.keys import KeyStore
    from zibaldone.server.memory_pool import MemoryPool
    from zibaldone.server.settings import ServerSettings, to_mode
    from zibaldone.settings import secret, use_chat
    from zibaldone.storage.database import place_shown

    settings = ServerSettings(
        host=host,
        port=port,
        upstream=upstream,
        upstream_key=None if upstream_key_env is None else secret(upstream_key_env),
        memory_mode=to_mode(memory_mode),
        allowed_hosts=tuple(allow_host or ()),
        requests_per_minute=requests_per_minute,
        max_body_bytes=max_body_mib * 2**20,
    )
    if notes_model is not None:
        if upstream is None:
            raise InvalidInput("--notes-model is a model of the upstream: give --upstream")
        use_chat(notes_model, upstream, settings.upstream_key)
    _set_up_process()
    keys = KeyStore(memory)
    check_binding(settings, keys)
    with listening(settings) as bound:
        divides = processes > 0 and upstream is not None
        opened = AsyncMemory.from_env(memory, config=Config(background=not divides, blocks=blocks))
        pool = MemoryPool(opened, memory, processes) if divides else None
        app = create_app(opened, settings=settings, keys=keys, pool=pool)
        out.write(f"listening on {base_url(bound)}")
        out.note(f"memory: {place_shown(memory)}")
        out.note("keys are needed" if keys.exist() else "no keys: open to this machine, and to no other")
        out.note(f"upstream: {upstream}" if upstream else "no upstream: no gateway")
        serve_until_stopped(app, settings, bound)
    out.note("stopped")


def open_(
    context: typer.Context,
    *,
    port: Annotated[
        int | None,
        typer.Option("--port", help="0: any that is free.", show_default="8787, or one that is free"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    background: Background = False,
    stop: Stop = False,
    status: Status = False,
    user: OptionalUser = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Open the memory in the browser: search it, read it, correct it, import into it, forget from it.

    Serves the page at a loopback address until Ctrl-C; makes the folder if it is missing. Commands ask this
    process meanwhile, and load nothing: a recall takes a tenth of a second.
    """
    from zibaldone.storage.database import url_in

    if background + stop + status > 1:
        raise InvalidInput("give one of --background, --stop and --status")
    if url_in(memory) is not None:
        raise InvalidInput("open holds the memory of a folder: serve the page of a database with serve")
    if background or stop or status:
        chosen = [] if port is None else ["--port", str(port)]
        in_background(memory, ["open", "--no-browser", *chosen], stop=stop, status=status, as_json=as_json)
        return
    from urllib.parse import urlencode

    from zibaldone.api.aio import AsyncMemory, wrapped
    from zibaldone.api.config import Config
    from zibaldone.cli.daemon import held_if_free
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
        if browser:
            _open_browser(address)
        with held_if_free(wrapped(opened), context.find_root().command):
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

    from zibaldone.server.heap import share_heaps

    share_heaps()
    sys.setswitchinterval(_SWITCH_S)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("zibaldone").setLevel(logging.INFO)  # others' lines may have addresses in them


@keys_app.command("create")
def create_key(
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose memory it opens.")] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="Only what this agent said and heard of it."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may not change anything.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="It opens every user's memory.")] = False,
    memory_mode: Annotated[
        str | None,
        typer.Option(
            "--memory-mode", help="How the gateway's model gets at memory; else as the server says."
        ),
    ] = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Make a key; its token is shown this once, and only its hash is kept."""
    if admin == (user is not None):
        raise InvalidInput("say whom the key is for: --user NAME, or --admin for every user")
    with closing(_opened(memory)) as keys:
        created = keys.create(user=user, agent=agent, read_only=read_only, memory_mode=memory_mode)
    if as_json:
        out.write_json(created)
    else:
        out.write(created.token)
        out.note(f"key {created.key.id}: keep the token, it is not shown again")


@keys_app.command("list")
def list_keys(*, memory: Folder, as_json: AsJson = False) -> None:
    """List the keys; never their tokens."""
    with closing(_opened(memory)) as keys:
        known = keys.all_keys()
    if as_json:
        out.write_json(known)
    elif known:
        rows = [
            (
                key.id,
                "every user" if key.user is None else key.user,
                key.agent or "",
                ("reads" if key.read_only else "reads and writes")
                + (f", by {key.memory_mode}" if key.memory_mode else ""),
                f"{key.created:%Y-%m-%d %H:%M}",
                f"{key.used:%Y-%m-%d %H:%M}" if key.used else "never",
                f"revoked {key.revoked:%Y-%m-%d %H:%M}" if key.revoked else "",
            )
            for key in known
        ]
        out.table("id", "user", "agent", "may", "created", "last used", "", rows=rows)
    else:
        out.note("no keys: the server listens on loopback only")


@keys_app.command("revoke")
def revoke_key(
    *,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As 'keys list' shows it.")],
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Let a key open nothing any more, at once, in a running server too."""
    with closing(_opened(memory)) as keys:
        revoked = keys.revoke(key_id)
    if as_json:
        out.write_json(revoked)
    else:
        out.write(f"key {revoked.id} is revoked")


def _opened(memory: Folder) -> KeyStore:
    from zibaldone.server.keys import KeyStore

    return KeyStore(memory)
