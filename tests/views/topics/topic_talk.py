"""Short ways to make messages, and to read what topic documents hold of them."""

from datetime import UTC, datetime, timedelta

from zibaldone import Consolidation, Document, Entry, Memory, Message
from zibaldone.testing import HashEmbedder
from zibaldone.views.topics.consolidate.workbench import Workbench

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)
SMALL = Consolidation(
    current_threshold_tokens=300,
    split_tokens=450,
    merge_tokens=120,
    entry_tokens=90,
    current_window=timedelta(days=1),
)


def said(*contents: str, name: str | None = None, apart: timedelta = timedelta(0)) -> list[Message]:
    """Messages so far apart."""
    return [Message(content, name=name, time=NOON + apart * n) for n, content in enumerate(contents)]


def documents(memory: Memory) -> list[Document]:
    """Ann's, CURRENT last."""
    return memory.user("ann").topics.documents()


def entries(memory: Memory) -> list[Entry]:
    """Of all documents."""
    return [entry for document in documents(memory) for entry in document.entries]


def told(memory: Memory) -> dict[str, tuple[int, ...]]:
    """The messages that say each text, as often as it stands."""
    found: dict[str, tuple[int, ...]] = {}
    for entry in entries(memory):
        found[entry.text] = tuple(sorted((*found.get(entry.text, ()), *entry.sources)))
    return found


def expected(messages: list[Message]) -> dict[str, tuple[int, ...]]:
    """As `told`, of messages of one sentence: nothing is lost."""
    seqs: dict[str, tuple[int, ...]] = {}
    for seq, message in enumerate(messages, 1):
        seqs[message.content] = (*seqs.get(message.content, ()), seq)
    return seqs


def tools() -> Workbench:
    """What forgetting and editing work with, where a library is made by hand."""
    return Workbench(HashEmbedder(32).embed, lambda texts: [len(one.split()) for one in texts], None, SMALL)
