"""A hook of mkdocs: the built site asks nobody else for a script, a style, a font or a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

# What a browser fetches by itself; a link that a reader clicks is not.
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|link(?![^>]*rel=\"?(?:canonical|alternate)))\b"
    r"[^>]*\b(?:src|href|srcset|data)=[\"']?(?:https?:)?//[^\s\"'>]+"
)
_IN_STYLES = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])(?:https?:)?//[^\s\"')]+")
_DRAWN_BY_THE_THEME = re.compile(
    r"class=\"?[^\">]*\bmermaid\b"
)  # it fetches its drawing library from elsewhere


def outside(text: str) -> list[str]:
    """What this page or style sheet makes a browser fetch from elsewhere."""
    return [
        found[0]
        for pattern in (_FETCHED, _IN_STYLES, _DRAWN_BY_THE_THEME)
        for found in pattern.finditer(text)
    ]


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that would."""
    if found := outside(output):
        raise PluginError(f"{page.file.src_uri} needs the network: {found[0]}")
    return output


def on_post_build(*, config: Any) -> None:
    """Refuse a style sheet or a drawing that would."""
    for path in sorted(Path(config["site_dir"]).rglob("*")):
        if path.suffix in {".css", ".svg"} and (found := outside(path.read_text(encoding="utf-8"))):
            raise PluginError(f"{path.name} needs the network: {found[0]}")
