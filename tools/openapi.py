"""The OpenAPI document as JSON, from which clients are generated: `python tools/openapi.py`.

With --digest it prints the document's SHA-256, taken without the version: generated files bear it.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256

from zibaldone import __version__
from zibaldone.server.rest import OPERATIONS
from zibaldone.server.rest.openapi import document


def text(version: str = __version__) -> str:
    """The document of a version, the same for the same operations."""
    return json.dumps(document(OPERATIONS, version), indent=1, sort_keys=True)


def digest() -> str:
    """The digest of the document, whatever the version."""
    return sha256(text("").encode()).hexdigest()


if __name__ == "__main__":
    print(digest() if "--digest" in sys.argv[1:] else text())
