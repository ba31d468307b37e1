"""Questions to the view's own episodes and semantics: what the offline signal is judged on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zibaldone.bench.base import Example, Tools
from zibaldone.bench.hierarchy.reading import Asked, Node, Talk, ask, talk
from zibaldone.bench.hierarchy.signal import fixed
from zibaldone.bench.hierarchy.structure import Built, build
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.runner import Progress
from zibaldone.core import Message
from zibaldone.rendering import line
from zibaldone.search.lexical import Doubles
from zibaldone.views.hierarchy.calibration import calibrate
from zibaldone.views.hierarchy.stage_one import Pick, select
from zibaldone.views.hierarchy.stage_two import StageTwo
from zibaldone.views.hierarchy.uncertainty import CoverageSignal, GainThresholds

_HALF = CoverageSignal.DEFAULTS
POLICIES: Mapping[str, tuple[GainThresholds, StageTwo]] = {
    "semantics alone": fixed(0),
    "the best 1": fixed(1),
    "the best 2": fixed(2),
    "the best 3": fixed(3),
    "the best 5": fixed(5),
    "gain at least 0.05": (replace(_HALF, admit=0.05, of_best=0.0), StageTwo()),
    "gain at least 0.1": (replace(_HALF, admit=0.1, of_best=0.0), StageTwo()),
    "gain at least half of the best (the view's)": (_HALF, StageTwo()),
}


def asked(
    benchmark: LoCoMo, examples: Sequence[Example], tools: Tools, progress: Progress
) -> Iterator[Asked]:
    """Every example of which some episodes hold evidence and some do not, with the view's Stage I."""
    thresholds = calibrate(tools.embedder)
    for place, user in enumerate(benchmark.users()):
        progress("the offline signal", place, len(benchmark.users()))
        messages = benchmark.messages(user)
        built = build(messages, user, tools.embedder, tools.tokenizer, thresholds)
        if not built.structure.semantics:
            continue
        among, choose = _talk(messages, built, tools), _Choice(built)
        for example in examples:
            found = ask(example, among, tools.embedder, choose) if example.user == user else None
            if found is not None and not found.holds.all():
                yield found


def _talk(messages: Sequence[Message], built: Built, tools: Tools) -> Talk:
    """Signals read the semantics; shown and paid for is the message that states one, as in the view."""
    said = {one.seq: one for one in messages}
    place = {episode.id: at for at, episode in enumerate(built.episodes)}
    semantics = [built.structure.semantics[number] for number in sorted(built.structure.semantics)]
    made = talk(
        messages,
        [Node(one.narrative, one.seqs, place[one.id]) for one in built.episodes],
        [Node(one.text, one.seqs, place[one.episode]) for one in semantics],
        tools.embedder,
        tools.tokenizer,
    )
    first = [said[one.seqs[0]] for one in semantics]
    shown = [line(message.speaker, message.content) for message in first]
    nodes = tuple(replace(node, text=text) for node, text in zip(made.semantics.nodes, shown, strict=True))
    level = replace(made.semantics, nodes=nodes, tokens=tuple(tools.tokenizer.count(shown)))
    return replace(made, semantics=level)


class _Choice:
    """Stage I over the themes and both graphs of a structure, its semantics by place."""

    def __init__(self, built: Built) -> None:
        self._themes, self._graph = built.structure.themes, built.structure.graph
        self._ids = np.array(sorted(built.structure.semantics), dtype=np.int64)
        self._theme_of = np.array([self._themes.theme(int(one)) for one in self._ids], dtype=np.int64)

    def __call__(self, relevance: Doubles) -> tuple[Pick, ...]:
        found = select(self._ids, relevance, self._theme_of, self._of_semantic, self._of_theme)
        return tuple(
            replace(pick, id=self._place(pick.id), covers=tuple(self._place(one) for one in pick.covers))
            for pick in found.semantics
        )

    def _place(self, semantic: int) -> int:
        return int(np.searchsorted(self._ids, semantic))

    def _of_semantic(self, semantic: int) -> Iterator[tuple[int, float]]:
        near = self._graph.neighbours(semantic)
        return zip(near.ids, near.similarities, strict=True)

    def _of_theme(self, theme: int) -> Iterator[tuple[int, float]]:
        near = self._themes.neighbours(theme)
        return zip(near.ids, near.similarities, strict=True)
