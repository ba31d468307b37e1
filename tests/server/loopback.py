"""Servers of one's own, by uvicorn in threads, on the loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memories import open_async_memory
from zibaldone.server.app import base_url, check_binding, create_app, listening, server_of
from zibaldone.server.keys import KeyStore
from zibaldone.server.memory_pool import MemoryPool
from zibaldone.server.settings import ServerSettings

Serving = Callable[..., str]


@contextmanager
def servers(home: Path) -> Iterator[Serving]:
    """Starts servers, and stops them all at the end; see `serving`."""
    running: list[tuple[Any, threading.Thread]] = []

    def serving(
        path: Path = home,
        *,
        upstream: str | None = None,
        processes: int = 0,
        **options: Any,
    ) -> str:
        names = set(ServerSettings.__dataclass_fields__)
        chosen = {name: options.pop(name) for name in names & set(options)}
        settings = ServerSettings(**{"port": 0, "upstream": upstream, **chosen})
        keys = KeyStore(path, busy_timeout_s=options.get("busy_timeout_s", 30.0))
        check_binding(settings, keys)
        memory = open_async_memory(path, **options)
        bound = listening(settings)
        pool = MemoryPool(memory, path, processes) if processes else None
        server = server_of(create_app(memory, settings=settings, keys=keys, pool=pool), settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        running.append((server, thread))
        return base_url(bound)

    try:
        yield serving
    finally:
        for server, _ in running:
            server.should_exit = True
        for _, thread in running:
            thread.join(30)
    assert not any(thread.is_alive() for _, thread in running), "a server did not stop"
