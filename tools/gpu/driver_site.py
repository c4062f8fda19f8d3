#!/usr/bin/env python3
"""Fetch what `tools/gpu/driver.sh` takes along to a Linux machine with a GPU and without a network.

    python tools/gpu/driver_site.py TRITON_GIT REVISION

.gpu/driver/on holds the import hook with the driver in Python, and a `sitecustomize` that starts
it; .gpu/driver/tests and tutorials hold Triton's own of REVISION of the git repository TRITON_GIT;
.gpu/driver/packages what runs them. Nothing of it is committed.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from verify_site import fetch  # type: ignore[import-not-found]

CHECKOUT = Path(__file__).resolve().parents[2]
DESTINATION = CHECKOUT / ".gpu" / "driver"
PACKAGES = ("pytest==9.2.0", "pytest-xdist==3.8.0", "execnet", "iniconfig", "pluggy", "packaging",
            "pygments", "tabulate", "expecttest", "hypothesis", "sortedcontainers")  # fmt: skip


# a plugin of pytest: of the largest files a part, always the same; one line a test that ended
SAMPLE = """
import os
import zlib

PARTS = {"test_core.py": 4, "test_tensor_descriptor.py": 2, "test_random.py": 4}

def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items
                if zlib.crc32(item.nodeid.encode()) % PARTS.get(item.path.name, 1) == 0]

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes())

class Outcomes:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            with open(os.environ["TRITONWIN_OUTCOMES"], "a") as file:
                file.write(f"{report.outcome} {report.nodeid}\\n")
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("git", type=Path)
    parser.add_argument("revision")
    parser.add_argument("--into", type=Path, default=DESTINATION)
    options = parser.parse_args()
    into: Path = options.into
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    archive = subprocess.run(
        ["/usr/bin/git", "-C", options.git, "archive", options.revision, "python/test",
         "python/tutorials"],
        check=True, capture_output=True, timeout=120,
    ).stdout  # fmt: skip
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
    fetch(PACKAGES, into / "packages", "--no-deps")
    (into / "packages" / "tritonwin_sample.py").write_text(SAMPLE)
    (into / "python" / "test" / "pytest.ini").write_text("[pytest]\n")
    sys.path.insert(0, str(CHECKOUT / "src"))
    from tritonwin.patch.hook.install import generate

    on = into / "on"
    on.mkdir()
    for name, content in generate(None, driver=True).items():
        (on / name).write_bytes(content)
    start = "import os, site; site.addsitedir(os.path.dirname(__file__))\n"
    (on / "sitecustomize.py").write_text(start)
    size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
    print(f"{into}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
