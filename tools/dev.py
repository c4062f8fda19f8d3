#!/usr/bin/env python3
"""Everything a checkout needs, from nothing but Python 3.10 and pip.

    python tools/dev.py demo [ARGS]        the main job on real input
    python tools/dev.py test [--full] [--coverage] [-- PYTEST ARGS]
    python tools/dev.py setup              only make the environment (.venv)

The encoder's tests and the documentation have environments of their own, .venv-torch and
.venv-docs.

`test` runs the linters, the type checker for both platforms, builds the documentation, and runs the
unit tests and, where Wine can be had, the Windows lane. TRITONWIN_REQUIRE_LANE=1 makes a missing
lane a failure. `--full` adds the heavy tests, measures coverage on Linux and in Windows Python
together, and fails where an area of areas.toml has too few branches tested.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".test-reports"


Command = list[str | Path]

# Now and then Wine refuses to start a process with ERROR_INTERNAL_ERROR; that and nothing else is
# tried again, and pytest counts it as "rerun".
WINE_HICCUP: Command = [
    "--reruns",
    "1",
    "--only-rerun",
    "WinError 1359|error 1359 starting|cannot be started: Internal error",
]


def call(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run in the checkout; the output is ours."""
    return subprocess.run([str(c) for c in command], cwd=ROOT, env=env, check=False).returncode


@dataclass(frozen=True)
class Environment:
    """A virtual environment in the checkout, and what pip puts there."""

    folder: Path
    install: tuple[str, ...]

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def make(self) -> None:
        """Make or refresh it.

        pip is put there by the pip that is there already, since distributions split ensurepip off
        and older versions of pip cannot install into another environment.
        """
        stamp = self.folder / "tritonwin-setup.txt"
        files = [ROOT / "pyproject.toml", ROOT / "encoder" / "pyproject.toml"]
        fingerprint = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
        fingerprint += f"\n{sys.version}\n{ROOT}"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == fingerprint:
            return
        print(f"setup: {self.folder.name}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        venv.create(self.folder, with_pip=False)
        where = subprocess.run(
            [str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        _install([sys.executable, "-m", "pip"], "--target", where, "pip>=25.1")
        _install([str(self.python), "-m", "pip"], *self.install)
        stamp.write_text(fingerprint, encoding="utf-8")


MAIN = Environment(ROOT / ".venv", ("--group", "dev", "-e", str(ROOT)))
PYTHON = MAIN.python
# torch apart: the tool must do without, and half of its tests ask what it says when there is none
ENCODER = ROOT / "encoder"
TORCH = Environment(
    ROOT / ".venv-torch", ("--group", "encoder/pyproject.toml:test", "-e", str(ENCODER))
)
DOCS = Environment(ROOT / ".venv-docs", ("--group", "docs", "-e", str(ROOT)))


def _install(pip: Sequence[str], *args: str) -> None:
    command = [*pip, "install", "--quiet", "--disable-pip-version-check", *args]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"setup failed: {' '.join(command)}")


def steps(full: bool, coverage: bool, args: Sequence[str]) -> Iterator[tuple[str, Command]]:
    """The steps of `test` in order, with the names that the summary shows."""
    tool: Command = [PYTHON, "-m"]
    yield "format", [*tool, "ruff", "format", "--check", "--quiet", "."]
    yield "lint", [*tool, "ruff", "check", "--quiet", "."]
    yield "types (linux)", [*tool, "mypy", "--platform", "linux"]
    # the lane and the benchmarks run on Linux only
    yield "types (win32)", [*tool, "mypy", "--platform", "win32", "src"]
    settings = ENCODER / "pyproject.toml"
    sources = [ENCODER / folder for folder in ("src", "examples", "benchmarks", "tools")]
    yield "types (encoder)", [*tool, "mypy", "--config-file", settings, *sources]
    yield "documentation", [DOCS.python, "tools/build_site.py"]
    workers = str(min(4, os.cpu_count() or 1))
    chosen = ["-q", *(["--hypothesis-profile", "exploring"] if full else ["-m", "not full"])]
    pytest = [*(["coverage", "run", "-m"] if coverage else []), "pytest", *chosen]
    spread = ["--dist", "worksteal", "-n", workers]
    for name, folders in (
        (
            "unit tests",
            ["tests/unit", "tests/corpus", "tests/builds", "tests/fuzz", "tests/browser"],
        ),
        ("Windows lane", ["tests/winlane"]),
    ):
        report = f"--junitxml={REPORTS / name}.xml"
        again = WINE_HICCUP if folders == ["tests/winlane"] else []
        yield name, [*tool, *pytest, *spread, report, *again, *folders, *args]
    report = f"--junitxml={REPORTS / 'encoder'}.xml"
    folder = ENCODER / "tests" / "unit"
    command: Command = [TORCH.python, "-m", "pytest", "-c", settings, *chosen, report, folder]
    yield "encoder (torch)", [*command, *args]


def skipped(reports: Iterable[Path]) -> Iterator[str]:
    """Reasons with their count, from the JUnit files that pytest wrote."""
    reasons: Counter[str] = Counter()
    for report in reports:
        # written by our own pytest
        for case in ET.parse(report).iter("skipped"):  # noqa: S314
            reasons[case.get("message") or "no reason given"] += 1
    for reason, count in sorted(reasons.items()):
        yield f"{count} x {reason}"


def heavy(python: Path, root: Path, folder: str = "tests") -> Iterator[str]:
    """The tests that only `--full` runs, counted by file."""
    command: Sequence[str] = (
        str(python), "-m", "pytest", folder, "-m", "full", "--collect-only", "-q",
    )  # fmt: skip
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    files = Counter(line.split("::")[0] for line in listed.stdout.splitlines() if "::" in line)
    for file, count in sorted(files.items()):
        yield f"{count} x {file}: only with --full"


def test(args: Sequence[str]) -> int:
    """Run every step, also after one that failed; the exit status is 1 if any did."""
    cut = args.index("--") if "--" in args else len(args)
    own, rest = args[:cut], args[cut + 1 :]
    unknown = set(own) - {"--full", "--coverage"}
    if unknown:
        sys.exit(f"unknown option {min(unknown)}; see the head of tools/dev.py")
    full = "--full" in own
    coverage = full or "--coverage" in own
    TORCH.make()
    DOCS.make()
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir()
    env = dict(os.environ)
    if coverage:
        env |= {
            "COVERAGE_FILE": str(REPORTS / ".coverage"),
            "TRITONWIN_LANE_COVERAGE": str(REPORTS),
        }
    results: list[tuple[str, int, float]] = []
    for name, command in steps(full, coverage, rest):
        print(f"== {name}", flush=True)
        start = time.monotonic()
        code = call(*command, env=env)
        results.append((name, code, time.monotonic() - start))
    if coverage:
        start = time.monotonic()
        code = call(PYTHON, "tools/branch_coverage.py", REPORTS, env=env)
        if full and not rest:  # of a part of the tests the figures say nothing
            results.append(("branch coverage", code, time.monotonic() - start))
    print("\nDid not run:")
    for line in skipped(sorted(REPORTS.glob("*.xml"))):
        print(f"  {line}")
    if not full:
        for line in (*heavy(PYTHON, ROOT), *heavy(TORCH.python, ENCODER, "tests/unit")):
            print(f"  {line}")
    print()
    for name, code, seconds in results:
        print(f"{'ok    ' if code == 0 else 'FAILED'}  {name}  ({seconds:.0f} s)")
    return int(any(code for _, code, _ in results))


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] not in {"demo", "test", "setup"}:
        print(__doc__)
        return 2
    if sys.version_info < (3, 10):  # noqa: UP036 - this file is what such a Python meets first
        sys.exit(f"tritonwin needs Python 3.10 or later; this is {sys.version.split()[0]}")
    MAIN.make()
    if argv[0] == "demo":
        return call(PYTHON, "-m", "tritonwin", *argv)
    return test(argv[1:]) if argv[0] == "test" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
