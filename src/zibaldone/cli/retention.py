"""`zibaldone retention`: what goes by itself, and what fades."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, Roles, User, memory_of
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.retention import Retention


def retention(
    *,
    days: Annotated[
        float | None,
        typer.Option("--days", help="Add a rule: what is older goes.", show_default=False),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="Of this session alone.", show_default=False)
    ] = None,
    roles: Roles = None,
    decay: Annotated[
        float | None,
        typer.Option("--decay", help="What is so many days old counts 1/e.", show_default=False),
    ] = None,
    forget_below: Annotated[
        float | None,
        typer.Option("--forget-below", help="What counts less than this goes (0 to 1).", show_default=False),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep everything from now on.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing: show what would go now.")
    ] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show or set what goes by itself in the next maintenance, and how old words fade."""
    from zibaldone.retention import Retention, RetentionRule

    if (session or roles) and days is None:
        raise InvalidInput("--session and --role say of what a rule is: give --days, too")
    with memory_of(memory, user) as opened:
        wanted = Retention() if off else opened.retention(user=user)
        if days is not None:
            wanted = replace(wanted, rules=(*wanted.rules, RetentionRule(days, session, tuple(roles or ()))))
        if decay is not None or forget_below is not None:
            kept = wanted.decay_days if decay is None else decay
            wanted = replace(wanted, decay_days=kept, forget_below=forget_below)
        if dry_run:
            receipts = opened.apply_retention(user=user, policy=wanted, dry_run=True)
        elif wanted != opened.retention(user=user):
            opened.retain(wanted, user=user)
    if as_json:
        shown = {"user": user, **out.fields_of(wanted)}
        if dry_run:
            shown["receipts"] = [out.receipt_object(receipt) for receipt in receipts]
        out.write_json(shown)
        return
    for line in _lines(wanted):
        out.write(line)
    if dry_run:
        for receipt in receipts:
            out.write(out.receipt_summary(receipt))
        if not receipts:
            out.note("nothing would go now")


def _lines(wanted: Retention) -> list[str]:
    lines = [
        f"what is older than {rule.days:g} days goes"
        + (f", of session {rule.session!r}" if rule.session else "")
        + (f", of {' and '.join(rule.roles)}" if rule.roles else "")
        for rule in wanted.rules
    ]
    if wanted.decay_days is not None:
        below = wanted.forget_below
        gone = "nothing goes by it" if below is None else f"what counts less than {below:g} goes"
        lines.append(f"what is {wanted.decay_days:g} days old counts 1/e; {gone}")
    return lines or ["everything stays"]
