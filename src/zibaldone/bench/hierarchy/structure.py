"""What the hierarchy of a conversation looks like when it is built, and what is found through it.

xMemory, section 5.3 and Tables 6 to 8: themes, semantics, what was reassigned, by what may be restructured
and by the cap; and whether calibrated thresholds do for another embedder what they do for the embedded one.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from zibaldone.bench.base import Example, Tools
from zibaldone.bench.engine import to_context
from zibaldone.bench.hierarchy.hashed import HashedEmbedder
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.runner import Judge, Progress
from zibaldone.bench.stats import Mean
from zibaldone.core import Message
from zibaldone.memory import Memory
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.meter import Meter
from zibaldone.views.hierarchy import Episode, XMemory
from zibaldone.views.hierarchy.builder import Builder
from zibaldone.views.hierarchy.calibration import Thresholds, calibrate
from zibaldone.views.hierarchy.distil import EpisodeReader
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State, Written

QUARTERS = 4  # f is noted after each quarter of a conversation
FULL = XMemory()


@dataclass(frozen=True, slots=True)
class Setting:
    """What is compared: a configuration, and for whose vectors its thresholds were measured."""

    name: str
    config: XMemory = FULL
    hashed: bool = False  # with the embedder of the bench, in place of the embedded one
    calibrated: bool = True  # False: with the embedded one's thresholds, whatever the embedder


RESTRUCTURING = (
    Setting("w/o merge & split", XMemory(split=False, merge=False)),
    Setting("w/o split", XMemory(split=False)),
    Setting("w/o merge", XMemory(merge=False)),
    Setting("full"),
)
EMBEDDERS = (
    Setting("embedded"),
    Setting("hashed n-grams", hashed=True),
    Setting("  not calibrated", hashed=True, calibrated=False),
)


def capped(caps: Sequence[int]) -> tuple[Setting, ...]:
    """The full view with each of these caps. Raises InvalidInput for one that cannot be."""
    return tuple(Setting(f"cap {cap}", XMemory(theme_cap=cap)) for cap in caps)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting over all conversations. Shares are from 0 to 1."""

    setting: str
    cap: int
    embedder: str
    thresholds: Thresholds
    episodes: int
    themes: int
    semantics: int
    largest: int  # semantics of the largest theme
    sizes: tuple[int, ...]  # themes of one semantic, of two, ... up to the largest
    f: float  # at the end; means over the conversations
    f_over_time: tuple[float, ...]  # after each quarter of the messages
    reassigned: float  # share of the semantics that changed their theme at some time
    ms_per_message: float  # to build it, in memory
    recall: Mean | None = None  # of evidence turns through the view; None: nobody asked
    tokens: float | None = None  # of a recall, mean

    @property
    def per_theme(self) -> float:
        """Semantics per theme, mean."""
        return self.semantics / max(self.themes, 1)


@dataclass(frozen=True, slots=True)
class Built:
    """One conversation's hierarchy, and how it came about."""

    structure: Structure
    episodes: tuple[Episode, ...]
    rows: Written  # what would be stored
    f_over_time: tuple[float, ...]
    seconds: float


def build(
    messages: Sequence[Message],
    user: str,
    embedder: Embedder,
    tokenizer: Tokenizer,
    thresholds: Thresholds,
    config: XMemory = FULL,
) -> Built:
    """As a maintenance without a model does, message by message, but in memory.

    Messages behind the last boundary of a session stay without an episode.
    """
    asker = Asker(None, Meter(None), tokenizer)
    structure = Structure(thresholds, config, State(f"{embedder.name}/{embedder.dimension}/bench"))
    builder = Builder(structure, EpisodeReader(asker, embedder, user), tokenizer)
    ends = Counter(-(-len(messages) * quarter // QUARTERS) for quarter in range(1, QUARTERS + 1))
    over_time: list[float] = []
    began = time.perf_counter()
    for done in builder.read(messages):
        over_time += [structure.themes.f()] * ends[done]
    seconds = time.perf_counter() - began
    prepared = builder.take()
    return Built(
        structure,
        tuple(row.episode for row in prepared.episodes),
        prepared.written,
        tuple(over_time),
        seconds,
    )


class Measuring:
    """Measures settings on one file; what two tables have in common is measured once."""

    def __init__(self, benchmark: LoCoMo, tools: Tools, budget_tokens: int, progress: Progress) -> None:
        self.examples = [
            example
            for example in map(benchmark.get_example, range(benchmark.num_examples()))
            if example.answerable and example.evidence
        ]
        self._benchmark, self._tools, self._budget, self._progress = benchmark, tools, budget_tokens, progress
        self._judge = Judge(tools)
        self._hashed = HashedEmbedder()
        self._rows: dict[tuple[XMemory, bool, bool], Row] = {}

    def rows(self, settings: Sequence[Setting]) -> Iterator[Row]:
        """One per setting. Nothing is recalled with thresholds that are another embedder's."""
        for setting in settings:
            key = (setting.config, setting.hashed, setting.calibrated)
            if key not in self._rows:
                row = self._built(setting)
                self._rows[key] = self._recalled(setting, row) if setting.calibrated else row
            yield replace(self._rows[key], setting=setting.name)

    def _built(self, setting: Setting) -> Row:
        embedder = self._embedder(setting)
        thresholds = calibrate(embedder if setting.calibrated else self._tools.embedder)
        users = self._benchmark.users()
        made = []
        for place, user in enumerate(users):
            self._progress(f"{setting.name.strip()}: building", place, len(users))
            messages = self._benchmark.messages(user)
            made.append(build(messages, user, embedder, self._tools.tokenizer, thresholds, setting.config))
        sizes = Counter(len(of) for one in made for of in one.structure.themes.themes.values())
        semantics = sum(len(one.structure.semantics) for one in made)
        messages_read = sum(len(self._benchmark.messages(user)) for user in users)
        over_time = tuple(
            sum(values) / len(made) for values in zip(*(one.f_over_time for one in made), strict=True)
        )
        return Row(
            setting=setting.name,
            cap=setting.config.theme_cap,
            embedder=embedder.name,
            thresholds=thresholds,
            episodes=sum(len(one.episodes) for one in made),
            themes=sizes.total(),
            semantics=semantics,
            largest=max(sizes, default=0),
            sizes=tuple(sizes[size] for size in range(1, max(sizes, default=0) + 1)),
            f=sum(one.structure.themes.f() for one in made) / len(made),
            f_over_time=over_time,
            reassigned=sum(len(one.structure.themes.reassigned) for one in made) / max(semantics, 1),
            ms_per_message=1000 * sum(one.seconds for one in made) / max(messages_read, 1),
        )

    def _recalled(self, setting: Setting, row: Row) -> Row:
        """The same hierarchy again, in a memory that is asked every question."""
        found, tokens = [], []
        with (
            tempfile.TemporaryDirectory(dir=self._tools.folder) as folder,
            Memory(folder, embedder=self._embedder(setting), chat=None, hierarchy=setting.config) as memory,
        ):
            for user in self._benchmark.users():
                memory.add(self._benchmark.messages(user), user=user)
            memory.maintain(views=["hierarchy"])
            for place, example in enumerate(self.examples):
                self._progress(f"{setting.name.strip()}: asking", place, len(self.examples))
                share, spent = self._ask(memory, example)
                found.append(share)
                tokens.append(spent)
        return replace(row, recall=Mean.of(found), tokens=sum(tokens) / len(tokens) if tokens else None)

    def _ask(self, memory: Memory, example: Example) -> tuple[float, int]:
        recalled = memory.recall(
            example.question,
            user=example.user,
            budget_tokens=self._budget,
            views=["hierarchy"],
            floor=self._tools.floor,
            now=example.now,
        )
        record = self._judge.record(example, "hierarchy", to_context(recalled), self._budget, 0.0)
        return record.evidence_recall or 0.0, record.tokens

    def _embedder(self, setting: Setting) -> Embedder:
        return self._hashed if setting.hashed else self._tools.embedder
