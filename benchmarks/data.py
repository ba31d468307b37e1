"""Published data sets in one shape: conversations, and questions about them whose evidence is known.

The data is not in the repository. LoCoMo: its repository's `data/locomo10.json` (CC BY-NC 4.0), and beside it
the public audit of its gold answers, if there is one, as `locomo-errors.json`. BEAM: folders of a `chat.json`
or of `plan-0/chat.json` and so on, with a `probing_questions.json`. LongMemEval: `longmemeval_s.json` (MIT).
RealMem: a file for each person (Apache-2.0). MemoryAgentBench: the lists of FactConsolidation as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from zibaldone import Message
from zibaldone.cli.compare.questions import made_questions
from zibaldone.errors import InvalidInput
from zibaldone.importers.importing import read_file


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and what answers it."""

    id: str
    text: str
    category: str
    asked_at: datetime | None
    visible: int  # how many messages of the conversation were said before it
    evidence: tuple[int, ...] = ()  # seqs of the messages that hold the answer
    sources: tuple[int, ...] = ()  # all that it is made from, also what an assistant said
    evidence_sessions: tuple[str, ...] = ()  # beside them, where sessions are all that is named
    answers: tuple[str, ...] = ()  # forms of the right answer, the reference first
    nuggets: tuple[str, ...] = ()  # what a rubric wants an answer to say
    known: bool = True  # False: memory does not hold it, and the right answer says so
    phrases: tuple[str, ...] = ()  # of the evidence, where a message is not wanted whole
    faulted: bool = False  # an audit says that its gold answer or its evidence is wrong


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one user, with seqs from 1 in their order, and questions by when they are asked."""

    data: str  # "locomo", "beam", "longmemeval", "realmem" or "mab"
    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]

    def evidence(self, question: Question) -> list[str]:
        """The words of its evidence, without descriptions of images; words of their own only."""
        if question.phrases:
            return list(question.phrases)
        texts = (_IMAGE.sub("", self.messages[seq - 1].content) for seq in question.evidence)
        return [text for text in texts if text]


_IMAGE = re.compile(r" ?\[image: [^\n]*\]\Z")
_NUMBER = re.compile(r"\d+")


_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
# The audit names a conversation by its place in the full file.
_PLACES = {f"conv-{n}": i for i, n in enumerate((26, 30, 41, 42, 43, 44, 47, 48, 49, 50))}
_DIA_ID = re.compile(r"D:?(\d+):(\d+)")  # also in "D8:6; D9:17", "D:11:26" and "D30:05"


def locomo(path: Path) -> Iterator[Conversation]:
    """Conversations of two people. Adversarial questions ask for what was never said."""
    audit = path.parent / "locomo-errors.json"
    faulted = {fault["question_id"] for fault in _json(audit)} if audit.is_file() else set()
    talks = _imported(path, "locomo")
    for place, sample in enumerate(_json(path)):
        name = str(sample["sample_id"])
        messages = talks[name]
        seqs = {message.metadata.get("dia_id"): message.seq for message in messages}
        questions = []
        for number, qa in enumerate(sample["qa"]):
            own_id = f"locomo_{_PLACES.get(name, place)}_qa{number}"
            named = (f"D{int(s)}:{int(t)}" for s, t in _DIA_ID.findall(str(qa.get("evidence"))))
            known = qa["category"] != 5
            questions.append(
                Question(
                    own_id,
                    qa["question"],
                    _LOCOMO_CATEGORIES[qa["category"]],
                    max(message.time for message in messages if message.time),  # no question has a date
                    len(messages),
                    evidence=tuple(seqs[turn] for turn in dict.fromkeys(named) if turn in seqs),
                    answers=_texts([qa.get("answer")] if known else []),
                    known=known,
                    faulted=own_id in faulted,
                )
            )
        yield Conversation("locomo", name, messages, tuple(questions))


BEAM_KINDS = (
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
_REFERENCES = ("ideal_response", "ideal_answer", "answer", "ideal_summary", "expected_compliance")
# such as "LLM response should state: "; what follows is the nugget
_OPENING = re.compile(r"\s*(?:the )?(?:llm )?response should [a-z ]{1,40}:\s*", re.IGNORECASE)


def beam(path: Path) -> Iterator[Conversation]:
    """Chats with an assistant, below a folder. Evidence is what the user said; nuggets are the rest.

    Questions with a source that is not there are left out: a part of a chat does not answer them.
    """
    files = path.rglob("probing_questions.json")
    folders = {
        file.parent.parent if file.parent.name == "probing_questions" else file.parent: file for file in files
    }
    for folder in sorted(folders, key=_natural):
        messages = _imported(folder, "beam")[folder.name]
        if (folder / "chat.json").is_file():
            by_source = {m.metadata["chat_id"]: m for m in messages if "chat_id" in m.metadata}
        else:  # ids are those of each plan; questions go by the place in all plans together
            by_source = dict(enumerate(messages))
        name = folder.name if folder == path else folder.relative_to(path).as_posix()
        questions = tuple(_beam_questions(_json(folders[folder]), messages, by_source))
        yield Conversation("beam", name, messages, questions)


def _beam_questions(
    kinds: Mapping[str, Any], messages: tuple[Message, ...], by_source: Mapping[int, Message]
) -> Iterator[Question]:
    for kind in BEAM_KINDS:
        for number, probe in enumerate(kinds.get(kind) or []):
            sources = dict.fromkeys(
                _numbers(probe.get("source_chat_ids", probe.get("conversation_sessions")))
            )
            if all(source in by_source for source in sources):
                yield Question(
                    f"{kind}_{number}",
                    probe["question"],
                    kind,
                    messages[-1].time,
                    len(messages),
                    evidence=tuple(by_source[n].seq for n in sources if by_source[n].role == "user"),
                    sources=tuple(by_source[n].seq for n in sources),
                    answers=_texts([next((probe[key] for key in _REFERENCES if probe.get(key)), None)]),
                    nuggets=tuple(_OPENING.sub("", str(nugget)) for nugget in probe.get("rubric") or []),
                    known=kind != "abstention",
                )


def _numbers(sources: Any) -> Iterator[int]:
    """The whole numbers in nested lists and mappings, in their order."""
    if isinstance(sources, dict | list):
        for inner in sources.values() if isinstance(sources, dict) else sources:
            yield from _numbers(inner)
    elif sources is not None:
        yield from map(int, _NUMBER.findall(str(sources)))


def longmemeval(path: Path) -> Iterator[Conversation]:
    """Haystacks of chats with an assistant; one may carry several questions (`questions`, `answers`, ...).

    Evidence is the marked turns of the sessions that answer; added questions name their sessions alone.
    """
    talks = _imported(path, "longmemeval")
    for haystack in _json(path):
        name = str(haystack["question_id"])
        several = "questions" in haystack
        texts = haystack["questions"] if several else [haystack["question"]]
        answers = haystack["answers"] if several else [haystack["answer"]]
        sessions = haystack["answer_session_ids"] if several else [haystack["answer_session_ids"]]
        asked = haystack.get("question_date")
        questions = []
        for number, (text, answer, within) in enumerate(zip(texts, answers, sessions, strict=True)):
            marked = [m for m in talks[name] if m.metadata.get("has_answer") and m.session in within]
            questions.append(
                Question(
                    f"{name}_q{number}" if several else name,
                    text,
                    str(haystack.get("question_type", "added")) if marked or not several else "added",
                    datetime.strptime(asked, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC) if asked else None,
                    len(talks[name]),
                    evidence=tuple(message.seq for message in marked),
                    evidence_sessions=tuple(within),
                    answers=_texts([answer]),
                    known=not name.endswith("_abs"),
                )
            )
        yield Conversation("longmemeval", name, talks[name], tuple(questions))


def realmem(path: Path) -> Iterator[Conversation]:
    """Months of one person's talks with an assistant; a file of a person, or a folder of several.

    A question is a turn of the talk itself and sees what was said before it; the next turn is the reference.
    Its evidence is the turns that the memories it used are snapshots of, but for those in sight anyway: of
    its own session.
    """
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        dialogues = _json(file)["dialogues"]
        messages = tuple(
            Message(
                turn["content"],
                role=turn["speaker"].lower(),
                time=datetime.strptime(dialogue["current_time"][:10], "%Y-%m-%d").replace(tzinfo=UTC),
                session=dialogue["session_uuid"],
            )
            for dialogue in dialogues
            for turn in dialogue["dialogue_turns"]
        )
        messages = _numbered(messages)
        seqs: dict[tuple[str, str], int] = {}
        for message in messages:
            seqs.setdefault((message.session, message.content), message.seq)
        snapshots = {
            (dialogue["session_uuid"], str(memory["content"])): memory["source_content_snapshot"]
            for dialogue in dialogues
            for memory in dialogue["extracted_memory"]
        }
        questions = []
        turns = [turn for dialogue in dialogues for turn in dialogue["dialogue_turns"]]
        for turn, reply, message in zip(turns, turns[1:], messages, strict=False):
            if not turn.get("is_query"):
                continue
            used = [
                (memory["session_uuid"], str(memory["content"])) for memory in reply.get("memory_used") or []
            ]
            evidence = {seqs.get((memory[0], snapshots.get(memory, "")), 0) for memory in used}
            questions.append(
                Question(
                    f"{file.stem}_{message.seq}",
                    turn["content"],
                    str(turn.get("category_name")),
                    message.time,
                    message.seq - 1,
                    evidence=tuple(
                        seq
                        for seq in sorted(evidence)
                        if seq and messages[seq - 1].session != message.session
                    ),
                    answers=(reply["content"],),
                )
            )
        yield Conversation("realmem", file.stem, messages, tuple(questions))


_FACT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)


def mab(path: Path) -> Iterator[Conversation]:
    """Lists of facts in which a later one overrides an earlier; a file, or a folder of several."""
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        listed = _json(file)
        start = datetime(2024, 1, 1, tzinfo=UTC)
        messages = _numbered(
            Message(fact[0], time=start + timedelta(minutes=minute), session="facts")
            for minute, fact in enumerate(_FACT.finditer(listed["context"]))
        )
        questions = tuple(
            Question(
                f"{file.stem}_q{n}",
                text,
                file.stem,
                messages[-1].time,
                len(messages),
                answers=_texts(answers),
            )
            for n, (text, answers) in enumerate(zip(listed["questions"], listed["answers"], strict=True))
        )
        yield Conversation("mab", file.stem, messages, questions)


LOADERS: Mapping[str, Callable[[Path], Iterator[Conversation]]] = {
    "locomo": locomo,
    "beam": beam,
    "longmemeval": longmemeval,
    "realmem": realmem,
    "mab": mab,
}


def made(conversation: Conversation) -> Conversation:
    """The conversation, with questions of what one message alone says, whoever says it: see `compare`."""
    questions = (
        Question(
            one.id, one.text, one.kind, one.now, len(conversation.messages), one.seqs, phrases=one.evidence
        )
        for one in made_questions(conversation.messages)
    )
    return replace(conversation, questions=tuple(questions))


def load(name: str, path: Path) -> list[Conversation]:
    """The conversations of a data set. Raises InvalidInput for a path that holds none of it."""
    try:
        conversations = list(LOADERS[name](path))
    except (KeyError, TypeError, AttributeError, OSError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as {name}: {error!r}") from error
    if not conversations:
        raise InvalidInput(f"{str(path)!r} holds nothing of {name}")
    return conversations


def _imported(path: Path, kind: str) -> dict[str, tuple[Message, ...]]:
    """The messages of each conversation that the package's importer finds, by its name."""
    return {
        str(talk.user_hint or talk.name): _numbered(talk.messages)
        for talk in read_file(path, kind).conversations
    }


def _numbered(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, seq=seq) for seq, message in enumerate(messages, 1))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _texts(answers: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(answer) for answer in answers if answer is not None)


def _natural(folder: Path) -> list[tuple[int, str]]:
    """Chat 10 after chat 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(folder))]
