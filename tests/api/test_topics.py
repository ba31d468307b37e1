"""memory.user(name).topics: documents out, edits back in, and the wall between users."""

import pytest

from faulty_models import FailingEmbedder
from zibaldone import Consolidation, InvalidInput
from zibaldone.testing import HashEmbedder

SMALL = Consolidation(current_threshold_tokens=60, split_tokens=300, merge_tokens=80, entry_tokens=60)
TALK = [
    "I adopted a black cat named Moss in Oslo.",
    "Moss the cat only eats salmon and tuna.",
    "My sister Bea plays the bassoon in an orchestra.",
    "The orchestra rehearses every Tuesday in the old mill.",
    "I am allergic to walnuts.",
    "Bea moved to Lisbon in March with her bassoon.",
    "Moss the cat broke his left paw last week.",
]


@pytest.fixture
def small(opened):
    """A memory with small documents."""
    return opened(embedder=HashEmbedder(), topics=SMALL, chat=None)


@pytest.fixture
def topics(small):
    """Ann's, of a short talk."""
    small.add(TALK, user="ann")
    small.maintain(user="ann", views=["topics"])
    return small.user("ann").topics


def change(topics, old, new):
    """Edit the entry that has the old words; the outcome."""
    (doc,) = (doc for doc in topics.documents() if old in topics.text(doc.id))
    before, _, after = topics.text(doc.id).rpartition(old)
    return topics.edit(doc.id, before + new + after)


def said(topics):
    """All that the documents say."""
    return "\n".join(topics.text(one.id) for one in topics.documents())


def test_reading(topics):
    """Documents with CURRENT last, one by its id, the catalogue, and tools that search them."""
    found = topics.documents()
    assert found[-1].id == "CURRENT"
    assert len(found) > 1
    assert topics.document(found[0].id) == found[0]
    assert topics.text("CURRENT").startswith("---\nid: CURRENT\n")
    assert [line.id for line in topics.catalogue()] == [one.id for one in found[:-1]]
    assert "walnuts" in topics.tools().call("grep", {"pattern": "walnuts"})


def test_an_unknown_document(topics, small):
    """The error names those that there are."""
    with pytest.raises(InvalidInput, match=r"no topic document 'cats'; there is topic-0001, .*CURRENT"):
        topics.document("cats")
    with pytest.raises(InvalidInput, match="none yet"):
        small.user("bea").topics.document("CURRENT")
    with pytest.raises(InvalidInput, match="user"):
        small.user("")


def test_edits_survive_a_rebuild(topics, small):
    """Each is a message of the editor's; the documents say it, also when they are made anew."""
    done = change(topics, "salmon and tuna", "salmon and trout")
    more = change(topics, "allergic to walnuts.", "allergic to walnuts.\n- I am allergic to pollen.")
    assert (done.conflicts, done.behind) == ((), ())
    assert {(one.role, one.session) for one in (*done.edits, *more.edits)} == {("editor", "topics")}
    assert [one.content for one in done.edits] == ["Moss the cat only eats salmon and trout."]
    assert [one.content for one in more.edits] == ["I am allergic to pollen."]
    first = said(topics)
    small.builds.rebuild(user="ann", view="topics")
    for text in (first, said(topics)):
        assert "salmon and trout" in text
        assert "allergic to pollen" in text
        assert "tuna" not in text
    assert small.admin.check().ok


def test_export(topics, small, tmp_path):
    """A file for each document, and the index; replaced by the next, which leaves files of others alone."""
    out = tmp_path / "out"
    files = topics.export(out).files
    assert files[-1] == "index.md"
    assert {path.read_text() for path in out.iterdir() if path.name != "index.md"} == {
        topics.text(doc.id) for doc in topics.documents()
    }
    (out / "mine.txt").write_text("mine")
    (out / "mine.md").write_text("# Mine")
    change(topics, "salmon and tuna", "salmon and trout")
    small.forget(user="ann", seqs=[5])
    files = topics.export(out).files
    assert sorted(path.name for path in out.iterdir()) == sorted((*files, "mine.md", "mine.txt"))
    text = "".join(path.read_text() for path in out.iterdir())
    assert "trout" in text
    assert "walnuts" not in text


def test_folders_that_are_not_exported_into(topics, small, tmp_path):
    """Nothing that is no export is written over."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.md").write_text("Dear Bea")
    (tmp_path / "file").write_text("x")
    for name in ("full", "file"):
        with pytest.raises(InvalidInput, match=r"choose (a new|another) folder"):
            topics.export(tmp_path / name)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.md"]
    (tmp_path / "empty").mkdir()
    assert topics.export(tmp_path / "empty").files
    with pytest.raises(InvalidInput, match=r"no topic documents: maintain"):
        small.user("bea").topics.export(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_one_document(topics):
    """An edited text is taken over; a text of an older state is a conflict; no change is no message."""
    before = topics.text("CURRENT")
    assert topics.edit("CURRENT", before).edits == ()
    done = topics.edit("CURRENT", before + "- I like rye bread.\n", before=before)
    assert [message.content for message in done.edits] == ["I like rye bread."]
    late = topics.edit("CURRENT", before + "- I like spelt.\n", before=before)
    assert late.edits == ()
    assert "rye bread" in late.conflicts[0].diff
    assert "spelt" not in said(topics)
    gone = topics.edit("topic-0999", "- x\n", before="- y\n")
    assert "- x" in gone.conflicts[0].diff
    with pytest.raises(InvalidInput, match="no topic document 'topic-0999'"):
        topics.edit("topic-0999", "- x\n")
    with pytest.raises(InvalidInput, match="must be a string"):
        topics.edit("CURRENT", None)
    for empty in ("", " \n\n"):  # somebody's editor may have failed
        with pytest.raises(InvalidInput, match=r"empty: nothing was changed.*memory\.forget"):
            topics.edit("CURRENT", empty)
    assert topics.text("CURRENT") != before


def test_the_wall(topics, small):
    """Nothing of Ann's edits reaches Bea, who has the same words and ids."""
    small.add(TALK, user="bea")
    small.maintain(user="bea", views=["topics"])
    other = small.user("bea").topics
    before = other.documents()
    assert [one.id for one in before] == [one.id for one in topics.documents()]
    assert len(change(topics, "salmon and tuna", "zander").edits) == 1
    small.builds.rebuild(user="ann", view="topics")
    assert other.documents() == before
    assert len(small.messages(user="bea")) == len(TALK)
    assert not small.user("cid").topics.documents()


def test_an_added_line_comes_from_its_edit(topics, small):
    """A recall cites the editor's message, in a document as in CURRENT, and the line is forgotten with it."""
    for number, document in enumerate((topics.documents()[0], topics.document("CURRENT"))):
        line = f"My zither number {number} hangs on the wall."
        (edit,) = topics.edit(document.id, topics.text(document.id) + f"- {line}\n").edits
        (entry,) = (e for one in topics.documents() for e in one.entries if e.text == line)
        assert entry.sources == (edit.seq,)
        recalled = small.recall(f"Where is my zither number {number}?", user="ann", views=["topics"])
        assert edit.seq in {citation.seq for citation in recalled.citations}
        small.forget(user="ann", seqs=[edit.seq])
        assert "zither" not in said(topics)


def test_an_embedder_that_is_down(opened, tmp_path):
    """The edits are stored, and the report says why the documents do not say them yet."""
    embedder = FailingEmbedder(HashEmbedder(), failing=False)
    memory = opened(embedder=embedder, topics=SMALL, chat=None)
    memory.add(TALK, user="ann")
    memory.maintain(user="ann", views=["messages", "topics"])
    topics = memory.user("ann").topics
    doc = next(doc for doc in topics.documents() if "tuna" in topics.text(doc.id))
    before, _, after = topics.text(doc.id).rpartition("tuna")
    text = f"{before}trout{after}"
    embedder.failing = True
    done = topics.edit(doc.id, text)
    assert len(done.edits) == 1
    assert "told to fail" in done.behind[0].reason
    assert "tuna" in said(topics)
    embedder.failing = False
    memory.maintain(user="ann", views=["messages", "topics"])
    assert "trout" in said(topics)
    assert "tuna" not in said(topics)
