"""run.py with the lane's stand-in for the driver in place of libcuda.so.1: no GPU is needed.

    python tests/gpu/winlane/rehearse.py NAME [--only STEP ...] [--cc 9.0]

Everything is started as on a GPU, and nothing is computed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import bundle  # first: it puts the lane on the path
import relay


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=bundle.load()["bundle"])
    parser.add_argument("--cc", default="9.0", help="compute capability that the stand-in has")
    chosen, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        library = relay.fake_libcuda(Path(scratch))
        variables = {relay.LIBRARY_VARIABLE: str(library), "FAKECUDA_CC": chosen.cc}
        command = [sys.executable, bundle.HERE / "run.py", chosen.name, "--out", scratch, *rest]
        return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
