"""An answer that is remembered: its turns' keys go into the pool behind the caller's back (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from commonplace import log, maintenance
from commonplace.core import Message
from commonplace.storage.database import Database
from commonplace.views.base import Generation
from commonplace.views.kv.encoding import Encoder, cut
from commonplace.views.kv.generation import Context, finish
from commonplace.views.kv.tap import Raw
from commonplace.views.kv.turns import question_of, tokens_of
from commonplace.views.kv.view import KVView

Keys = Callable[[], Sequence[tuple[Raw, Sequence[int]]]]


def keys_of(
    encoder: Encoder, context: Context, raw: Raw, answer: Sequence[int], query: str, now: datetime
) -> Keys:
    """(keys, token ids) of a question and its answer, made when called from what was caught."""
    question = question_of(encoder.tokenizer, encoder.form, query, now)
    ids = (*question.ids, *answer, *tokens_of(encoder.tokenizer, encoder.form.answer_end))
    middle = len(question.asked)

    def finished() -> Sequence[tuple[Raw, Sequence[int]]]:
        whole = finish(encoder, context, raw, ids, len(question.ids) + len(answer))
        return [(cut(whole, 0, middle), ids[:middle]), (cut(whole, middle), ids[middle:])]

    return finished


def keep(
    view: KVView,
    database: Database,
    user: str,
    stored: Sequence[Message],
    keys: Keys,
    attended: Sequence[int],
    deletions: int,
) -> None:
    """A turn's keys into the pool, unless others wrote or forgot meanwhile: then it is encoded later.

    `attended` are the messages that were in sight, `deletions` the log's count when they were.
    """
    with view.model_lock:
        turns = [(message, raw, ids) for message, (raw, ids) in zip(stored, keys(), strict=True)]
        with database.read() as connection:
            generation = maintenance.serving(connection, user, view)
            if not _goes_on(view, connection, user, generation, stored, deletions):
                return
            pool = view.pool(connection, generation)
            prepared = view.continued(connection, pool, stored[0].session, turns, attended)
    with database.write() as connection:
        generation = maintenance.serving(connection, user, view)
        if _goes_on(view, connection, user, generation, stored, deletions):
            maintenance.commit_new(connection, user, view, stored, prepared)
            log.touch(connection, user)


def _goes_on(
    view: KVView,
    connection: Connection,
    user: str,
    generation: Generation | None,
    stored: Sequence[Message],
    deletions: int,
) -> bool:
    """Whether these messages are the next that the view has to read, and nothing was deleted since."""
    cursor = generation.cursor if generation else 0
    ours = generation is None or generation.fingerprint == view.fingerprint
    same = log.state(connection, user).deletions == deletions
    return ours and same and cursor == stored[0].seq - 1
