"""BEAM: ten kinds of questions about long chats of one user with an assistant.

Get the chats from BEAM's repository, `chats/100K/1` and so on: folders of a `chat.json`, or of ten
`plan-0/chat.json` at ten million tokens, and of `probing_questions.json`. Judged by the user's own messages
among a question's sources, and by the nuggets of its rubric. The other sources are what the assistant said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zibaldone.bench.base import Example
from zibaldone.bench.conversations import read_plain_json
from zibaldone.core import Message
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.importers.beam import chat_files
from zibaldone.importers.importing import read_file

KINDS = (
    "information_extraction",
    "multi_session_reasoning",
    "knowledge_update",
    "contradiction_resolution",
    "temporal_reasoning",
    "event_ordering",
    "summarization",
    "instruction_following",
    "preference_following",
    "abstention",
)
_QUESTIONS = "probing_questions"  # a file, or in BEAM's repository a folder that holds it
_REFERENCES = ("ideal_response", "ideal_answer", "answer", "ideal_summary", "expected_compliance")
_NUMBERS = re.compile(r"(\d+)")
# such as "LLM response should state: "; what follows is the nugget
_OPENING = re.compile(r"\s*(?:the )?(?:llm )?response should [a-z ]{1,40}:\s*", re.IGNORECASE)


class BEAMQuestions:
    """Every chat is a user of its own, called by its folder.

    Questions with a source that is not there are left out: a part of a chat does not answer them. Those
    without a source among the user's messages count for their nuggets alone.
    """

    name = "beam"
    categories: tuple[str, ...] = KINDS
    has_faults = False

    def __init__(self, path: Path) -> None:
        folders = _folders(path)
        if not folders:
            raise InvalidInput(
                f"{str(path)!r} holds no {_QUESTIONS}.json: give the folder of a BEAM chat, or of several"
            )
        self._messages: dict[str, tuple[Message, ...]] = {}
        self.examples: list[Example] = []
        for folder, questions in folders.items():
            user = folder.relative_to(path).as_posix() if folder != path else path.resolve().name
            (chat,) = read_file(folder, "beam").conversations
            messages = tuple(replace(message, seq=seq) for seq, message in enumerate(chat.messages, start=1))
            if not messages or messages[0].time is None:
                raise InvalidImport(f"{folder}: no message of the chat names its day ('time_anchor')")
            self._messages[user] = messages
            by_source = _by_source(folder, messages)
            self.examples += (
                replace(example, now=messages[-1].time) for example in _examples(questions, user, by_source)
            )

    def messages(self, user: str) -> tuple[Message, ...]:
        return self._messages[user]


def _folders(path: Path) -> dict[Path, Path]:
    """The folders of chats below this one, or itself, and the file of each one's questions."""
    folders = {}
    for file in path.rglob(f"{_QUESTIONS}.json"):
        folders[file.parent.parent if file.parent.name == _QUESTIONS else file.parent] = file
    return {folder: folders[folder] for folder in sorted(folders, key=_natural)}


def _natural(folder: Path) -> list[tuple[int, str]]:
    """Chat 10 after chat 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBERS.split(str(folder))]


def _by_source(folder: Path, messages: tuple[Message, ...]) -> Mapping[int, Message]:
    """Messages as the questions name them: by id, or by place in all plans together, whose ids are alike."""
    if "chat.json" in chat_files(folder):
        return {message.metadata["chat_id"]: message for message in messages if "chat_id" in message.metadata}
    return dict(enumerate(messages))


def _examples(path: Path, user: str, by_source: Mapping[int, Message]) -> Iterator[Example]:
    kinds = read_plain_json(path)
    if not isinstance(kinds, dict):
        raise InvalidImport(f"{path}: has no object of questions by their kinds, such as {KINDS[0]!r}")
    for kind in KINDS:
        for number, probe in enumerate(kinds.get(kind) or []):
            at = f"{path}: {kind}[{number}]"
            if not isinstance(probe, dict) or not isinstance(probe.get("question"), str):
                raise InvalidImport(f"{at} has no text under 'question'")
            rubric = probe.get("rubric") or []
            if not isinstance(rubric, list):
                raise InvalidImport(f"{at} has no list under 'rubric'")
            sources = dict.fromkeys(
                source_ids(probe.get("source_chat_ids", probe.get("conversation_sessions")))
            )
            if any(source not in by_source for source in sources):
                continue
            wanted = [by_source[source] for source in sources]
            reference = next((str(probe[key]) for key in _REFERENCES if probe.get(key)), None)
            yield Example(
                id=f"{user}_{kind}_{number}",
                user=user,
                question=probe["question"],
                answer=None if kind == "abstention" else reference,
                unknown=kind == "abstention",
                category=kind,
                evidence=tuple(message.content for message in wanted if message.role == "user"),
                nuggets=tuple(_OPENING.sub("", str(nugget)) for nugget in rubric),
            )


def source_ids(sources: Any) -> Iterator[int]:
    """The whole numbers that stand in nested lists and mappings, in their order."""
    if isinstance(sources, dict | list):
        for inner in sources.values() if isinstance(sources, dict) else sources:
            yield from source_ids(inner)
    elif sources is not None:
        yield from map(int, _NUMBERS.findall(str(sources)))
