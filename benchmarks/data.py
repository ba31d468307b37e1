"""Published data sets in one shape: conversations, and questions about them whose evidence is known.

The data is not in the repository. LoCoMo: its repository's `data/locomo10.json` (CC BY-NC 4.0), and beside it
the public audit of its gold answers, if there is one, as `locomo-errors.json`. BEAM: folders of a `chat.json`
or of `plan-0/chat.json` and so on, with a `probing_questions.json`. LongMemEval: `longmemeval_s.json` (MIT).
RealMem: a file for each person (Apache-2.0). MemoryAgentBench: the lists of FactConsolidation as JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import zibaldone
from zibaldone import Message
from zibaldone.cli.compare.questions import made_questions
from zibaldone.errors import InvalidInput
from zibaldone.importers.importing import reading
from zibaldone.importers.source import opened_source


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

    data: str  # "locomo", "beam", "longmemeval", "realmem", "mab" or "bundled"
    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]

    def sessions(self) -> list[list[Message]]:
        """The messages of each session, in their order."""
        sessions: dict[str, list[Message]] = {}
        for message in self.messages:
            sessions.setdefault(message.session, []).append(message)
        return list(sessions.values())

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
    for place, sample in enumerate(_json(path)):
        name = str(sample["sample_id"])
        messages = _numbered(_locomo_messages(sample))
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
_GENERATOR_INDEX = re.compile(r"\s*->->[\d\s,/NA)]*\Z")  # such as " ->-> 2,14"
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
        messages = _numbered(_beam_messages(folder))
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


_LONGMEMEVAL_TIME = "%Y/%m/%d (%a) %H:%M"


def longmemeval(path: Path) -> Iterator[Conversation]:
    """Haystacks of chats with an assistant; one may carry several questions (`questions`, `answers`, ...).

    Evidence is the marked turns of the sessions that answer; added questions name their sessions alone.
    """
    for haystack in _json(path):
        name, messages = str(haystack["question_id"]), _numbered(_longmemeval_messages(haystack))
        several = "questions" in haystack
        texts = haystack["questions"] if several else [haystack["question"]]
        answers = haystack["answers"] if several else [haystack["answer"]]
        sessions = haystack["answer_session_ids"] if several else [haystack["answer_session_ids"]]
        asked = haystack.get("question_date")
        questions = []
        for number, (text, answer, within) in enumerate(zip(texts, answers, sessions, strict=True)):
            marked = [m for m in messages if m.metadata.get("has_answer") and m.session in within]
            questions.append(
                Question(
                    f"{name}_q{number}" if several else name,
                    text,
                    str(haystack.get("question_type", "added")) if marked or not several else "added",
                    _time(asked, _LONGMEMEVAL_TIME) if asked else None,
                    len(messages),
                    evidence=tuple(message.seq for message in marked),
                    evidence_sessions=tuple(within),
                    answers=_texts([answer]),
                    known=not name.endswith("_abs"),
                )
            )
        yield Conversation("longmemeval", name, messages, tuple(questions))


def realmem(path: Path) -> Iterator[Conversation]:
    """Months of one person's talks with an assistant; a file of a person, or a folder of several.

    A question is a turn of the talk itself and sees what was said before it; the next turn is the reference.
    Its evidence is the turns that the memories it used are snapshots of, but for those in sight anyway: of
    its own session.
    """
    for file in _files(path):
        dialogues = _json(file)["dialogues"]
        messages = _numbered(
            Message(
                turn["content"],
                role=turn["speaker"].lower(),
                time=_time(dialogue["current_time"][:10], "%Y-%m-%d"),
                session=dialogue["session_uuid"],
            )
            for dialogue in dialogues
            for turn in dialogue["dialogue_turns"]
        )
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
    for file in _files(path):
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


DEMO = Path(zibaldone.__file__).parent / "cli" / "demo" / "conversation.jsonl"


FELT = Path(__file__).parent / "felt"


def by_hand(name: str) -> tuple[Path, list[Any]]:
    """The file of a chat in `felt`, or of the demo, and its questions.

    A question's `parts` are what it needs, each as {id of a message: phrase of it} of which one is enough.
    """
    lines = (FELT / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return DEMO if name == "demo" else FELT / f"{name}_chat.jsonl", [json.loads(line) for line in lines]


def messages_of(file: Path) -> tuple[Message, ...]:
    """The messages of a file with one conversation, as an import takes it."""
    with opened_source(file) as source:
        (talk,) = reading(source).conversations()
    return _numbered(talk.messages)


def demo_conversation() -> Conversation:
    """The conversation that comes with the package."""
    return Conversation("bundled", "demo", messages_of(DEMO), ())


def bundled(path: Path) -> Iterator[Conversation]:
    """The package's own conversation; `path` has questions with answers, empty where none was given."""
    talk = demo_conversation()
    now = max(message.time for message in talk.messages if message.time) + timedelta(days=1)
    questions = [
        Question(
            f"bundled_{number}",
            one["question"],
            one["kind"],
            now,
            len(talk.messages),
            answers=_texts([one["answer"]]),
            known=bool(one["answer"]),
        )
        for number, one in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    ]
    yield replace(talk, questions=tuple(questions))


LOADERS: Mapping[str, Callable[[Path], Iterator[Conversation]]] = {
    "bundled": bundled,
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


def _locomo_messages(sample: Mapping[str, Any]) -> Iterator[Message]:
    """The turns of one sample, session by session; pictures by their captions."""
    talk = sample["conversation"]
    numbers = (int(match[1]) for key in talk if (match := re.fullmatch(r"session_(\d+)", key)))
    for number in sorted(numbers):
        if not talk[f"session_{number}"]:  # a date without turns
            continue
        time = _time(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for index, turn in enumerate(talk[f"session_{number}"], 1):
            text, caption, own_id = turn["text"], turn.get("blip_caption"), turn.get("dia_id")
            if caption and caption.strip():
                text = f"{text} [image: {caption}]".lstrip()
            if text.strip():
                yield Message(
                    text,
                    name=turn["speaker"],
                    time=time,
                    session=str(number),
                    metadata={"dia_id": own_id} if own_id else {},
                    id=f"locomo:{sample['sample_id']}:{number}:{index}",
                )


def _longmemeval_messages(haystack: Mapping[str, Any]) -> Iterator[Message]:
    """The turns of one haystack; a session that comes twice keeps its messages apart by their ids."""
    met: Counter[str] = Counter()
    sessions = haystack["haystack_sessions"]
    for turns, day, session in zip(
        sessions, haystack["haystack_dates"], haystack["haystack_session_ids"], strict=True
    ):
        met[session] += 1
        again = f"#{met[session]}" if met[session] > 1 else ""
        for index, turn in enumerate(turns, 1):
            if turn["content"].strip():
                yield Message(
                    turn["content"],
                    turn["role"],
                    time=_time(day, _LONGMEMEVAL_TIME),
                    session=session,
                    metadata={"has_answer": turn["has_answer"]} if "has_answer" in turn else {},
                    id=f"longmemeval:{haystack['question_id']}:{session}{again}:{index}",
                )


def _beam_messages(folder: Path) -> Iterator[Message]:
    """The turns of a chat, all its plans one after the other.

    A `time_anchor` dates all messages up to the next one, and the first also those before it. The index that
    the generator put behind a user's words is taken out.
    """
    plans = sorted(folder.glob("plan-*/chat.json"), key=lambda file: int(file.parent.name.partition("-")[2]))
    files = plans or [folder / "chat.json"]
    turns: list[tuple[Mapping[str, Any], str, datetime | None]] = []
    for file in files:
        for batch in _json(file):
            anchor = batch.get("time_anchor")
            place = "/".join([*([file.parent.name] if plans else []), str(batch["batch_number"])])
            groups = [turn if isinstance(turn, list) else [turn] for turn in batch["turns"]]
            for number, turn in enumerate((turn for group in groups for turn in group), 1):
                day = turn.get("time_anchor") or anchor
                turns.append((turn, f"{place}:{number}", _time(day, "%B-%d-%Y") if day else None))
                anchor = None
    chat = sha256(turns[0][0]["content"].encode()).hexdigest()[:8]
    time = next((day for _, _, day in turns if day), None)
    for turn, name, day in turns:
        time = day or time
        content = turn["content"]
        if turn["role"] == "user":
            content = _GENERATOR_INDEX.sub("", content)
        if content.strip():
            own_id, session = turn.get("id"), f"{chat}/{name.partition(':')[0]}"
            yield Message(
                content,
                turn["role"],
                time=time,
                session=session,
                metadata={} if own_id is None else {"chat_id": own_id},
                id=f"beam:{chat}:{name.replace('/', ':')}",
            )


def _time(text: str, form: str) -> datetime:
    return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)


def _numbered(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, seq=seq) for seq, message in enumerate(messages, 1))


def _files(path: Path) -> list[Path]:
    """A file, or those of a folder."""
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _texts(answers: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(answer) for answer in answers if answer is not None)


def _natural(folder: Path) -> list[tuple[int, str]]:
    """Chat 10 after chat 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(folder))]
