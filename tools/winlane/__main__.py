"""The Windows lane from the command line.

python -m winlane setup                       fetch and build all that the lane needs
python -m winlane run [--kind K] [--with PKG]... VERSION ARGS...
                                              python.exe ARGS in a new environment
python -m winlane wine PROGRAM ARGS...        any Windows program
python -m winlane status                      what is there, how big, what can compile
python -m winlane stop                        end the Wine of every prefix that nobody uses
"""

from __future__ import annotations

import argparse
import sys

from winlane import Lane, LaneError, LaneUnavailable, Machine, TimedOut, prefix, wine
from winlane.cache import Cache, say
from winlane.linux_pythons import linux_headers
from winlane.process import Result
from winlane.pythons import Pythons
from winlane.resources import PYTHONS

UNAVAILABLE = 3


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="winlane", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("setup", "status", "stop"):
        verbs.add_parser(name)
    run = verbs.add_parser("run")
    run.add_argument("--kind", default="full")
    run.add_argument("--with", dest="packages", action="append", default=[], metavar="PKG")
    run.add_argument("--gpu", metavar="CC", help="put the fake driver there, e.g. 8.9")
    run.add_argument("--timeout", type=float, default=600)
    run.add_argument("version", choices=PYTHONS)
    run.add_argument("args", nargs=argparse.REMAINDER)
    program = verbs.add_parser("wine")
    program.add_argument("--timeout", type=float, default=600)
    program.add_argument("args", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(argv)
    try:
        return _VERBS[chosen.verb](chosen)
    except LaneUnavailable as reason:
        say(f"not available: {reason}")
        return UNAVAILABLE
    except (LaneError, TimedOut) as error:
        say(str(error))
        return 1


def setup(_: argparse.Namespace) -> int:
    with Lane.ready() as lane:
        pythons = Pythons(lane.cache, lane.wine)
        for version in PYTHONS:
            pythons.development(version)
        said = lane.tool.run("-c", "import sys; print(sys.version)").check().stdout.strip()
    say(f"ready: {said}")
    return 0


def run_python(chosen: argparse.Namespace) -> int:
    with Lane.ready() as lane, Machine(lane) as machine:
        if chosen.gpu:
            machine.gpu(cc=chosen.gpu)
        made = machine.environment(chosen.version, chosen.kind, chosen.packages)
        return _show(made.run(*chosen.args, timeout=chosen.timeout))


def run_wine(chosen: argparse.Namespace) -> int:
    with Lane.ready() as lane, Machine(lane) as machine:
        return _show(machine.wine(*chosen.args, timeout=chosen.timeout))


def status(_: argparse.Namespace) -> int:
    cache = Cache.open()
    print(f"root     {cache.root}")
    for place in sorted(path for path in cache.root.iterdir() if path.is_dir()):
        size = prefix.size_of(place) / 2**20
        if size >= 1:
            print(f"{size:7.0f} MiB  {place.name}")
    for version, python in PYTHONS.items():
        headers = linux_headers(version)
        compiles = f"compiles with {headers}" if headers else "no Linux headers: fetched if need be"
        print(f"CPython  {python.full:8} {compiles}")
    return 0


def stop(_: argparse.Namespace) -> int:
    cache = Cache.open()
    tree = wine.provide(cache)
    for path in sorted((cache.root / "prefixes").glob("prefix-*")):
        held = cache.claim(path.name)
        if held is None:
            say(f"{path.name} is in use, left alone")
            continue
        with held:
            prefix.stop(tree, path)
    return 0


def _show(result: Result) -> int:
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    # Linux passes eight bits on; an NTSTATUS must not come out as success
    return result.returncode if result.returncode < 256 else 1


_VERBS = {"setup": setup, "run": run_python, "wine": run_wine, "status": status, "stop": stop}

if __name__ == "__main__":
    sys.exit(main())
