"""Put the static table and its tokenizer into the wheel: of the package `wordllama` no more is needed.

The package itself has forty times as many files, and brings a model hub's client.
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TARGET = "zibaldone/models/wordllama"
_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")


class StaticTable(BuildHookInterface[Any]):
    """Runs where the wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, with their licence; of an editable installation, to the sources."""
        spec = find_spec("wordllama")
        assert spec is not None
        assert spec.origin is not None
        licences = [path for path in distribution("wordllama").files or () if path.name == "LICENSE"]
        sources = {name: Path(spec.origin).parent / name for name in _FILES}
        sources["LICENSE"] = Path(str(licences[0].locate()))
        for name, path in sources.items():
            if version == "editable":
                copy = Path(self.root, "src", _TARGET, name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            else:
                build_data["force_include"][str(path)] = f"{_TARGET}/{name}"
