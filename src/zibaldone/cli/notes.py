"""Commands around a user's notes, and who may read them."""

from __future__ import annotations

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.input import open_memory


@runs("getProfile")
def notes(call: CliCall) -> None:
    with call.opened() as memory:
        entries = call.run(memory)
    shown = [entry for entry in entries if call.given["every"] or entry.holds]
    call.show(shown)
    if not shown:
        out.note("nothing yet: no message states a rule, an allergy, a preference or a fact as such")
    if not call.as_json and not any("/" in entry.made_by for entry in entries):
        from zibaldone.api.profile import NEEDS_A_MODEL

        out.note(NEEDS_A_MODEL)


@runs("pinProfileEntry")
def pin(call: CliCall) -> None:
    with call.opened() as memory:
        profile = memory.user(call.whose).profile
        done = (profile.unpin if call.given["undo"] else profile.pin)(call.given["entry"])
    call.show(done)


@runs("grant")
@runs("revoke")
def grant(call: CliCall) -> None:
    with open_memory(call.folder) as memory:  # of users who have nothing yet, too
        done = call.run(memory)
    call.show(done)
