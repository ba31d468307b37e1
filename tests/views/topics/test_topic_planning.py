"""Where new content goes, and what becomes of a model that plans badly, drops, doubles or invents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from topic_talk import documents, expected, said, told

from zibaldone import ModelUnavailable

CATS = ["I feed the cat Moss.", "I brush the cat Moss.", "I love the cat Moss."]
TRADE = ["Globex sells machines in Bergen.", "Globex makes machines in Bergen.", "Globex moved to Bergen."]
MANY = [f"I repaired bicycle number {n} of school {n % 7} in Oslo." for n in range(60)]
LARGE = {"current_threshold_tokens": 9000, "split_tokens": 9000}


def test_new_content_goes_to_the_document_that_it_is_like(filed) -> None:
    """And what no document is like makes a new one."""
    memory = filed(said(*CATS[:2]), said(CATS[2], *TRADE), merge_tokens=1)
    cats, *others = [{entry.text for entry in one.entries} for one in documents(memory)]
    assert cats == set(CATS)
    assert set.union(*others) == set(TRADE)


@pytest.mark.parametrize(
    ("most", "depth", "apart", "calls"),
    [
        (2, 5, False, None),  # a model that places two blocks at a time still places all
        (0, 1, True, 2 * 3),  # each is put right once in vain, then calls end
        (-1, 5, False, 1),  # one that is not there is not asked again and again
    ],
)
def test_an_invalid_plan_is_retried_on_halves(
    filed, most: int, depth: int, apart: bool, calls: int | None
) -> None:
    """In the last resort each block is a new document; none is lost."""
    asked: list[str] = []

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.rewrite_current":
            groups = enumerate(_lines(inputs), 1)
            return {"sections": [{"heading": f"Group {n}", "entries": [one]} for n, one in groups]}
        if task != "topics.plan_updates":
            return "none"
        asked.append(task)
        blocks = [one["block"] for one in inputs["blocks"]]
        if most < 0:
            return ModelUnavailable("down")
        if len(blocks) > most:
            return "not JSON"
        return {"updates": [], "new_documents": [{"title": "Small", "blocks": blocks}]}

    messages = said(*CATS, *TRADE)
    memory = filed(messages, answers=answers, plan_depth=depth, merge_tokens=1)
    assert (len(documents(memory)) == len(messages)) is apart
    assert told(memory) == expected(messages)
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
def test_an_adversarial_model_loses_no_entry(filed, place: int) -> None:
    """Each is in CURRENT, in a document, or superseded, exactly once."""
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

    messages = said(*CATS, *TRADE, *MANY[:30], *CATS)
    assert told(filed(messages, answers=answers)) == expected(messages)


def test_a_model_that_does_well_is_followed(filed) -> None:
    """Its titles, headings, summary and marks are in the document; some words may be new."""

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.plan_updates":
            blocks = [one["block"] for one in inputs["blocks"]]
            new = {"title": "The cat", "summary": "pet care; Moss is brushed.", "blocks": blocks}
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

    (document,) = documents(filed(said(*CATS[:2], *TRADE[:2]), answers=answers))
    assert [one.title for one in document.headings] == ["The cat", "Food", "Fur"]
    assert document.summary == "pet care; Moss is brushed."
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


def test_a_rewriting_of_a_document_is_followed(filed) -> None:
    """Its headings and its summary, and what is superseded."""

    def rewrite(one: dict[str, Any]) -> Any:
        new = sorted(int(line.split(" ", 1)[0]) for part in one["new"] for line in part["entries"])
        sections = [{"heading": "Whiskers", "entries": new}]
        return {"title": "No", "summary": "cat; Moss is brushed.", "sections": sections}

    (document,) = documents(filed(said(*CATS[:2]), said(CATS[2]), answers=filing(rewrite=rewrite)))
    assert document.title == "Pets"
    assert "Whiskers" in [one.title for one in document.headings]
    assert document.summary == "cat; Moss is brushed."


def test_documents_are_rewritten_together_and_each_keeps_its_own(filed) -> None:
    """One call for all; an entry that is put into another document stays in its own."""
    asked: list[int] = []

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.rewrite_current":
            return {"sections": [{"heading": f"Block {n}", "entries": [n]} for n in _lines(inputs)]}
        if task == "topics.plan_updates":
            blocks = [one["block"] for one in inputs["blocks"]]
            if ids := [one["id"] for one in inputs["documents"]]:
                updates = [{"document": i, "blocks": [n]} for i, n in zip(ids, blocks, strict=True)]
                return {"updates": updates, "new_documents": []}
            return {"updates": [], "new_documents": [{"title": f"Part {n}", "blocks": [n]} for n in blocks]}
        if task != "topics.rewrite_documents":
            return "none"
        asked.append(len(inputs["documents"]))
        every = [n for one in inputs["documents"] for n in _lines(one)]
        return _each(inputs, lambda _: _rewritten([{"entries": [n]} for n in every]))

    memory = filed(said(CATS[0], TRADE[0]), said(CATS[1], TRADE[1]), answers=answers, merge_tokens=1)
    assert [{entry.text for entry in one.entries} for one in documents(memory)] == [
        set(CATS[:2]),
        set(TRADE[:2]),
    ]
    assert asked == [2]


@pytest.mark.parametrize(
    ("title", "kept"), [("Pets at home", "Pets at home"), ("The cat of Zebulon", None), ("", None)]
)
def test_a_new_document_has_its_planned_title(filed, title: str, kept: str | None) -> None:
    """Unless it has a name that no entry has: then it is called like its block."""
    (document,) = documents(filed(said(*CATS[:2]), answers=filing(rewrite=dict, title=title)))
    assert kept in {None, document.title}
    assert document.title
    assert "Zebulon" not in document.title


def test_what_is_merged_is_written_anew(filed) -> None:
    """A model is shown both documents as one, and may give it a title and headings."""
    calls: list[Any] = []
    answers = filing(
        rewrite=lambda one: {"title": "All of it", **BAD_REWRITES["faithful"](_lines(one))},
        merge=lambda ids: [ids[:2]],
        apart=True,
        calls=calls,
    )
    messages = said(*CATS, *TRADE)
    memory = filed(messages, answers=answers, merge_similarity=-1.0)
    assert calls[-1][0] == "topics.rewrite_documents"
    assert "All of it" in [document.title for document in documents(memory)]
    assert told(memory) == expected(messages)


@pytest.mark.parametrize(
    ("merge", "sizes", "asked"),
    [
        (lambda ids: [ids[:2]], {}, 1),
        (lambda ids: [[ids[0], "topic-0009"]], {}, 2),
        (lambda ids: [ids[:2], ids[1:3]], {}, 2),
        (lambda ids: [ids[:1]], {}, 2),
        (lambda ids: [ids], {}, 2),
        (lambda ids: [ids[:2]], {"split_tokens": 15, "merge_tokens": 14}, 2),
    ],
    ids=["good", "unknown", "twice", "one alone", "too many", "too large"],
)
def test_a_bad_choice_of_merges_is_refused(filed, merge, sizes: dict[str, int], asked: int) -> None:
    """Merges are disjoint groups of two to four small documents; else the model is asked once more."""
    calls: list[Any] = []

    def answers(task: str, inputs: dict[str, Any]) -> Any:
        if task == "topics.rewrite_current":
            return {"sections": [{"heading": f"Block {n}", "entries": [n]} for n in _lines(inputs)]}
        return filing(merge=merge, apart=True, calls=calls)(task, inputs)

    messages = said(*CATS, *TRADE)
    memory = filed(messages, answers=answers, merge_similarity=-1.0, **sizes)
    assert [task for task, _ in calls].count("topics.choose_merges") == asked
    assert told(memory) == expected(messages)


@pytest.mark.parametrize("summary", ["cat; The cat is called Felix.", "pet care, Felix; Moss is brushed."])
@pytest.mark.parametrize("of_a_new_one", [True, False])
def test_a_summary_with_an_invented_name_is_not_kept(filed, of_a_new_one: bool, summary: str) -> None:
    """The document is; its summary is made without the model."""

    def rewrite(one: dict[str, Any]) -> Any:
        return {**BAD_REWRITES["faithful"](_lines(one)), "summary": summary}

    answers = filing(rewrite=rewrite, **({"summary": summary} if of_a_new_one else {}))
    later = [] if of_a_new_one else [said(CATS[2])]
    (document,) = documents(filed(said(*CATS[:2]), *later, answers=answers))
    assert "Felix" not in document.summary
    assert "Moss" in document.summary


def test_a_model_is_asked_about_merges_when_there_is_a_new_document(filed) -> None:
    """Of documents with similar summaries; those that it left apart are not offered until another comes."""
    calls: list[Any] = []
    answers, talk = filing(apart=True, calls=calls), said(*CATS, *TRADE)

    def offered() -> list[Any]:
        assert "topics.plan_updates" in [task for task, _ in calls]
        return [inputs["documents"] for task, inputs in calls if task == "topics.choose_merges"]

    filed(talk, answers=answers, merge_similarity=1.0, **LARGE)
    assert offered() == []
    later = said("I bought a blue kayak in Bergen.", "The kayak costs 900 dollars.")
    memory = filed(talk, later, answers=answers, merge_similarity=-1.0, **LARGE)
    assert len(documents(memory)) > 1
    assert [len(some) for some in offered()] == [len(documents(memory))]
