"""Entry point of `tritonwin` and `python -m tritonwin`."""

from __future__ import annotations

import sys

from tritonwin import __version__


def main() -> int:
    """Run the command line and return its exit status."""
    if sys.argv[1:] == ["--version"]:
        # answered before click and the rest are imported, which takes longer than Python's start
        try:
            print(f"tritonwin {__version__}", flush=True)  # noqa: T201
        except OSError:  # the output cannot be written, which is said below
            pass
        else:
            return 0
    try:
        from tritonwin.cli.app import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # before there was anybody to say so
        return 130


if __name__ == "__main__":
    sys.exit(main())
