"""Every kernel form and tile plan on a GPU: right against float64, then timed against a store-only
kernel of the same output. `python tests/gpu/spectral_sweep.py OUT [SECONDS]`.

Checks run in several processes that also fill Triton's cache; timing runs alone. A variant that
fails, crashes or hangs costs itself only. JSON lines and a table are written as they come.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "src"))

SHAPES = {  # B, T, K, W
    "A": (32, 1024, 256, 64),
    "B": (8, 8192, 256, 64),
    "C": (32, 1024, 256, 128),
    "D": (64, 512, 128, 64),
    "L256": (32, 1024, 256, 256),
    "L1024": (32, 1024, 256, 1024),
    "L4096": (8, 8192, 256, 4096),
    "P": (32, 1024, 256, 64),
    "Q": (8, 8192, 256, 64),
}


def variants():  # noqa: C901 - a list
    """(name, shape, form, options) of everything to try, the most wanted first."""
    found = []

    def add(form, shape, **o):
        name = " ".join([shape, form, *(f"{k}={v}" for k, v in o.items())])
        found.append((name, shape, form, o))

    for shape in "AB":
        for out in ("fp32", "bf16"):
            for block in (1024, 4096, 16384):
                add("store", shape, out=out, block=block, warps=8)
            add("store", shape, out=out, block=4096, warps=8, pdl=True)
    for out in ("fp32",):
        for shape in ("C", "D"):
            add("store", shape, out=out, block=4096, warps=8)
    modes = [(2, "fp32"), (1, "fp32"), (1, "bf16"), (2, "bf16")]
    plans = [  # BM, BE, warps, split, programs an SM, ahead
        (128, 64, 8, 1, 1, False),
        (128, 64, 8, 1, 1, True),
        (256, 64, 16, 1, 1, False),
        (256, 32, 16, 1, 1, True),
        (128, 64, 8, 2, 2, False),
        (64, 64, 4, 2, 3, False),
        (128, 32, 8, 1, 1, True),
        (64, 64, 4, 4, 4, False),
        (128, 64, 8, 2, 3, False),
        (128, 128, 8, 1, 1, False),
        (64, 128, 4, 2, 3, False),
    ]
    for limbs, out in modes[:3]:
        for shape in "AB":
            for bm, be, warps, split, per_sm, ahead in plans:
                if shape == "B" and (bm, be) == (64, 64) and split == 4:
                    continue
                o = {
                    "limbs": limbs,
                    "out": out,
                    "bm": bm,
                    "be": be,
                    "warps": warps,
                    "split": split,
                    "per_sm": per_sm,
                    "ahead": ahead,
                }
                add("hopper", shape, **o)
                if plans.index((bm, be, warps, split, per_sm, ahead)) in (0, 2, 4):
                    add("hopper", shape, **o, pdl=True)
            if limbs == 1:
                for per_sm in (2, 3):
                    add(
                        "hopper",
                        shape,
                        limbs=1,
                        out=out,
                        bm=128,
                        be=64,
                        warps=8,
                        split=1,
                        per_sm=per_sm,
                        ahead=False,
                    )
                add(
                    "hopper",
                    shape,
                    limbs=1,
                    out=out,
                    bm=64,
                    be=64,
                    warps=4,
                    split=1,
                    per_sm=3,
                    ahead=False,
                )
                add(
                    "hopper",
                    shape,
                    limbs=1,
                    out=out,
                    bm=64,
                    be=64,
                    warps=4,
                    split=1,
                    per_sm=3,
                    ahead=True,
                )
    base = {"bm": 128, "be": 64, "warps": 8, "split": 1, "per_sm": 1, "ahead": False}
    for cache in (".cs", ".cg", ".wt"):
        add("hopper", "A", limbs=2, out="fp32", **base, cache=cache)
    add("hopper", "A", limbs=2, out="fp32", **base, inside=False)
    for bm, be, warps, split, per_sm, ahead in plans[:3]:
        add(
            "hopper",
            "A",
            limbs=2,
            out="bf16",
            bm=bm,
            be=be,
            warps=warps,
            split=split,
            per_sm=per_sm,
            ahead=ahead,
        )
    for limbs, splits in ((1, (1, 2)), (2, (2, 4))):
        for split in splits:
            for bm, warps in ((128, 8), (256, 16)):
                add(
                    "hopper",
                    "C",
                    limbs=limbs,
                    out="fp32",
                    bm=bm,
                    be=64,
                    warps=warps,
                    split=split,
                    per_sm=1 if split < 4 else 2,
                    ahead=False,
                )
    for limbs in (1, 2):
        for bm, warps in ((128, 8), (256, 16)):
            add(
                "hopper",
                "D",
                limbs=limbs,
                out="fp32",
                bm=bm,
                be=64,
                warps=warps,
                split=1,
                per_sm=1,
                ahead=False,
            )
            add(
                "hopper",
                "D",
                limbs=limbs,
                out="fp32",
                bm=bm,
                be=64,
                warps=warps,
                split=2,
                per_sm=2,
                ahead=False,
            )
    add("hopper", "A", limbs=2, out="fp32", **base, parts="reim")
    for shape in "PQ":
        for be in (64, 32):
            for pdl in (False, True):
                add("project", shape, limbs=1, be=be, bd=256, warps=8, bm=128, split=1, pdl=pdl)
        add("project", shape, limbs=1, be=64, bd=128, warps=8, bm=128, split=2, pdl=False)
        add(
            "project", shape, limbs=1, be=64, bd=256, warps=8, bm=128, split=1, pdl=False, bias=True
        )
        add("lookup", shape)
        add("unfused", shape)
    add("project_tl", "P", limbs=1, be=64, bd=256, warps=8, bm=128, stages=2)
    add("project_tl", "P", limbs=1, be=32, bd=256, warps=8, bm=128, stages=3)
    add("project_tl", "P", limbs=1, be=64, bd=128, warps=4, bm=64, stages=2)
    for shape in ("L1024", "C", "L4096", "L256"):
        for be, warps, steps, turns in (
            (128, 1, 64, 8),
            (256, 2, 64, 8),
            (128, 2, 64, 8),
            (64, 1, 64, 8),
            (256, 2, 32, 8),
            (128, 1, 128, 8),
            (128, 1, 64, 16),
        ):
            add("slide", shape, be=be, warps=warps, steps=steps, turns=turns)
        add("slide", shape, be=128, warps=1, steps=64, turns=8, window="rect")
        for bm, be, warps, stages in ((64, 32, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3)):
            add("state", shape, bm=bm, be=be, warps=warps, stages=stages)
    for limbs, out in modes:
        for bm, be, warps, stages in (
            (128, 64, 8, 2),
            (128, 64, 8, 3),
            (128, 32, 8, 3),
            (64, 64, 4, 2),
        ):
            add("dot", "A", limbs=limbs, out=out, bm=bm, be=be, warps=warps, stages=stages)
    for bm, be, warps, stages in ((128, 64, 8, 2), (64, 64, 4, 3), (128, 32, 8, 3)):
        add("dot", "C", limbs=2, out="fp32", bm=bm, be=be, warps=warps, stages=stages, bk=128)
        add("dot", "L256", limbs=2, out="fp32", bm=bm, be=be, warps=warps, stages=stages, bk=64)
    for bm, be, warps, splits in (
        (64, 64, 4, 66),
        (64, 64, 4, 33),
        (64, 32, 4, 33),
        (128, 64, 8, 33),
        (64, 64, 8, 66),
        (128, 32, 8, 66),
        (32, 64, 4, 66),
    ):
        add("gradient", "A", limbs=1, bm=bm, be=be, warps=warps, splits=splits)
    add("gradient", "A", limbs=2, bm=64, be=64, warps=4, splits=66)
    add("gradient", "A", limbs=1, bm=64, be=64, warps=4, splits=66, parts="reim")
    add("dot", "A", limbs=0, out="fp32", bm=64, be=32, warps=4, stages=1)
    add("stft", "A")
    add("stft", "B")
    return found


# --- what a child process does -----------------------------------------------------------------


def child(job: str, wanted: list[int], seconds: float) -> None:
    import torch

    sys.path.insert(0, str(HERE.parent))
    import spectral_forms as forms

    torch.backends.cuda.matmul.allow_tf32 = False
    everything = variants()
    stop = time.monotonic() + seconds
    for index in wanted:
        name, shape, form, options = everything[index]
        print(json.dumps({"begin": index}), flush=True)
        result = {"index": index, "name": name}
        if time.monotonic() > stop:
            result["skipped"] = "no time left"
            print(json.dumps(result), flush=True)
            continue
        start = time.monotonic()
        try:
            if job == "check":
                result |= forms.check(form, SHAPES[shape], options)
            else:
                result |= forms.measure(form, SHAPES[shape], options)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            result["error"] = text[:1500]
            dead = any(
                w in text for w in ("CUDA error", "illegal", "misaligned", "unspecified launch")
            )
            result["seconds"] = round(time.monotonic() - start, 2)
            print(json.dumps(result), flush=True)
            if dead:
                os._exit(3)
            continue
        result["seconds"] = round(time.monotonic() - start, 2)
        print(json.dumps(result), flush=True)


# --- the parent: never touches CUDA ------------------------------------------------------------


def drive(job: str, wanted: list[int], seconds: float, quiet: float, note) -> None:
    """One child after the other until all are done; a child silent for `quiet` s is ended."""
    left = list(wanted)
    stop = time.monotonic() + seconds
    while left and time.monotonic() < stop:
        command = [sys.executable, str(HERE), "--child", job, str(stop - time.monotonic()),
                   ",".join(map(str, left))]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        seen = [time.monotonic()]
        errors: list[str] = []
        reader = threading.Thread(
            target=lambda p=process, e=errors: e.append(p.stderr.read()[-2000:])
        )
        reader.start()

        def watch(p=process, seen=seen):
            while p.poll() is None:
                if time.monotonic() - seen[0] > quiet or time.monotonic() > stop + 20:
                    p.kill()
                time.sleep(0.5)

        threading.Thread(target=watch, daemon=True).start()
        current = None
        for line in process.stdout:
            seen[0] = time.monotonic()
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "begin" in said:
                current = said["begin"]
                continue
            note(job, said)
            if said["index"] in left:
                left.remove(said["index"])
            current = None
        process.wait()
        reader.join(5)
        if current is not None:
            note(
                job,
                {
                    "index": current,
                    "error": f"child ended with {process.returncode}: {''.join(errors)[-600:]}",
                },
            )
            left.remove(current)
        elif process.returncode not in (0, 3) and left:
            note(
                job,
                {
                    "index": left[0],
                    "error": f"child ended with {process.returncode}: {''.join(errors)[-600:]}",
                },
            )
            left.pop(0)
        elif process.returncode == 0:
            break


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] == "--child":
        child(sys.argv[2], [int(i) for i in sys.argv[4].split(",")], float(sys.argv[3]))
        return 0
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 195.0
    begun = time.monotonic()
    everything = variants()
    lock = threading.Lock()
    results: dict[int, dict] = {i: {"name": v[0]} for i, v in enumerate(everything)}
    with (out / "spectral_sweep.jsonl").open("w") as lines:

        def note(job, said):
            with lock:
                said["name"] = everything[said["index"]][0]
                results[said["index"]][job] = {
                    k: v for k, v in said.items() if k not in ("index", "name")
                }
                lines.write(
                    json.dumps({"job": job, "at": round(time.monotonic() - begun, 1), **said})
                    + "\n"
                )
                lines.flush()

        workers = max(2, min(14, (os.cpu_count() or 2) - 2))
        shares = [list(range(i, len(everything), workers)) for i in range(workers)]
        threads = [
            threading.Thread(target=drive, args=("check", share, budget * 0.45, 45, note))
            for share in shares
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"checked after {time.monotonic() - begun:.0f} s", flush=True)
        right = [i for i in results if results[i].get("check", {}).get("ok")]
        drive("time", right, budget - (time.monotonic() - begun) - 5, 30, note)
    table = report(everything, results)
    (out / "spectral_sweep.txt").write_text(table)
    (out / "spectral_sweep.json").write_text(json.dumps(list(results.values()), indent=1))
    print(short(everything, results))
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


def report(everything, results) -> str:
    best: dict[tuple[str, str], float] = {}
    for i, (_, shape, form, options) in enumerate(everything):
        us = results[i].get("time", {}).get("us")
        if form == "store" and us and not options.get("pdl"):
            key = (shape, options["out"])
            best[key] = min(best.get(key, 1e9), us)
    rows = []
    for i, (name, shape, _form, options) in enumerate(everything):
        timed, checked = results[i].get("time", {}), results[i].get("check", {})
        if "us" in timed:
            store = best.get((shape, options.get("out", "fp32")))
            share = f"{100 * store / timed['us']:5.1f}%" if store else "      "
            rows.append(
                f"{timed['us']:8.2f} {share} err {timed.get('err', checked.get('err', float('nan'))):8.1e}  {name}"
            )
        else:
            why = (
                timed.get("error")
                or checked.get("error")
                or timed.get("skipped")
                or checked.get("skipped")
                or checked.get("why")
                or "did not run"
            )
            rows.append(f"       -        {name}: {' '.join(str(why).split())[-160:]}")
    return "\n".join(rows) + "\n"


def short(everything, results) -> str:
    """The five best of every shape, form, precision and output type, and how many failed."""
    groups: dict[tuple, list] = {}
    lines = report(everything, results).splitlines()
    for i, (_, shape, form, options) in enumerate(everything):
        key = (shape, form, options.get("limbs"), options.get("out"))
        groups.setdefault(key, []).append((results[i].get("time", {}).get("us", 1e9), lines[i]))
    kept = [line for group in groups.values() for _, line in sorted(group)[:5]]
    failed = sum("us" not in r.get("time", {}) for r in results.values())
    return "\n".join([*kept, f"{failed} of {len(results)} have no time"])


if __name__ == "__main__":
    sys.exit(main())
