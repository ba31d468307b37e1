"""A real browser, where there is one: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
_OPTIONS = """
--no-sandbox --headless --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --force-color-profile=srgb
""".split()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser. Skips with what is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: make test-browser has it")
    if _CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_CHROMIUM, args=_OPTIONS)
        yield browser
        browser.close()
