"""The wall in PostgreSQL between users, against SQL that the serving role was made to run."""

from __future__ import annotations

from contextlib import closing, contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from zibaldone import InvalidInput, Memory, StorageUnusable
from zibaldone.server.keys import KeyStore
from zibaldone.storage import schema
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder

pytestmark = pytest.mark.wide

KEY = "0123456789abcdef" * 4
ROLE = "serving"


@pytest.fixture
def role(postgres):
    """A role that owns nothing, and has no rights of its own."""
    if not postgres.run(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
        postgres.run(f"CREATE ROLE {ROLE} LOGIN")
    return ROLE


@pytest.fixture
def owner(url):
    """The memory as its tables' owner opens it."""
    database = open_database(url, busy_timeout_s=5, wall_key=KEY)
    yield database
    database.close()


@pytest.fixture
def served_url(url, owner, role):
    """The memory's address for a role that was admitted."""
    owner.admit(role)
    return url.replace("zibaldone@", f"{role}@")


@pytest.fixture
def served(served_url):
    """The memory as the serving role opens it, with a row of each of two users."""
    database = open_database(served_url, busy_timeout_s=5, wall_key=KEY)
    for user in ("ann", "bea"):
        with database.write(user) as connection:
            connection.execute(schema.users.insert().values(user=user, next_seq=1, version=1, deletions=1))
    yield database
    database.close()


def tried(connection, statement):
    """Run what may be refused; the transaction goes on either way."""
    connection.exec_driver_sql("SAVEPOINT tried")
    try:
        done = connection.exec_driver_sql(statement)
        return done.all() if done.returns_rows else []
    except DBAPIError:
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT tried")
        return None


def shown(connection):
    """Whose rows are; nobody's where it is refused to say."""
    return {user for (user,) in tried(connection, 'SELECT "user" FROM public.users') or ()}


@contextmanager
def set_to(connection, **settings):
    """The settings of the transaction as injected SQL would have them."""
    for name, value in settings.items():
        connection.execute(text(f"SELECT set_config('zibaldone.{name}', :value, true)"), {"value": value})
    yield


def proof(connection):
    """What the transaction proves with, and in which process of the server."""
    query = "SELECT current_setting('zibaldone.proof'), pg_backend_pid()"
    return tuple(connection.execute(text(query)).one())


@pytest.mark.parametrize(
    "attack",
    [
        "SELECT set_config('zibaldone.user', 'bea', true)",
        "SELECT set_config('zibaldone.everybody', 'on', true)",
        "SELECT set_config('zibaldone.user', '', true)",
        "SET zibaldone.user = 'bea'",
        "SET LOCAL zibaldone.proof = ''; SET LOCAL zibaldone.user = 'bea'",
        "SET ROLE zibaldone",
        "SET SESSION AUTHORIZATION zibaldone",
        "RESET SESSION AUTHORIZATION; RESET ROLE",
        "SET LOCAL row_security = off",
        "SET LOCAL search_path = pg_temp, public, pg_catalog",
        "ALTER TABLE users DISABLE ROW LEVEL SECURITY",
        "DROP POLICY zibaldone_proven_rows ON users",
        "CREATE POLICY mine ON users USING (true)",
        "CREATE OR REPLACE FUNCTION zibaldone_meant() RETURNS text LANGUAGE sql AS $$ SELECT '' $$",
        "DROP FUNCTION zibaldone_meant() CASCADE",
        "CREATE FUNCTION leak(text) RETURNS bool COST 0.0001 LANGUAGE sql AS $$ SELECT true $$",
        "CREATE FUNCTION pg_temp.current_setting(text, bool) RETURNS text LANGUAGE sql AS $$ SELECT 'on' $$",
        "CREATE TEMPORARY TABLE serving_roles (role name, inner_pad bytea, outer_pad bytea)",
        "CREATE SCHEMA serving",
        "UPDATE serving_roles SET inner_pad = '', outer_pad = ''",
        "INSERT INTO serving_roles VALUES ('serving', '', '')",
    ],
)
def test_injected_sql_sees_nobody_else(served, attack):
    """Whatever it sets, replaces or makes in a transaction, the next statement shows no other's row."""
    with served.write("ann") as connection:
        tried(connection, attack)
        assert shown(connection) <= {"ann"}
        with set_to(connection, user="bea"):
            assert shown(connection) == set()
    with served.read("bea") as connection:
        assert shown(connection) == {"bea"}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM serving_roles",
        "COPY serving_roles TO STDOUT",
        "TRUNCATE users",
        "INSERT INTO server_keys VALUES ('k', 'd', 'bea', NULL, 0, 0, NULL, NULL)",
        "INSERT INTO users VALUES ('cid', 1, 1, 1, 1)",
        """INSERT INTO grants ("user", scope, write, since_us) VALUES ('ann', 'bea', 1, 0)""",
        "INSERT INTO bucket VALUES ('b', 's3://elsewhere', 0)",
        "CREATE TABLE mine (of text REFERENCES users)",
    ],
)
def test_what_a_serving_role_may_not(served, statement):
    """It reads no key of the wall, gives out no key of the server, and writes nobody else's rows."""
    with served.write("ann") as connection:
        assert tried(connection, statement) is None


def test_what_belongs_to_nobody_is_not_one_user_s_to_see(served, served_url, monkeypatch):
    """Keys of the server are hidden from a transaction that means a user, and there for the server."""
    monkeypatch.setenv("ZIBALDONE_WALL_KEY", KEY)
    keys = KeyStore(served_url)
    made = keys.create(user="bea")
    with served.write("ann") as connection:
        assert tried(connection, "SELECT * FROM server_keys") == []
    assert keys.authenticate(made.token).user == "bea"
    keys.close()


def test_a_user_s_transaction_reads_its_own_grants_and_changes_none(served_url, monkeypatch):
    """So that SQL injected there opens no memory, nor keeps one open; the server gives, takes and recalls."""
    monkeypatch.setenv("ZIBALDONE_WALL_KEY", KEY)
    with Memory.from_env(served_url) as memory:
        memory.add("The design review is on Thursday.", user="team")
        for user in ("ann", "bea"):
            memory.admin.grant("team", user=user)
        with memory._database.write("ann") as connection:
            for change in (
                "DELETE FROM grants",
                "UPDATE grants SET write = 1",
                "UPDATE grants SET scope = 'bea'",
            ):
                tried(connection, change)
            assert tried(connection, 'SELECT "user", scope, write FROM grants') == [("ann", "team", 0)]
        with memory._database.write("team") as connection:
            assert tried(connection, "SELECT * FROM grants") == []
        assert "Thursday" in memory.recall("When is the design review?", user="ann").text
        memory.admin.revoke("team", user="ann")
        assert not memory.recall("When is the design review?", user="ann")
        memory.forget(user="bea", everything=True)
        assert memory.admin.grants() == []


def test_a_proof_is_good_for_one_transaction_and_one_user(served):
    """Repeated later in the same session, with its own user or another's, it shows nothing."""
    with served.read("bea") as connection:
        hers, process = proof(connection)
    with served.read() as connection:
        everybody_s, _ = proof(connection)
    with served.write("ann") as connection:
        mine, same_process = proof(connection)
        assert same_process == process
        for given in (hers, everybody_s, mine):
            with set_to(connection, user="bea", proof=given):
                assert shown(connection) == set()
            with set_to(connection, user="", everybody="on", proof=given):
                assert shown(connection) == set()
            connection.execute(text("SELECT set_config('zibaldone.everybody', 'off', true)"))
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN")
        with set_to(connection, user="ann", proof=mine):
            assert shown(connection) == set()


def test_a_statement_that_was_left_behind_is_not_run(served):
    """Who plants a prepared statement in a session plants it for nobody: the next takes another session."""
    with served.write("ann") as connection:
        _, process = proof(connection)
        connection.exec_driver_sql('PREPARE _pg3_0 AS SELECT "user" FROM users')
    with served.read("bea") as connection:
        assert proof(connection)[1] != process


def test_a_memory_is_served_as_ever(served_url, monkeypatch):
    """Adding, recalling, maintaining, checking and forgetting with proof as without a wall."""
    monkeypatch.setenv("ZIBALDONE_WALL_KEY", KEY)
    with Memory.from_env(served_url, embedder=HashEmbedder(16)) as memory:
        for user in ("ann", "o'b\\ %s \0"):
            memory.add("The tulip of Ghent is red.", user=user)
        memory.maintain()
        assert "tulip" in memory.recall("tulip of Ghent", user="o'b\\ %s \0", min_confidence=0).text
        assert memory.admin.check().ok
        receipt = memory.forget(user="ann", everything=True, keep_texts=True)
        assert memory.admin.verify(receipt).ok
        assert memory.messages(user="ann") == []


@pytest.mark.parametrize("key", [None, "another" * 8])
def test_without_the_key_nothing_opens(served_url, key):
    """The error names the variable and the command."""
    with pytest.raises(StorageUnusable, match=r"ZIBALDONE_WALL_KEY .* 'zibaldone admin wall serving'"):
        open_database(served_url, busy_timeout_s=5, wall_key=key)


def test_the_owner_needs_no_proof(url, served):
    """One role for everything works as before: its wall is the word of its own transactions."""
    with closing(open_database(url, busy_timeout_s=5)) as owner, owner.read("bea") as connection:
        assert shown(connection) == {"bea"}
        with set_to(connection, user="ann"):
            assert shown(connection) == {"ann"}


@pytest.mark.parametrize(
    ("grant", "way"),
    [
        ("GRANT TEMPORARY ON DATABASE {database} TO serving", "temporary tables"),
        ("GRANT CREATE ON SCHEMA public TO serving", "objects in the schema"),
        ("GRANT SELECT ON serving_roles TO serving", "the wall's keys"),
    ],
)
def test_a_role_with_a_way_round_is_refused(postgres, served_url, grant, way):
    """The error says what it could do, and the memory does not open."""
    database = served_url.rpartition("@/")[2].partition("?")[0]
    postgres.run(grant.format(database=database), database)
    with pytest.raises(StorageUnusable, match=f"get round the wall.*{way}"):
        open_database(served_url, busy_timeout_s=5, wall_key=KEY)


def test_who_cannot_be_admitted(owner, url):
    """No superuser, nobody who is not there, and nobody without a key worth the name."""
    with pytest.raises(StorageUnusable, match="superuser"):
        owner.admit("postgres")
    with pytest.raises(InvalidInput, match="CREATE ROLE nobody_here"):
        owner.admit("nobody_here")
    with pytest.raises(InvalidInput, match="32 random characters"):
        open_database(url, busy_timeout_s=5, wall_key="short")
    with closing(open_database(url, busy_timeout_s=5)) as keyless, pytest.raises(InvalidInput, match="a key"):
        keyless.admit(ROLE)


def test_another_key_takes_the_first_one_s_place(url, owner, served_url, role):
    """Admitted again, a role needs the new key."""
    other = "z" * 40
    again = open_database(url, busy_timeout_s=5, wall_key=other)
    again.admit(role)
    again.close()
    open_database(served_url, busy_timeout_s=5, wall_key=other).close()
    with pytest.raises(StorageUnusable, match="proves nothing"):
        open_database(served_url, busy_timeout_s=5, wall_key=KEY)


def test_what_is_mended_is_granted_too(postgres, url, served_url):
    """Where the owner puts up a wall, the roles that serve may use what is behind it."""
    name = url.rpartition("@/")[2].partition("?")[0]
    postgres.run("REVOKE ALL ON units FROM serving; ALTER TABLE units DISABLE ROW LEVEL SECURITY", name)
    open_database(url, busy_timeout_s=5).close()
    database = open_database(served_url, busy_timeout_s=5, wall_key=KEY)
    with database.read("ann") as connection:
        assert connection.execute(schema.units.select()).all() == []
    database.close()
