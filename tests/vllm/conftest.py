"""The connector inside vLLM on a CPU: `make test-vllm`. Skips where vLLM is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "views" / "kvcache"))

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Engines are other processes, on the loopback; what torch and vLLM warn of is theirs."""
    for item in items:
        item.add_marker(pytest.mark.enable_socket)
        item.add_marker(pytest.mark.filterwarnings("ignore"))
