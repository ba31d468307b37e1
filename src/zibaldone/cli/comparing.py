"""The command that compares views and settings on a user's own log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, check_user, open_memory
from zibaldone.errors import InvalidInput


def compare(
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help='A JSON object a line: {"question": "...", "evidence": [12, "words"]}; else they are made.',
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", help="Only this system (repeatable): a view, views joined by '+', or a baseline."
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", help="Tokens of a recall, with commas.")
    ] = "250,500,1000",
    each: Annotated[int, typer.Option("--each", help="How many questions of a kind are made.", min=1)] = 20,
    list_: Annotated[bool, typer.Option("--list", help="Show the questions, too.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Compare views and settings on your own log, with your questions or with some that are made from it.

    Offline; every system takes the log in anew, in a folder that is gone afterwards.
    """
    from rich.console import Console

    from zibaldone.cli.compare.compare import SYSTEMS
    from zibaldone.cli.compare.compare import compare as compare_on

    budgets = _budgets(budget)
    with open_memory(memory) as opened, out.progress("comparing", shown=not as_json) as progress:
        check_user(opened, user)
        comparison = compare_on(
            opened,
            user,
            questions=questions,
            systems=system or SYSTEMS,
            budgets_tokens=budgets,
            most_of_a_kind=each,
            progress=lambda _, done, of: progress(done, of),
        )
    if as_json:
        out.write_json(comparison)
    else:
        console = Console()
        (console if console.is_terminal else Console(width=140)).print(comparison.table())
        if comparison.are_made:
            out.write(
                "The questions are made from the log and share words with their answers: use them to tell"
                " views apart, not as a measure of your own questions (--questions FILE)."
            )
        if list_:
            for kind, question in comparison.questions:
                out.write(f"{kind}: {question}")


def _budgets(given: str) -> tuple[int, ...]:
    try:
        budgets = tuple(int(part) for part in given.split(","))
    except ValueError:
        budgets = ()
    if not budgets or min(budgets) < 1:
        raise InvalidInput(f"--budget {given!r} must be numbers above 0 with commas, such as 500,1000")
    return budgets
