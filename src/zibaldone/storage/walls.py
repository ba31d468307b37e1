"""The wall between users in PostgreSQL: row level security, which asks a serving role whose rows it may mean.

A transaction names a user, or all users, in settings that any SQL may set. So a role that does not own the
tables also sets a proof: an HMAC of the server's process, the transaction's start time, and the name. The key
is in a table that the role cannot read, and a function of the owner checks the proof once a statement. A
proof that injected SQL could read or replay is valid only for the user and transaction that it already has.
The owner needs no proof, since it could disable row level security as well.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from psycopg.sql import Literal
from sqlalchemy import Connection, text

from zibaldone.errors import InvalidInput, StorageUnusable
from zibaldone.storage.columns import without_nul
from zibaldone.storage.schema import SERVING_ROLES, metadata, migrations

POLICY = "zibaldone_proven_rows"
_USER, _EVERYBODY, _PROOF = "zibaldone.user", "zibaldone.everybody", "zibaldone.proof"  # settings
_FUNCTION = "zibaldone_meant"
# A transaction that means one user has no business in the first two, and only reads the others.
_OF_NOBODY = ("server_keys", "stored_objects", "bucket", "sealing")
_READ_BY_ALL, _READING = _OF_NOBODY[2:], "zibaldone_read_by_all"
# One user's transaction reads its own grants and writes none: or SQL that is injected there could grant a
# memory, and the server would prove that one's name next.
_READ_BY_OWN = ("grants",)
_LEAST_KEY = 32  # characters

# What a proof is about besides the name; and whether a statement was left that might pass for one of ours.
TURN = (
    "SELECT pg_catalog.concat(pg_catalog.pg_backend_pid(), '/',"
    " EXTRACT(epoch FROM pg_catalog.transaction_timestamp())),"
    " EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql)"
)
# The user that the transaction means and may mean, '' for everybody; NULL for nobody.
_MEANT = f"""
CREATE OR REPLACE FUNCTION {{schema}}.{_FUNCTION}() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    meant text := CASE current_setting('{_EVERYBODY}', true) WHEN 'on' THEN ''
        ELSE nullif(current_setting('{_USER}', true), '') END;
    pads record;
BEGIN
    IF session_user = current_user THEN
        RETURN meant;
    END IF;
    SELECT inner_pad, outer_pad INTO pads FROM {{schema}}.{SERVING_ROLES} WHERE role = session_user;
    RETURN CASE current_setting('{_PROOF}', true)
        WHEN encode(sha256(pads.outer_pad || sha256(pads.inner_pad || convert_to(
            concat(pg_backend_pid(), '/', extract(epoch FROM transaction_timestamp()), '/', meant), 'UTF8'
        ))), 'hex') THEN meant END;
END $$"""  # noqa: S608 - our own names


def check_key(key: str | bytes | None) -> bytes | None:
    """Hash the wall key to 32 bytes. Raises InvalidInput for a short one."""
    if key is None:
        return None
    if len(key) < _LEAST_KEY:
        raise InvalidInput(
            f"ZIBALDONE_WALL_KEY needs {_LEAST_KEY} random characters at least: openssl rand -hex 32"
        )
    return sha256(key.encode() if isinstance(key, str) else key).digest()


def set_user_sql(user: str | None, key: bytes | None = None, turn: str = "") -> str:
    """SQL that sets the transaction's user (None: all users), with a proof if there is a key."""
    name = without_nul(user or "")
    settings = {_USER: Literal(name).as_string(None), _EVERYBODY: "'on'" if user is None else "'off'"}
    if key is not None:
        settings[_PROOF] = f"'{hmac.new(key, f'{turn}/{name}'.encode(), sha256).hexdigest()}'"
    calls = (f"pg_catalog.set_config('{setting}', {value}, true)" for setting, value in settings.items())
    return f"SELECT {', '.join(calls)}"


def secure_tables(connection: Connection) -> None:
    """Enable row level security on tables without it, and grant new tables to serving roles."""
    schema = _schema(connection)
    connection.exec_driver_sql(_MEANT.format(schema=schema))
    meant = f"(SELECT {schema}.{_FUNCTION}())"  # a subquery: asked once a statement, and not for every row
    for table in walled(connection, are=False):
        of_all = table in (*_OF_NOBODY, *_READ_BY_OWN)
        whose = f"{meant} = ''" if of_all else f"""{meant} = ANY (ARRAY["user", ''])"""
        for statement in (
            f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY',
            f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY',
            f'DROP POLICY IF EXISTS {POLICY} ON "{table}"',
            f'CREATE POLICY {POLICY} ON "{table}" USING ({whose})',
        ):
            connection.exec_driver_sql(statement)
        if table in (*_READ_BY_ALL, *_READ_BY_OWN):
            rows = "true" if table in _READ_BY_ALL else f'{meant} = "user"'
            connection.exec_driver_sql(f'DROP POLICY IF EXISTS {_READING} ON "{table}"')
            connection.exec_driver_sql(f'CREATE POLICY {_READING} ON "{table}" FOR SELECT USING ({rows})')
    for role in connection.execute(text(f"SELECT role FROM {SERVING_ROLES}")).scalars().all():  # noqa: S608
        _grant(connection, role)


def walled(connection: Connection, *, are: bool = True) -> list[str]:
    """Name our tables with row level security, or (`are=False`) without it."""
    query = text(
        "SELECT c.relname FROM pg_class c"
        " LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user'"
        " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
        " AND c.relname = ANY(:names) AND (a.attnotnull OR c.relname = ANY(:whole))"
        " AND (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (SELECT 1 FROM pg_policies p"
        " WHERE p.schemaname = current_schema() AND p.tablename = c.relname AND p.policyname = :policy))"
        " = :are ORDER BY 1"
    )
    given = {"names": list(metadata.tables), "whole": list(_OF_NOBODY), "policy": POLICY, "are": are}
    return list(connection.execute(query, given).scalars())


def admit(connection: Connection, role: str, key: bytes) -> None:
    """Admit a serving role, as the tables' owner: grant it the tables, and store its proof key.

    Raises InvalidInput for no such role, StorageUnusable for one that could get round the wall.
    """
    roles = text("SELECT 1 FROM pg_roles WHERE rolname = :role")
    if connection.execute(roles, {"role": role}).first() is None:
        raise InvalidInput(f"there is no role {role!r}: CREATE ROLE {role} LOGIN PASSWORD '...'")
    schema, quote = _schema(connection), connection.dialect.identifier_preparer.quote_identifier
    database = quote(str(connection.execute(text("SELECT current_database()")).scalar_one()))
    for statement in (
        f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC, {quote(role)}",
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {quote(role)}",
        f"REVOKE ALL ON {SERVING_ROLES} FROM PUBLIC, {quote(role)}",
        f"GRANT USAGE ON SCHEMA {schema} TO {quote(role)}",
    ):
        connection.exec_driver_sql(statement)
    _grant(connection, role)
    padded = key.ljust(64, b"\0")  # a block of SHA-256
    pads = [bytes(byte ^ pad for byte in padded) for pad in (0x36, 0x5C)]
    connection.execute(
        text(
            f"INSERT INTO {SERVING_ROLES} VALUES (:role, :inner_pad, :outer_pad) ON CONFLICT (role)"  # noqa: S608
            " DO UPDATE SET inner_pad = excluded.inner_pad, outer_pad = excluded.outer_pad"
        ),
        {"role": role, "inner_pad": pads[0], "outer_pad": pads[1]},
    )
    _refuse_ways_round(connection, role)


def check_role(connection: Connection) -> None:
    """Raise StorageUnusable if this serving role has no proof, or could bypass row level security."""
    role, is_owner, meant = connection.execute(
        text(
            f"SELECT session_user, session_user = pg_get_userbyid(proowner), {_FUNCTION}() FROM pg_proc"  # noqa: S608
            " WHERE proname = :name AND pronamespace = current_schema()::regnamespace"
        ),
        {"name": _FUNCTION},
    ).one()
    if is_owner:
        return
    if meant is None:
        raise StorageUnusable(
            f"the role {role!r} does not own the tables and proves nothing: set ZIBALDONE_WALL_KEY to the key"
            f" with which their owner ran 'zibaldone admin wall {role}'"
        )
    _refuse_ways_round(connection, role)


def _refuse_ways_round(connection: Connection, role: str) -> None:
    query = text(
        "SELECT has_database_privilege(:role, current_database(), 'TEMPORARY') AS temporary,"
        " has_schema_privilege(:role, current_schema(), 'CREATE') AS creating,"
        " pg_has_role(:role, tableowner, 'MEMBER')"
        " OR has_table_privilege(:role, :keys, 'SELECT, INSERT, UPDATE') AS owning"
        " FROM pg_tables WHERE schemaname = current_schema() AND tablename = :keys"
    )
    row = connection.execute(query, {"role": role, "keys": SERVING_ROLES}).one()
    ways = {
        "make temporary tables (REVOKE TEMPORARY ON DATABASE ... FROM PUBLIC)": row.temporary,
        "make objects in the schema (REVOKE CREATE ON SCHEMA ... FROM PUBLIC)": row.creating,
        "read the wall's keys (it must be no superuser, and no member of the owner)": row.owning,
    }
    if can := [way for way, is_open in ways.items() if is_open]:
        raise StorageUnusable(
            f"the role {role!r} could get round the wall between users: it can {'; '.join(can)}"
        )


def _grant(connection: Connection, role: str) -> None:
    """Grant reading and writing of our tables, but not TRUNCATE, which row level security does not stop."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    names = ", ".join(quote(name) for name in sorted(metadata.tables) if name != migrations.name)
    connection.exec_driver_sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {names} TO {quote(role)}")
    connection.exec_driver_sql(f"GRANT SELECT ON {migrations.name} TO {quote(role)}")


def _schema(connection: Connection) -> str:
    return str(connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one())
