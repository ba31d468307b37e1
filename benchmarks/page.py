"""The page of results, docs/results.md, made of benchmarks/results/*.json: `python -m benchmarks.page`.

Whatever stands there was printed by a command of this repository; each table has that command, its commit and
date. A file that `TABLES` does not name is shown whole, at the end.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS, ROOT, cell, number

PAGE = ROOT / "docs" / "results.md"
_HEAD = """# Results

For whoever wants to know what was measured. Every table has the command that printed it, its commit and day;
`python -m benchmarks.page` makes this page of `benchmarks/results/*.json`, which have every column. A share
stands beside its standard error over questions. [What is counted](research.md#what-is-counted) ·
[what was tried](decisions.md) · [the papers' figures, row by row](papers.md)

`recall` and `zibaldone` are one recall by default settings. `hybrid` is thirty lines of words and vectors
over people's own turns, `bm25-user` is BM25 over the same, `bm25` over everybody's. `felt` are
chats written by hand, with questions as people type them; `made` are questions made of a log
([how](research.md#on-your-own-log)).
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A section: its title, a sentence, and the columns shown, as "key=heading; key; ..."; or all."""

    title: str = ""
    says: str = ""
    columns: str = ""
    budgets: Sequence[int] = ()  # of shares, those shown; or all

    @property
    def headings(self) -> dict[str, str]:
        """The columns as {key of a row: heading}."""
        pairs = (column.strip().partition("=") for column in self.columns.split(";") if column.strip())
        return {key: heading or key.replace("_", " ") for key, _, heading in pairs}


TABLES = {
    "read": Table(
        "Answers",
        "Read and judged by a strong language model, which did not know what made an answer; samples of"
        " development data. `ask` may look again; its tokens are those of all evidence at the end.",
        "data; system; tokens=budget; questions; score=right; tokens used=tokens read; requests",
    ),
    "views": Table(
        "Answers by view",
        "Views made by a strong model, read from 1,000 tokens. A reader saw all pages of a row, and judges"
        " could see what made an answer; the .967 of `ask` is an upper bound, for its queries used names"
        " that its reader had seen.",
        "conversation; read from; score=right of 60; of what never was; tokens read;"
        "requests per question=requests",
    ),
    "pin": Table(
        "Evidence",
        "The share of the messages that hold the answer which a context of 1,000 or 2,000 tokens has; of"
        " MemoryAgentBench (`mab`), whether the answer stands there.",
    ),
    "ranker-static": Table(
        "Weights of the ranker",
        "Shipped, fitted without the data set, and fitted on all.",
        budgets=(1000,),
    ),
    "confidence": Table(
        "Confidence",
        "Questions that a memory of so many messages can answer, and such as were never said. AUC by"
        " weights fitted without the data set; last, of the questions given so much, the share that can be"
        " answered.",
        "memories=memory; known=can be answered; never=never said; AUC left out=AUC;"
        "AUC never said=AUC, never said; known above the floor=kept, can be answered;"
        "never above the floor=kept, never said; of 0 to 0.2=0-.2; of 0.2 to 0.4=-.4;"
        "of 0.4 to 0.6=-.6; of 0.6 to 0.8=-.8; of 0.8 to 1=-1",
    ),
    "notes": Table(
        "Notes of a strong model",
        "One request a session; another model judged every second or third note, and looked for every"
        " change.",
        "conversation; messages; requests; notes; judged; right; wrong_kind; wrong; changes_caught; missed;"
        "older_never_noted; false_endings",
    ),
    "consolidation": Table(
        "What a strong model's views cost",
        "Calls, and tokens of requests and answers by the embedded tokenizer; no answer was refused.",
        "conversation; view; calls per 1,000 messages=per 1,000 messages;"
        "per raw token=model tokens a raw one",
    ),
    "prefixes": Table(
        "Prefix caches",
        "Twenty turns through the gateway; `cached` is the share of a request that begins as the one before.",
        "memory; prompt_tokens; cached; computed_tokens_per_turn=computed a turn",
    ),
    "serving": Table(
        "The gateway",
        "Milliseconds, ten thousand messages a user; `session` is sent straight to the model server, `same`"
        " too, with the gateway's prompts. `added` is to the first token; aims: 15 / 40 for one client,"
        " 30 / 80 for eight; missed.",
        "arm; concurrency=clients; added_p50_ms=added p50; added_p95_ms=p95; memory_p50_ms=of it memory;"
        "prompt_tokens=prompt tokens; requests_per_s=requests a second; of_same=of `same`; degraded",
    ),
    "page": Table(
        "The page",
        "Milliseconds of the first page, a search, and passages as one types.",
        "messages; first_page_p50_ms=first page p50; first_page_p95_ms=p95; first_page_cpu_ms=processor;"
        "search_page_p50_ms=search p50; search_page_p95_ms=p95; search_page_cpu_ms=processor;"
        "typing_p50_ms=typing p50; typing_p95_ms=p95; typing_cpu_ms=processor",
    ),
    "kv_vllm": Table(
        "First token in vLLM",
        "SmolLM2-135M on a shared CPU, three questions a size; not measured on a GPU.",
        "memory; name=as; computed_tokens=computed; ms",
    ),
}
# Figures that stand on the page of the papers, beside each paper's own; of the last, on that of decisions.
_ELSEWHERE = ("akashic", "infini", "kv-", "xmemory", "ranker-encoder")


def page(files: Sequence[Path]) -> str:
    """The whole page: the sections of `TABLES`, then the files that nothing names."""
    there = {file.stem: file for file in files if not file.stem.startswith(_ELSEWHERE)}
    order = [*(name for name in TABLES if name in there), *(name for name in there if name not in TABLES)]
    return "\n".join([_HEAD, *(section(TABLES.get(name, Table()), there[name]) for name in order)])


def section(table: Table, file: Path) -> str:
    """A file's title, its sentence, what made it, and its table."""
    made = json.loads(file.read_text(encoding="utf-8"))
    rows = made["rows"]
    shares = bool(rows) and {"data", "row", "budget", "mean", "error"} <= rows[0].keys()
    lines = _shares(table, rows) if shares else _plain(table, rows)
    commits = sorted({row["commit"] for row in rows if "commit" in row}) or [made["commit"]]
    by = f"`{made['command']}`, commit {', '.join(commits)}, {made['date'][:10]}."
    says = f"{table.says} " if table.says else ""
    return f"## {table.title or made.get('title', file.stem)}\n\n{says}{by}\n\n" + "\n".join(lines) + "\n"


def _shares(table: Table, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each data set, a column for each system and budget; a table for each set of columns."""
    shown = [row for row in rows if not table.budgets or row["budget"] in table.budgets]
    cells = {(row["data"], row["budget"], row["row"]): row for row in shown}
    columns = {
        data: tuple(sorted(((budget, name) for of, budget, name in cells if of == data), key=itemgetter(0)))
        for data in dict.fromkeys(row["data"] for row in shown)
    }
    for place, kinds in enumerate(dict.fromkeys(columns.values())):
        if place:
            yield ""
        yield from _head(["data", "questions", *(f"{name}, {budget:,}" for budget, name in kinds)])
        for data in (data for data in columns if columns[data] == kinds):
            found = [cells[data, *kind] for kind in kinds]
            figures = [f"{number(one['mean'])}±{number(one['error'])}" for one in found]
            yield _line([data, str(found[0]["questions"]), *figures])


def _plain(table: Table, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each row; a column in which nothing stands is left out."""
    headings = table.headings or {key: key.replace("_", " ") for key in (rows[0] if rows else ())}
    keys = [key for key in headings if any(row[key] not in (None, "") for row in rows)]
    yield from _head([headings[key] for key in keys])
    yield from dict.fromkeys(_line([cell(row[key]) for key in keys]) for row in rows)


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _line(cells)
    yield "|" + "---|" * len(cells)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def foreign(text: str) -> list[str]:
    """Commits that the page names and that are not in the history; none where all of it is not at hand."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = [shutil.which("git") or "git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603

    if shutil.which("git") is None or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return []
    named = sorted(set(re.findall(r"\b[0-9a-f]{8,40}\b", text)))
    return [commit for commit in named if git("merge-base", "--is-ancestor", commit, "HEAD").returncode]


def main() -> None:
    text = page(sorted(RESULTS.glob("*.json")))
    if unknown := foreign(text):
        raise SystemExit(f"in no history: {', '.join(unknown)}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
