"""Infini Memory-A (Algorithm 3, lines 4 to 17): a model searches the documents with tools, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from zibaldone.errors import InvalidInput
from zibaldone.models.asker import Asker, TaskAnswer
from zibaldone.models.base import Tokenizer
from zibaldone.views.topics.read.agent_tools import Toolset
from zibaldone.views.topics.read.ranking import EntryHit, RankedEntries, ReadingResult, falling, ordered
from zibaldone.views.topics.read.reader_h import MOST_FOUND, catalogue, likeliest, offline, partitions
from zibaldone.views.topics.tasks import MOST_CALLS, AgentMove, Call, Called, Round, SearchMemory

# The limits of one search, named as in Algorithm 3 where it names them.
_MAX_ITERATIONS = 7
_EVIDENCE_TOKENS = 8000  # of lines shown to the model: then it has seen enough
_MIN_RETRIEVAL_TOKENS = 500  # of entries found: with fewer the fallback adds
_FALLBACK_TOPK = 5  # heading blocks
_CATALOGUE = 60  # documents shown at the start, the likeliest; list_docs shows the rest
_TIMEOUT_S = 30.0  # for each round
_BAD = 2  # answers behind each other that could not be used


@dataclass(slots=True)
class _Seen:
    """Lines that the tools have shown so far, by document, and the tokens of all answers."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    tokens: int = 0


def read_agentic(
    ranked: RankedEntries, asker: Asker, tokenizer: Tokenizer, *, user: str, today: date
) -> ReadingResult:
    """Entries best first.

    Raises QuestionOpen only, where somebody is going to answer for the model.
    """
    return _AgentSearch(ranked, asker, tokenizer, user, today).run()


class _AgentSearch:
    def __init__(
        self, ranked: RankedEntries, asker: Asker, tokenizer: Tokenizer, user: str, today: date
    ) -> None:
        self._asker, self._tokenizer = asker, tokenizer
        self._index, self._ranked, self._question = ranked.index, ranked, ranked.question
        self._user, self._today = user, today
        self._tools = Toolset(ranked.index)
        self._seen = _Seen()
        self._rounds: list[Round] = []
        self._calls = 0
        self._note = ""
        self._catalogue = catalogue(ranked.index, likeliest(ranked)[:_CATALOGUE])

    def run(self) -> ReadingResult:
        last = AgentMove()
        bad = 0
        while len(self._rounds) < _MAX_ITERATIONS and self._seen.tokens < _EVIDENCE_TOKENS:
            answer = self._ask()
            self._calls += answer.calls
            if answer.degraded:
                self._note = answer.degraded
                bad += 1
                # Asked twice, it gave no usable answer: that costs a round. Else it cannot be asked at all.
                if answer.calls < 2 or bad == _BAD:
                    break
                self._rounds.append(Round(remark=f"this answer could not be used: {answer.degraded}"))
                continue
            last, bad = answer.result, 0
            if last.done:
                break
            self._play(last)
        return self._reading(last)

    def _ask(self) -> TaskAnswer[AgentMove]:
        task = SearchMemory(
            self._question.text,
            self._today.isoformat(),
            tuple(self._tools.schemas()),
            self._catalogue,
            len(self._index.documents),
            tuple(self._rounds),
            _MAX_ITERATIONS - len(self._rounds),
        )
        return self._asker.ask(task, user=self._user, timeout_s=_TIMEOUT_S)

    def _play(self, move: AgentMove) -> None:
        """ExecuteTools, line 10: run the move's tool calls and record the round."""
        called = [
            Called(name=call.name, arguments=call.arguments, answer=self._call(call))
            for call in move.tool_calls[:MOST_CALLS]
        ]
        remark = ""
        if not move.tool_calls:
            remark = "no tool was called: call tools, or finish with done"
        elif len(move.tool_calls) > MOST_CALLS:
            remark = f"only the first {MOST_CALLS} calls were made"
        self._rounds.append(Round(calls=called, remark=remark))

    def _call(self, call: Call) -> str:
        """Text of the answer, which is noted as seen."""
        try:
            answer = self._tools.invoke(call.name, call.arguments)
        except InvalidInput as error:
            return f"error: {error}"
        self._seen.tokens += self._tokenizer.count([answer.text])[0]
        for doc_id, numbers in answer.lines:
            self._seen.lines.setdefault(doc_id, set()).update(numbers)
        return answer.text

    def _reading(self, last: AgentMove) -> ReadingResult:
        tiers = [self._hits(rows, "picked") for rows in self._chosen(last)]
        if not last.done or not tiers[0]:
            # An agent that never finished keeps what it saw.
            tiers.append(self._hits(self._ranked.best(self._seen_rows()), "seen"))
        hits = ordered(tiers)
        note = self._note
        tokens = self._tokenizer.count([hit.place.entry.text for hit in hits])
        if sum(tokens) < _MIN_RETRIEVAL_TOKENS:
            hits = ordered((hits, self._fallback(), offline(self._ranked)))
            note = note or "the agent found little; words and vectors added the rest"
        else:
            hits = ordered((hits, self._recent()))
        return ReadingResult(falling(hits[:MOST_FOUND]), len(self._index), self._calls, note)

    def _chosen(self, move: AgentMove) -> tuple[list[int], list[int]]:
        """MaterializeSelections, line 7: entries on the lines that the agent chose.

        And those of their heading blocks and of whole documents (section 3.4).

        Ranges that do not exist choose nothing.
        """
        rows: list[int] = []
        around: list[int] = []
        for snippet in move.relevant_snippets:
            id_, lines = snippet.doc_id, (snippet.start_line, snippet.end_line)
            index = self._tools.document(id_)
            if index is not None and 1 <= lines[0] <= lines[1]:
                rows += self._ranked.best(self._global(id_, index.rows_of(*lines)))
                around += self._ranked.best(self._global(id_, index.widened(*lines)))
        for id_ in dict.fromkeys(move.relevant_docs):
            if (index := self._tools.document(id_)) is not None:
                around += self._ranked.best(self._global(id_, range(len(index.places))))
        return rows, around

    def _seen_rows(self) -> list[int]:
        rows = []
        for id_, numbers in self._seen.lines.items():
            index = self._index.documents[id_]
            local = [row for row, place in enumerate(index.places) if place.start in numbers]
            rows += self._global(id_, local)
        return rows

    def _fallback(self) -> list[EntryHit]:
        """BM25 over heading partitions (Algorithm 3, lines 13 to 16), in the order of the blocks."""
        rows: list[int] = []
        for id_, number in partitions(self._index, self._question.stems, _FALLBACK_TOPK):
            places = self._index.documents[id_].places
            rows += self._ranked.best(
                self._global(id_, [row for row, place in enumerate(places) if place.partition == number])
            )
        return self._hits(rows, "fallback")

    def _recent(self) -> list[EntryHit]:
        """Entries of CURRENT, best first (line 17); after the fallback, CURRENT is ranked with the rest."""
        rows = [row for row, place in enumerate(self._index.places) if place.document == self._index.current]
        return self._hits(self._ranked.best(rows), "recent")

    def _hits(self, rows: Sequence[int], why: str) -> list[EntryHit]:
        return self._ranked.hits(list(dict.fromkeys(rows)), why)

    def _global(self, id_: str, local: Iterable[int]) -> list[int]:
        where = self._index.of_document[id_]
        return [int(where[row]) for row in local]
