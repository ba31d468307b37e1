"""What is looked up in all documents is the same however they came about."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from topic_steps import tools

from zibaldone.views.topics.consolidate.contradictions import claims
from zibaldone.views.topics.consolidate.duplicates import sameness
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry

SAID = [
    "I live in Oslo.",
    "I live in Bergen.",
    "The capital of Norway is Oslo.",
    "She rows.",
    "Moss is a cat.",
]
ENTRIES = [Entry(text, first=number, source="Ann") for number, text in enumerate(SAID, 1)]
BODIES = st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=6).map(tuple)
IDS = st.sampled_from(["topic-0001", "topic-0002", "topic-0003", "topic-10000"])
STEPS = st.lists(st.dictionaries(IDS, BODIES), min_size=1, max_size=6)


@given(STEPS)
def test_it_is_the_same_after_any_changes(steps: list[dict[str, tuple[Entry, ...]]]) -> None:
    """Documents new, changed and gone: counts, sums, who claims a slot, and who says a thing first."""
    kept = tools()
    for step in steps:
        bodies = {doc_id: step[doc_id] for doc_id in sorted(step, key=lambda one: (len(one), one))}
        documents = {doc_id: Document(doc_id, body=body) for doc_id, body in bodies.items()}
        surveyed = []
        for workbench in (kept, tools()):
            work = Work(workbench, Library(documents))
            work.survey(documents.values(), [])
            index = workbench.index
            surveyed.append(
                (
                    work.entries,
                    +work.df,
                    {one.text: index.saying(sameness(one)) for one in ENTRIES},
                    {one.text: index.claiming(claim.slot for claim in claims(one)) for one in ENTRIES},
                    work.document_centres(documents.values()).tolist() if documents else [],
                )
            )
        assert surveyed[0] == surveyed[1]
        for text, there in surveyed[0][2].items():
            homes = [doc_id for doc_id, body in bodies.items() if text in {one.text for one in body}]
            assert (there[0] if there else None) == (homes[0] if homes else None)
        assert np.isfinite(kept.index.totals([*documents.values()])[0]).all() if documents else True
