"""A chat model that is scripted by what people say, and a memory over it."""

import json
from datetime import UTC, datetime

import pytest

from zibaldone.testing import FrozenClock, ScriptedModel

DAY = datetime(2024, 1, 8, 9, tzinfo=UTC)


class Script:
    """Answers by the texts that it is shown: notes that they say, and words of notes that they end."""

    def __init__(self):
        self.notes, self.ends, self.given = {}, {}, []

    def says(self, heard, **note):
        """A message with that text is taken as this note."""
        self.notes.setdefault(heard, []).append(note)

    def is_over(self, heard, words):
        """A message with that text ends the notes that have these words."""
        self.ends[heard] = words

    def __call__(self, request):
        given = json.loads(request.turns[1].content)
        self.given.append(given)
        notes, ended = [], []
        for message in given["messages"]:
            over = self.ends.get(message["text"])
            ids = [note["id"] for note in given["notes"] if over and over in note["text"]]
            told = self.notes.get(message["text"], ())
            notes += [{"sources": [message["seq"]], "ends": ids, **note} for note in told]
            if not told:
                ended += [{"id": number, "by": message["seq"]} for number in ids]
        return {"notes": notes, "ended": ended}


@pytest.fixture
def script():
    """Answers of the model."""
    return Script()


@pytest.fixture
def clock():
    """Half a year after what is said."""
    return FrozenClock()


@pytest.fixture
def memory(opened, script, clock):
    """With the scripted model."""
    return opened(chat=ScriptedModel(script, "scripted"), clock=clock)
