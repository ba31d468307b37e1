"""The README's two minutes with the gateway."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from upstream import FakeUpstream

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
START = README.split("### Any agent, by one address")[1].split("\n### ")[0]


def test_the_example_of_the_readme_is_remembered(gateway, upstream: FakeUpstream, logged):
    """Pasted as it stands, but for the port; and the next conversation is told of the first."""
    (block,) = re.findall(r"(?:\n    .*|\n(?=\n    ))+", START.split("instead of the model server")[1])
    code = textwrap.dedent(block).replace("http://127.0.0.1:8787", gateway)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert logged()[0].content == "My dentist is Dr. Moss."
    again = code.replace("My dentist is Dr. Moss.", "Who is my dentist?")
    exec(compile(again, "README.md", "exec"), names)
    assert "My dentist is Dr. Moss." in str(upstream.sent[-1].body)
