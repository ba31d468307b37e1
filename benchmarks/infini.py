"""Infini Memory's tables, over its topic documents alone.

    python -m benchmarks.infini table1 PATH    FC-SH and FC-MH, on the lists of MemoryAgentBench
    python -m benchmarks.infini table2 PATH    the readers, and no maintenance, on LongMemEval
    python -m benchmarks.infini table3 PATH    split thresholds, on LongMemEval
    python -m benchmarks.infini mixing PATH    three conversations of LoCoMo that are unrelated, as one user's

Offline a question scores what `benchmarks.recall` says: the evidence, or the answer, stands in the text. With
a ZIBALDONE_CHAT_MODEL the view asks it, Infini Memory-A reads too, and answers are judged as by
`benchmarks.read`; `--record` keeps what it says, in a folder. Without a model the folder is replayed, and
what it does not hold is left there as pages to be answered by hand, for the next run to go on from.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np

from benchmarks import results
from benchmarks.chat import chat_model
from benchmarks.data import LOADERS, Conversation, Question, load
from benchmarks.read import read, sample, score
from benchmarks.recall import judge
from zibaldone.cli.compare.evidence import Mean
from zibaldone.cli.compare.systems import USER, Engine, Equipment, Recalled
from zibaldone.errors import QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Tokenizer
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.tasks import Listed, PickDocuments

_H = Consolidation()
_APART = replace(_H, split_tokens=10**7, merge_tokens=1, route_similarity=1.0, merge_similarity=1.0)
_SUMMARIES = "summary-only"
SPENT = ("requests", "tool calls", "tokens asked", "tokens read")  # for each question
# variant -> its settings, and their accuracy in percent: Table 1's by list, Tables 2 and 3 on LongMemEval
TABLES: dict[str, dict[str, tuple[Consolidation, dict[str, float]]]] = {
    "table1": {"A": (Consolidation.paper(), {"sh": 81.0, "mh": 35.0}), "H": (_H, {})},
    "table2": {
        "A": (Consolidation.paper(), {"lme": 79.3}),
        "H": (_H, {"lme": 76.0}),
        _SUMMARIES: (_H, {"lme": 41.7}),
        "H without split and merge": (_APART, {"lme": 69.3}),
    },
    "table3": {
        f"split at {most:,}": (replace(_H, split_tokens=most, merge_tokens=999), {"lme": theirs})
        for most, theirs in ((1000, 74.0), (3000, 74.3), (5000, 76.0), (7000, 70.7), (9000, 69.7))
    },
}
_PAGE = {
    "command": "python -m benchmarks.infini",
    "title": "Infini Memory's tables",
    "note": "Theirs: by gpt-5-mini and a judge; ours: in 1,000 recalled tokens, offline where not judged."
    " `demo`: a strong language model searched, read and judged by hand; it saw the pages of all variants."
    " Per question, `requests` and `tokens asked` are the reader's before the answer.",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one variant."""

    table: str
    variant: str
    data: str
    questions: int
    measure: str
    theirs: str
    ours: str
    documents: int


class Counted:
    """A chat model, and what the topics view asked of it: requests, tokens, and tools that were called."""

    def __init__(self, inner: ChatModel, tokenizer: Tokenizer) -> None:
        self._inner, self._tokenizer, self.name = inner, tokenizer, inner.name
        self.spent: Counter[str] = Counter()

    def chat(self, request: ChatRequest) -> ChatReply:
        """The inner model's answer."""
        reply = self._inner.chat(request)
        if request.task.startswith("topics."):
            texts = [*(turn.content for turn in request.turns), reply.text]
            tools = len(re.findall(r'"name":', reply.text)) if request.task.endswith("search_memory") else 0
            self.spent += Counter(
                {"requests": 1, "tool calls": tools, "tokens asked": sum(self._tokenizer.count(texts))}
            )
        return reply


class Bench:
    """What the tables share: the parts of a memory, and a model to read and judge where there is one."""

    def __init__(self, folder: Path, record: Path | None, budget: int, *, offline: bool = False) -> None:
        chat = chat_model(record, "leave_open")
        self.embedder = shared_static_embedder()
        self.counted = None if chat is None else Counted(chat, self.embedder)
        self.tools = Equipment(self.embedder, folder, chat=self.counted)
        self.asker = Asker(self.counted, Meter(None), self.embedder)
        self.budget, self.offline = budget, offline
        self.open = 0  # questions that somebody is going to answer

    def engine(self, config: Consolidation, conversation: Conversation) -> Engine:
        """Documents of a conversation, and the model to read them."""
        tools = replace(self.tools, chat=None) if self.offline else self.tools
        engine = Engine("topics", tools, topics=config)
        engine.take(conversation.messages)
        if self.offline:
            engine.memory.close()
            engine.memory = engine.open(self.tools.chat)
        return engine

    def table(
        self, name: str, conversations: Sequence[Conversation], variants: Collection[str] = ()
    ) -> Iterator[Row]:
        """Every variant on every conversation; LongMemEval's count together."""
        for variant, (config, theirs) in TABLES[name].items():
            if config.reader == "agentic" and self.tools.chat is None:
                continue
            if variants and variant not in variants:
                continue
            groups: dict[str, list[tuple[str, float]]] = {}
            documents: Counter[str] = Counter()
            for conversation in conversations:
                data = conversation.data if conversation.data == "longmemeval" else conversation.name
                engine = self.engine(config, conversation)
                groups.setdefault(data, []).extend(self.scores(engine, conversation, variant))
                documents[data] += len(engine.memory.user(USER).topics.catalogue())
                engine.close()
            for data, scored in groups.items():
                kind = "lme" if data == "longmemeval" else data[:2]
                for measure in dict.fromkeys(how for how, _ in scored):
                    mean = Mean.of(value for how, value in scored if how == measure)
                    assert mean is not None
                    scale = 1 if measure in SPENT else 100
                    ours = f"{scale * mean.value:.1f} ± {scale * mean.error:.1f}"
                    known = "" if measure in SPENT else str(theirs.get(kind, ""))
                    yield Row(name, variant, data, mean.questions, measure, known, ours, documents[data])

    def scores(self, engine: Engine, conversation: Conversation, variant: str) -> Iterator[tuple[str, float]]:
        """(measure, score) of each question; the answers are read before any is judged."""
        behind = engine.memory.maintain(user=USER, views=["topics"]).behind
        self.open += len(behind)
        answered = []
        for question in (one for one in conversation.questions if one.known and not behind):
            before = Counter(self.counted.spent) if self.counted else Counter[str]()
            try:
                if variant == _SUMMARIES:
                    recalled = self.by_summaries(engine, question)
                else:
                    recalled = engine.recall(question.text, self.budget, question.asked_at)
                spent = self.counted.spent - before if self.counted else Counter[str]()
                answer = read(question, recalled.text, self.asker) if self.counted else ""
            except QuestionOpen:
                self.open += 1
                continue
            answered.append((question, answer))
            found = judge(conversation, question, "topics", self.budget, recalled, 0.0)
            if found.evidence is not None:
                yield "evidence", found.evidence
            if found.answer is not None:
                yield "answer in text", found.answer
            for measure in SPENT if self.counted else ():
                yield measure, float(recalled.tokens if measure == "tokens read" else spent[measure])
        for question, answer in answered if self.counted and not self.open else ():
            try:
                yield "judged", score(question, answer, self.asker)
            except QuestionOpen:
                self.open += 1

    def by_summaries(self, engine: Engine, question: Question) -> Recalled:
        """The documents whose summaries a model picks, or else those most like the question."""
        topics = engine.memory.user(USER).topics
        listed = [Listed(id=one.id, summary=one.summary) for one in topics.catalogue() if one.summary]
        rows = np.asarray(self.embedder.embed([question.text, *(one.summary for one in listed)]))
        nearest = [listed[at].id for at in np.argsort(-(rows[1:] @ rows[0]), kind="stable")]
        task = PickDocuments(tuple(listed), 10, question.text)
        held = {document.id: document for document in topics.documents()}
        picked = self.asker.ask(task, user=question.id).result.documents or nearest[:10]
        lines = [entry.text for id_ in picked if id_ in held for entry in held[id_].entries]
        tokens = np.cumsum([count + 1 for count in self.embedder.count(lines)])
        lines = lines[: int(np.searchsorted(tokens, self.budget, side="right"))]
        return Recalled("\n".join(lines), tuple(lines), 0)

    def mixing(self, conversations: Sequence[Conversation]) -> Iterator[Row]:
        """How far documents mix what unrelated people said, and would with their entries shuffled."""
        told = [(one.name, message) for one in conversations[:3] for message in one.messages]
        owner = {seq: name for seq, (name, _) in enumerate(told, 1)}
        engine = Engine("topics", self.tools, topics=_H)
        engine.take([replace(message, session=f"{name}/{message.session}") for name, message in told])
        documents = [
            [owner[entry.last] for entry in document.entries]
            for document in engine.memory.user(USER).topics.documents()
            if document.id != "CURRENT"
        ]
        engine.close()
        shuffled = [name for names in documents for name in names]
        Random(0).shuffle(shuffled)
        others = iter(shuffled)
        mixed = [[next(others) for _ in names] for names in documents]
        for variant, groups in (("merged by summaries", documents), ("entries shuffled", mixed)):
            foreign = sum(len(names) - max(Counter(names).values()) for names in groups) / len(shuffled)
            share = fmean(len(set(names)) > 1 for names in groups)
            ours = f"{100 * share:.1f} % mix; {100 * foreign:.1f} % of entries are foreign"
            yield Row("mixing", variant, "three of LoCoMo", 0, "documents", "", ours, len(groups))


def main() -> None:
    """Measure one table, and publish it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.infini", description=__doc__)
    parser.add_argument("table", choices=[*TABLES, "mixing"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", type=int, default=1000, help="tokens")
    parser.add_argument("--record", type=Path, help="keep a model's answers here, and do not ask again")
    parser.add_argument("--data", choices=LOADERS, help="other data than the table's")
    parser.add_argument("--only", help="the conversation of this name")
    parser.add_argument("--questions", type=int, help="a sample of so many, always the same; else all")
    parser.add_argument("--variants", default="", help="of a table, with ; between them; else all")
    parser.add_argument("--offline", action="store_true", help="documents are made without the model")
    parser.add_argument("--output", type=Path, default=results.RESULTS / "infini.json")
    given = parser.parse_args()
    data = {"table1": "mab", "mixing": "locomo"}.get(given.table, "longmemeval")
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
        bench = Bench(Path(folder), given.record, given.budget, offline=given.offline)
        conversations = [
            one for one in load(given.data or data, given.path) if given.only in (None, one.name)
        ]
        if given.table in TABLES:
            conversations = sample(conversations, given.questions) if given.questions else conversations
            rows = list(
                bench.table(given.table, conversations, list(filter(None, given.variants.split(";"))))
            )
        else:
            rows = list(bench.mixing(conversations))
    if bench.open:
        sys.exit(f"{bench.open} questions are open in {given.record}: answer them, and run this again")
    results.show(given.table, rows)
    key = ("table", "variant", "data", "questions")
    every = results.beside_earlier(given.output, [asdict(row) for row in rows], key)
    every.sort(key=lambda row: str(row["table"]))
    results.write(given.output, {**_PAGE, "rows": every})


if __name__ == "__main__":
    main()
