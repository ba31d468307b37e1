"""Several calls that wait, side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(do: Callable[[T], R], given: Sequence[T], workers: int, name: str) -> list[R]:
    """`do` of each, in their order, in threads; with one worker in this one.

    The first error is raised when what is under way has ended; nothing more is begun. Ctrl-C is raised at
    once: the threads are left behind, and neither they nor what they wait for keep the process alive.
    """
    if workers == 1:
        return [do(thing) for thing in given]
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    waiting = iter(enumerate(given))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                place, thing = next(waiting, (-1, None))
            if place < 0 or errors:
                return
            try:
                results[place] = do(thing)  # type: ignore[arg-type] # it is one of those that were given
            except BaseException as error:  # noqa: BLE001 - a thread's border: raised below, by the caller
                errors.append(error)

    threads = [
        threading.Thread(target=work, name=f"zibaldone-{name}-{number}", daemon=True)
        for number in range(min(workers, len(given)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        errors.append(error)
        raise
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(given))]
