"""Real Windows Triton on a real GPU: run what a bundle is for, and keep the results.

    python3 tests/gpu/winlane/run.py 3.8 --archives .gpu --out OUT [--only STEP ...]

needs Linux with an NVIDIA driver and no network; the archives are those of bundle.py. The steps:

    ladder    `tritonwin verify` inside Windows: every rung of the ladder that applies
    bench     `tritonwin bench` inside Windows
    twin      the same on the Linux Triton of this machine, on the same GPU, and the comparison
    encoder   the byte-spectral kernels against their float64 reference
    driver    rungs and an attention kernel, with the compiled module and with the driver in Python

Each leaves its documents in OUT; OUT/summary-NAME.json says how each ended. Exit status 1 when one
failed. With RELAY_LIBCUDA naming the lane's stand-in driver it is a rehearsal: nothing is computed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import session
from session import CHECKOUT, Windows

sys.path.insert(0, str(CHECKOUT / "src"))

HERE = Path(__file__).resolve().parent
HEADING = "Windows user space under Wine on a Linux driver"


@dataclass
class Run:
    """One bundle on one machine."""

    name: str
    bundle: dict[str, Any]
    windows: Windows
    out: Path
    scratch: Path
    results: dict[str, Any] = field(default_factory=dict)

    def tool(self, *args: str, timeout: float) -> dict[str, Any]:
        """`tritonwin ARGS --json` inside Windows; its document."""
        done = self.windows.python("-m", "tritonwin", *args, "--json", timeout=timeout)
        if not done.stdout.strip():
            return {"error": f"ended with {done.returncode:#x}: {done.stderr[-2000:]}"}
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def keep(self, kind: str, document: dict[str, Any]) -> Path:
        place = self.out / f"{kind}-{self.name}.json"
        place.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        return place


def ladder(run: Run) -> dict[str, Any]:
    document = run.tool("verify", timeout=240)
    run.keep("ladder", document)
    if "rungs" not in document:
        return document
    states: dict[str, list[str]] = {}
    for rung in document["rungs"]:
        states.setdefault(rung["state"], []).append(rung["id"])
        print(
            f"  {rung['state']:<15}{rung['id']:<24}{rung['seconds']:6.1f} s  {rung['detail'][:150]}"
        )
    return {"ok": document["proven"], **states}


def bench(run: Run) -> dict[str, Any]:
    document = run.tool("bench", timeout=240)
    run.keep("bench", document)
    return _measured(document)


def _measured(document: dict[str, Any]) -> dict[str, Any]:
    if "benchmark" not in document:
        return document
    parts = document["parts"]
    for part in parts:
        print(f"  {part['state']:<15}{part['id']:<24}{part['detail'][:200]}  {part['figures']}")
    return {
        "ok": all(part["state"] == "passed" for part in parts),
        "figures": {part["id"]: part["figures"] for part in parts},
    }


def twin(run: Run) -> dict[str, Any]:
    """The Linux Triton with the machine's torch, and with the stand-in that Windows has."""
    if not run.bundle.get("linux_twin"):
        return {"ok": True, "skipped": "this bundle has no twin"}
    from bundle import standin_torch

    found: dict[str, Any] = {"ok": True}
    standin_torch(run.scratch / "standins")
    for label, extra, only in (
        ("torch", (), ()),
        ("standin", (run.scratch / "standins",), ("--only", "bench-launch")),
    ):
        document = _linux_bench(run, extra, only)
        path = run.keep(f"bench-linux-{label}", document)
        print(f" Linux, {label}:")
        found[label] = _measured(document)
        found["ok"] = found["ok"] and found[label].get("ok", False)
        if found["ok"]:
            found[f"windows/{label}"] = _compared(path, run.out / f"bench-{run.name}.json")
    return found


def _linux_bench(run: Run, extra: Sequence[Path], only: Sequence[str]) -> dict[str, Any]:
    path = [*map(str, extra), str(CHECKOUT / "src"), str(_pure_packages(run))]
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin", "bench", "--json", *only, "--python", sys.executable],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}, text=True, timeout=240,
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    if not done.stdout.strip():
        return {"error": f"ended with {done.returncode}: {done.stderr[-2000:]}"}
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _pure_packages(run: Run) -> Path:
    """The dependencies of tritonwin, for Linux: linked out of the bundle, since they are pure Python."""
    tool = run.scratch / "tool"
    if tool.exists():
        return tool
    tool.mkdir()
    there = run.windows.lane.drives.drive_c / "py" / "Lib" / "site-packages"
    for name in ("click", "rich", "packaging", "pefile.py", "ordlookup", "peutils.py",
                 "platformdirs", "pygments", "markdown_it", "mdurl"):  # fmt: skip
        if (there / name).exists():
            (tool / name).symlink_to(there / name)
    return tool


def _compared(linux: Path, windows: Path) -> dict[str, Any]:
    first, second = (
        {(part["id"], name): value for part in json.loads(file.read_text("utf-8"))["parts"]
         for name, value in part["figures"].items()} for file in (linux, windows)
    )  # fmt: skip
    found: dict[str, Any] = {}
    for key in first.keys() & second.keys():
        one, two = first[key], second[key]
        number = isinstance(one, (int, float)) and isinstance(two, (int, float)) and bool(one)
        found[".".join(key)] = round(two / one, 4) if number else one == two
        print(f"   {key[0]:<17}{key[1]:<18}{one!s:>18}{two!s:>18}  {found['.'.join(key)]}")
    return found


def encoder(run: Run) -> dict[str, Any]:
    from encoder_check import check

    return check(run.windows, run.scratch)


def driver(run: Run) -> dict[str, Any]:
    """The same rungs and the same bits with nothing compiled."""
    found: dict[str, Any] = {}
    rungs = run.windows.win(CHECKOUT / "src" / "tritonwin" / "verify" / "rungs")
    for way, turn in (("compiled", None), ("python", "on")):
        if turn:
            run.keep("driver-on", run.tool("driver", turn, timeout=120))
        document = run.tool("verify", "--through", "large", timeout=240)
        run.keep(f"ladder-{way}", document)
        states = {rung["id"]: rung["state"] for rung in document.get("rungs", ())}
        states.pop("headers-and-library", None)  # not needed with the driver in Python
        done = run.windows.python(
            run.windows.win(HERE / "attention.py"), env={"PYTHONPATH": rungs}, timeout=120
        )
        attention = json.loads(done.stdout) if done.stdout else {"error": done.stderr[-2000:]}
        found[way] = {"rungs": states, "attention": attention}
        print(f"  {way}: {attention}; {states}")
    run.keep("driver-off", run.tool("driver", "off", timeout=120))
    same = found["compiled"] == found["python"]
    return {"ok": same and found["python"]["attention"].get("ok", False), "same": same, **found}


STEPS: dict[str, Callable[[Run], dict[str, Any]]] = {
    "ladder": ladder,
    "bench": bench,
    "twin": twin,
    "encoder": encoder,
    "driver": driver,
}


def main(argv: Sequence[str] | None = None) -> int:
    from bundle import load

    bundles = load()["bundle"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=bundles)
    parser.add_argument("--archives", type=Path, default=CHECKOUT / ".gpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    chosen = parser.parse_args(argv)
    if reason := session.driver_error():
        print(f"SKIPPED, which is no pass: {reason}")
        return 1
    chosen.out.mkdir(parents=True, exist_ok=True)
    archives = [chosen.archives / f"{kind}.tar.xz" for kind in ("wine", f"triton-{chosen.name}")]
    with tempfile.TemporaryDirectory(prefix="winlane-gpu-", ignore_cleanup_errors=True) as name:
        start = time.perf_counter()
        with session.started(archives, Path(name)) as windows:
            print(f"Windows is up after {time.perf_counter() - start:.1f} s", flush=True)
            run = Run(chosen.name, bundles[chosen.name], windows, chosen.out, Path(name))
            return _climb(run, chosen.only)


def _climb(run: Run, steps: Sequence[str]) -> int:
    summary: dict[str, Any] = {
        "what": f"{run.bundle['title']}: {HEADING}",
        "rehearsal": session.is_stand_in(),
        "steps": {},
    }
    for step in steps:
        print(f"{step}:", flush=True)
        start = time.perf_counter()
        try:
            result = STEPS[step](run)
        except Exception as error:  # one step must not take the others' results with it
            result = {"error": f"{type(error).__name__}: {error}"}
        result["seconds"] = round(time.perf_counter() - start, 1)
        summary["steps"][step] = result
        print(f" {step}: {'ok' if result.get('ok') else 'NOT OK'} in {result['seconds']} s "
              f"{result.get('error', '')}", flush=True)  # fmt: skip
        run.keep("summary", summary)
    return 0 if all(result.get("ok") for result in summary["steps"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
