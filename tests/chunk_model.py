"""A model that answers the chunks view's tasks from what it is shown, as a good one would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from zibaldone.models.base import ChatRequest
from zibaldone.testing import ScriptedModel

Answering = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def inputs_of(request: ChatRequest) -> Any:
    """What the task was given."""
    return json.loads(request.turns[1].content)


def compress(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A note per message, in the third person."""
    notes = [
        {"text": f"{one['speaker']} said: {one['text']}", "sources": [one["seq"]]}
        for one in given["messages"]
    ]
    return {"items": notes, "keywords": ["said"], "entities": ["Ann"], "summary": "What was said."}


def select(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first candidates."""
    return {"chunks": [one["chunk"] for one in given["candidates"]][: given["at_most"]]}


def noted(line: str) -> tuple[int, str]:
    """(id, text) of an item's line."""
    number, text = line.split(" ", 1)
    return int(number), re.sub(r"^\(\d{4}-\d\d-\d\d\) ", "", text)


def joint(given: Mapping[str, Any]) -> dict[str, Any]:
    """Everything stays as it is."""
    notes = [{"text": text, "sources": [number]} for number, text in map(noted, given["new"]["items"])]
    return {"items": notes, "updates": [], "deletions": []}


def chunk_model(**tasks: Answering) -> ScriptedModel:
    """Answers with these functions of a task's inputs, and with the plain ones above for the others."""
    answers = {"compress": compress, "select_related": select, "joint_compact": joint} | tasks

    def answer(request: ChatRequest) -> Mapping[str, Any]:
        return answers[request.task.removeprefix("chunks.")](inputs_of(request))

    return ScriptedModel(answer)


def good(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a good model answers to a request's body, by what its task's inputs are."""
    given = json.loads(body["messages"][1]["content"])
    answers: dict[str, Answering] = {"messages": compress, "new": joint, "candidates": select}
    return next((answers[name](given) for name in answers if name in given), {"groups": []})
