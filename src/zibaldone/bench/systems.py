"""All systems by name: the naive baselines, and the engine with some of its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from zibaldone.bench.base import Equipment, System
from zibaldone.bench.baselines import BASELINES
from zibaldone.bench.engine import ENGINES, Engine
from zibaldone.errors import UnknownName

_SYSTEMS: Mapping[str, Callable[[Equipment], System]] = {
    **BASELINES,
    **{name: partial(Engine, name, setup) for name, setup in ENGINES.items()},
}


def check_systems(names: Sequence[str]) -> tuple[str, ...]:
    """The names themselves; UnknownName when no system has one."""
    for name in names:
        if name not in _SYSTEMS:
            raise UnknownName(f"no benchmark system {name!r}: choose from {', '.join(_SYSTEMS)}")
    return tuple(names)


def make_system(name: str, tools: Equipment) -> System:
    """A fresh instance of the named system."""
    check_systems([name])
    return _SYSTEMS[name](tools)
