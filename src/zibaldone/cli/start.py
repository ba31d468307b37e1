"""Entry point of `zibaldone`: the process that holds the memory answers, if there is one."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line with the arguments of the process, and end with its exit code."""
    if sys.argv[1:2] == ["hook"]:
        from zibaldone.cli import hook

        hook.run(sys.argv[2:], _run_here)
        return
    from zibaldone.cli.client import answer

    code: int | None = None
    try:
        code = answer(sys.argv[1:])
    except OSError as error:  # of a stream: the command line says what it says of such
        _cannot_write(error)
    if code is None:
        from zibaldone.cli.app import app

        app()
    sys.exit(code)


def _run_here(arguments: list[str]) -> int:
    from zibaldone.cli.app import app

    return app(args=arguments, prog_name="zibaldone", standalone_mode=False) or 0


def _cannot_write(error: OSError) -> None:
    """End the process whose answer cannot be written: its reader has gone, or the disk is full."""
    import errno

    from zibaldone.cli import output as out

    out.give_up_standard_output()
    if error.errno == errno.EPIPE:
        sys.exit(1)
    out.note(f"error: standard output cannot be written ({error.strerror})", "red")
    sys.exit(out.BAD_INPUT)
