"""Entry point of `zibaldone`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the arguments of the process, and end with its exit code."""
    if sys.argv[1:2] == ["hook"]:
        from zibaldone.cli import hook

        hook.run(sys.argv[2:], _run)
    else:
        from zibaldone.cli.app import app

        app()


def _run(arguments: list[str]) -> int:
    from zibaldone.cli.app import app

    return app(args=arguments, prog_name="zibaldone", standalone_mode=False) or 0
