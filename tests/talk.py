"""A memory to talk to, and short ways to talk."""

import random
from datetime import UTC, datetime, timedelta

from memories import with_filter
from zibaldone import Evidence, Memory, Message, Recall

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


class Talk:
    """One user's memory, filled line by line: "Bea: I play the bassoon." or "[2] Bea: ..." for a session."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def say(self, *lines: str, on: str = "2023-06-01", role: str = "user") -> list[int]:
        """Store the lines, an hour apart from nine o'clock on; returns their seqs."""
        start = datetime.fromisoformat(on).replace(hour=9, tzinfo=UTC)
        messages = []
        for i, line in enumerate(lines):
            session, _, said = line.rpartition("] ")
            name, _, content = said.partition(": ")
            time = start + timedelta(hours=i)
            messages.append(
                Message(content, role=role, name=name, time=time, session=session.lstrip("[") or "1")
            )
        return [message.seq for message in self.memory.add(messages, user="ann")]

    def fill(self, lines: int = 30) -> None:
        """Talk about nothing that anybody asks about, each in a session of its own."""
        things = ("curtains", "gravel", "ladders", "envelopes", "turnips", "buttons", "kettles")
        for i in range(lines):
            self.say(
                f"[fill {i}] Zed: The {things[i % 7]} cost {i + 3} crowns.", on=f"2022-01-{i % 28 + 1:02}"
            )

    def ask(self, question: str, **options: object) -> Recall:
        """Recall without a floor and with room for everything."""
        return self.memory.recall(
            question,
            user="ann",
            **with_filter(**{"min_confidence": 0, "budget_tokens": 3000, "now": NOW} | options),
        )

    def ranked(self, question: str, **options: object) -> list[int]:
        """Seqs, best first."""
        return [decision.evidence.sources[0] for decision in self.ask(question, **options).trace.decisions]

    def candidate(self, question: str, seq: int) -> Evidence:
        """What the view offers of one message."""
        decisions = self.ask(question).trace.decisions
        return next(d.evidence for d in decisions if d.evidence.sources == (seq,))


def same(found: Recall) -> tuple[object, ...]:
    """All of a recall that does not change from one run to the next."""
    trace = found.trace
    return found.text, found.tokens, found.evidence, found.citations, trace.decisions, trace.confidence


_SUBJECTS = ("bassoon", "garden", "marathon", "bakery", "telescope", "pottery")
_SAYINGS = (
    "I bought a {0} from Rosa Diaz in {1}.",
    "My {0} cost {1} dollars at the market.",
    "The {0} club meets on floor {1} with Liam.",
    "I practise with the {0} {1} times a week.",
    "My sister Nora lent her {0} to Omar in {1}.",
)


def purchases(seed: int, talks: int = 12) -> list[Message]:
    """Talks a day apart from 1 March 2024 on, each about one subject, six messages long."""
    rng, start = random.Random(seed), NOW.replace(hour=9)
    made = []
    for place in range(talks):
        subject = rng.choice(_SUBJECTS)
        for turn in range(6):
            text = rng.choice(_SAYINGS).format(subject, rng.randrange(100, 999))
            time = start + timedelta(days=place, minutes=turn)
            made.append(Message(text, name=("Ann", "Bea")[turn % 2], time=time, session=str(place % 5)))
    return made
