"""The tables as they are now. How a folder gets there is in migrations.py; a test compares the two.

Every primary key begins with `user`, so that a hash-sharded database can distribute it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Index, MetaData, Table, func, literal_column, text

from zibaldone.storage.columns import CheckedBigInteger as BigInteger
from zibaldone.storage.columns import CheckedBytes as LargeBinary
from zibaldone.storage.columns import CheckedInteger as Integer
from zibaldone.storage.columns import CheckedText as Text
from zibaldone.storage.columns import SealedBytes, SealedText


def _index_of(name: str, *columns: str, where: str) -> Index:
    """A partial index: of the rows for which `where` holds."""
    return Index(name, *columns, sqlite_where=text(where))  # and in PostgreSQL: see storage/postgres


metadata = MetaData()


def _key(name: str, kind: Any) -> Column[Any]:
    """A column of the primary key."""
    return Column(name, kind, primary_key=True, autoincrement=False)


def _user_table(name: str, *columns: Column[Any] | Index) -> Table:
    """A table whose primary key begins with the user."""
    return Table(name, metadata, _key("user", Text), *columns)


def _build_table(name: str, *columns: Column[Any] | Index) -> Table:
    """A table of one view, whose primary key begins with the user and the build's number."""
    return _user_table(name, _key("generation", BigInteger), *columns)


SERVING_ROLES = "serving_roles"  # a table of PostgreSQL alone, which serving roles cannot read

migrations = Table(
    "migrations",
    metadata,
    _key("number", Integer),
    Column("name", Text, nullable=False),
    Column("applied_us", BigInteger, nullable=False),  # microseconds since 1970, UTC
)

users = _user_table(
    "users",
    Column("next_seq", BigInteger, nullable=False),  # never goes back: a forgotten seq is not reused
    Column("version", BigInteger, nullable=False),  # rises with every change of this user's rows
    Column("deletions", BigInteger, nullable=False),  # the version of the last change that removed rows
    # 1: something changed since a worker found that no view has anything to do; see backlog.py
    Column("behind", Integer, nullable=False, server_default=text("1")),
    _index_of("users_behind", "user", where="behind = 1"),
)

maintained_views = Table(  # views that workers maintain: `users.behind` is cleared once all of them are done
    "maintained_views",
    metadata,
    _key("view", Text),
    Column("seen_us", BigInteger, nullable=False),  # when a worker said so last, microseconds since 1970
)

messages = _user_table(
    "messages",
    _key("seq", BigInteger),
    Column("id", SealedText(findable=True), nullable=False),
    Column("session", SealedText(findable=True), nullable=False),
    Column("role", Text, nullable=False),
    Column("name", SealedText(findable=True)),
    Column("content", SealedText(), nullable=False),
    Column("time_us", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("utc_offset_s", Integer, nullable=False),  # of the clock that the caller gave the time in
    Column("metadata", SealedText()),  # JSON; NULL for an empty object
    Index("messages_by_id", "user", "id", unique=True),
    Index("messages_by_session", "user", "session", "seq"),
    Index("messages_by_time", "user", "time_us"),
    _index_of("messages_of_editors", "user", "seq", where="role = 'editor'"),
    Index("messages_by_length", "user", func.length(literal_column("content"))),
)

forgotten_ids = _user_table(  # ids of forgotten messages: an import does not store them again
    "forgotten_ids",
    _key("digest", Text),  # of the message's id, which may be made from what it says
)

forgettings = _user_table(  # forgetting in steps: nobody else reads the user's rows until it is finished
    "forgettings",
    Column("seqs", Text, nullable=False),  # of the messages: "1-5 8-8"
)

message_files = _user_table(  # bytes of messages' attachments, if they are kept
    "message_files",
    _key("seq", BigInteger),
    _key("place", Integer),  # in the metadata's "attachments"
    Column("data", SealedBytes(), nullable=False),
)

view_states = _user_table(
    "view_states",
    _key("view", Text),
    _key("generation", BigInteger),
    Column("fingerprint", Text, nullable=False),  # digest of all that the build depends on besides the log
    Column("cursor", BigInteger, nullable=False),  # every message up to this seq has been read
    Column("serving", Integer, nullable=False),  # 1: recall reads this generation; 0: it is being built
    Column("standing", Text, nullable=False, server_default=""),  # "beside" or "kept": neither of the two
    Column("chosen_over", Text),  # the fingerprint whose generation it took the place of by a person's choice
    Column("chat", Text, nullable=False, server_default=""),  # the chat model of a rebuild; "" for none
)

units = _user_table(
    "units",
    _key("view", Text),
    _key("generation", BigInteger),
    _key("seq", BigInteger),  # of the message that the unit belongs to
    _key("part", Integer),  # 0, 1 ... on the same message
    Column("kind", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("text", SealedText()),  # NULL: the message's content[start:end]
    Column("tokens", Integer, nullable=False),  # of the rendered line
    Column("days", SealedText(), nullable=False),  # that the text names: "first-last" ordinals
    Column("vector", SealedBytes(), nullable=False),  # (d,) float16, unit length or zero
)

unit_sources = _user_table(  # further messages that a unit was made from
    "unit_sources",
    _key("view", Text),
    _key("generation", BigInteger),
    _key("seq", BigInteger),
    _key("part", Integer),
    _key("source", BigInteger),
    Index("unit_sources_by_source", "user", "view", "generation", "source"),
)

model_usage = _user_table(
    "model_usage",
    _key("day", Text),  # "2024-03-01", UTC
    _key("view", Text),
    _key("task", Text),
    Column("calls", BigInteger, nullable=False),  # requests sent, retries and repairs included
    Column("degraded", BigInteger, nullable=False),  # answers that were given offline instead
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("ms", BigInteger, nullable=False),  # waited for the model
)

chunks = _build_table(
    "chunks",
    _key("chunk", BigInteger),  # rises by one per generation
    Column("namespace", SealedText(findable=True), nullable=False),  # the session; "" for all of the user's
    Column("version", Integer, nullable=False),  # rises with every rewriting of the chunk
    Column("last_seq", BigInteger, nullable=False),  # of the message that closed the gate
    Column("items", Integer, nullable=False),  # 0: all of it was superseded
    Column("raw_tokens", Integer, nullable=False),  # before compression
    Column("tokens", Integer, nullable=False),  # of the items, rendered
    Column("first_us", BigInteger, nullable=False),  # the items' time span, microseconds since 1970
    Column("last_us", BigInteger, nullable=False),
    Column("summary", SealedText(), nullable=False),
    Column("keywords", SealedText(), nullable=False),  # JSON: list of strings, weightiest first
    Column("entities", SealedText(), nullable=False),  # JSON: list of strings
    Column("vectors", SealedBytes(), nullable=False),  # (s, d) float16, one per quarter of the chunk
    Column("made_by", Text, nullable=False),  # the model and its prompts' hashes; "offline"
    # Why offline answers stand in for the model's; "" when none do. It may quote the model, who saw messages.
    Column("degraded", SealedText(), nullable=False),
)

chunk_sources = _build_table(
    "chunk_sources",
    _key("seq", BigInteger),
    _key("chunk", BigInteger),
)

chunk_history = _build_table(
    "chunk_history",
    _key("number", BigInteger),  # rises by one per generation
    Column("chunk", BigInteger, nullable=False),  # where the item was
    Column("item", SealedText(), nullable=False),  # JSON: the item as it was
    Column("reason", Text, nullable=False),  # "superseded", "duplicate" ...
    Column("by_sources", Text, nullable=False),  # JSON: seqs of the messages that took its place
)

records = _user_table(
    "records",
    _key("view", Text),
    _key("generation", BigInteger),
    _key("id", BigInteger),
    Column("namespace", SealedText(findable=True), nullable=False),
    Column("time_us", BigInteger, nullable=False),  # records of a block stand in this order
    Column("bytes", BigInteger, nullable=False),  # of the data
    Column("data", SealedBytes(findable=True)),  # while it waits to be put into a block; NULL afterwards
    Column("block", Text),  # NULL while it waits
    Column("slot", Integer),
    Index("records_by_block", "user", "block"),
)

blocks = _user_table(
    "blocks",
    _key("block", Text),
    Column("view", Text, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("namespace", SealedText(findable=True), nullable=False),
    Column("records", Integer, nullable=False),  # written into it
    Column("invalid", Integer, nullable=False),  # of those, moved away or deleted since
    Column("bytes", BigInteger, nullable=False),  # of the whole block
    Column("released", Integer, nullable=False),  # 1: nothing points to it; the file is to be deleted
    _index_of("blocks_released", "user", where="released = 1"),
)

kv_pools = _build_table(
    "kv_pools",
    Column("fingerprint", Text, nullable=False),
    Column("layout", Text, nullable=False),  # JSON: what the bytes of its blocks mean, also where no model is
    Column("blocks", BigInteger, nullable=False),  # made so far: the next one gets the next number
)

kv_blocks = _build_table(
    "kv_blocks",
    _key("block", BigInteger),  # from 1
    Column("session", Text, nullable=False),
    Column("segment", BigInteger, nullable=False),  # of the session, from 0: encoding starts afresh in each
    Column("position", BigInteger, nullable=False),  # of its first token in the segment
    Column("tokens", Integer, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("runs", Text, nullable=False),  # JSON: [[seq, tokens] ...], whose tokens these are
    Column("token_ids", LargeBinary, nullable=False),  # (tokens,) int32: it can be encoded again from these
    Column("time_us", BigInteger, nullable=False),  # of its first message
    Column("crc", BigInteger),  # of its keys and values; NULL: these and its boxes are to be made (again)
    Column("boxes", LargeBinary),  # the bounding boxes of its keys, of the kept layers
    Index("kv_blocks_by_seq", "user", "generation", "last_seq"),
    Index("kv_blocks_by_segment", "user", "generation", "session", "segment"),
)

hierarchy_states = _build_table(
    "hierarchy_states",
    Column("next_episode", BigInteger, nullable=False),  # ids that are given next: none is given twice
    Column("next_semantic", BigInteger, nullable=False),
    Column("next_unit", BigInteger, nullable=False),  # the part of the next statement
    Column("embedder", Text, nullable=False),  # its name and dimension
)

hierarchy_episodes = _build_table(  # their texts are units, under the same number
    "hierarchy_episodes",
    _key("episode", BigInteger),
    Column("seq", BigInteger, nullable=False),  # of its first message
    Column("start_us", BigInteger, nullable=False),  # microseconds since 1970
    Column("end_us", BigInteger, nullable=False),
    Column("made_by", Text, nullable=False),  # the model's name; "" when no model was asked
    # Why offline answers stand in for the model's; "" when none do. It may quote the model, who saw messages.
    Column("degraded", SealedText(), nullable=False),
)

hierarchy_semantics = _build_table(
    "hierarchy_semantics",
    _key("semantic", BigInteger),
    Column("episode", BigInteger, nullable=False),
    Column("theme", BigInteger, nullable=False),  # 0: none yet
    Column("time_us", BigInteger, nullable=False),  # of its first statement's message
    Index("hierarchy_semantics_by_episode", "user", "generation", "episode"),
)

hierarchy_statements = _build_table(  # which units a semantic consists of
    "hierarchy_statements",
    _key("semantic", BigInteger),
    _key("place", Integer),  # 0: what the semantic is known by
    Column("seq", BigInteger, nullable=False),
    Column("part", BigInteger, nullable=False),
)

hierarchy_themes = _build_table(
    "hierarchy_themes",
    _key("theme", BigInteger),
    Column("name", SealedText(), nullable=False),
    Column("made_by", Text, nullable=False),  # of the name: a model's; "" when none was asked
)

topic_states = _build_table(
    "topic_states",
    Column("next_id", BigInteger, nullable=False),  # of the document made next: none is given twice
    Column("opened_us", BigInteger),  # time of the message of CURRENT's first entry; NULL when it is empty
    Column("digest", Text, nullable=False),  # of all documents: who goes on from others is stale
    _index_of("topic_states_opened", "user", where="opened_us IS NOT NULL"),
)

topic_documents = _build_table(
    "topic_documents",
    _key("document", Text),  # "topic-0001" ..., or CURRENT
    Column("summary", SealedText(), nullable=False),
    Column("token_count", BigInteger, nullable=False),
    Column("created_time", Text, nullable=False),  # as it is printed; "" when not known
    Column("update_log", SealedText(), nullable=False),  # JSON: [{event, time, ...} ...]
    Column("aux", SealedText(), nullable=False),  # JSON
    Column("body", SealedText(), nullable=False),  # Markdown
)

topic_parts = _build_table(
    "topic_parts",
    _key("entry", SealedText(findable=True)),  # digest of a merged entry's sources and text
    Column("sources", Text, nullable=False),  # JSON: seqs
    Column("text", SealedText(), nullable=False),
    Column("parts", SealedText(), nullable=False),  # JSON: lines of the entries that it stands for
)

notes = _build_table(  # beside the units of the notes, by the same keys
    "notes",
    _key("seq", BigInteger),  # of the unit,
    _key("part", Integer),  # and its part
    Column("made_by", Text, nullable=False),  # "stated", "hand" or "<model>/<hash of the prompt>"
    Column("clause_seq", BigInteger),  # content[clause_start:clause_end] of that message says it
    Column("clause_start", Integer, nullable=False),
    Column("clause_end", Integer, nullable=False),
    Column("ended_by", BigInteger),  # seq of the message by which it holds no more; NULL: it holds
    Column("ended_part", Integer, nullable=False),  # of the note there that took its place; -1: none
    Column("instead_start", Integer, nullable=False),  # the words there that took its place
    Column("instead_end", Integer, nullable=False),
    Column("rule", Text, nullable=False),  # who said so, as `made_by`; "" while it holds
)

notes_unread = _build_table(  # messages that a model is still to read for notes
    "notes_unread",
    _key("seq", BigInteger),
    Column("tokens", Integer, nullable=False),
)

sealing = Table(  # the key store of sealed words: at most one row
    "sealing",
    metadata,
    _key("id", Text),  # of the keys that do
    Column("place", Text, nullable=False),  # where they were when the memory was begun, for people
)

user_keys = _user_table(  # numbers of users' keys; the keys are in the key store
    "user_keys",
    Column("number", Text, nullable=False),  # of the key
    Column("state", Integer, nullable=False),  # 1: it is being destroyed, and seals no more
    _index_of("user_keys_condemned", "user", where="state = 1"),
)

stored_objects = Table(  # blocks of chunks and saved indexes, where the database has no folder for files
    "stored_objects",
    metadata,
    _key("owner", Text),  # a digest of the user's name, with which the name begins
    _key("kind", Text),  # "block", "index"
    _key("name", Text),
    _key("part", Integer),
    Column("data", LargeBinary, nullable=False),
    Column("made_us", BigInteger, nullable=False),  # microseconds since 1970
)

bucket = Table(  # the bucket of blocks and saved indexes: at most one row
    "bucket",
    metadata,
    _key("id", Text),  # of this memory: the keys of its objects begin with it
    Column("url", Text, nullable=False),  # s3://bucket/prefix?endpoint=...; nothing of it is secret
    Column("moving", Integer, nullable=False, server_default=text("0")),  # always: not used any more
)

saved_indexes = _user_table(  # one row per object, wherever the objects are stored
    "saved_indexes",
    _key("key", Text),  # of the object
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),  # "written" now, "current", or "released": to be deleted
    Column("since_us", BigInteger, nullable=False),  # microseconds since 1970
    Column("bytes", BigInteger, nullable=False),
    Column("header", SealedBytes(), nullable=False),  # its first bytes, up to the arrays
    _index_of("saved_indexes_to_sweep", "user", "since_us", where="state <> 'current'"),
)

leases = _user_table(  # users that a worker is maintaining, so that no other takes them
    "leases",
    Column("holder", Text, nullable=False),  # "" if no worker has it
    Column("until_us", BigInteger, nullable=False),  # microseconds since 1970; then anybody may take them
)

exports = _user_table(  # exported files: forgetting does not reach them, but verifying reads them
    "exports",
    _key("path", Text),  # of a file or a folder
    Column("time_us", BigInteger, nullable=False),  # of the last one, microseconds since 1970
)

retention = _user_table(  # policies of users who have their own
    "retention",
    Column("policy", SealedText(), nullable=False),  # JSON: rules
    Column("set_us", BigInteger, nullable=False),  # microseconds since 1970
)

grants = _user_table(  # what users may read beside their own; written on behalf of all users alone
    "grants",
    _key("scope", Text),  # the user whose memory is shared
    Column("write", Integer, nullable=False),  # 1: they may write into it, too
    Column("since_us", BigInteger, nullable=False),  # microseconds since 1970
)

audit = Table(  # operations on memory, without any text
    "audit",
    metadata,
    _key("user", Text),  # whose memory
    _key("number", BigInteger),  # rises by one per user
    Column("time_us", BigInteger, nullable=False),  # microseconds since 1970
    Column("action", Text, nullable=False),  # "read", "write", "forget"
    Column("operation", Text, nullable=False),
    Column("door", Text, nullable=False),
    Column("key", Text),  # the id of the server's key; NULL: none was needed
    Column("amount", BigInteger, nullable=False),  # of messages, or of whatever the operation gives
    Index("audit_by_time", "user", "time_us"),
)

server_keys = Table(  # looked up before the user is known
    "server_keys",
    metadata,
    _key("id", Text),
    Column("digest", Text, nullable=False),  # SHA-256 of the secret, in hexadecimal
    Column("user", Text),  # NULL: an admin's key
    Column("agent", Text),  # NULL: all of the user's messages
    Column("read_only", Integer, nullable=False),
    Column("created_us", BigInteger, nullable=False),  # microseconds since 1970
    Column("used_us", BigInteger),  # not used any more
    Column("revoked_us", BigInteger),  # NULL: it opens
    Column("memory_mode", Text),  # of the gateway; NULL: as the server says
)
