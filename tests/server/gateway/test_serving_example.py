"""The example of docs/serving.md."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from upstream import FakeUpstream

PAGE = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
GATEWAY = PAGE.split("\n## Gateway\n")[1].split("\n## ")[0]


def test_the_example_is_remembered(gateway, upstream: FakeUpstream, logged):
    """Pasted as it stands, but for the port; and the next conversation is told of the first."""
    _, block, *_ = re.findall(r"(?:\n    .*|\n(?=\n    ))+", GATEWAY)
    code = textwrap.dedent(block).replace("http://127.0.0.1:8787", gateway)
    names: dict[str, object] = {}
    exec(compile(code, "serving.md", "exec"), names)
    assert logged()[0].content == "My dentist is Dr. Moss."
    again = code.replace("My dentist is Dr. Moss.", "Who is my dentist?").replace("monday", "tuesday")
    exec(compile(again, "serving.md", "exec"), names)
    assert "My dentist is Dr. Moss." in str(upstream.sent[-1].body)
