"""Messages as HTML: what of their Markdown is rendered, and what is not let through."""

import pytest

from zibaldone.server.page.markdown import rendered

WRITTEN = """# Plan

Ask **twice a year**, see [the guide](https://guide.example/a?b=c).
Then *rest*:

- first `x < y`
- second

| day | hours |
|-----|------:|
| Mon | 3     |

```python
if a < b:
    print("<b>")
```
"""


def test_markdown_is_rendered_and_hits_are_marked():
    """Bold, lists, tables, code and links; the words of the question in text and in code."""
    page = rendered(WRITTEN, "twice, print hour")
    for part in (
        '<p class="heading">Plan</p>',
        "<strong><mark>twice</mark> a year</strong>",
        '<a href="https://guide.example/a?b=c" rel="noopener noreferrer nofollow">the guide</a>.<br>',
        "<li>first <code>x &lt; y</code></li>",
        "<th><mark>hours</mark></th>",
        '<pre><code>if a &lt; b:\n    <mark>print</mark>("&lt;b&gt;")\n</code></pre>',
    ):
        assert part in page


@pytest.mark.parametrize(
    "text",
    [
        "![" * 2000 + "end",
        "> " * 500 + "end",
        "".join(f"{'  ' * depth}- a\n" for depth in range(90)) + "end",
        "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "|end\n" * 100,
        "**a" * 1300 + "end",
        "&" * 2000 + "<" * 1900 + "end",
    ],
)
def test_what_would_take_long_is_shown_as_it_is(text):
    """Nothing of it is lost, and the page does not grow beyond what escaping makes of it."""
    page = rendered(text)
    assert "end" in page
    assert len(page) < 6 * len(text) + 100


def test_a_table_that_would_fill_itself_up_is_no_table():
    """Lines of one cell below a wide head are shown as they are, and a page does not grow with them."""
    head = "|".join("a" * 40) + "\n" + "|".join("-" * 40) + "\n"
    assert "<table" not in (page := rendered(head + "a\n" * 1800))
    assert len(page) < 20_000
    assert "<table" in rendered("|day|hours|\n|-|-|\n" + "|Mon|3|\n" * 100)
