"""What importing a ChatGPT export costs: time, processor time and memory of a process that does nothing else.

The export is generated as the vendor writes it: a ZIP archive of `conversations-000.json` and so on, in which
every message is a node with its metadata, and a third of them are calls, results and thoughts. Its words are
made up, and come in the frequencies of a language. `--read-only` reads and checks it, and stores nothing.
`--bombs` imports archives that nobody should unpack, instead.
"""

from __future__ import annotations

import itertools
import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zibaldone.bench import bombs
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.own_process import ProcessUsage, in_own_process, peak_megabytes
from zibaldone.bench.registry import ImportOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.bench.workload import made_up_turns
from zibaldone.errors import InvalidImport
from zibaldone.importers.importing import reading
from zibaldone.importers.source import OpenedSource
from zibaldone.memory import Memory

_TURNS = 24  # of a conversation
_FILE_BYTES = 50_000_000  # of JSON in each file
_START = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class ImportCost:
    """One import, in a process of its own."""

    megabytes: float  # of JSON, unpacked
    archive_megabytes: float
    messages: int
    added: int
    usage: ProcessUsage


def run(options: ImportOptions, run: Run) -> Measurement:
    """An archive of each size, imported once."""
    rows: list[ImportCost] = []
    for megabytes in () if options.bombs else options.megabytes:
        run.progress("writing an export", len(rows), len(options.megabytes))
        archive = run.folder / f"{megabytes}.zip"
        written = write_export(archive, megabytes * 1_000_000)
        run.progress("importing it", len(rows), len(options.megabytes))
        rows.append(
            measure(archive, run.folder / f"memory-{megabytes}", written, read_only=options.read_only)
        )
        archive.unlink()
    if options.bombs:
        refusals = [
            bombs.refuse(name, path, size, run.folder / "memory-bombs")
            for name, path, size in bombs.write_bombs(run.folder)
        ]
        return Measurement(
            {"imports": rows, "bombs": refusals},
            [tabulate("archives that are refused", bombs.COLUMNS, refusals)],
            tuple(f"{refusal.name}: {refusal.why}" for refusal in refusals),
        )
    what = "read and checked, nothing stored" if options.read_only else "stored, embedded and durable"
    return Measurement({"imports": rows}, [tabulate(f"ChatGPT exports: {what}", _COLUMNS, rows)])


def measure(archive: Path, folder: Path, written: int, *, read_only: bool) -> ImportCost:
    """Import an archive in a process of its own; what the system says of that process."""
    counted, usage = in_own_process(__name__, str(archive), str(folder), *(["read"] if read_only else []))
    return ImportCost(
        megabytes=written / 1e6,
        archive_megabytes=archive.stat().st_size / 1e6,
        messages=counted["messages"],
        added=counted["added"],
        usage=usage,
    )


def write_export(path: Path, size_bytes: int) -> int:
    """An archive of so much JSON at least; returns how much it is."""
    written = 0
    numbered = enumerate(_conversations())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for file in itertools.count():
            if written >= size_bytes:
                return written
            with packed.open(f"conversations-{file:03}.json", "w") as stream:
                here = stream.write(b"[")
                while here < _FILE_BYTES and written + here < size_bytes:
                    number, conversation = next(numbered)
                    comma = ", " if here > 1 else ""
                    here += stream.write((comma + json.dumps(conversation | {"id": f"c{number}"})).encode())
                written += here + stream.write(b"]")
    raise AssertionError("an export has an end")


def _conversations() -> Iterator[dict[str, Any]]:
    sentences = itertools.cycle([turn.content for turn in made_up_turns()])
    for number in itertools.count():
        started = _START + number * 3600
        mapping: dict[str, Any] = {
            "root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}
        }
        for turn in range(_TURNS):
            mapping[f"n{turn}"] = _node(turn, started + 30 * turn, sentences)
        yield {
            "title": f"{next(sentences)[:40]} {number}",
            "create_time": started,
            "update_time": started + 30 * _TURNS,
            "mapping": mapping,
            "current_node": f"n{_TURNS - 1}",
            "default_model_slug": "gpt-4o",
        }


def _node(turn: int, created: float, sentences: Iterator[str]) -> dict[str, Any]:
    """One turn: a question, a thought, a call, a result, an answer, and a question again."""
    role, kind, count, recipient = (
        ("user", "text", 2, "all"),
        ("assistant", "text", 16, "all"),
        ("user", "text", 3, "all"),
        ("assistant", "code", 1, "browser"),
        ("tool", "text", 12, "all"),
        ("assistant", "text", 12, "all"),
    )[turn % 6]
    text = "\n\n".join(" ".join(itertools.islice(sentences, 4)) for _ in range(max(1, count // 4)))
    content = {"content_type": kind} | ({"text": text} if kind == "code" else {"parts": [text]})
    metadata: dict[str, Any] = {
        "model_slug": "gpt-4o",
        "request_id": f"{created:.0f}-{turn:04}-AMS",
        "message_source": None,
        "timestamp_": "absolute",
        "citations": [],
        "content_references": [],
        "finish_details": {"type": "stop", "stop_tokens": [200002]},
        "is_complete": True,
    }
    message = {
        "id": f"n{turn}",
        "author": {"role": role, "name": "browser" if role == "tool" else None, "metadata": {}},
        "create_time": created,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": metadata,
        "recipient": recipient,
        "channel": None,
    }
    parent = f"n{turn - 1}" if turn else "root"
    return {"id": f"n{turn}", "message": message, "parent": parent, "children": [f"n{turn + 1}"]}


def main(archive: str, folder: str, how: str = "") -> None:
    """Import, or "read", and print what was counted; of a "bomb" what was said."""
    answer = {"": _imported, "read": _read, "bomb": _refused}[how](archive, folder)
    sys.stdout.write(json.dumps(answer | {"peak_megabytes": peak_megabytes()}))


def _imported(archive: str, folder: str) -> dict[str, object]:
    with Memory(folder, chat=None) as memory:
        done = memory.import_(archive, user="ann")
    return {"messages": done.read, "added": done.added}


def _read(archive: str, folder: str) -> dict[str, object]:  # noqa: ARG001 - nothing is stored
    with OpenedSource(archive) as source:
        messages = sum(len(talk.messages) for talk in reading(source).conversations())
    return {"messages": messages, "added": 0}


def _refused(archive: str, folder: str) -> dict[str, object]:
    try:
        added = _imported(archive, folder)["added"]
    except InvalidImport as error:
        return {"refused": True, "said": str(error).replace(archive, Path(archive).name)}
    return {"refused": False, "said": f"{added} messages were added"}


_COLUMNS = (
    Column("JSON\nMB", lambda row: row.megabytes, ".0f"),
    Column("archive\nMB", lambda row: row.archive_megabytes, ".0f"),
    Column("messages", lambda row: row.messages, ","),
    Column("added", lambda row: row.added, ","),
    Column("s", lambda row: row.usage.seconds, ".1f"),
    Column("processor\ns", lambda row: row.usage.processor_seconds, ".1f"),
    Column("peak\nMB", lambda row: row.usage.peak_megabytes, ".0f"),
)

if __name__ == "__main__":
    main(*sys.argv[1:])
