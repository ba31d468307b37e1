"""Commands made from the table of operations: their options, the memory that they open, what they show.

A command calls its operation's method and shows the result as a table, a text or JSON. One that does more has
a function of its own, registered by `runs`; `cli/showing` has what people see of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zibaldone.api.operations import REQUIRED, Operation, Parameter
from zibaldone.cli import output as out
from zibaldone.cli.commands import GROUPS
from zibaldone.cli.input import (
    MYSELF,
    AsJson,
    Folder,
    OptionalUser,
    User,
    check_user,
    given_path,
    open_memory,
    whole_session,
)
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory

_TYPES: dict[str, Any] = {
    "number": int,
    "fraction": float,
    "seconds": float,
    "flag": bool,
    "texts": list[str],
    "choices": list[str],
    "seqs": list[int],
    "path": Path,
    "paths": list[Path],
    "folder": Path,
}  # of other kinds str


@dataclass(frozen=True, slots=True)
class CliCall:
    """A command as it was typed."""

    operation: Operation
    user: str | None
    folder: Path
    as_json: bool
    context: typer.Context
    given: dict[str, Any] = field(default_factory=dict)  # parameters by name

    @property
    def whose(self) -> str:
        """The user of a command that is of one."""
        assert self.user is not None
        return self.user

    @contextmanager
    def opened(self, **options: Any) -> Iterator[Memory]:
        """Open the memory, which is to hold something of the user. Raises UnknownName."""
        with open_memory(self.folder, **options) as memory:
            check_user(memory, self.user)
            yield memory

    def options(self, memory: Memory) -> dict[str, Any]:
        """The method's options; sessions by their whole names. Raises UnknownName."""
        given = dict(self.given)
        for part in self.operation.parameters_of("cli"):
            if part.kind == "session":
                given[part.name] = whole_session(memory, self.whose, given[part.name])
            elif part.kind in ("texts", "choices", "seqs"):
                given[part.name] = given[part.name] or None
        return self.operation.options(given)

    def run(self, memory: Memory, **changed: Any) -> Any:
        """Call the operation's method with what was typed and these."""
        assert self.operation.cli is not None
        telling = nullcontext() if "progress" in changed else out.progress(self.operation.cli.command)
        with telling:
            return self.operation.bound(memory, self.user)(**{**self.options(memory), **changed})

    def answer(self, as_json: object, text: str | None) -> None:
        """Write the answer: a JSON value where that is wanted, else a text, if there is any."""
        if self.as_json:
            out.write_json(as_json)
        elif text is not None:
            out.write(text)

    def show(self, result: Any) -> None:
        """Write the result: as JSON, or as people read it. Ends the command where nothing is an error."""
        name, cli = self.operation.name, self.operation.cli
        assert cli is not None
        is_empty = isinstance(result, list | tuple) and not result
        if self.as_json:
            out.write_json(AS_JSON[name](result) if name in AS_JSON else result)
        elif not is_empty:
            SHOWN[name](self, result)
        if is_empty and cli.empty:
            about = f" about {self.given['query']!r}" if self.given.get("query") else ""
            out.note(cli.empty.format(user=self.user, about=about))
            if cli.empty_fails:
                raise typer.Exit(NOTHING_FOUND)


Run = Callable[[CliCall], None]
Show = Callable[[CliCall, Any], None]
RUN: dict[str, Run] = {}  # by the operation's name, of commands that do more
SHOWN: dict[str, Show] = {}
AS_JSON: dict[str, Callable[[Any], object]] = {}  # of results that are not written as they are


def runs(name: str) -> Callable[[Run], Run]:
    """Register the function that is the command of an operation; a docstring is its help."""
    return lambda run: RUN.setdefault(name, run)


def shows(name: str) -> Callable[[Show], Show]:
    """Register the function that writes an operation's result for people."""
    return lambda show: SHOWN.setdefault(name, show)


# Options of every command, which may stand before it; commands look them up: see `_typed`.
MemoryBefore = Annotated[
    Path | None, typer.Option("--memory", parser=given_path, metavar="PATH", help="Which memory.")
]
UserBefore = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory.")]


def _options_before(*, memory: MemoryBefore = None, user: UserBefore = None) -> None:
    pass


def add_commands(app: typer.Typer, operations: Sequence[Operation]) -> None:
    """Add a command for each operation that has one, to the group that its words before the last name."""
    groups = {"": app}
    for path, text in GROUPS.items():
        parent, _, name = path.rpartition(" ")
        groups[path] = typer.Typer(help=text, no_args_is_help=True, callback=_options_before)
        groups[parent].add_typer(groups[path], name=name)
    for operation in operations:
        if operation.cli is None:
            continue
        command = _command(operation)
        if operation.cli.command in groups:  # called without a command
            group = groups[operation.cli.command]
            group.callback(invoke_without_command=True, no_args_is_help=False)(command)
        else:
            path, _, name = operation.cli.command.rpartition(" ")
            groups[path].command(name)(command)


def _command(operation: Operation) -> Callable[..., None]:
    """The function that typer makes a command of."""
    assert operation.cli is not None
    run = RUN.get(operation.name, _call_and_show)

    def command(**given: Any) -> None:
        context: typer.Context = given.pop("context")
        if context.invoked_subcommand is not None:
            return
        user = None
        if operation.whose != "none":
            user = _typed(context, "user", given.pop("user"))
        elif "user" not in given and _typed(context, "user") is not None:
            raise InvalidInput(f"{context.command_path} is of all users: leave --user out")
        folder = _typed(context, "memory", given.pop("memory"))
        run(CliCall(operation, user, folder, given.pop("as_json", False), context, given))

    arguments = [_keyword("context", typer.Context)]
    arguments += [_argument(operation, part) for part in operation.parameters_of("cli")]
    if operation.whose == "user":
        arguments.append(_keyword("user", User, MYSELF))
    elif operation.whose == "all":
        arguments.append(_keyword("user", OptionalUser, None))
    arguments.append(_keyword("memory", Folder))
    if operation.cli.has_json:
        arguments.append(_keyword("as_json", AsJson, False))
    command.__signature__ = Signature(arguments)  # type: ignore[attr-defined] # which typer reads
    command.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    summary = operation.summary if run is _call_and_show or not run.__doc__ else run.__doc__
    command.__doc__ = f"{summary}\n\n{operation.cli.more}".strip()
    return command


def _typed(context: Any, name: str, default: Any = None) -> Any:
    """An option of every command as it was typed, behind the command or before it; else the default."""
    while context is not None:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            return context.params[name]
        context = context.parent
    return default


def _call_and_show(call: CliCall) -> None:
    with call.opened() as memory:
        result = call.run(memory)
    call.show(result)


def _argument(operation: Operation, part: Parameter) -> Argument:
    """An option or an argument of a command, as typer declares it."""
    assert operation.cli is not None
    default = operation.cli.defaults.get(part.name, part.default)
    is_required = default is REQUIRED or part.name in operation.any_of
    kind = _TYPES.get(part.kind, str)
    is_list = part.kind in ("texts", "choices", "seqs", "paths")
    is_open = part.help.endswith("...")
    more = " (repeatable)" if is_list and not is_open else ""
    declared: dict[str, Any] = {"help": f"{part.help[:-1]}{more}." if more else part.help}
    if part.kind == "folder":
        declared["parser"] = given_path
    if not part.passed and part.least is not None:  # others are checked by the method, which says it better
        declared |= {"min": part.least, "max": part.most}
    if part.flags.isupper():
        made = typer.Argument(metavar=part.flags, **declared)
    else:
        made = typer.Option(*(part.flags or f"--{part.name.replace('_', '-')}").split(), **declared)
    if default is None and not is_required:
        kind |= None
    return _keyword(part.name, Annotated[kind, made], Argument.empty if is_required else default)


def _keyword(name: str, annotation: Any, default: Any = Argument.empty) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, annotation=annotation, default=default)
