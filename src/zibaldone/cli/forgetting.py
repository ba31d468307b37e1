"""The command that forgets, and looks whether what was forgotten is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, confirmed, memory_of, open_memory, whole_session
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput


def forget(
    *,
    seq: Annotated[
        list[int] | None,
        typer.Option("--seq", help="The message of this seq (repeatable)."),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="A whole session.")] = None,
    before: Annotated[str | None, typer.Option("--before", help="What happened before: ISO 8601.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of the user's memory.")] = False,
    shred: Annotated[bool, typer.Option("--shred", help="With --all: destroy the user's key, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    receipt_file: Annotated[
        Path | None,
        typer.Option("--receipt", help="Keep the receipt here, with the texts, for --verify."),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option("--verify", help="Forget nothing: look for what this receipt says is gone."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="With --verify: look for this, too (repeatable)."),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", help="With --verify: look here, too, such as in a backup."),
    ] = None,
    seal: Annotated[
        bool, typer.Option("--seal", help="With --verify: when nothing is left, take the texts out of it.")
    ] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Remove messages and all that was made from them, for good; or verify that they are gone."""
    if verify is not None:
        if seq or session or before or everything or shred or dry_run or receipt_file:
            raise InvalidInput(
                "--verify looks, and forgets nothing: only --text, --also and --seal go with it"
            )
        _verify(memory, verify, text or (), also or (), seal=seal, as_json=as_json)
        return
    if text or also or seal:
        raise InvalidInput("--text, --also and --seal say how to verify: give --verify RECEIPT, too")
    if not (seq or session or before or everything):
        raise InvalidInput("say what to forget: --seq, --session, --before or --all")
    with memory_of(memory, user) as opened:
        what: dict[str, Any] = {
            "seqs": seq or None,
            "session": whole_session(opened, user, session),
            "before": before,
            "everything": everything,
            "keep_texts": receipt_file is not None,
            "shred": shred,
        }
        receipt = opened.forget(user=user, **what, dry_run=True)
        if not dry_run and receipt.messages:
            if not (yes or confirmed(out.receipt_summary(receipt))):
                raise typer.Exit(NOTHING_FOUND)
            if receipt_file is not None:
                # Before: so the texts are not lost with a crash.
                opened.admin.save_receipt(replace(receipt, dry_run=False), receipt_file)
            receipt = opened.forget(user=user, **what)
            if receipt_file is not None:
                opened.admin.save_receipt(receipt, receipt_file)
                out.note(f"{receipt_file} holds what was forgotten: verify with it, then --seal or delete it")
    if as_json:
        out.write_json(out.receipt_object(receipt))
    elif receipt.messages:
        out.write(out.receipt_summary(receipt))
    if not receipt.messages:
        out.note(f"nothing found to forget for user {user!r}")
        raise typer.Exit(NOTHING_FOUND)


def _verify(
    folder: Path, path: Path, texts: Sequence[str], also: Sequence[Path], *, seal: bool, as_json: bool
) -> None:
    """Exit code 1 where anything is left."""
    from zibaldone.engine.verification.receipts import read_receipt, sealed

    receipt = read_receipt(path)
    if seal and not receipt.texts:
        raise InvalidInput(f"{str(path)!r} has no text to take out, and stays as it is: leave --seal out")
    with open_memory(folder) as opened:
        verified = opened.admin.verify(receipt, texts=texts, also=also)
        if seal and verified.ok:
            opened.admin.save_receipt(sealed(receipt), path, verified)
    if as_json:
        out.write_json({"ok": verified.ok, **out.fields_of(verified)})
    else:
        for line in out.verification_lines(verified):
            out.write(line)
    if not verified.texts:
        out.note(
            "no text was looked for, only references: the receipt has none, and --text gave none", "yellow"
        )
    if not verified.ok:
        raise typer.Exit(NOTHING_FOUND)
    if seal:
        out.note(f"{path} has no text any more: it can be kept as evidence")
