"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import itertools
from functools import partial

import sqlalchemy

from folders import Compilations
from zibaldone.testing.postgres import ROLE, NoServer, PostgresServer

__all__ = ["ROLE", "NoServer", "Server"]

_SETTINGS = ("fsync=off", "max_connections=300", "shared_buffers=32MB", "autovacuum=off")
_TEMPLATE = "template_of_tests"


class Server(PostgresServer):
    """Databases of today's schema, each a copy of one that was made once."""

    def __init__(self, *settings: str) -> None:
        super().__init__((*_SETTINGS, *settings))
        self._numbers = itertools.count(1)
        try:
            self._prepare()
        except BaseException:
            self.stop()
            raise

    def new(self) -> str:
        """The URL of a new, empty memory."""
        name = f"t{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
        return self.url(name)

    def _prepare(self) -> None:
        from zibaldone.storage import postgres
        from zibaldone.storage.opening import open_database

        compiled = {"compiled_cache": Compilations()}
        postgres.create_engine = partial(sqlalchemy.create_engine, execution_options=compiled)  # type: ignore[attr-defined]
        self.run(f"CREATE DATABASE {_TEMPLATE} OWNER {ROLE}")
        open_database(self.url(_TEMPLATE), busy_timeout_s=30).close()
