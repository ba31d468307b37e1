"""`zibaldone retention`: what goes by itself, and what fades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.completing import sessions_of
from zibaldone.cli.input import MYSELF, AsJson, Folder, Roles, User, confirmed, memory_of, whole_session
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.log.retention import Retention, RetentionRule


def retention(
    *,
    days: Annotated[
        float | None,
        typer.Option("--days", help="Add a rule: what is older goes."),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            "-s",
            help="Of this session alone: its name, or how that begins.",
            autocompletion=sessions_of,
        ),
    ] = None,
    roles: Roles = None,
    decay: Annotated[
        float | None,
        typer.Option("--decay", help="What is so many days old counts 1/e."),
    ] = None,
    forget_below: Annotated[
        float | None,
        typer.Option("--forget-below", help="What counts less than this goes (0 to 1)."),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Take back the rule of these --days, --session and --role.")
    ] = False,
    off: Annotated[bool, typer.Option("--off", help="Keep everything from now on.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing: show what would go now.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Show or set what goes by itself in the next maintenance, and how old words fade."""
    from zibaldone.log.retention import Retention, RetentionRule

    if (session or roles or drop) and days is None:
        raise InvalidInput("--session, --role and --drop say which rule it is: give --days, too")
    with memory_of(memory, user) as opened:
        now_set = opened.user(user).retention()
        wanted = Retention() if off else now_set
        if days is not None:
            named = session if drop else whole_session(opened, user, session)
            rule = RetentionRule(days, named, tuple(roles or ()))
            wanted = replace(wanted, rules=_without(wanted.rules, rule) if drop else (*wanted.rules, rule))
        if decay is not None or forget_below is not None:
            kept = wanted.decay_days if decay is None else decay
            wanted = replace(wanted, decay_days=kept, forget_below=forget_below)
        if dry_run:
            receipts = opened.admin.apply_retention(user=user, policy=wanted, dry_run=True)
        elif wanted != now_set:
            if not (yes or set(wanted.deleting) <= set(now_set.deleting)):
                for receipt in opened.admin.apply_retention(user=user, policy=wanted, dry_run=True):
                    if not confirmed(f"the next maintenance {out.receipt_summary(receipt)}"):
                        raise typer.Exit(NOTHING_FOUND)
            opened.user(user).retain(wanted)
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


def _without(rules: Sequence[RetentionRule], rule: RetentionRule) -> tuple[RetentionRule, ...]:
    if rule not in rules:
        raise InvalidInput("no such rule: 'zibaldone retention' shows those that there are")
    return tuple(other for other in rules if other != rule)


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
