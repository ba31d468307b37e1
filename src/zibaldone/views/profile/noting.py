"""What a model reads in messages beside the grammar: asked, held against its sources, and nothing twice.

An entry has to be borne out by what its author said: words in a quotation, in code or in pasted text bear
nothing out, so no document can give an instruction in somebody's name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import regex

from zibaldone.core import MACHINES, Message
from zibaldone.models.answer_log import note_parts
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.task import shown_message
from zibaldone.text.faithfulness import SourceTexts, denies, with_sources
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms
from zibaldone.views.profile import corrections
from zibaldone.views.profile.entries import EntryInMessage, read_as
from zibaldone.views.profile.matching import entry_words
from zibaldone.views.profile.own_words import own_text
from zibaldone.views.profile.tasks import NotedEntry, NoteEntries

_MOST_MESSAGES = 24  # in one question to the model
_MOST_CHARACTERS = 6000
_LONGEST = 3000  # characters of one message
_CHOICE = lazy_pattern(r"\b(?:or|oder|ou|o)\b", regex.IGNORECASE)
_ALIKE = 0.7  # of the words of an entry: what the grammar read stands for one that says little more


def note_entries(
    asker: Asker,
    messages: Sequence[Message],
    by_grammar: Sequence[Sequence[EntryInMessage]],
    *,
    user: str,
    patient: bool,
    progress: Callable[[int], None] | None = None,
) -> list[list[EntryInMessage]]:
    """The entries of each message: the grammar's, and behind them the model's of whatever it misses.

    Where the model gave no usable answer, the grammar's are marked as made without it.
    """
    entries = {message.seq: list(some) for message, some in zip(messages, by_grammar, strict=True)}
    own = {message.seq: _own_words(message) for message in messages}
    done = 0
    for some in _portions([message for message in messages if own[message.seq].strip()], own):
        task = NoteEntries(tuple(shown_message(message, own[message.seq]) for message in some))
        answer = asker.ask(task, user=user, patient=patient)
        if answer.made_by == OFFLINE:
            for message in some:
                entries[message.seq] = [replace(entry, made_by=OFFLINE) for entry in entries[message.seq]]
        shown = {message.seq: message for message in some}
        for noted in answer.result.entries:
            fault = _fault(noted, shown, own)
            note_parts(task.name, 1, [f"{noted.text!r} {fault}"] if fault else [])
            if not fault:
                seq, entry = _in_message(noted, shown, answer.made_by)
                known = [entry for source in noted.sources for entry in entries[source]]
                if not any(_says(read, entry, shown[seq].content) for read in known):
                    entries[seq].append(entry)
        done += len(some)
        if progress:
            progress(done)
    return [entries[message.seq] for message in messages]


def _own_words(message: Message) -> str:
    """What of a message may be an entry: nothing that a machine says, nor a person's correction."""
    if message.voice in MACHINES or message.voice == corrections.ROLE:
        return ""
    return own_text(message.content)[:_LONGEST]


def _portions(messages: Sequence[Message], own: Mapping[int, str]) -> Iterator[list[Message]]:
    """As many messages at a time as one question holds."""
    portion: list[Message] = []
    characters = 0
    for message in messages:
        longer = characters + len(own[message.seq])
        if portion and (len(portion) == _MOST_MESSAGES or longer > _MOST_CHARACTERS):
            yield portion
            portion, longer = [], len(own[message.seq])
        portion.append(message)
        characters = longer
    if portion:
        yield portion


def _fault(noted: NotedEntry, shown: Mapping[int, Message], own: Mapping[int, str]) -> str:
    """Why its sources, which have to be given and one person's, do not say it; "" when they do.

    A question that the person answers may stand beside: half of what is noted has to be in the answer, which
    must neither deny what is noted nor choose between what the question offers.
    """
    if not noted.sources or not shown.keys() >= set(noted.sources):
        return "names no source that was given"
    author = shown[max(noted.sources)].speaker
    answers = [seq for seq in noted.sources if shown[seq].speaker == author]
    others = [seq for seq in noted.sources if shown[seq].speaker != author]
    before = dict(itertools.pairwise(shown))
    if any("?" not in own[seq] or before[seq] not in answers for seq in others):
        return "mixes what different people said"

    def read(seqs: Sequence[int]) -> SourceTexts:
        return SourceTexts([own[seq] for seq in seqs], context=author)

    if new := read(answers).invented(noted.topic):
        return f"names the topic {new}, which no source of it says"
    sources, fault = with_sources(noted.text, answers, others, read)
    if fault or len(sources) == len(answers):
        return fault
    if any(map(denies, (own[seq] for seq in answers))) and not denies(noted.text):
        return "affirms what the answer to a question denies"
    if any(_CHOICE.search(own[seq]) for seq in others):
        return "has words of a question with several answers"
    return ""


def _in_message(noted: NotedEntry, shown: Mapping[int, Message], made_by: str) -> tuple[int, EntryInMessage]:
    """The entry, and the newest of its sources, on which it stands."""
    seq = max(noted.sources)
    content, text = shown[seq].content, " ".join(noted.text.split())
    start = content.find(text)
    reading = read_as(noted.kind, text, among_people=shown[seq].name is not None)
    if noted.kind == "instruction":
        reading = replace(reading, topic=" ".join(noted.topic.split()))
    entry = EntryInMessage(
        kind=noted.kind,
        start=start if start >= 0 else _nearest_sentence(content, text),
        end=start + len(text) if start >= 0 else 0,
        reading=reading,
        words=entry_words(reading, text),
        own_words=None if start >= 0 else text,
        further=tuple(sorted(set(noted.sources) - {seq})),
        made_by=made_by,
    )
    return seq, entry


def _nearest_sentence(content: str, text: str) -> int:
    """Where the sentence begins that shares the most words with the text."""
    wanted = set(terms(text))
    spans = sentences(content)
    shared = [len(wanted.intersection(terms(content[start:end]))) for start, end in spans]
    return spans[shared.index(max(shared))][0] if spans else 0


def _says(read: EntryInMessage, noted: EntryInMessage, content: str) -> bool:
    """Whether what was read says it already; what is merely a fact may be said by any other kind."""
    if read.kind != noted.kind and noted.kind != "fact":
        return False
    known, new = set(terms(read.text(content))), set(terms(noted.text(content)))
    return new <= known or (known <= new and len(known) >= _ALIKE * len(new))
