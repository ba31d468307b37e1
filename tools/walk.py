"""The way of an add's messages, and of a question, through the modules: `python tools/walk.py`.

Runs both on a small memory and follows what was given. A step is a call of a function of the package that
gets it, or something that holds it: a list, a mapping, a dataclass, a variable of an enclosing function. The
walk begins at the door, in `api`. Steps in one module are a stay. A module stands above all that it imports;
a stay on a higher floor than the one before is a climb. A method of the thing itself goes nowhere and is no
step.

    python tools/walk.py              both ways
    python tools/walk.py question     one of them
"""

from __future__ import annotations

import ast
import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import zibaldone

PACKAGE = Path(zibaldone.__file__).parent
_DEPTH = 3  # of containers in containers
_FEW = 64  # members of a container that are looked at


def module_of(path: Path) -> str:
    """A file's name as the walk prints it: "views/messages/view"."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return name.removesuffix("/__init__")


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, but for types alone."""
    path = PACKAGE / module / "__init__.py"
    path = path if path.is_file() else PACKAGE / f"{module}.py"
    there: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zibaldone."):
            base = (node.module or "").removeprefix("zibaldone.").replace(".", "/")
            for alias in node.names:
                inner = PACKAGE / base / alias.name
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                there.add(f"{base}/{alias.name}" if is_module else base)
        todo.extend(ast.iter_child_nodes(node))
    return frozenset(there - {module})


@cache
def floor(module: str) -> int:
    """How high a module stands: one above the highest that it imports."""
    return 1 + max((floor(other) for other in imports_of(module)), default=0)


class Walk:
    """The stays of one thing, in the order in which it is handed on."""

    def __init__(self, thing: object) -> None:
        self._thing = thing
        self._modules: dict[CodeType, str | None] = {}
        self.stays: list[tuple[str, list[str]]] = []  # the module, and its functions

    def follow(self, work: Callable[[], object]) -> None:
        """Do the work, and note the way."""
        sys.setprofile(self._on_event)
        try:
            work()
        finally:
            sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in self._modules:
            path = Path(code.co_filename)
            is_ours = path.is_relative_to(PACKAGE) and not code.co_name.startswith("<")
            self._modules[code] = module_of(path) if is_ours else None
        module = self._modules[code]
        if module is None or not (self.stays or module.startswith("api/")):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2] + code.co_freevars
        given = [frame.f_locals[name] for name in names if name in frame.f_locals]
        if given and names[0] == "self" and self._holds(given.pop(0), _DEPTH - 1):
            return
        if not any(self._holds(value, _DEPTH) for value in given):
            return
        if not self.stays or self.stays[-1][0] != module:
            self.stays.append((module, []))
        if code.co_qualname not in self.stays[-1][1]:
            self.stays[-1][1].append(code.co_qualname)

    def _holds(self, value: object, depth: int) -> bool:
        if value is self._thing or (isinstance(value, str) and value == self._thing):
            return True
        return depth > 0 and any(self._holds(part, depth - 1) for part in _parts(value))

    @property
    def rooms(self) -> int:
        """The modules that it enters."""
        return len({module for module, _ in self.stays})

    @property
    def climbs(self) -> int:
        """How often it goes on in a module that stands higher than the one before."""
        floors = [floor(module) for module, _ in self.stays]
        return sum(later > earlier for earlier, later in pairwise(floors))

    def lines(self) -> Iterator[str]:
        """The walk, a line for each stay."""
        before = None
        for number, (module, functions) in enumerate(self.stays, 1):
            here = floor(module)
            move = "" if before is None or here == before else " up" if here > before else " down"
            yield f"{number:3}. floor {here:2}{move:5}  {module:32} {', '.join(functions)}"
            before = here


def _parts(value: object) -> Iterator[object]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name, None) for field in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        yield from list(value.values())[:_FEW]
    elif isinstance(value, list | tuple):
        yield from value[:_FEW]


def add_and_question() -> dict[str, Walk]:
    """Both walks, on a memory of a few turns in a folder that goes afterwards."""
    asked, told = "Where does Ann's sister live now?", "My sister moved to Lisbon in May."
    question, added = Walk(asked), Walk(told)
    with tempfile.TemporaryDirectory() as folder, zibaldone.Memory(Path(folder) / "memory") as memory:
        say: Any = memory.add
        for number in range(40):
            say([{"role": "user", "content": f"Note {number}: the roof needs {number} tiles."}], user="ann")
        added.follow(lambda: say([{"role": "user", "content": told}], user="ann"))
        memory.recall(asked, user="ann")  # the index is open, and lazy imports are done
        question.follow(lambda: memory.recall(asked, user="ann"))
    return {"add": added, "question": question}


def main() -> None:
    """Print the walks, or the one that is named."""
    for name, walk in add_and_question().items():
        if name in (sys.argv[1:] or [name]):
            print(f"{name}: {walk.rooms} rooms, {walk.climbs} climbs")
            print(*walk.lines(), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
