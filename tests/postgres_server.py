"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import itertools
from functools import partial

import sqlalchemy

from folders import Compilations
from postgres_process import ROLE, NoServer, PostgresServer

__all__ = ["ROLE", "NoServer", "Server"]

_SETTINGS = ("fsync=off", "max_connections=300", "shared_buffers=32MB", "autovacuum=off")
_TEMPLATE = "template_of_tests"
_EMPTY = """
DO $$
DECLARE
    name text;
    is_filled boolean;
    filled text[] := '{}';
BEGIN
    FOR name IN SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'migrations'
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO is_filled;
        IF is_filled THEN
            filled := filled || name;
        END IF;
    END LOOP;
    IF cardinality(filled) > 0 THEN
        EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' RESTART IDENTITY CASCADE';
    END IF;
END $$
"""


class Server(PostgresServer):
    """Databases of today's schema, each a copy of one that was made once, or empty again."""

    def __init__(self, *settings: str) -> None:
        super().__init__((*_SETTINGS, *settings))
        self._numbers = itertools.count(1)
        self._unused: list[str] = []
        try:
            self._prepare()
        except BaseException:
            self.stop()
            raise

    def new(self) -> str:
        """The URL of an empty memory."""
        if self._unused:
            return self.url(self._unused.pop())
        name = f"t{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
        return self.url(name)

    def give_back(self, url: str) -> None:
        """A memory that nobody has open; its tables are as they were made, and are emptied."""
        name = str(sqlalchemy.make_url(url).database)
        self.run(_EMPTY, name)
        self._unused.append(name)

    def _prepare(self) -> None:
        from zibaldone.storage import postgres
        from zibaldone.storage.opening import open_database

        compiled = {"compiled_cache": Compilations()}
        postgres.create_engine = partial(sqlalchemy.create_engine, execution_options=compiled)  # type: ignore[attr-defined]
        self.run(f"CREATE DATABASE {_TEMPLATE} OWNER {ROLE}")
        open_database(self.url(_TEMPLATE), busy_timeout_s=30).close()
