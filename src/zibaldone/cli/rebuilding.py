"""The command around builds of a view: make another one beside it, look at the difference, choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from zibaldone.cli import output as out
from zibaldone.cli.completing import views
from zibaldone.cli.input import AsJson, Folder, OptionalUser, check_user, open_memory
from zibaldone.cli.upkeep import OnMiss, Record, recorded
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zibaldone.api.memory import Memory
    from zibaldone.engine.rebuilding.builds import Build, BuildDiff, BuildStatus
    from zibaldone.engine.rebuilding.estimate import RebuildEstimate
    from zibaldone.models.meter import Prices
    from zibaldone.views.base import Content

Step = Literal["build", "at-once", "show", "estimate", "diff", "switch", "rollback", "discard"]


def rebuild(
    view: Annotated[str, typer.Argument(help="Which view.", autocompletion=views)],
    *,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what it would ask of models.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what the other build says otherwise.")] = False,
    switch: Annotated[bool, typer.Option("--switch", help="Let the build beside serve.")] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Let the kept build serve again.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Remove the build that does not serve.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only say which builds there are.")] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Take the old one's place when complete: mends damage.")
    ] = False,
    prices: Annotated[
        str | None,
        typer.Option(
            "--prices",
            help="With --estimate: of a million tokens of prompt, answer, embedding; 0.15,0.6,0.02.",
        ),
    ] = None,
    user: OptionalUser = None,
    record: Record = None,
    on_miss: OnMiss = None,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Make a view anew beside the one that serves, of one user or of all; compare, then switch or discard.

    The models are those of the ZIBALDONE_* variables. Stopped half way, it goes on where it was.
    """
    given: dict[Step, bool] = {
        "estimate": estimate,
        "diff": diff,
        "switch": switch,
        "rollback": rollback,
        "discard": discard,
        "show": show,
        "at-once": at_once,
    }
    chosen = [step for step, is_given in given.items() if is_given]
    if len(chosen) > 1:
        raise InvalidInput(f"one thing at a time: --{chosen[0]} or --{chosen[1]}")
    if prices is not None and chosen != ["estimate"]:
        raise InvalidInput("--prices says what an estimate costs: give --estimate too")
    step: Step = chosen[0] if chosen else "build"
    with open_memory(memory, chat=recorded(record, on_miss)) as opened:
        check_user(opened, user)
        users = opened.users() if user is None else [user]
        done = [_done(opened, view, name, step, prices, shown=not as_json) for name in users]
    if as_json:
        out.write_json(done)
        return
    for result in done:
        for line in _lines(result):
            out.write(line)


def _done(
    opened: Memory, view: str, user: str, step: Step, prices: str | None, *, shown: bool
) -> BuildStatus | BuildDiff | RebuildEstimate:
    if step == "estimate":
        return opened.builds.estimate(view, user=user, prices=_prices(prices))
    if step in ("diff", "rollback", "discard"):
        done: BuildStatus | BuildDiff = getattr(opened.builds, step)(view, user=user)
        return done
    if step == "show":
        return opened.builds.status(view, user=user)
    with out.progress(f"{view} of {user}", shown=shown) as progress:
        if step == "switch":
            return opened.builds.switch(view, user=user, progress=progress)
        return opened.builds.rebuild(view, user=user, beside=step == "build", progress=progress)


def _prices(given: str | None) -> Prices | None:
    from zibaldone.models.meter import Prices

    if given is None:
        return None
    try:
        prompt, completion, embedding = (float(price) for price in given.split(","))
    except ValueError as error:
        raise InvalidInput(
            f"--prices must be three numbers such as 0.15,0.6,0.02, not {given!r}: of a million tokens of"
            " prompt, answer and embedding"
        ) from error
    return Prices(prompt, completion, embedding)


def _lines(result: BuildStatus | BuildDiff | RebuildEstimate) -> Iterator[str]:
    from zibaldone.engine.rebuilding.builds import BuildDiff, BuildStatus

    head = f"{result.view} of {result.user}"
    if isinstance(result, BuildStatus):
        serving = _build(result.serving) if result.serving else "nothing was read yet"
        yield f"{head}: serving: {serving}"
        if result.other:
            yield f"{head}: {result.standing}: {_build(result.other)}"
    elif isinstance(result, BuildDiff):
        counted = (("added", result.added), ("gone", result.gone), ("changed", result.changed))
        figures = ", ".join(f"{len(contents)} {word}" for word, contents in counted)
        vectors = "; the vectors are another embedder's" if result.other_vectors else ""
        yield f"{head}: {result.same} the same, {figures}{vectors}"
        yield from (f"+ {_content(content)}" for content in result.added)
        yield from (f"- {_content(content)}" for content in result.gone)
        for pair in result.changed:
            yield f"- {_content(pair.before)}"
            yield f"+ {_content(pair.after)}"
    else:
        measured = "" if result.rehearsed == result.messages else f", measured on {result.rehearsed}"
        yield (
            f"{head}: {out.count(result.messages, 'message')}{measured}: {out.count(result.calls, 'call')},"
            f" {result.prompt_tokens} prompt and {result.completion_tokens} completion tokens,"
            f" {out.count(result.embedded_texts, 'text')} of {result.embedded_tokens} tokens embedded"
        )
        if result.money is not None:
            yield f"{head}: {result.money:.4f} by these prices"


def _build(build: Build) -> str:
    chat = f", chat model {build.chat}" if build.chat else ""
    unread = f", {out.count(build.unread, 'message')} unread" if build.unread else ""
    return f"build {build.number} ({build.fingerprint}{chat}){unread}"


def _content(content: Content) -> str:
    seqs = ", ".join(str(seq) for seq in content.sources)
    return f"[{seqs}] {content.kind}: {' '.join(content.text.split())}"
