"""What the hierarchy of a conversation looks like when it is built, and what is found through it.

xMemory, section 5.3 and Tables 6 to 8: themes, semantics, what was reassigned, by what may be restructured
and by the cap.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from zibaldone.bench.base import Equipment
from zibaldone.bench.engine import Engine, Setup
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Progress
from zibaldone.bench.runner import Judge
from zibaldone.bench.stats import Mean
from zibaldone.core import Message
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
class Compared:
    """What is compared."""

    name: str
    config: XMemory = FULL


RESTRUCTURING = (
    Compared("w/o merge & split", XMemory(split=False, merge=False)),
    Compared("w/o split", XMemory(split=False)),
    Compared("w/o merge", XMemory(merge=False)),
    Compared("full"),
)


def capped(caps: Sequence[int]) -> tuple[Compared, ...]:
    """The full view with each of these caps. Raises InvalidInput for one that cannot be."""
    return tuple(Compared(f"cap {cap}", XMemory(theme_cap=cap)) for cap in caps)


@dataclass(frozen=True, slots=True)
class HierarchyRow:
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
    recall: Mean | None = None  # of evidence turns through the view; None: there was no question
    tokens: float | None = None  # of a recall, mean

    @property
    def per_theme(self) -> float:
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

    def __init__(
        self, data: LoCoMoQuestions, tools: Equipment, budget_tokens: int, progress: Progress
    ) -> None:
        self.examples = [example for example in data.examples if example.answerable and example.evidence]
        self._data, self._tools, self._budget, self._progress = data, tools, budget_tokens, progress
        self._judge = Judge(tools)
        self._rows: dict[XMemory, HierarchyRow] = {}

    def rows(self, settings: Sequence[Compared]) -> Iterator[HierarchyRow]:
        for setting in settings:
            if setting.config not in self._rows:
                self._rows[setting.config] = self._recalled(setting, self._built(setting))
            yield replace(self._rows[setting.config], setting=setting.name)

    def _built(self, setting: Compared) -> HierarchyRow:
        embedder, tokenizer = self._tools.embedder, self._tools.tokenizer
        thresholds = calibrate(embedder)
        users = self._data.users()
        made = []
        for place, user in enumerate(users):
            self._progress(f"{setting.name}: building", place, len(users))
            messages = self._data.messages(user)
            made.append(build(messages, user, embedder, tokenizer, thresholds, setting.config))
        sizes = Counter(len(of) for built in made for of in built.structure.themes.themes.values())
        semantics = sum(len(built.structure.semantics) for built in made)
        messages_read = sum(len(self._data.messages(user)) for user in users)
        over_time = zip(*(built.f_over_time for built in made), strict=True)
        return HierarchyRow(
            setting=setting.name,
            cap=setting.config.theme_cap,
            embedder=embedder.name,
            thresholds=thresholds,
            episodes=sum(len(built.episodes) for built in made),
            themes=sizes.total(),
            semantics=semantics,
            largest=max(sizes, default=0),
            sizes=tuple(sizes[size] for size in range(1, max(sizes, default=0) + 1)),
            f=sum(built.structure.themes.f() for built in made) / len(made),
            f_over_time=tuple(sum(values) / len(made) for values in over_time),
            reassigned=sum(len(b.structure.themes.reassigned) for b in made) / max(semantics, 1),
            ms_per_message=1000 * sum(built.seconds for built in made) / max(messages_read, 1),
        )

    def _recalled(self, setting: Compared, row: HierarchyRow) -> HierarchyRow:
        """The same hierarchy again, in a memory that is asked every question."""
        shares, tokens = [], []
        setup = Setup(("hierarchy",), hierarchy=setting.config)
        with closing(Engine("hierarchy", setup, self._tools)) as system:
            for user in self._data.users():
                system.load(user, self._data.messages(user))
            for place, example in enumerate(self.examples):
                self._progress(f"{setting.name}: asking", place, len(self.examples))
                context = system.recall(example.user, example.question, self._budget, example.now)
                record = self._judge.record(example, system.name, context, self._budget, 0.0)
                shares.append(record.evidence_recall or 0.0)
                tokens.append(record.tokens)
        return replace(row, recall=Mean.of(shares), tokens=sum(tokens) / len(tokens) if tokens else None)
