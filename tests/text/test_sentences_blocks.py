"""Where long lists and code are cut."""

from zibaldone.text.sentences import passages, sentences


def _words(texts):
    return [len(text.split()) for text in texts]


def _cut(text, limit):
    return [text[start:end] for start, end in passages(text, limit, _words)]


LIST = """Some ideas:

1. Visit the old harbour. It is quiet in the morning.
2. Eat at the market hall. Bring cash.
3. Take the night ferry. Book a cabin.
"""


def test_a_list_is_cut_between_its_items():
    """No item is torn, though every one of them has a sentence border inside."""
    pieces = _cut(LIST, 14)
    assert pieces[1:] == ["2. Eat at the market hall. Bring cash.", "3. Take the night ferry. Book a cabin."]


def test_a_line_that_leads_on_stays_with_what_it_leads_to():
    """Such as "Some ideas:", which says nothing alone."""
    assert _cut(LIST, 14)[0].startswith("Some ideas:\n\n1. Visit")


def test_code_is_cut_at_its_fences():
    """A block of code that fits is whole, blank lines and all."""
    code = "```python\nx = 1\n\ny = 2\n```"
    assert code in _cut(
        f"Before it there are words. And more of them.\n\n{code}\n\nAfter it too, some more.", 8
    )


def test_the_number_of_an_item_is_no_sentence():
    """The "2." opens its item."""
    text = "1. Go home.\n2. Sleep well."
    assert [text[start:end] for start, end in sentences(text)] == ["1. Go home.", "2. Sleep well."]
