"""Numbered migrations: plain functions, one transaction each, each with its own record.

To change the schema, append a function here and change schema.py; never edit an old one. The SQL is the
part that SQLite and PostgreSQL share; a byte string's type name is the one difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import Connection, inspect, select, text

from zibaldone.errors import NewerSchema, StorageUnusable
from zibaldone.storage.schema import migrations as record

Migration = Callable[[Connection], None]


def log_and_messages_view(connection: Connection) -> None:
    """The log, the views' cursors and the units of the messages view."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        """CREATE TABLE users (
            "user" TEXT NOT NULL PRIMARY KEY, next_seq BIGINT NOT NULL, version BIGINT NOT NULL,
            deletions BIGINT NOT NULL)""",
        """CREATE TABLE messages (
            "user" TEXT NOT NULL, seq BIGINT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL,
            role TEXT NOT NULL, name TEXT, content TEXT NOT NULL, time_us BIGINT NOT NULL,
            utc_offset_s INTEGER NOT NULL, metadata TEXT, PRIMARY KEY ("user", seq))""",
        'CREATE UNIQUE INDEX messages_by_id ON messages ("user", id)',
        'CREATE INDEX messages_by_session ON messages ("user", session, seq)',
        'CREATE INDEX messages_by_time ON messages ("user", time_us)',
        """CREATE TABLE view_states (
            "user" TEXT NOT NULL, view TEXT NOT NULL, generation BIGINT NOT NULL, fingerprint TEXT NOT NULL,
            cursor BIGINT NOT NULL, serving INTEGER NOT NULL, PRIMARY KEY ("user", view, generation))""",
        f"""CREATE TABLE message_units (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, part INTEGER NOT NULL,
            start INTEGER NOT NULL, "end" INTEGER NOT NULL, tokens INTEGER NOT NULL, days TEXT NOT NULL,
            vector {byte_string} NOT NULL, PRIMARY KEY ("user", generation, seq, part))""",
    ):
        connection.execute(text(statement))


def chunks_records_and_usage(connection: Connection) -> None:
    """The chunks view, records in blocks, and what models were used for."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        """CREATE TABLE model_usage (
            "user" TEXT NOT NULL, day TEXT NOT NULL, "view" TEXT NOT NULL, task TEXT NOT NULL,
            calls BIGINT NOT NULL, degraded BIGINT NOT NULL, prompt_tokens BIGINT NOT NULL,
            completion_tokens BIGINT NOT NULL, ms BIGINT NOT NULL,
            PRIMARY KEY ("user", day, "view", task))""",
        f"""CREATE TABLE chunks (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, chunk BIGINT NOT NULL, namespace TEXT NOT NULL,
            version INTEGER NOT NULL, last_seq BIGINT NOT NULL, items INTEGER NOT NULL,
            raw_tokens INTEGER NOT NULL, tokens INTEGER NOT NULL, first_us BIGINT NOT NULL,
            last_us BIGINT NOT NULL, summary TEXT NOT NULL, keywords TEXT NOT NULL, entities TEXT NOT NULL,
            vectors {byte_string} NOT NULL, made_by TEXT NOT NULL, degraded TEXT NOT NULL,
            PRIMARY KEY ("user", generation, chunk))""",
        """CREATE TABLE chunk_sources (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, chunk BIGINT NOT NULL,
            PRIMARY KEY ("user", generation, seq, chunk))""",
        """CREATE TABLE chunk_history (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, number BIGINT NOT NULL, chunk BIGINT NOT NULL,
            item TEXT NOT NULL, reason TEXT NOT NULL, by_sources TEXT NOT NULL,
            PRIMARY KEY ("user", generation, number))""",
        """CREATE TABLE chunk_namespaces (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, namespace TEXT NOT NULL,
            compacted_to BIGINT NOT NULL, PRIMARY KEY ("user", generation, namespace))""",
        f"""CREATE TABLE records (
            "user" TEXT NOT NULL, "view" TEXT NOT NULL, generation BIGINT NOT NULL, id BIGINT NOT NULL,
            namespace TEXT NOT NULL, time_us BIGINT NOT NULL, bytes BIGINT NOT NULL, data {byte_string},
            block TEXT, slot INTEGER, PRIMARY KEY ("user", "view", generation, id))""",
        'CREATE INDEX records_by_block ON records ("user", block)',
        """CREATE TABLE blocks (
            "user" TEXT NOT NULL, block TEXT NOT NULL, "view" TEXT NOT NULL, generation BIGINT NOT NULL,
            namespace TEXT NOT NULL, records INTEGER NOT NULL, invalid INTEGER NOT NULL,
            bytes BIGINT NOT NULL, released INTEGER NOT NULL, PRIMARY KEY ("user", block))""",
        """CREATE TABLE record_pairs (
            "user" TEXT NOT NULL, "view" TEXT NOT NULL, generation BIGINT NOT NULL, first BIGINT NOT NULL,
            second BIGINT NOT NULL, times BIGINT NOT NULL,
            PRIMARY KEY ("user", "view", generation, first, second))""",
    ):
        connection.execute(text(statement))


def kv_pool(connection: Connection) -> None:
    """The kv view's manifest."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        """CREATE TABLE kv_pools (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, fingerprint TEXT NOT NULL, layout TEXT NOT NULL,
            blocks BIGINT NOT NULL, PRIMARY KEY ("user", generation))""",
        f"""CREATE TABLE kv_blocks (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, block BIGINT NOT NULL, session TEXT NOT NULL,
            segment BIGINT NOT NULL, position BIGINT NOT NULL, tokens INTEGER NOT NULL,
            first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL, runs TEXT NOT NULL,
            token_ids {byte_string} NOT NULL, time_us BIGINT NOT NULL, boxes_crc BIGINT, slot BIGINT,
            crc BIGINT, used_us BIGINT NOT NULL, PRIMARY KEY ("user", generation, block))""",
        'CREATE INDEX kv_blocks_by_seq ON kv_blocks ("user", generation, last_seq)',
        'CREATE INDEX kv_blocks_by_segment ON kv_blocks ("user", generation, session, segment)',
        """CREATE TABLE kv_attended (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, attended BIGINT NOT NULL,
            PRIMARY KEY ("user", generation, seq, attended))""",
        """CREATE TABLE kv_erasures (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, kind TEXT NOT NULL, place BIGINT NOT NULL,
            PRIMARY KEY ("user", generation, kind, place))""",
    ):
        connection.execute(text(statement))


def hierarchy(connection: Connection) -> None:
    """Episodes, semantics, themes."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    key = '"user" TEXT NOT NULL, generation BIGINT NOT NULL'
    for statement in (
        f"""CREATE TABLE hierarchy_states (
            {key}, next_episode BIGINT NOT NULL, next_semantic BIGINT NOT NULL, next_theme BIGINT NOT NULL,
            embedder TEXT NOT NULL, PRIMARY KEY ("user", generation))""",
        f"""CREATE TABLE hierarchy_episodes (
            {key}, episode BIGINT NOT NULL, session TEXT NOT NULL, title TEXT NOT NULL,
            narrative TEXT NOT NULL, start_us BIGINT NOT NULL, end_us BIGINT NOT NULL,
            vector {byte_string} NOT NULL, made_by TEXT NOT NULL, degraded TEXT NOT NULL,
            PRIMARY KEY ("user", generation, episode))""",
        f"""CREATE TABLE hierarchy_messages (
            {key}, seq BIGINT NOT NULL, episode BIGINT NOT NULL, PRIMARY KEY ("user", generation, seq))""",
        'CREATE INDEX hierarchy_messages_by_episode ON hierarchy_messages ("user", generation, episode)',
        f"""CREATE TABLE hierarchy_semantics (
            {key}, semantic BIGINT NOT NULL, episode BIGINT NOT NULL, theme BIGINT NOT NULL,
            time_us BIGINT NOT NULL, reassigned INTEGER NOT NULL, neighbours {byte_string} NOT NULL,
            PRIMARY KEY ("user", generation, semantic))""",
        'CREATE INDEX hierarchy_semantics_by_episode ON hierarchy_semantics ("user", generation, episode)',
        f"""CREATE TABLE hierarchy_statements (
            {key}, semantic BIGINT NOT NULL, place INTEGER NOT NULL, seq BIGINT NOT NULL, text TEXT NOT NULL,
            verbatim TEXT NOT NULL, vector {byte_string} NOT NULL,
            PRIMARY KEY ("user", generation, semantic, place))""",
        'CREATE INDEX hierarchy_statements_by_seq ON hierarchy_statements ("user", generation, seq)',
        f"""CREATE TABLE hierarchy_themes (
            {key}, theme BIGINT NOT NULL, name TEXT NOT NULL, made_by TEXT NOT NULL,
            neighbours {byte_string} NOT NULL, PRIMARY KEY ("user", generation, theme))""",
        """CREATE TABLE hierarchy_thresholds (
            embedder TEXT NOT NULL, thresholds TEXT NOT NULL, PRIMARY KEY (embedder))""",
    ):
        connection.execute(text(statement))


def topics(connection: Connection) -> None:
    """Topic documents."""
    key = '"user" TEXT NOT NULL, generation BIGINT NOT NULL'
    for statement in (
        f"""CREATE TABLE topic_states (
            {key}, next_id BIGINT NOT NULL, opened_us BIGINT, digest TEXT NOT NULL,
            PRIMARY KEY ("user", generation))""",
        f"""CREATE TABLE topic_documents (
            {key}, document TEXT NOT NULL, summary TEXT NOT NULL, token_count BIGINT NOT NULL,
            created_time TEXT NOT NULL, update_log TEXT NOT NULL, aux TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY ("user", generation, document))""",
        f"""CREATE TABLE topic_parts (
            {key}, entry TEXT NOT NULL, sources TEXT NOT NULL, text TEXT NOT NULL, parts TEXT NOT NULL,
            PRIMARY KEY ("user", generation, entry))""",
    ):
        connection.execute(text(statement))


def units_of_all_views(connection: Connection) -> None:
    """One table of units for all views; those of the messages view move into it."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    key = '"user" TEXT NOT NULL, "view" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL'
    for statement in (
        f"""CREATE TABLE units (
            {key}, part INTEGER NOT NULL, kind TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            text TEXT, tokens INTEGER NOT NULL, days TEXT NOT NULL, vector {byte_string} NOT NULL,
            PRIMARY KEY ("user", "view", generation, seq, part))""",
        f"""CREATE TABLE unit_sources (
            {key}, part INTEGER NOT NULL, source BIGINT NOT NULL,
            PRIMARY KEY ("user", "view", generation, seq, part, source))""",
        'CREATE INDEX unit_sources_by_source ON unit_sources ("user", "view", generation, source)',
        """INSERT INTO units
            SELECT m."user", 'messages', m.generation, m.seq, m.part,
                CASE WHEN EXISTS (SELECT 1 FROM message_units AS second WHERE second."user" = m."user"
                    AND second.generation = m.generation AND second.seq = m.seq AND second.part = 1)
                THEN 'passage' ELSE 'message' END,
                m.start, m."end", NULL, m.tokens, m.days, m.vector
            FROM message_units AS m""",
        "DROP TABLE message_units",
    ):
        connection.execute(text(statement))


def units_of_the_hierarchy(connection: Connection) -> None:
    """Statements and episodes are units from now on: the hierarchy is made anew from the log."""
    key = '"user" TEXT NOT NULL, generation BIGINT NOT NULL'
    for statement in (
        "DELETE FROM view_states WHERE view = 'hierarchy'",
        "DELETE FROM hierarchy_semantics",
        "DELETE FROM hierarchy_themes",
        "DROP TABLE hierarchy_messages",
        "DROP TABLE hierarchy_states",
        "DROP TABLE hierarchy_episodes",
        "DROP TABLE hierarchy_statements",
        f"""CREATE TABLE hierarchy_states (
            {key}, next_episode BIGINT NOT NULL, next_semantic BIGINT NOT NULL, next_theme BIGINT NOT NULL,
            next_unit BIGINT NOT NULL, embedder TEXT NOT NULL, PRIMARY KEY ("user", generation))""",
        f"""CREATE TABLE hierarchy_episodes (
            {key}, episode BIGINT NOT NULL, seq BIGINT NOT NULL, start_us BIGINT NOT NULL,
            end_us BIGINT NOT NULL, made_by TEXT NOT NULL, degraded TEXT NOT NULL,
            PRIMARY KEY ("user", generation, episode))""",
        f"""CREATE TABLE hierarchy_statements (
            {key}, semantic BIGINT NOT NULL, place INTEGER NOT NULL, seq BIGINT NOT NULL,
            part BIGINT NOT NULL, PRIMARY KEY ("user", generation, semantic, place))""",
    ):
        connection.execute(text(statement))


def links_of_updates(connection: Connection) -> None:
    """Which sentence took the place of which."""
    without_rowid = "" if connection.dialect.name == "postgresql" else " WITHOUT ROWID"
    key = '"user" TEXT NOT NULL, generation BIGINT NOT NULL'
    for statement in (
        f"""CREATE TABLE update_words (
            {key}, word BIGINT NOT NULL, seq BIGINT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
            PRIMARY KEY ("user", generation, word, seq, start)){without_rowid}""",
        f"""CREATE TABLE update_links (
            {key}, new_seq BIGINT NOT NULL, new_start INTEGER NOT NULL, new_end INTEGER NOT NULL,
            old_seq BIGINT NOT NULL, old_start INTEGER NOT NULL, old_end INTEGER NOT NULL, rule TEXT NOT NULL,
            PRIMARY KEY ("user", generation, new_seq, new_start, old_seq, old_start))""",
        'CREATE INDEX update_links_by_old ON update_links ("user", generation, old_seq)',
    ):
        connection.execute(text(statement))


def keys_of_the_server(connection: Connection) -> None:
    """Who may use the server."""
    connection.execute(
        text(
            """CREATE TABLE server_keys (
            id TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL, "user" TEXT, agent TEXT,
            read_only INTEGER NOT NULL, created_us BIGINT NOT NULL, used_us BIGINT, revoked_us BIGINT)"""
        )
    )


def files_and_editors(connection: Connection) -> None:
    """Bytes of attachments; and editors' messages are found without reading all the others."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        f"""CREATE TABLE message_files (
            "user" TEXT NOT NULL, seq BIGINT NOT NULL, place INTEGER NOT NULL, data {byte_string} NOT NULL,
            PRIMARY KEY ("user", seq, place))""",
        """CREATE INDEX messages_of_editors ON messages ("user", seq) WHERE role = 'editor'""",
    ):
        connection.execute(text(statement))


def notes_of_the_profile(connection: Connection) -> None:
    """Who made an entry, and what a model says that it is about."""
    connection.execute(
        text(
            """CREATE TABLE profile_notes (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, part BIGINT NOT NULL,
            topic TEXT NOT NULL, made_by TEXT NOT NULL, PRIMARY KEY ("user", generation, seq, part))"""
        )
    )


def messages_by_length(connection: Connection) -> None:
    """Messages that say just this are found without reading what all the others say."""
    connection.execute(text('CREATE INDEX messages_by_length ON messages ("user", length(content))'))


def ids_of_forgotten_messages(connection: Connection) -> None:
    """Digests of the ids of messages that were forgotten: an import does not bring them back."""
    connection.execute(
        text(
            """CREATE TABLE forgotten_ids (
            "user" TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY ("user", digest))"""
        )
    )


def themes_in_batches(connection: Connection) -> None:
    """Themes are put together anew, without a graph; episodes and semantics stay as they are.

    Less is measured of an embedder than before, and a build does not depend on how themes are made.
    """
    digests = {"before": "/eb5462f96c28", "now": "/af41c54f526d"}  # of the sample and its quantiles
    for statement in (
        "ALTER TABLE hierarchy_semantics DROP COLUMN reassigned",
        "ALTER TABLE hierarchy_semantics DROP COLUMN neighbours",
        "ALTER TABLE hierarchy_themes DROP COLUMN neighbours",
        "DELETE FROM hierarchy_thresholds",
        "ALTER TABLE hierarchy_states RENAME TO hierarchy_states_before",
        """CREATE TABLE hierarchy_states (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, next_episode BIGINT NOT NULL,
            next_semantic BIGINT NOT NULL, next_unit BIGINT NOT NULL, embedder TEXT NOT NULL,
            grouped BIGINT NOT NULL, theme_cap BIGINT NOT NULL, PRIMARY KEY ("user", generation))""",
        """INSERT INTO hierarchy_states SELECT "user", generation, next_episode, next_semantic, next_unit,
            replace(embedder, :before, :now), 0, 0 FROM hierarchy_states_before""",
        "DROP TABLE hierarchy_states_before",
    ):
        connection.execute(text(statement), digests if ":now" in statement else {})
    built = text("SELECT DISTINCT fingerprint FROM view_states WHERE view = 'hierarchy'")
    for before in connection.execute(built).scalars().all():
        if not before.startswith("4/theme_cap="):
            continue  # of an earlier version: made anew
        embedder = before.split("/", 2)[2].replace(digests["before"], digests["now"])
        renamed = (
            "UPDATE view_states SET fingerprint = :now WHERE view = 'hierarchy' AND fingerprint = :before"
        )
        connection.execute(text(renamed), {"before": before, "now": f"4/{embedder}"})


def exports_of_users(connection: Connection) -> None:
    """Where exports were written to."""
    connection.execute(
        text(
            """CREATE TABLE exports (
            "user" TEXT NOT NULL, path TEXT NOT NULL, time_us BIGINT NOT NULL, PRIMARY KEY ("user", path))"""
        )
    )


def retention_of_users(connection: Connection) -> None:
    """What goes by itself."""
    connection.execute(
        text(
            """CREATE TABLE retention (
            "user" TEXT NOT NULL PRIMARY KEY, policy TEXT NOT NULL, set_us BIGINT NOT NULL)"""
        )
    )


def audit_log(connection: Connection) -> None:
    """Who read, wrote and forgot."""
    for statement in (
        """CREATE TABLE audit (
            "user" TEXT NOT NULL, number BIGINT NOT NULL, time_us BIGINT NOT NULL, action TEXT NOT NULL,
            operation TEXT NOT NULL, door TEXT NOT NULL, "key" TEXT, amount BIGINT NOT NULL,
            PRIMARY KEY ("user", number))""",
        'CREATE INDEX audit_by_time ON audit ("user", time_us)',
    ):
        connection.execute(text(statement))


def builds_beside(connection: Connection) -> None:
    """A generation may stand beside the one that serves, and is kept when it served before."""
    for column in ("standing TEXT NOT NULL DEFAULT ''", "chosen_over TEXT", "chat TEXT NOT NULL DEFAULT ''"):
        connection.execute(text(f"ALTER TABLE view_states ADD COLUMN {column}"))


def a_fleet(connection: Connection) -> None:
    """What machines that share a database keep in it; and who maintains whom."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        f"""CREATE TABLE saved_files (
            "user" TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, data {byte_string} NOT NULL,
            PRIMARY KEY ("user", name, part))""",
        f"""CREATE TABLE stored_blocks (
            owner TEXT NOT NULL, "key" TEXT NOT NULL, data {byte_string} NOT NULL, made_us BIGINT NOT NULL,
            PRIMARY KEY (owner, "key"))""",
        """CREATE TABLE leases (
            "user" TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, until_us BIGINT NOT NULL)""",
    ):
        connection.execute(text(statement))


def a_bucket(connection: Connection) -> None:
    """Blocks and saved indexes may be objects of a bucket."""
    byte_string = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        "CREATE TABLE bucket (id TEXT NOT NULL PRIMARY KEY, url TEXT NOT NULL)",
        f"""CREATE TABLE saved_objects (
            "user" TEXT NOT NULL, "key" TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
            since_us BIGINT NOT NULL, bytes BIGINT NOT NULL, header {byte_string} NOT NULL,
            PRIMARY KEY ("user", "key"))""",
        """CREATE INDEX saved_objects_to_sweep ON saved_objects ("user", since_us)
            WHERE state <> 'current'""",
    ):
        connection.execute(text(statement))


def tuned_weights(connection: Connection) -> None:
    """Weights of the ranker that were fitted on a user's own log."""
    for statement in (
        """CREATE TABLE tunings (
            "user" TEXT NOT NULL PRIMARY KEY, fingerprint TEXT NOT NULL, tuning TEXT NOT NULL)""",
        """CREATE TABLE tuning_sources (
            "user" TEXT NOT NULL, source BIGINT NOT NULL, PRIMARY KEY ("user", source))""",
    ):
        connection.execute(text(statement))


def marks_of_work(connection: Connection) -> None:
    """Who may have something to be maintained is marked: at first everybody."""
    for statement in (
        "ALTER TABLE users ADD COLUMN behind INTEGER NOT NULL DEFAULT 1",
        'CREATE INDEX users_behind ON users ("user") WHERE behind = 1',
        'CREATE TABLE maintained_views ("view" TEXT NOT NULL PRIMARY KEY, seen_us BIGINT NOT NULL)',
        'CREATE INDEX blocks_released ON blocks ("user") WHERE released = 1',
        'CREATE INDEX topic_states_opened ON topic_states ("user") WHERE opened_us IS NOT NULL',
        """CREATE INDEX hierarchy_themes_unnamed ON hierarchy_themes ("user") WHERE made_by = ''""",
    ):
        connection.execute(text(statement))


def moves_to_a_bucket(connection: Connection) -> None:
    """A bucket may be named to which blocks are only being copied."""
    connection.execute(text("ALTER TABLE bucket ADD COLUMN moving INTEGER NOT NULL DEFAULT 0"))


def readings_of_the_profile(connection: Connection) -> None:
    """What an entry was read as is noted beside it, so that a process need not read it again."""
    connection.execute(text("ALTER TABLE profile_notes ADD COLUMN reading TEXT"))


def keys_of_users(connection: Connection) -> None:
    """Words may be sealed by keys of their users."""
    for statement in (
        "CREATE TABLE sealing (id TEXT NOT NULL PRIMARY KEY, place TEXT NOT NULL)",
        """CREATE TABLE user_keys (
            "user" TEXT NOT NULL PRIMARY KEY, number TEXT NOT NULL, state INTEGER NOT NULL)""",
        'CREATE INDEX user_keys_condemned ON user_keys ("user") WHERE state = 1',
    ):
        connection.execute(text(statement))


def proofs_of_serving_roles(connection: Connection) -> None:
    """In PostgreSQL: by which keys roles that do not own the tables prove whose rows they mean."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text(
                "CREATE TABLE serving_roles"
                " (role NAME NOT NULL PRIMARY KEY, inner_pad BYTEA NOT NULL, outer_pad BYTEA NOT NULL)"
            )
        )


def forgetting_in_steps(connection: Connection) -> None:
    """What of a user is being forgotten."""
    connection.execute(
        text('CREATE TABLE forgettings ("user" TEXT NOT NULL PRIMARY KEY, seqs TEXT NOT NULL)')
    )


def chunks_alone(connection: Connection) -> None:
    """How often records were read together is not counted; how far chunks go, they say themselves."""
    for table in ("record_pairs", "chunk_namespaces"):
        connection.execute(text(f"DROP TABLE {table}"))


def notes_in_place_of_three_views(connection: Connection) -> None:
    """Notes take the place of profile, timeline and updates, whose rows are made anew from the log."""
    for statement in (
        """CREATE TABLE notes (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, part INTEGER NOT NULL,
            made_by TEXT NOT NULL,
            clause_seq BIGINT, clause_start INTEGER NOT NULL, clause_end INTEGER NOT NULL,
            ended_by BIGINT, ended_part INTEGER NOT NULL,
            instead_start INTEGER NOT NULL, instead_end INTEGER NOT NULL, rule TEXT NOT NULL,
            PRIMARY KEY ("user", generation, seq, part))""",
        """CREATE TABLE notes_unread (
            "user" TEXT NOT NULL, generation BIGINT NOT NULL, seq BIGINT NOT NULL, tokens INTEGER NOT NULL,
            PRIMARY KEY ("user", generation, seq))""",
        "DROP TABLE update_words",
        "DROP TABLE update_links",
        "DROP TABLE profile_notes",
        "DELETE FROM unit_sources WHERE \"view\" IN ('profile', 'timeline')",
        "DELETE FROM units WHERE \"view\" IN ('profile', 'timeline')",
        "DELETE FROM view_states WHERE \"view\" IN ('profile', 'timeline', 'updates')",
        "DELETE FROM maintained_views WHERE \"view\" IN ('profile', 'timeline', 'updates')",
        "UPDATE users SET behind = 1",
    ):
        connection.execute(text(statement))


MIGRATIONS: tuple[Migration, ...] = (
    log_and_messages_view,
    chunks_records_and_usage,
    kv_pool,
    hierarchy,
    topics,
    units_of_all_views,
    units_of_the_hierarchy,
    links_of_updates,
    keys_of_the_server,
    files_and_editors,
    notes_of_the_profile,
    messages_by_length,
    ids_of_forgotten_messages,
    themes_in_batches,
    exports_of_users,
    retention_of_users,
    audit_log,
    builds_beside,
    a_fleet,
    a_bucket,
    tuned_weights,
    marks_of_work,
    moves_to_a_bucket,
    readings_of_the_profile,
    keys_of_users,
    proofs_of_serving_roles,
    forgetting_in_steps,
    chunks_alone,
    notes_in_place_of_three_views,
)
OURS = frozenset({"migrations", "users", "messages", "view_states"})  # by these we know our own database


def migrate(
    write: Callable[[], AbstractContextManager[Connection]], migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the database to the newest schema, in one transaction; several processes may try at once.

    Raises NewerSchema when the database knows more migrations than this version does, and
    StorageUnusable when it holds tables that are not ours.
    """
    with write() as connection:
        number = _applied(connection)
        if number > len(migrations):
            raise NewerSchema(
                f"this folder has schema {number}, this version of zibaldone knows up to"
                f" {len(migrations)}: upgrade with pip install -U zibaldone"
            )
        for place, migration in enumerate(migrations[number:], number + 1):
            migration(connection)
            now_us = time.time_ns() // 1000
            connection.execute(
                record.insert().values(number=place, name=migration.__name__, applied_us=now_us)
            )


def _applied(connection: Connection) -> int:
    """How many migrations the database has; makes the record in an empty database."""
    tables = inspect(connection).get_table_names()
    if not tables:
        record.create(connection)
        return 0
    if not OURS.issubset(tables):
        raise StorageUnusable(
            f"the database holds tables that are not zibaldone's ({', '.join(sorted(tables)[:3])}):"
            " choose another folder"
        )
    numbers = connection.execute(select(record.c.number).order_by(record.c.number)).scalars().all()
    return max(numbers, default=0)
