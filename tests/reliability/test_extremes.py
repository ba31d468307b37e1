"""Much, long, empty and strange: everything that is text is kept word for word and found by its own words."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anywhere import PLACES
from zibaldone import Filter, InvalidMessage, Memory


@pytest.fixture
def opened(opened_anywhere):
    """Opens memories wherever they are to be."""
    return opened_anywhere


@pytest.fixture
def memory(opened):
    """An empty memory."""
    return opened()


ROWS = (Path(__file__).parents[1] / "data" / "scripts.tsv").read_text(encoding="utf-8").splitlines()
SCRIPTS = dict(row.split("\t") for row in ROWS if not row.startswith("#"))
ODD = {
    "NUL": "before\0after",
    "only NUL": "\0",
    "empty": "",
    "spaces": "   ",
    "lines": "\n\r\n\t\u2028\u0085",
    "zero width": "\u200b\u200d\ufeff",
    "right to left": "abc \u202egnp.exe\u202c def",
    "emoji": "👩‍👩‍👧‍👦 🇨🇭 👍🏽 ❤️",
    "combining": "Z" + "\u0301" * 500,
    "decomposed": "u\u0308ber",
    "noncharacter": "\ufffe\uffff\U0010ffff",
    "private": "\ue000\U000f0000",
    "controls": "".join(map(chr, range(1, 32))),
    "one word": "x" * 200_000,
    "quotes": "\"'`’“”",
    "SQL": "'); DROP TABLE messages; --",
    "JSON": '{"a": "\\ud800"}',
    "SQLite": "SQLite format 3\0",
    "digits": "1" * 5000,
    "dots": "." * 5000,
    "questions": "?" * 5000,
    "format": "%s {0} {} %(a)s \\x00 \\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts(memory, text):
    """What can be text is kept to the character, in the content, the name, the metadata and the session."""
    given = {"content": text, "metadata": {"k": text, text or "e": [text]}}
    if text:
        line = " ".join(text.splitlines())[:1000] or "x"  # what stands before the colon is one line
        given |= {"name": line, "session": text, "role": line, "id": text}
    stored = memory.add([given, "A tulip."], user="ann")
    assert stored[0].content == text
    assert memory.messages(user="ann") == stored
    if text:
        assert memory.messages(user="ann", filter=Filter(session=text)) == stored[:1]
    memory.recall(text, user="ann")
    assert any(
        e.sources == (2,) for e in memory.recall("Where is the tulip?", user="ann", min_confidence=0).evidence
    )
    assert memory.admin.check().ok
    assert memory.forget(user="ann", seqs=[1]).messages == 1


def test_forty_scripts(memory):
    """A sentence in each of forty scripts comes back word for word, and is found by its own words."""
    assert len(SCRIPTS) >= 40
    stored = memory.add(list(SCRIPTS.values()), user="ann")
    assert [m.content for m in memory.messages(user="ann")] == list(SCRIPTS.values())
    for message in stored:
        found = memory.recall(message.content, user="ann", budget_tokens=150)
        assert any((e.sources, e.text) == ((message.seq,), message.content) for e in found.evidence)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_forms_of_one_text(memory, form):
    """A word is found in whatever Unicode form it is asked for."""
    memory.add(["Da waren Öl, Käse und Ærø.", "Nothing else."], user="ann")
    found = memory.recall(unicodedata.normalize(form, "Öl Käse"), user="ann", min_confidence=0)
    assert found.trace.decisions[0].evidence.sources == (1,)
    assert found.trace.decisions[0].evidence.channels[1].rank == 1


@pytest.fixture(scope="module", params=PLACES)
def shared(request, tmp_path_factory):
    """One memory for hundreds of texts."""
    on_server = request.param == "postgres"
    where = request.getfixturevalue("postgres").new() if on_server else tmp_path_factory.mktemp("texts")
    with Memory(where) as memory:
        yield memory


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(), st.text(max_size=20))
def test_any_text(shared, content, query):
    """Any text at all is kept as it is; any query has an answer."""
    (stored,) = shared.add(content, user="ann")
    assert shared.get(stored.seq, user="ann").content == content
    found = shared.recall(query, user="ann", budget_tokens=60)
    assert found.tokens <= 60
    assert all(found.text[c.start : c.end] for c in found.citations)


@pytest.mark.parametrize("where", ["content", "name", "session", "id", "role"])
def test_lone_surrogates(memory, where):
    """Half of a character is no text: the error says where it is."""
    with pytest.raises(InvalidMessage, match=r"lone surrogate .*at character 3"):
        memory.add({"content": "x", where: "abc\ud83d"}, user="ann")
    assert memory.users() == []
    memory.add("x", user="ann")
    assert memory.recall("what \ud83d is x", user="ann", min_confidence=0)
