"""Commands around maintenance: what views make of the log, builds of a view, and what agrees with the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.input import open_memory
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.cli.showing import counts_in, receipt_summary
from zibaldone.errors import InvalidInput, ModelFailed

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory
    from zibaldone.engine.maintenance import Maintained
    from zibaldone.engine.rebuilding.builds import Build, BuildDiff, BuildStatus
    from zibaldone.views.base import Content

_STEPS = ("diff", "switch", "rollback", "discard", "show", "at_once")


@runs("admin worker")
def worker(call: CliCall) -> None:
    import signal
    import threading

    from zibaldone.api.config import MAINTAINED, Config

    stopping = threading.Event()
    config = Config(maintained=call.given["views"] or MAINTAINED, blocks=call.given["blocks"])
    with open_memory(call.folder, create=True, config=config) as opened:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        times = {name: call.given[name] for name in ("threads", "poll_s", "lease_s", "turn_s")}
        opened.admin.start_worker(**times)
        out.write(f"working on {opened.admin.place}")
        while not stopping.wait(0.5):
            pass
    out.note("stopped")


@runs("maintain")
def maintain(call: CliCall) -> None:
    """Let the views read what is new, of one user or of all, and put their storage in order."""
    bar_of = out.progress("maintaining", shown=not call.as_json)
    with call.opened() as memory, bar_of as progress:
        done = call.run(memory, progress=progress)
    call.answer(done, "\n".join(_maintained_lines(done)))
    if done.behind:
        raise ModelFailed(done.behind[0].reason)


def _maintained_lines(done: Maintained) -> Iterator[str]:
    read, users = out.count(done.messages, "message"), out.count(done.users, "user")
    yield f"read {read} of {users}"
    yield from (f"view {view}: {counts_in(tended)}" for view, tended in done.tended if tended)
    if done.cut_short:
        yield f"of {out.count(done.cut_short, 'long message')} views read the beginning alone"
    yield from map(receipt_summary, done.forgotten)
    if done.model_calls or done.degraded:
        yield (
            f"model: {out.count(done.model_calls, 'call')}, {done.prompt_tokens} prompt and"
            f" {done.completion_tokens} completion tokens, {done.degraded} answered offline instead"
        )


@runs("check")
def check(call: CliCall) -> None:
    with call.opened() as memory:
        integrity = call.run(memory)
    checked = f"{out.count(integrity.messages, 'message')} of {out.count(integrity.users, 'user')}"
    faults = out.count(len(integrity.faults), "fault") if integrity.faults else "all agrees"
    lines = [f"{checked}: {faults}", *(f"- {fault}" for fault in integrity.faults)]
    call.answer({"ok": integrity.ok, **out.fields_of(integrity)}, "\n".join(lines))
    if not integrity.ok:
        raise typer.Exit(NOTHING_FOUND)


@runs("rebuild")
def rebuild(call: CliCall) -> None:
    given = call.given
    chosen = [step for step in _STEPS if given[step]]
    if len(chosen) > 1:
        first, second = (step.replace("_", "-") for step in chosen[:2])
        raise InvalidInput(f"one thing at a time: --{first} or --{second}")
    step = chosen[0] if chosen else "build"
    with call.opened() as memory:
        users = memory.users() if call.user is None else [call.user]
        done = [_done(call, memory, name, step) for name in users]
    call.answer(done, "\n".join(line for result in done for line in _lines(result)) or None)


def _done(call: CliCall, memory: Memory, user: str, step: str) -> BuildStatus | BuildDiff:
    view = call.given["view"]
    if step in ("diff", "rollback", "discard"):
        done: BuildStatus | BuildDiff = getattr(memory.builds, step)(view, user=user)
        return done
    if step == "show":
        return memory.builds.status(view, user=user)
    with out.progress(f"{view} of {user}", shown=not call.as_json) as progress:
        if step == "switch":
            return memory.builds.switch(view, user=user, progress=progress)
        return memory.builds.rebuild(view, user=user, beside=step == "build", progress=progress)


def _lines(result: BuildStatus | BuildDiff) -> Iterator[str]:
    from zibaldone.engine.rebuilding.builds import BuildStatus

    head = f"{result.view} of {result.user}"
    if isinstance(result, BuildStatus):
        yield f"{head}: serving: {_build(result.serving) if result.serving else 'nothing was read yet'}"
        if result.other:
            yield f"{head}: {result.standing}: {_build(result.other)}"
    else:
        vectors = "; the vectors are another embedder's" if result.other_vectors else ""
        yield (
            f"{head}: {result.same} the same, {len(result.added)} added, {len(result.gone)} gone,"
            f" {len(result.changed)} changed{vectors}"
        )
        yield from (f"+ {_content(content)}" for content in result.added)
        yield from (f"- {_content(content)}" for content in result.gone)
        for pair in result.changed:
            yield f"- {_content(pair.before)}"
            yield f"+ {_content(pair.after)}"


def _build(build: Build) -> str:
    chat = f", chat model {build.chat}" if build.chat else ""
    unread = f", {out.count(build.unread, 'message')} unread" if build.unread else ""
    return f"build {build.number} ({build.fingerprint}{chat}){unread}"


def _content(content: Content) -> str:
    seqs = ", ".join(str(seq) for seq in content.sources)
    return f"[{seqs}] {content.kind}: {' '.join(content.text.split())}"
