"""Entry point of `tritonwin` and `python -m tritonwin`."""

from __future__ import annotations

import gc
import os
import sys

from tritonwin import __version__


def main() -> int:
    """Run the command line and return its exit status."""
    if sys.argv[1:] == ["--version"]:
        # before the import of click and the rest, which takes longer than Python's own start
        try:
            print(f"tritonwin {__version__}", flush=True)  # noqa: T201
        except OSError:  # the output cannot be written; reported below
            pass
        else:
            return 0
    gc.set_threshold(200_000)  # what is made at the start stays: a tenth of the time of `fix`
    try:
        from tritonwin.cli.app import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # during the imports
        return 130


def _leave_out_the_current_folder() -> None:
    """Import nothing more from where `python -m` was started: a `logging.py` may lie there."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be imported from there
    except OSError:  # it was deleted, and is not on the path
        return
    if sys.path[:1] == [here]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_current_folder()
    sys.exit(main())
