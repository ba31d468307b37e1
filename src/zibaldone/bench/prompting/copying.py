"""In place of a model: every task answered by copying what it shows. It counts calls and tokens, and no more.

Its prompts are those that a model is sent. Its answers keep every word, so they are longer than a model's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from zibaldone.errors import ModelFailed
from zibaldone.models.base import ChatReply, ChatRequest

_Given = Mapping[str, Any]
_ITEM = re.compile(r"(\d+) (?:\(\d{4}-\d\d-\d\d\) )?(.*)", re.DOTALL)


class CopyingModel:
    """A chat model that copies. Keeps nothing; safe to share among threads."""

    name = "copying"

    def chat(self, request: ChatRequest) -> ChatReply:
        """The task's inputs as its answer; raises ModelFailed for a task that is not answered in JSON."""
        answer = _ANSWERS.get(request.task)
        if answer is None or request.schema is None:
            raise ModelFailed(f"{request.task} cannot be answered by copying", requests=0)
        return ChatReply(json.dumps(answer(json.loads(request.turns[1].content)), ensure_ascii=False))


def _compress(given: _Given) -> _Given:
    notes = [{"text": each["text"], "sources": [each["seq"]]} for each in given["messages"]]
    return {"items": notes, **_described(given["messages"][0]["text"])}


def _described(text: str) -> dict[str, Any]:
    words = text.split()
    return {"keywords": words[:16], "entities": words[:4], "summary": " ".join(words[:20])}


def _select(given: _Given) -> _Given:
    return {"chunks": [each["chunk"] for each in given["candidates"]][: given["at_most"]]}


def _narrate(given: _Given) -> _Given:
    lines = [f"{each['speaker']}: {each['text']}" for each in given["messages"]]
    return {"title": " ".join(lines[0].split()[:12]), "narrative": "\n".join(lines)}


def _extract(given: _Given) -> _Given:
    shown = [_ITEM.fullmatch(line) for session in given["sessions"] for line in session]
    facts = [{"message": int(line[1]), "text": line[2], "date": ""} for line in shown if line]
    return {"facts": facts}


def _in_one_section(lines: list[str]) -> dict[str, Any]:
    numbers = [int(line.split(" ", 1)[0]) for line in lines]
    heading = " ".join(lines[0].partition(") ")[2].split()[:4])
    section = {"heading": heading, "entries": numbers, "lines": []}
    return {"title": "", "summary": "", "sections": [section], "superseded": []}


def _lines(sections: list[Any]) -> list[str]:
    return [line for section in sections for line in section["entries"]]


def _plan_updates(given: _Given) -> _Given:
    blocks = [block["block"] for block in given["blocks"]]
    if given["documents"]:
        return {"updates": [{"document": given["documents"][0]["id"], "blocks": blocks}], "new_documents": []}
    return {"updates": [], "new_documents": [{"title": given["blocks"][0]["heading"], "blocks": blocks}]}


_ANSWERS: Mapping[str, Callable[[_Given], _Given]] = {
    "chunks.compress": _compress,
    "chunks.joint_compact": lambda _: {"items": [], "updates": [], "deletions": []},
    "chunks.select_related": _select,
    "chunks.colocate": lambda _: {"groups": []},
    "hierarchy.episodes": lambda given: {"starts": [each["seq"] for each in given["messages"]][8::8]},
    "hierarchy.narrate": _narrate,
    "hierarchy.predict": lambda given: {"expected": [each["text"] for each in given["known"]][:20]},
    "hierarchy.distil": lambda given: {
        "statements": [{"text": each["text"], "sources": [each["seq"]]} for each in given["messages"]]
    },
    "hierarchy.name_theme": lambda given: {"name": " ".join(given["statements"][0].split()[:6])},
    "topics.extract": _extract,
    "topics.rewrite_current": lambda given: _in_one_section(given["entries"]),
    "topics.rewrite_documents": lambda given: {
        "documents": [
            {"document": document["document"], **_in_one_section(_lines(document["new"] or document["old"]))}
            for document in given["documents"]
        ]
    },
    "topics.plan_updates": _plan_updates,
    "topics.choose_merges": lambda _: {"groups": []},
    "topics.pick_documents": lambda given: {
        "documents": [each["id"] for each in given["documents"]][: given["at_most"]]
    },
    "profile.note": lambda given: {
        "entries": [
            {"kind": "fact", "text": each["text"][:400], "topic": "", "sources": [each["seq"]]}
            for each in given["messages"][:8]
        ]
    },
    "updates.judge": lambda _: {"ended": []},
    "recall.plan": lambda given: {
        "aim": "fact",
        "subject": given["question"],
        "first_day": "",
        "last_day": "",
    },
}
