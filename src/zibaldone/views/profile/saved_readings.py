"""What the grammar reads in a user's entries, in a file beside the indexes.

To read hundreds of entries again takes longer than a recall may take, and whoever opens a memory would begin
with that. A file is of one state of the code; see `index_files` for what else it says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from zibaldone import log, text
from zibaldone.log import UserState
from zibaldone.search.saved import SavedIndex
from zibaldone.storage.database import Database
from zibaldone.views import index_files, units
from zibaldone.views.base import Generation
from zibaldone.views.profile.clauses import Reading
from zibaldone.views.profile.entries import ReadUnit

_VIEW = "profile"
_KEYS, _READINGS = "keys", "readings"


def opened(connection: Connection, generation: Generation, state: UserState) -> dict[units.Key, Reading]:
    """Readings by unit, of the first messages; none where there is no file, or one of other code."""
    there = index_files.opened(connection, generation.user, _state(generation, state))
    if there is None:
        return {}
    saved, _ = there
    keys = [(int(seq), int(part)) for seq, part in saved[_KEYS].tolist()]
    return dict(zip(keys, map(_reading, saved.texts(_READINGS)), strict=True))


def is_due(connection: Connection, generation: Generation, state: UserState) -> bool:
    """Whether much was read since a file was written."""
    saved_to = index_files.saved_to(connection, generation.user, _state(generation, state))
    return index_files.is_outgrown(saved_to, generation.cursor)


def save(
    database: Database, generation: Generation, state: UserState, known: Mapping[units.Key, ReadUnit]
) -> None:
    """Write what was read of all messages up to the generation's cursor, as of that state of the user."""
    user = generation.user
    with database.read(user) as connection:
        last = log.fetch(connection, user, [generation.cursor]).get(generation.cursor)
    if last is None or last.id is None:
        return
    saved = SavedIndex()
    keys = sorted(known)
    saved[_KEYS] = np.array(keys, dtype=np.int64).reshape(-1, 2)
    saved.put_texts(_READINGS, [_written(known[key].reading) for key in keys])
    index_files.save(database, user, _state(generation, state), saved, generation.cursor, last.id)


def _state(generation: Generation, state: UserState) -> index_files.IndexState:
    return index_files.state_of(_VIEW, generation, "", state, code=_code())


def _written(reading: Reading) -> str:
    parts = (reading.kind, reading.topic, reading.subject, sorted(reading.value), sorted(reading.areas))
    return json.dumps(parts, ensure_ascii=False)


def _reading(written: str) -> Reading:
    kind, topic, subject, value, areas = json.loads(written)
    return Reading(kind, topic, subject, frozenset(value), frozenset(areas))


@cache
def _code() -> str:
    """A digest of all that says what is read in a sentence."""
    folders = (Path(__file__).parent, Path(str(text.__file__)).parent)
    return index_files.digest_of(sorted(path for folder in folders for path in folder.glob("*.py")))
