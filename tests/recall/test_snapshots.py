"""What a snapshot tells of a user: read in one statement, it is what its parts are when asked for alone."""

import pytest
from sqlalchemy import event

from zibaldone import log
from zibaldone.engine import generations


def both(memory, user, view):
    """A snapshot's state and generation, the same asked for alone, and how many statements it took."""
    statements = []

    def note(_connection, _cursor, statement, *_):
        if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            statements.append(statement)

    named = memory._wiring.named([view])[0]
    event.listen(memory._database._engine, "before_cursor_execute", note)
    try:
        with generations.snapshots(memory._database, user, named)() as now:
            taken = now.state, now.generation
    finally:
        event.remove(memory._database._engine, "before_cursor_execute", note)
    with memory._database.read(user) as connection:
        alone = log.state(connection, user), generations.serving(connection, user, named)
    return taken, alone, len(statements)


def test_of_a_user_whom_the_view_has_read(memory):
    """The counters and the generation that serves, of this user and this view alone."""
    memory.add(["I moved to Lisbon.", "I play the bassoon."], user="ann")
    memory.add("Another's.", user="bea")
    memory.maintain()
    for view in ("messages", "notes"):
        taken, alone, statements = both(memory, "ann", view)
        assert taken == alone
        assert taken[0].last_seq == 2
        assert taken[1].cursor == 2
        assert statements == 1


@pytest.mark.parametrize("beside", [False, True])
def test_while_a_build_is_not_done_yet(memory, beside):
    """One that is being built serves nobody, whether it is to serve when it is done or to wait."""
    memory.add("I moved to Lisbon.", user="ann")
    chunks = memory._wiring.named(["chunks"])[0]
    with memory._database.write("ann") as connection:
        generations.start(connection, "ann", chunks, serving=False, beside=beside)
    taken, alone, _ = both(memory, "ann", "chunks")
    assert taken == alone
    assert taken[1] is None
