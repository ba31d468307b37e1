"""Names of a package that are looked up when they are first used, so that what needs few starts at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module


def on_demand(package: str, homes: dict[str, Sequence[str]]) -> Callable[[str], object]:
    """Make the `__getattr__` of a package, of whose modules each has some of its names."""
    home = {name: module for module, names in homes.items() for name in names}

    def attribute(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return attribute
