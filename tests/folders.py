"""New folders and compiled statements for tests, which open thousands of memories in one process."""

from __future__ import annotations

import shutil
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Engine, create_engine

from zibaldone.storage import sqlite
from zibaldone.storage.columns import SEALS
from zibaldone.storage.folder_layout import FILE
from zibaldone.storage.opening import open_database


class Compilations(dict[Hashable, Any]):
    """SQLAlchemy's compiled statements, for all engines: their dialects are the same, but for seals."""

    def get(self, key: Any, default: Any = None) -> Any:
        """Whichever engine compiled it."""
        return super().get(_of_any(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_of_any(key), compiled)


def _of_any(key: Any) -> Hashable:
    return getattr(key[0], SEALS, None), *key[1:]


class Template:
    """A folder of today's schema, copied where a database would be made, as making it takes long."""

    def __init__(self, folder: Path) -> None:
        self._compilations = Compilations()
        self._file = folder / FILE
        open_database(folder, busy_timeout_s=30).close()
        sqlite.create_engine = self._create_engine  # type: ignore[attr-defined]

    def _create_engine(self, url: sqlalchemy.URL, **options: Any) -> Engine:
        file = Path(str(url.database))
        if not file.exists() and file.name == FILE:
            shutil.copyfile(self._file, file)
        return create_engine(url, execution_options={"compiled_cache": self._compilations}, **options)
