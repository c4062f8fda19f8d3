"""The Windows lane from the command line.

python -m winlane setup                       fetch and build all that the lane needs
python -m winlane run [--kind K] [--with PKG]... VERSION ARGS...
                                              python.exe ARGS in a new environment
python -m winlane stop                        end the Wine of every prefix that nobody uses
"""

from __future__ import annotations

import argparse
import sys

from winlane import Lane, LaneError, LaneUnavailable, Machine, prefix, wine
from winlane.cache import Cache, say
from winlane.pythons import Pythons
from winlane.resources import PYTHONS

UNAVAILABLE = 3


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="winlane", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("setup", "stop"):
        verbs.add_parser(name)
    run = verbs.add_parser("run")
    run.add_argument("--kind", default="full")
    run.add_argument("--with", dest="packages", action="append", default=[], metavar="PKG")
    run.add_argument("--gpu", metavar="CC", help="put the fake driver there, e.g. 8.9")
    run.add_argument("--timeout", type=float, default=600)
    run.add_argument("version", choices=PYTHONS)
    run.add_argument("args", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(argv)
    try:
        return _VERBS[chosen.verb](chosen)
    except LaneUnavailable as reason:
        say(f"not available: {reason}")
        return UNAVAILABLE
    except LaneError as error:
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
        result = made.run(*chosen.args, timeout=chosen.timeout)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    # Linux passes eight bits on; an NTSTATUS must not come out as success
    return result.returncode if result.returncode < 256 else 1


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


_VERBS = {"setup": setup, "run": run_python, "stop": stop}

if __name__ == "__main__":
    sys.exit(main())
