"""The tables as they are now. How a folder gets there is in migrations.py; a test compares the two.

Every primary key begins with `user`, so that a hash-sharded database can distribute it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

migrations = Table(
    "migrations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("applied_us", BigInteger, nullable=False),  # microseconds since 1970, UTC
)

users = Table(
    "users",
    metadata,
    Column("user", Text, primary_key=True),
    Column("next_seq", BigInteger, nullable=False),  # never goes back: a forgotten seq is not reused
    Column("version", BigInteger, nullable=False),  # rises with every change of this user's rows
    Column("deletions", BigInteger, nullable=False),  # the version of the last change that removed rows
)

messages = Table(
    "messages",
    metadata,
    Column("user", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text),
    Column("content", Text, nullable=False),
    Column("time_us", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("utc_offset_s", Integer, nullable=False),  # of the clock that the caller gave the time in
    Column("metadata", Text),  # JSON; NULL for an empty object
    Index("messages_by_id", "user", "id", unique=True),
    Index("messages_by_session", "user", "session", "seq"),
    Index("messages_by_time", "user", "time_us"),
)

view_states = Table(
    "view_states",
    metadata,
    Column("user", Text, primary_key=True),
    Column("view", Text, primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("fingerprint", Text, nullable=False),  # what the output depends on besides the log
    Column("cursor", BigInteger, nullable=False),  # every message up to this seq has been read
    Column("serving", Integer, nullable=False),  # 1: recall reads this generation; 0: it is being built
)

message_units = Table(
    "message_units",
    metadata,
    Column("user", Text, primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),  # 0, 1 ... inside the message
    Column("start", Integer, nullable=False),  # content[start:end] is the unit
    Column("end", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),  # of the rendered line
    Column("days", Text, nullable=False),  # days that the text names: "first-last" ordinals, space-separated
    Column("vector", LargeBinary, nullable=False),  # (d,) float16, unit length or zero
)
