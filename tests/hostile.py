"""A working folder that is somebody else's."""

from __future__ import annotations

from pathlib import Path

MODULES = ("asyncio", "pickle", "shutil", "struct", "typing")


class HostileFolder:
    """Has files named like modules of the library, which leave a mark when they are executed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self._marks = folder, folder / "marks"
        for name in MODULES:
            (folder / f"{name}.py").write_text(f"open({str(self._marks)!r}, 'a').write('{name} ')\n")

    @property
    def executed(self) -> list[str]:
        """The modules that were."""
        return self._marks.read_text().split() if self._marks.exists() else []
