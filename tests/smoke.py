"""The installed package, without the repository: run by the Python of an environment that has nothing else.

`make dist-test` installs the wheel, then the sdist, in a new environment, and runs this in an empty folder.
"""

import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import zibaldone

ZIBALDONE = str(Path(sys.executable).with_name("zibaldone"))


def command(*words: str, code: int = 0) -> str:
    """What the installed command writes."""
    done = subprocess.run([ZIBALDONE, *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def main() -> None:
    """Python, the command line, the demo, every view, and what is not code."""
    assert Path(zibaldone.__file__).is_relative_to(sys.prefix), zibaldone.__file__
    assert all(hasattr(zibaldone, name) for name in zibaldone.__all__)
    assert resources.files("zibaldone").joinpath("py.typed").is_file()
    with tempfile.TemporaryDirectory() as folder:
        with zibaldone.Memory(folder) as memory:
            memory.add(["My dentist is Dr. Moss.", "I moved to Port Ash."], user="me", session="1")
            report = memory.maintain(views=["messages", "notes", "chunks", "topics", "hierarchy"])
            assert not report.behind, report.behind
            recalled = memory.recall("Who is my dentist?", user="me")
            assert "Dr. Moss" in recalled.text
            assert memory.admin.check().ok
        assert "Dr. Moss" in command("recall", "Who is my dentist?", "--memory", folder)
        assert json.loads(command("admin", "users", "--memory", folder, "--json")) == ["me"]
        assert command("--version") == f"{zibaldone.__version__}\n"
        assert "did you mean 'me'" not in command("notes", "--memory", folder)
        command("recall", "x", "--user", "mee", "--memory", folder, code=2)
    assert " of 10" in command("demo")
    print(f"zibaldone {zibaldone.__version__} of {Path(zibaldone.__file__).parent.parent}: all is there")


if __name__ == "__main__":
    main()
