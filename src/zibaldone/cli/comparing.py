"""The command that compares views and settings on a user's own log."""

from __future__ import annotations

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.errors import InvalidInput


@runs("compare")
def compare(call: CliCall) -> None:
    from rich.console import Console

    from zibaldone.cli.compare.compare import SYSTEMS
    from zibaldone.cli.compare.compare import compare as compare_on

    budgets = _budgets(call.given["budget"])
    with call.opened() as opened, out.progress("comparing", shown=not call.as_json) as progress:
        comparison = compare_on(
            opened,
            call.whose,
            questions=call.given["questions"],
            systems=call.given["system"] or SYSTEMS,
            budgets_tokens=budgets,
            most_of_a_kind=call.given["each"],
            progress=progress,
        )
    if call.as_json:
        out.write_json(comparison)
        return
    console = Console()
    (console if console.is_terminal else Console(width=140)).print(comparison.table())
    if comparison.are_made:
        out.write(
            "The questions are made from the log and share words with their answers: use them to tell"
            " views apart, not as a measure of your own questions (--questions FILE)."
        )
    if call.given["list"]:
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
