#!/usr/bin/env python3
"""Build FlashAttention with `tritonwin build` on a machine with a GPU, and measure it.

    python tools/gpu/build_flash_attn.py fetch
    python3 tools/gpu/build_flash_attn.py start [--interrupt-after S] [-- OPTIONS OF build]
    python3 tools/gpu/build_flash_attn.py poll [--wait S]
    python3 tools/gpu/build_flash_attn.py finish

`fetch` puts the source distribution and the build's own requirements into .gpu/build, on a machine
with a network; tritonwin's dependencies are in .gpu/site (tools/gpu/verify_site.py). Calls of the
other machine are short, so `start` leaves the build to a process of its own; `poll` tells how far
it is and waits for its end at most S seconds; `finish` writes what is known by then into $OUT:
summary.json, build.json, build-info.json, log.gz, verify.json, verify.md. Shortly after the start
the build is interrupted once on purpose, as by Ctrl-C, and resumed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "src"), str(CHECKOUT / ".gpu/site")]

PROGRAM = f"""
import signal, sys
sys.path[:0] = {sys.path[:2]!r}
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may ignore it
from tritonwin.__main__ import main
sys.exit(main())
"""
RUNGS = ("flash-attn", "flash-attn-backward", "flash-attn-varlen", "transformers-flash")
# of the build environment, should the other machine lack them or have older ones
REQUIREMENTS = ("setuptools", "wheel", "packaging", "psutil", "ninja", "einops")
ORDER = (
    "build", "flash-attn", "--version", "2.8.3.post2", "--find-links", ".gpu/build", "--offline",
    "--anyway", "--yes", "--json",
)  # fmt: skip
GIB = 2**30


class Work:
    """The folder of the build and of what is known of it between calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.phases = folder / "phases.json"
        self.result = folder / "build.json"
        self.errors = folder / "errors.txt"

    def root(self) -> Path | None:
        """The build's own folder, once there is one."""
        return next((plan.parent for plan in self.folder.glob("flash-attn-*/plan.json")), None)

    def state(self) -> dict[str, Any]:
        root = self.root()
        return _json(root / "state.json") if root else {}

    def note(self, **known: Any) -> None:
        part = self.phases.with_suffix(".part")
        part.write_text(json.dumps({**_json(self.phases), **known}, indent=1))
        part.replace(self.phases)


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def fetch(folder: Path) -> int:
    """Bring together what the other machine cannot fetch."""
    from tritonwin.build.recipe import load
    from tritonwin.build.source import SourceCache
    from tritonwin.support.pip import Pip

    release = load("flash-attn").release("2.8.3.post2")
    assert release is not None and release.file and release.sha256  # noqa: PT018, S101
    depot = SourceCache(pip=Pip((sys.executable, "-m", "pip")))
    print(depot.obtain("flash-attn", release.file, release.sha256, folder))
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    download += [str(folder), "--only-binary=:all:", "--python-version", "3.12"]
    for platform in ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "any"):
        download += ["--platform", platform]
    return subprocess.run([*download, *REQUIREMENTS], check=False).returncode


def start(work: Work, interrupt_after: float, options: Sequence[str]) -> int:
    """Begin anew, in a session of its own: it must outlive this call."""
    shutil.rmtree(work.folder, ignore_errors=True)
    work.folder.mkdir(parents=True)
    if "--python" not in options:
        options = ["--python", sys.executable, *options]
    planned = [word for word in _order(work, options) if word not in {"--json", "--yes"}]
    shown = _tritonwin(work, [*planned, "--plan"], None, timeout=120)
    if shown.returncode:
        return shown.returncode
    words = [sys.executable, str(_copied(work)), "supervise", "--work", str(work.folder)]
    words += ["--interrupt-after", str(interrupt_after), "--", *options]
    with work.errors.open("wb") as errors:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True
        )
    print(f"started as process {process.pid}; work: {work.folder}")
    return 0


def _copied(work: Work) -> Path:
    """This program and all that it needs, where no later call of the machine replaces it."""
    place = work.folder / "tool"
    for name in ("src", ".gpu/site", ".gpu/build"):
        shutil.copytree(CHECKOUT / name, place / name)
    program = place / Path(__file__).resolve().relative_to(CHECKOUT)
    program.parent.mkdir(parents=True)
    shutil.copyfile(__file__, program)
    return program


def supervise(work: Work, interrupt_after: float, options: Sequence[str]) -> int:
    """Build, interrupt once, resume, to the end; then try the wheel's rungs for the report."""
    order = _order(work, options)
    work.note(phase="first run", began=time.time(), options=list(options))
    code = _build(work, order, interrupt_after)
    if code == 130:  # what Ctrl-C ends with
        work.note(phase="resumed", interrupted_after=interrupt_after, resumed=time.time())
        code = _build(work, [*order, "--resume"], None)
    work.note(phase="verify", built=time.time())
    if (root := work.root()) is not None and code == 0:
        _verify(work, root / "p/bin/python")
    work.note(phase="ended", ended=time.time(), code=code)
    return code


def _order(work: Work, options: Sequence[str]) -> list[str]:
    return [*ORDER, "--root", str(work.folder), *options]


def _build(work: Work, order: Sequence[str], interrupt_after: float | None) -> int:
    with work.result.open("wb") as out:
        process = subprocess.Popen(_words(order), stdout=out, cwd=CHECKOUT, env=_env(work))
        while process.poll() is None:
            time.sleep(0.2)
            runs = work.state().get("runs", [])
            if interrupt_after is not None and runs and runs[-1]["seconds"] >= interrupt_after:
                process.send_signal(signal.SIGINT)
                interrupt_after = None
    return process.returncode


def _verify(work: Work, python: Path) -> None:
    """The rungs again, on the environment that the wheel was proven in, as a report."""
    only = [word for rung in RUNGS for word in ("--only", rung)]
    report = ["--report", str(work.folder / "verify.md"), "--json"]
    with (work.folder / "verify.json").open("wb") as out:
        _tritonwin(work, ["verify", "--python", str(python), *only, *report], out, timeout=300)


def _tritonwin(
    work: Work, arguments: Sequence[str], out: IO[bytes] | None, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        _words(arguments), stdout=out, cwd=CHECKOUT, env=_env(work), timeout=timeout, check=False
    )


def _words(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def _env(work: Work) -> dict[str, str]:
    return {**os.environ, "TRITONWIN_HOME": str(work.folder / "home"), "TRITONWIN_DEBUG": "1"}


def poll(work: Work, wait: float) -> int:
    """Print the progress. Exit status 3 while the build runs."""
    end = time.monotonic() + wait
    while "code" not in _json(work.phases) and time.monotonic() < end:
        time.sleep(1)
    known = _json(work.phases)
    for line in _progress(work, known):
        print(line)
    return int(known["code"]) if "code" in known else 3


def _progress(work: Work, known: Mapping[str, Any]) -> list[str]:
    lines = [json.dumps(known)]
    lines += [
        f"{run['jobs']} jobs, {run['ending']}: {run['steps']} of {run['total']} steps in "
        f"{run['seconds']:.0f} s, {run['peak_memory'] / GIB:.1f} GiB at the peak"
        for run in work.state().get("runs", [])
    ]
    if work.errors.is_file():
        lines += work.errors.read_text("utf-8", "replace").splitlines()[-20:]
    return lines


def finish(work: Work, out: Path) -> int:
    """Write down what is known, of a build that goes on as well."""
    out.mkdir(parents=True, exist_ok=True)
    root = work.root()
    if root is None:
        print("\n".join(_progress(work, _json(work.phases))))
        return 1
    summary = summarise(root, work.state(), _json(root / "plan.json"), _json(work.phases))
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    if work.result.stat().st_size:
        shutil.copyfile(work.result, out / "build.json")
    for info in (root / "dist").glob("*.build-info.json"):
        shutil.copyfile(info, out / "build-info.json")
    for name in ("verify.json", "verify.md"):
        if (work.folder / name).is_file():
            shutil.copyfile(work.folder / name, out / name)
    with (root / "build.log").open("rb") as log, gzip.open(out / "log.gz", "wb") as packed:
        shutil.copyfileobj(log, packed)
    print(json.dumps({k: v for k, v in summary.items() if k != "files"}, indent=1))
    return 0


def summarise(
    root: Path, state: Mapping[str, Any], plan: Mapping[str, Any], phases: Mapping[str, Any]
) -> dict[str, Any]:
    """The figures. Times in seconds, memory in GiB."""
    from tritonwin.build import ninja

    edges = {path.name: edge for path, edge in ninja.finished(root / "s").items()}
    files = {name: round(e.end - e.start, 1) for name, e in sorted(edges.items())}
    runs = state.get("runs", [])
    cores = len(os.sched_getaffinity(0))
    wall = sum(run["seconds"] for run in runs)
    cpu = sum(run["cpu_seconds"] or 0 for run in runs)
    peak = max((run["peak_memory"] for run in runs), default=0) / GIB
    memory = {k: plan["memory"][k] / GIB for k in ("expected", "bound")}
    total = next((run["total"] for run in reversed(runs) if run["total"]), None)
    one_after_the_other = sum(files.values())
    return {
        "machine": {"cores": cores, "cpu": _processor()},
        "phases": dict(phases),
        "runs": runs,
        "wall": round(wall, 1),
        "cpu": round(cpu, 1),
        "wall_by_ideal": round(wall / (cpu / cores), 3) if cpu else None,
        "peak_gib": round(peak, 2),
        "expected_gib": round(memory["expected"], 2),
        "bound_gib": round(memory["bound"], 2),
        "peak_by_expected": round(peak / memory["expected"], 3),
        "steps": {"done": len(files), "of": total},
        "wall_extrapolated": round(wall * total / len(files), 1) if files and total else None,
        # with one job: the files one after the other, as long as each took beside the others
        "one_job": round(one_after_the_other * (total or 0) / max(1, len(files)), 1),
        "one_job_by_wall": round(one_after_the_other / wall, 2) if wall else None,
        "files": files,
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    return next((s.partition(":")[2].strip() for s in lines if s.startswith("model name")), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["fetch", "start", "supervise", "poll", "finish"])
    parser.add_argument("--work", type=Path, default=Path("/tmp/tritonwin-build"))  # noqa: S108
    parser.add_argument("--interrupt-after", type=float, default=40.0, metavar="S")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")))
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, options = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]
    work = Work(args.work)
    if args.what == "fetch":
        return fetch(CHECKOUT / ".gpu/build")
    if args.what == "start":
        return start(work, args.interrupt_after, options)
    if args.what == "supervise":
        return supervise(work, args.interrupt_after, options)
    if args.what == "poll":
        return poll(work, args.wait)
    return finish(work, args.out)


if __name__ == "__main__":
    sys.exit(main())
