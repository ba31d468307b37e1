"""Commands that forget, now or by a rule, and look whether what was forgotten is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.input import confirmed, likely, open_memory
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.cli.showing import receipt_summary, verification_lines
from zibaldone.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory
    from zibaldone.engine.forgetting import Receipt
    from zibaldone.log.retention import Retention, RetentionRule


@runs("forget")
def forget(call: CliCall) -> None:
    """Remove messages and all that was made from them, for good; or verify that they are gone."""
    given = call.given
    selects = any(given[name] for name in (*call.operation.one_of, "person"))
    if given["verify"] is not None:
        if selects or given["shred"] or given["dry_run"] or given["receipt"]:
            raise InvalidInput(
                "--verify looks, and forgets nothing: only --text, --also and --seal go with it"
            )
        _verify(call)
        return
    if given["texts"] or given["also"] or given["seal"]:
        raise InvalidInput("--text, --also and --seal say how to verify: give --verify RECEIPT, too")
    if not selects:
        raise InvalidInput("say what to forget: --seq, --session, --person, --before or --all")
    kept_in = given["receipt"]
    with call.opened() as memory:
        if given["person"]:
            given["seqs"] = [*(given["seqs"] or ()), *_said_by(memory, call.whose, given["person"])]
        receipt = call.run(memory, dry_run=True, keep_texts=kept_in is not None)
        if not given["dry_run"] and receipt.messages:
            if not (given["yes"] or confirmed(receipt_summary(receipt))):
                raise typer.Exit(NOTHING_FOUND)
            if kept_in is not None:  # before: so the texts are not lost with a crash
                memory.admin.save_receipt(replace(receipt, dry_run=False), kept_in)
            receipt = call.run(memory, keep_texts=kept_in is not None)
            if kept_in is not None:
                memory.admin.save_receipt(receipt, kept_in)
                out.note(f"{kept_in} holds what was forgotten: verify with it, then --seal or delete it")
    call.answer(receipt, receipt_summary(receipt) if receipt.messages else None)
    if not receipt.messages:
        out.note(f"nothing found to forget for user {call.user!r}")
        raise typer.Exit(NOTHING_FOUND)


def _said_by(memory: Memory, user: str, person: str) -> list[int]:
    """Seqs of what somebody said under this name. Raises UnknownName."""
    named = [m for m in memory.messages(user=user, include_tool_traffic=True) if m.name]
    seqs = [message.seq for message in named if str(message.name).casefold() == person.casefold()]
    if not seqs:
        names = dict.fromkeys(str(message.name) for message in named)
        there = likely(person, [*names]) or out.some([*names], 5) if names else "messages have no names here"
        raise UnknownName(f"nobody is called {person!r}: {there}")
    return seqs


def _verify(call: CliCall) -> None:
    """Exit code 1 where anything is left."""
    from zibaldone.engine.verification.receipts import read_receipt, sealed

    path, seal = call.given["verify"], call.given["seal"]
    receipt = read_receipt(path)
    if seal and not receipt.texts:
        raise InvalidInput(f"{str(path)!r} has no text to take out, and stays as it is: leave --seal out")
    with open_memory(call.folder) as memory:
        verified = memory.admin.verify(
            receipt, texts=call.given["texts"] or (), also=call.given["also"] or ()
        )
        if seal and verified.ok:
            memory.admin.save_receipt(sealed(receipt), path, verified)
    call.answer({"ok": verified.ok, **out.fields_of(verified)}, "\n".join(verification_lines(verified)))
    if not verified.texts:
        out.note(
            "no text was looked for, only references: the receipt has none, and --text gave none", "yellow"
        )
    if not verified.ok:
        raise typer.Exit(NOTHING_FOUND)
    if seal:
        out.note(f"{path} has no text any more: it can be kept as evidence")


@runs("retention")
def retention(call: CliCall) -> None:
    from zibaldone.log.retention import Retention, RetentionRule

    given, user = call.given, call.whose
    days, drop, dry_run = given["days"], given["drop"], given["dry_run"]
    receipts: list[Receipt] = []  # of a dry run
    if (given["session"] or given["roles"] or drop) and days is None:
        raise InvalidInput("--session, --role and --drop say which rule it is: give --days, too")
    with call.opened() as memory:
        now_set = memory.user(user).retention()
        wanted = Retention() if given["off"] else now_set
        if days is not None:
            session = given["session"] if drop else call.options(memory)["session"]
            rule = RetentionRule(days, session, tuple(given["roles"] or ()))
            wanted = replace(wanted, rules=_without(wanted.rules, rule) if drop else (*wanted.rules, rule))
        if dry_run:
            receipts = memory.admin.apply_retention(user=user, policy=wanted, dry_run=True)
        elif wanted != now_set:
            if not (given["yes"] or set(wanted.rules) <= set(now_set.rules)):
                for receipt in memory.admin.apply_retention(user=user, policy=wanted, dry_run=True):
                    if not confirmed(f"the next maintenance {receipt_summary(receipt)}"):
                        raise typer.Exit(NOTHING_FOUND)
            memory.user(user).retain(wanted)
    shown = {"user": user, **out.fields_of(wanted)}
    if dry_run:
        shown["receipts"] = receipts
    call.answer(shown, "\n".join((*_lines(wanted), *map(receipt_summary, receipts))))
    if dry_run and not (receipts or call.as_json):
        out.note("nothing would go now")


def _without(rules: Sequence[RetentionRule], rule: RetentionRule) -> tuple[RetentionRule, ...]:
    if rule not in rules:
        raise InvalidInput("no such rule: 'zibaldone admin retention' shows those that there are")
    return tuple(other for other in rules if other != rule)


def _lines(wanted: Retention) -> list[str]:
    lines = [
        f"what is older than {rule.days:g} days goes"
        + (f", of session {rule.session!r}" if rule.session else "")
        + (f", of {' and '.join(rule.roles)}" if rule.roles else "")
        for rule in wanted.rules
    ]
    return lines or ["everything stays"]
