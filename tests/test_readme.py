"""The README: short, pasted as it stands, and true to what it links."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_read_in_a_minute():
    """At most 600 words, tables included; both make lines and the pip line on the first screen."""
    assert len(README.split()) <= 600
    first = README.split("\n")[:12]
    assert "    make demo" in " \n".join(first)
    assert "    make test" in " \n".join(first)
    assert "    pip install zibaldone" in " \n".join(first)


def test_what_it_links_is_there():
    """Files of the repository, and sections of them."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).is_file(), target


def test_the_figures_are_those_of_the_results():
    """Ours stand on the page that it links; others' on the page that compares."""
    section = README.split("\n## Figures\n")[1].split("\n## ")[0]
    for paragraph in section.split("\n\n"):
        page = "comparison" if paragraph.startswith("Others") else "results"
        known = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for figure in re.findall(r"\.\d{3}", paragraph):
            assert figure in known, figure
    assert len(re.findall(r"\.\d{3}", section)) >= 20
