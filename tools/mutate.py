#!/usr/bin/env python3
"""Change the code in small ways with mutmut, and count the changes that no test notices.

    python tools/mutate.py AREA|all [--sample N] [--seed S]

It works in a copy below build/mutation/, so that edits meanwhile do not matter. A sample is every
k-th mutant in the order of files and functions, from a start that the seed gives, so that each
module has its share. mutmut changes what functions do, but neither decorated ones (properties,
caches) nor the tables of modules. Survivors are shown as differences. The exit status is 1 where
fewer than 85 % were noticed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from random import Random
from typing import Any

import dev
from branch_coverage import AREAS

ROOT = dev.ROOT
MUTATION = dev.Environment(
    ROOT / ".venv-mutation", ("--group", "dev", "--group", "mutation", "-e", str(ROOT))
)
GOAL = 0.85
MEMORY = 4 << 30  # bytes for a mutant that does not end
NOTICED = {"killed", "timeout"}


def copied(name: str) -> Path:
    """The checkout as it is now, without what git ignores, in a folder of its own."""
    area, folder = AREAS[name], ROOT / "build" / "mutation" / name
    shutil.rmtree(folder, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for file in listed.stdout.decode().rstrip("\0").split("\0"):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, folder / file)
    tests = {p.relative_to(folder) for glob in area.tests for p in folder.glob(f"tests/{glob}")}
    lists = {
        "source_paths": ["src"],
        # not the patterns: to mutmut, `*` goes on into folders
        "only_mutate": [f"src/tritonwin/{file}" for file in sorted(area.files() - {*area.apart})],
        "also_copy": ["tools", "benchmarks", "docs", "README.md"],
        "pytest_add_cli_args_test_selection": sorted(map(str, tests)),
        "pytest_add_cli_args": ["-pmutation_plugin", "-pno:cacheprovider", f"-k={area.but}"],
    }
    # mutmut allows twice that much processor time, and measured what is multiplied by the clock
    text = "[mutmut]\ntrack_dependencies = false\ntimeout_multiplier = 2\ntimeout_constant = 5\n"
    for key, values in lists.items():
        text += f"{key} =\n" + "".join(f"    {value}\n" for value in values)
    (folder / "setup.cfg").write_text(text, "utf-8")
    return folder


def run(sample: int, seed: int) -> None:
    """Make all mutants of the copy that is the current folder, and try a sample of them."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    mutmut: Any = importlib.import_module("mutmut.__main__")
    mutation_plugin: Any = importlib.import_module("mutation_plugin")
    mutmut.set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(1)
    names = [name for results in read_results().values() for name in results]

    def arguments(runner: Any, tests: Collection[str]) -> list[str]:
        """pytest's, for some of the tests: all their files, and what is wanted of them."""
        mutation_plugin.wanted.clear()
        mutation_plugin.wanted.update(tests)
        files = {test.partition("::")[0] for test in tests}
        return ["-x", "-q", *(sorted(files) or runner._pytest_add_cli_args_test_selection)]

    mutmut.PytestRunner._pytest_args_regular_run = arguments
    mutmut._run(chosen(names, sample, seed), 1)


def read_results() -> dict[str, dict[str, int | None]]:
    """The exit status of each mutant by module; None where it was not tried."""
    source = Path("mutants", "src", "tritonwin")
    return {
        path.relative_to(source).as_posix().removesuffix(".meta"): json.loads(
            path.read_text("utf-8")
        )["exit_code_by_key"]
        for path in sorted(source.rglob("*.meta"))
    }


def chosen(names: Sequence[str], sample: int, seed: int) -> list[str]:
    """Every k-th of the names; all of them for a sample of 0."""
    if not 0 < sample < len(names):
        return list(names)
    step = len(names) / sample
    start = step * Random(seed).random()  # noqa: S311 - repeatable on purpose
    return [names[int(start + number * step)] for number in range(sample)]


def interval(part: int, total: int) -> tuple[float, float]:
    """The bounds of the true share with 95 % certainty (Wilson)."""
    z, share = 1.96, part / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - reach) / (1 + z * z / total), (middle + reach) / (1 + z * z / total)


def report() -> int:
    """Print a table by module and the differences that no test noticed, from the current folder."""
    status: dict[int | None, str] = importlib.import_module("mutmut.stats").status_by_exit_code
    difference: Any = importlib.import_module("mutmut.mutation.diff_apply").get_diff_for_mutant
    results = read_results()
    ways = Counter[str]()
    survivors = []
    for module, codes in results.items():
        tried = {name: status[code] for name, code in codes.items() if code is not None}
        noticed = sum(how in NOTICED for how in tried.values())
        if tried:
            print(f"{noticed:4} of {len(tried):4}  {module}")
        ways.update(tried.values())
        survivors += [name for name, how in tried.items() if how not in NOTICED]
    for name in survivors:
        print(f"\n# {name}\n{difference(name)}")
    total = ways.total()
    noticed = total - len(survivors)
    low, high = interval(noticed, total)
    mutants = sum(map(len, results.values()))
    print(
        f"\n{noticed} of {total} noticed, {noticed / total:.1%} ({low:.1%} to {high:.1%}); "
        f"{mutants} mutants in all; "
        + ", ".join(f"{how} {count}" for how, count in ways.most_common())
    )
    return int(noticed / total < GOAL)


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("area", choices=[*AREAS, "all"])
    parser.add_argument("--sample", type=int, default=0, help="mutants of an area; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", choices=["run", "report"], help=argparse.SUPPRESS)
    asked = parser.parse_args(args)
    if asked.inside == "run":
        run(asked.sample, asked.seed)
        return 0
    if asked.inside == "report":
        return report()
    MUTATION.make()
    failed = 0
    for name in AREAS if asked.area == "all" else [asked.area]:
        folder = copied(name)
        again = [str(MUTATION.python), __file__, *args, "--inside"]
        print(f"== {name}; mutmut's own words: {folder / 'mutmut.log'}", flush=True)
        with (folder / "mutmut.log").open("wb") as log:
            tried = subprocess.run(
                [*again, "run"], cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=False
            )
        if tried.returncode:
            sys.exit("mutmut could not do it: read what it said")
        failed |= subprocess.run([*again, "report"], cwd=folder, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
