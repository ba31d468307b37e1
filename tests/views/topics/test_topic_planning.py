"""Where new content goes, and what becomes of a model that plans badly, drops, doubles or invents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from topic_steps import SMALL, extracted, fed, filed, kept, said, texts, tools

from zibaldone import Document, Entry
from zibaldone.errors import ModelUnavailable
from zibaldone.views.topics.consolidate.consolidation import flush
from zibaldone.views.topics.consolidate.planning import Plan, chunks, plan
from zibaldone.views.topics.consolidate.rewriting import DraftBlock, rewrite_documents, summary_fault
from zibaldone.views.topics.consolidate.summaries import summary
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading

CATS = ["I feed the cat Moss.", "I brush the cat Moss.", "I love the cat Moss."]
TRADE = ["Globex sells machines in Bergen.", "Globex makes machines in Bergen.", "Globex moved to Bergen."]
MANY = [f"I repaired bicycle number {n} of school {n % 7} in Oslo." for n in range(60)]


def portions(*groups: list[str]) -> list[DraftBlock]:
    numbers = iter(range(1, 1000))
    return [
        DraftBlock(f"Group {place}", tuple(Entry(text, first=next(numbers)) for text in group))
        for place, group in enumerate(groups, 1)
    ]


def everything(planned: Plan) -> list[Entry]:
    places = [*planned.updates.values(), *planned.new.values()]
    return sorted((e for place in places for one in place for e in one.entries), key=lambda e: e.first)


def all_of(given: list[DraftBlock]) -> list[Entry]:
    return [entry for one in given for entry in one.entries]


def test_a_portion_goes_to_the_document_that_it_is_like() -> None:
    """And what no document is like makes a new one."""
    body = (Heading("Cat"), *map(Entry, CATS[:2]))
    given = portions([CATS[2]], TRADE)
    documents = {
        "topic-0001": Document("topic-0001", summary(given[0].entries, Work(tools(), Library())), body=body)
    }
    work = Work(tools(), Library(documents))
    work.survey(documents.values(), all_of(given))
    planned = plan(given, documents, work)
    assert planned.updates == {"topic-0001": [given[0]]}
    assert list(planned.new.values()) == [[given[1]]]


def test_content_above_the_limit_is_cut_between_headings_then_between_entries() -> None:
    """In order, and whole; an entry that is larger alone is planned alone."""
    given = portions(CATS, MANY, TRADE)
    work = Work(tools(), Library())
    found = chunks(given, work)
    assert len(found) > 1
    assert [entry for chunk in found for entry in all_of(chunk)] == all_of(given)
    assert all(work.tokens(all_of(chunk)) <= SMALL.split_tokens for chunk in found)
    huge = portions([" ".join(["word"] * 1000)], CATS)
    assert [all_of(chunk) for chunk in chunks(huge, work)] == [all_of(huge[:1]), all_of(huge[1:])]


@pytest.mark.parametrize(
    ("most", "depth", "titles", "calls"),
    [
        (2, 5, {"Small"}, None),  # a model that places two blocks at a time still places all
        (0, 1, {f"Group {n}" for n in range(1, 7)}, 2 * 3),  # each is put right once in vain, then calls end
        (-1, 5, None, 1),  # one that is not there is not asked again and again
    ],
)
def test_an_invalid_plan_is_retried_on_halves(
    most: int, depth: int, titles: set[str] | None, calls: int | None
) -> None:
    """In the last resort each block is a new document; none is lost."""
    asked: list[str] = []

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        asked.append(task)
        blocks = [one["block"] for one in inputs["blocks"]]
        if most < 0:
            return ModelUnavailable("down")
        if len(blocks) > most:
            return "not JSON"
        return {"updates": [], "new_documents": [{"title": "Small", "blocks": blocks}]}

    given = portions(*([text] for text in CATS + TRADE))
    planned = plan(given, {}, Work(tools(replace(SMALL, plan_depth=depth), answers), Library()))
    assert titles is None or set(planned.new) == titles
    assert everything(planned) == all_of(given)
    assert calls is None or len(asked) == calls


BAD_PLANS: dict[str, Callable[[list[int]], Any]] = {
    "invents an id": lambda b: {"updates": [{"document": "topic-9999", "blocks": b}], "new_documents": []},
    "drops blocks": lambda b: {"updates": [], "new_documents": [{"title": "x", "blocks": b[:-1]}]},
    "drops all": lambda _: {"updates": [], "new_documents": []},
    "doubles": lambda b: {"updates": [], "new_documents": [{"title": t, "blocks": b} for t in "xy"]},
    "invents blocks": lambda b: {"updates": [], "new_documents": [{"title": "x", "blocks": [*b, 99]}]},
    "says nothing": lambda _: "",
    "is no object": lambda _: "[]",
    "adds fields": lambda b: {"updates": [], "new_documents": [{"title": "x", "blocks": b}], "note": "hi"},
}


def _lines(inputs: dict[str, Any]) -> list[int]:
    shown = inputs.get("entries") or [
        line for section in (*inputs["old"], *inputs["new"]) for line in section["entries"]
    ]
    return sorted(int(line.split(" ", 1)[0]) for line in shown)


def _each(inputs: dict[str, Any], written: Callable[[dict[str, Any]], Any]) -> Any:
    """An answer to rewrite_current, or to rewrite_documents with the same for every document."""
    if "documents" not in inputs:
        return written(inputs)
    answers = [(one["document"], written(one)) for one in inputs["documents"]]
    if not all(isinstance(answer, dict) for _, answer in answers):
        return answers[0][1]
    return {"documents": [{"document": doc_id, **answer} for doc_id, answer in answers]}


def _rewritten(lines: list[Any], **more: Any) -> dict[str, Any]:
    return {"sections": [{"heading": "All", "lines": lines}], **more}


BAD_REWRITES: dict[str, Callable[[list[int]], Any]] = {
    "faithful": lambda n: _rewritten([{"entries": [one]} for one in n]),
    "drops": lambda n: _rewritten([{"entries": [one]} for one in n[1:]]),
    "doubles": lambda n: _rewritten([{"entries": [one]} for one in [*n, *n]]),
    "invents": lambda n: _rewritten([{"entries": [one]} for one in [*n, 9999]]),
    "lumps together": lambda n: _rewritten(
        [{"entries": n, "text": "I feed and brush and love the cat Moss."}]
    ),
    "rewords": lambda n: _rewritten([{"entries": [one], "text": "The user has hobbies."} for one in n]),
    "empties": lambda _: {"sections": []},
    "supersedes backwards": lambda n: _rewritten(
        [{"entries": [one]} for one in n], superseded=[{"older": n[-1], "newer": n[0]}]
    ),
    "supersedes all": lambda n: _rewritten(
        [{"entries": [one]} for one in n], superseded=[{"older": one, "newer": n[-1]} for one in n[:-1]]
    ),
    "raves": lambda _: "<think>no</think> none",
}


@pytest.mark.parametrize("place", range(max(len(BAD_PLANS), len(BAD_REWRITES))))
def test_an_adversarial_model_loses_no_entry(place: int) -> None:
    """For every message's entries, each is in CURRENT, in a document, or superseded, exactly once."""
    bad_plan = [*BAD_PLANS.values()][place % len(BAD_PLANS)]
    bad_rewrite = [*BAD_REWRITES.values()][place % len(BAD_REWRITES)]

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.plan_updates":
            return bad_plan([one["block"] for one in inputs["blocks"]])
        if task == "topics.choose_merges":
            ids = [one["id"] for one in inputs["documents"]]
            return {"groups": [ids[:2], ids[:2], ["topic-9999", ids[0]]]}
        if task == "topics.extract":
            return "none"
        return _each(inputs, lambda one: bad_rewrite(_lines(one)))

    messages, by = said(*CATS, *TRADE, *MANY[:30], *CATS), tools(answers=answers)
    library, _ = fed(messages, by)
    library = flush(library, by)
    assert kept(library) == extracted(messages, tools())
    assert set(texts(library)) == {*CATS, *TRADE, *MANY[:30]}


def test_a_model_that_does_well_is_followed() -> None:
    """Its titles, headings, summary and marks are in the document."""

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.plan_updates":
            blocks = [one["block"] for one in inputs["blocks"]]
            new = {"title": "The cat", "summary": "cat; Moss is brushed.", "blocks": blocks}
            return {"updates": [], "new_documents": [new]}
        if task != "topics.rewrite_current":
            return "none"
        numbers = _lines(inputs)
        return {
            "sections": [
                {"heading": "Food", "entries": numbers[:2]},
                {"heading": "Fur", "entries": numbers[2:]},
            ],
            "superseded": [{"older": numbers[0], "newer": numbers[1]}],
        }

    library = filed(said(*CATS[:2], *TRADE[:2]), tools(answers=answers))
    (document,) = library.documents.values()
    assert [one.title for one in document.headings] == ["The cat", "Food", "Fur"]
    assert document.summary == "cat; Moss is brushed."
    assert [bool(one.superseded_by) for one in document.entries] == [True, False, False, False]


def filing(
    *,
    rewrite: Callable[[dict[str, Any]], Any] = lambda _: "none",
    merge: Callable[[list[str]], list[list[str]]] = lambda _: [],
    apart: bool = False,
    calls: list[Any] | None = None,
    **new: Any,
) -> Any:
    """Answers of a model that makes one document of all, or of each block, and then files in the first."""

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if calls is not None:
            calls.append((task, inputs))
        if task == "topics.choose_merges":
            return {"groups": merge([one["id"] for one in inputs["documents"]])}
        if task == "topics.plan_updates":
            blocks = [one["block"] for one in inputs["blocks"]]
            if known := [one["id"] for one in inputs["documents"]]:
                return {"updates": [{"document": known[0], "blocks": blocks}], "new_documents": []}
            documents = [{"title": f"Part {n}", "blocks": [n]} for n in blocks]
            return {
                "updates": [],
                "new_documents": documents if apart else [{"title": "Pets", "blocks": blocks, **new}],
            }
        return _each(inputs, rewrite) if task == "topics.rewrite_documents" else "none"

    return answers


def twice_filed(answers: Any) -> Library:
    """A library of two flushes: a document is made, and then brought up to date."""
    by = tools(replace(SMALL, current_threshold_tokens=9000, split_tokens=9000), answers)
    library = filed(said(*CATS[:2]), by)
    library, _ = fed([replace(one, seq=9 + one.seq) for one in said(*CATS[2:])], by, library)
    return flush(library, by)


def test_a_rewriting_of_a_document_is_followed() -> None:
    """Its headings and its summary, and what is superseded."""

    def rewrite(one: dict[str, Any]) -> Any:
        new = sorted(int(line.split(" ", 1)[0]) for part in one["new"] for line in part["entries"])
        sections = [{"heading": "Whiskers", "entries": new}]
        return {"title": "No", "summary": "cat; Moss is brushed.", "sections": sections}

    (document,) = twice_filed(filing(rewrite=rewrite)).documents.values()
    assert document.title == "Pets"
    assert "Whiskers" in [one.title for one in document.headings]
    assert document.summary == "cat; Moss is brushed."


def changed(*contents: str) -> list[tuple[Document, list[DraftBlock]]]:
    """A document of each, with what it says again as a new block."""
    documents = [filed(said(content), tools()).documents["topic-0001"] for content in contents]
    return [
        (replace(document, id=f"topic-{n:04}"), portions([f"{content} again"]))
        for n, (document, content) in enumerate(zip(documents, contents, strict=True), 1)
    ]


def test_documents_are_rewritten_together_and_each_keeps_its_own() -> None:
    """One call for all; an entry that is put into another document stays in its own."""
    changes = changed(CATS[0], TRADE[0])
    asked: list[int] = []

    def answers(_task: str, inputs: dict[str, Any]) -> Any:
        asked.append(len(inputs["documents"]))
        every = [n for one in inputs["documents"] for n in _lines(one)]
        return _each(inputs, lambda _: _rewritten([{"entries": [n]} for n in every]))

    made = [document for document, _ in rewrite_documents(changes, Work(tools(answers=answers), Library()))]
    assert [sorted(entry.text for entry in one.entries) for one in made] == [
        [CATS[0], f"{CATS[0]} again"],
        [TRADE[0], f"{TRADE[0]} again"],
    ]
    assert asked == [2]


@pytest.mark.parametrize(
    ("title", "kept"), [("Pets at home", "Pets at home"), ("The cat of Zebulon", None), ("", None)]
)
def test_a_new_document_has_its_planned_title(title: str, kept: str | None) -> None:
    """Unless it has a name that no entry has: then it is called like its block."""
    (document,) = filed(said(*CATS[:2]), tools(answers=filing(rewrite=dict, title=title))).documents.values()
    assert kept in {None, document.title}
    assert document.title
    assert "Zebulon" not in document.title


def test_what_is_merged_is_written_anew() -> None:
    """A model is shown both documents as one, and may give it a title and headings."""
    calls: list[Any] = []
    answers = filing(
        rewrite=lambda one: {"title": "All of it", **BAD_REWRITES["faithful"](_lines(one))},
        merge=lambda ids: [ids[:2]],
        apart=True,
        calls=calls,
    )
    messages = said(*CATS[:3], *TRADE[:3])
    library = filed(messages, tools(replace(SMALL, merge_similarity=-1.0), answers))
    assert calls[-1][0] == "topics.rewrite_documents"
    assert "All of it" in [document.title for document in library.documents.values()]
    assert kept(library) == extracted(messages, tools())


@pytest.mark.parametrize("of_a_new_one", [True, False])
def test_a_summary_with_an_invented_name_is_not_kept(of_a_new_one: bool) -> None:
    """The document is; its summary is made without the model."""
    invented = {"summary": "cat; The cat is called Felix."}

    def rewrite(one: dict[str, Any]) -> Any:
        return {**BAD_REWRITES["faithful"](_lines(one)), **invented}

    answers = filing(rewrite=rewrite, **(invented if of_a_new_one else {}))
    library = filed(said(*CATS[:2]), tools(answers=answers)) if of_a_new_one else twice_filed(answers)
    (document,) = library.documents.values()
    assert "Felix" not in document.summary
    assert "Moss" in document.summary


def test_telling_words_of_a_summary_may_be_new() -> None:
    """They state nothing, as a heading does; a name among them is refused."""
    entries = [Entry("Moss is brushed on Mondays.", first=1, source="Ann")]
    assert summary_fault("pet care; Moss is brushed on Mondays.", entries) == ""
    assert "felix" in summary_fault("pet care, Felix; Moss is brushed on Mondays.", entries)
    assert "'pet'" in summary_fault("Moss; The pet is brushed on Mondays.", entries)


def test_a_model_is_asked_about_merges_when_there_is_a_new_document() -> None:
    """Of documents with similar summaries; those that it left apart are not offered until another comes."""
    calls: list[Any] = []
    large = replace(SMALL, current_threshold_tokens=9000, split_tokens=9000)
    talk = said(*CATS[:3], *TRADE[:3])

    def asked() -> list[Any]:
        assert "topics.plan_updates" in [task for task, _ in calls]
        return [inputs["documents"] for task, inputs in calls if task == "topics.choose_merges"]

    filed(talk, tools(replace(large, merge_similarity=1.0), filing(apart=True, calls=calls)))
    assert asked() == []
    by = tools(replace(large, merge_similarity=-1.0), filing(apart=True, calls=calls))
    library = filed(talk, by)
    assert [len(documents) for documents in asked()] == [len(library.documents)]
    assert len(library.documents) > 1
    calls.clear()
    later = said("I bought a blue kayak in Bergen.", "The kayak costs 900 dollars.")
    library, _ = fed([replace(one, seq=20 + one.seq) for one in later], by, library)
    flush(library, by)
    assert asked() == []
