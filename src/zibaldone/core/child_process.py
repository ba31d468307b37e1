"""Python processes of our own: they import nothing from the working folder, and know few variables.

A file there may be named like a library's module; and the environment of whoever starts us has keys that are
none of a child's, such as the upstream's and those of other programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# What every child has of our environment; `also` of `started` says what the settings of a memory add to it.
_NAMES = frozenset(
    (
        "PATH HOME USER LOGNAME TMPDIR LD_LIBRARY_PATH LD_PRELOAD DYLD_LIBRARY_PATH SYSTEMROOT"  # the system
        " LANG LANGUAGE TZ"
        " PYTHONHOME PYTHONUSERBASE PYTHONNOUSERSITE PYTHONUTF8 PYTHONDONTWRITEBYTECODE"
        # models behind a network, and on this machine
        " SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"
        " http_proxy https_proxy all_proxy no_proxy"
        " HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE FASTEMBED_CACHE_PATH"
        " CUDA_VISIBLE_DEVICES OMP_NUM_THREADS TOKENIZERS_PARALLELISM"
    ).split()
)
_BEGINNINGS = ("LC_", "XDG_", "ZIBALDONE_")
_SEARCHED = "PYTHONPATH"


def started(
    arguments: Sequence[str],
    *,
    also: Sequence[str] = (),
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start this interpreter with these arguments.

    It has the variables that every child has, and those whose names begin as one of `also`.
    """
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-P", *arguments],
        env=_environment(also),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
    )


def _environment(also: Sequence[str]) -> dict[str, str]:
    beginnings = (*_BEGINNINGS, *also)
    kept = {
        name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(beginnings)
    }
    # "" and "." among the folders that are searched for modules are the working folder
    folders = [
        folder for folder in os.environ.get(_SEARCHED, "").split(os.pathsep) if Path(folder).is_absolute()
    ]
    return {**kept, _SEARCHED: os.pathsep.join(folders)} if folders else kept
