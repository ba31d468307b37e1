"""Entry point of `zibaldone`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the arguments of the process, and end with its exit code."""
    if sys.argv[1:2] == ["hook"]:
        from zibaldone.cli import hook

        hook.run(sys.argv[2:])
    else:
        from zibaldone.cli.app import app

        app()
