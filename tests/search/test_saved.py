"""What an index is saved as."""

import numpy as np

from zibaldone.search.lexical import LexicalIndex
from zibaldone.search.saved import SavedIndex


def test_postings_that_are_far_from_each_other():
    """Rows further apart than two bytes tell are found, and counted, as before they were saved."""
    index = LexicalIndex()
    rare, last = {0: 2, 65_535: 1, 131_071: 3, 199_999: 1}, 199_999
    index.extend(
        [
            [*["rare"] * rare.get(row, 0), *["late"] * (row == last), *["all"] * (row % 50_000 == 7)]
            for row in range(last + 1)
        ]
    )
    saved = SavedIndex()
    index.save(saved)
    opened = LexicalIndex([saved])
    for one in (index, opened):
        assert one.postings("rare")[0].tolist() == list(rare)
        assert one.postings("rare")[1].tolist() == list(rare.values())
        assert [one.df(term) for term in ("rare", "late", "all", "none")] == [4, 1, 4, 0]
        assert one.postings("late")[0].tolist() == [last]
    opened.extend([["rare"]])
    assert opened.postings("rare")[0].tolist() == [*rare, last + 1]
    opened.keep(np.arange(last + 2) != 65_535)
    assert opened.postings("rare")[0].tolist() == [0, 131_070, 199_998, 199_999]
