"""Every kernel form and tile plan on a GPU: right against float64, then timed against a store-only
kernel of the same output. `python tools/gpu/sweep.py OUT [SECONDS [FORM...]]`.

Checks run in several processes that also fill Triton's cache; timing runs alone. A variant that
fails, crashes or hangs costs itself only. JSON lines and a table are written as they come.
"""

from __future__ import annotations

import json
import os
import re
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


PLANS = {  # rows, bins a tile, warps, shares of the bins, programs an SM
    "1": {"bm": 128, "be": 64, "warps": 8, "split": 1, "per_sm": 1},
    "1b": {"bm": 128, "be": 64, "warps": 8, "split": 1, "per_sm": 2},
    "7": {"bm": 256, "be": 64, "warps": 16, "split": 2, "per_sm": 1},
}
CS = {"cache": ".cs"}
STORES = [("fp32", 4096, False), ("fp32", 4096, True), ("bf16", 4096, False), ("bf16", 8192, True)]
# shape, limbs, out, plans
WANTED = [("C", 2, "fp32", "1 7"), ("C", 1, "fp32", "1")]
# fast, 2 bytes out, W=64, beside plan "1b"
NARROW = [
    {},
    {"be": 32},
    {"be": 32, "per_sm": 3},
    {"bm": 256, "warps": 16, "per_sm": 1},
    {"cache": ""},
]
FUSED = [{}, {"cache": ""}, {"be": 16}]
GRADIENTS = [  # rows, bins, warps, splits, stages
    (64, 64, 4, 64, 1), (64, 64, 4, 64, 2), (64, 32, 4, 64, 1), (64, 32, 4, 64, 2),
    (64, 128, 8, 64, 1), (128, 64, 8, 32, 1), (64, 128, 8, 64, 2), (128, 128, 8, 64, 1),
    (64, 64, 8, 64, 2), (32, 64, 4, 64, 2),
    (32, 32, 4, 64, 1), (128, 32, 8, 32, 1), (64, 64, 8, 64, 1), (128, 32, 4, 64, 1),
]  # fmt: skip
TURNED = [  # rows, warps, splits, defer, ahead
    (64, 8, 66, False, True), (64, 8, 66, False, False), (64, 4, 66, False, True),
    (32, 4, 66, False, True), (32, 8, 66, True, True), (32, 8, 66, False, True),
    (64, 4, 66, False, False), (32, 4, 66, True, True),
]  # fmt: skip
WALKS = [(64, 16, 16), (64, 16, 8), (32, 8, 8), (64, 8, 8), (32, 16, 8)]  # bins, warps, turns
SLIDES = [  # bins, warps, steps, turns, bins and warps of the states
    (64, 2, 64, 16, 64, 8), (64, 1, 64, 16, 64, 8), (64, 2, 64, 16, 64, 4), (128, 2, 64, 16, 64, 8),
    (64, 1, 32, 8, 16, 4), (128, 1, 64, 16, 32, 4),
]  # fmt: skip


LINEAR = {"limbs": 1, "out": "bf16", "bm": 128, "be": 32, "warps": 8, "pdl": True, **CS}


def named(form, shape, **o):
    return " ".join([shape, form, *(f"{k}={v}" for k, v in o.items())]), shape, form, o


def variants():
    """(name, shape, form, options) of everything to try."""
    return [*gradients_and_slides(), *resident()]


def gradients_and_slides():
    keys = ("be", "warps", "steps", "turns", "state_be", "state_warps")
    slides = [{"limbs": 2, "pdl": True, **dict(zip(keys, each, strict=True))} for each in SLIDES]
    yield from (
        named("gradient", "A", limbs=2, bm=bm, be=be, warps=warps, splits=splits, stages=stages)
        for bm, be, warps, splits, stages in GRADIENTS
    )
    yield from (
        named("turned", "A", limbs=2, bm=bm, warps=warps, splits=splits, defer=defer, ahead=ahead)
        for bm, warps, splits, defer, ahead in TURNED
    )
    for be, warps, turns in WALKS:
        walk = {"be": be, "warps": warps, "turns": turns, "pdl": True}
        yield named("walk", "L1024", **walk, limbs=2, byte_limbs=2)
        yield named("walk", "L1024", **walk, limbs=2, byte_limbs=1, out="bf16")
    yield from (named("sliding", "L1024", **slide) for slide in slides)
    yield from (named("state", "L1024", **slide) for slide in slides)
    yield named("sliding", "L1024", **slides[0], out="bf16")
    yield named("sliding", "L256", **slides[0])  # beside the resident form, which has it now
    yield named("hopper", "L256", limbs=2, out="fp32", **PLANS["1"], **CS, pdl=True)


def resident():
    """The forms of sm_90, whose taps stay in shared memory, and what they are compared with."""
    early = CS | {"pdl": True}
    for shape in "PQ":
        yield from (named("linear", shape, **(LINEAR | more)) for more in FUSED)
        yield named("lookup", shape, out="bf16")
    for shape in "AB":
        for out, block, pdl in STORES:
            yield named("store", shape, out=out, block=block, pdl=pdl)
        for more in NARROW:
            yield named("hopper", shape, limbs=1, out="bf16", **(PLANS["1b"] | early | more))
        for limbs, plan in ((1, "1"), (1, "1b"), (2, "1")):
            yield named("hopper", shape, limbs=limbs, out="fp32", **(PLANS[plan] | early))
    for shape, limbs, out, names in WANTED:
        for name in names.split():
            yield named("hopper", shape, limbs=limbs, out=out, **PLANS[name], **early)


def fastest(everything, results, form: str, shapes: str, wanted) -> dict | None:
    """The options of the variant with the least product of times over all shapes."""
    times: dict[str, tuple[float, dict, list]] = {}
    for i, (_, shape, name, options) in enumerate(everything):
        us = results[i].get("time", {}).get("us")
        if (name, us is None) == (form, False) and shape in shapes and wanted(options):
            one = times.setdefault(json.dumps(options), (1.0, options, []))
            times[json.dumps(options)] = (one[0] * us, options, [*one[2], us])
    whole = [(product, o) for product, o, each in times.values() if len(each) == len(shapes)]
    return min(whole, key=lambda pair: pair[0])[1] if whole else None


def write_best(everything, results, plans: Path) -> dict:
    """Give the entries for this architecture the fastest plans that were right."""
    text = plans.read_text()
    fused = fastest(everything, results, "linear", "PQ", lambda o: o["limbs"] == 1)
    if fused:
        head = "[[hopper_linear]]\nfrom = 90\n"
        before, found, after = text.partition(head)
        section, blank, rest = after.partition("\n\n")
        for key in ("be", "cache"):
            section = re.sub(rf"(?m)^{key} = .*$", f"{key} = {json.dumps(fused[key])}", section)
        text = before + found + section + blank + rest
    narrow = fastest(everything, results, "hopper", "AB",
                     lambda o: (o["limbs"], o["out"]) == (1, "bf16"))  # fmt: skip
    if narrow:
        keys = ("bm", "be", "warps", "split", "per_sm", "cache")
        words = ", ".join(f"{k} = {json.dumps(narrow[k])}" for k in keys)
        case = '{ bytes = 2, precision = "fast", rows = 64, '
        text = re.sub(rf"(?m)^    {re.escape(case)}.*$", f"    {case}{words} }},", text)
    plans.write_text(text)
    return {"linear": fused, "narrow": narrow}


# --- what a child process does -----------------------------------------------------------------


def child(job: str, wanted: list[int], seconds: float) -> None:
    import torch

    sys.path.insert(0, str(HERE.parent))
    import forms

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
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 115.0
    begun = time.monotonic()
    everything = variants()
    forms = sys.argv[3:] or {form for _, _, form, _ in everything}
    mine = [i for i, (_, _, form, _) in enumerate(everything) if form in forms]
    lock = threading.Lock()
    results: dict[int, dict] = {i: {"name": everything[i][0]} for i in mine}
    with (out / "sweep.jsonl").open("w") as lines:

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

        workers = max(2, min(24, (os.cpu_count() or 2) * 3 // 4))
        shares = [mine[i::workers] for i in range(workers)]
        threads = [
            threading.Thread(target=drive, args=("check", share, budget * 0.55, 45, note))
            for share in shares
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"checked after {time.monotonic() - begun:.0f} s", flush=True)
        right = [i for i in results if results[i].get("check", {}).get("ok")]
        drive("time", right, budget - (time.monotonic() - begun) - 5, 30, note)
        first = {i: results[i].get("time", {}) for i in right}
        again = best_of_each(everything, results, 4)
        drive("time", again, budget - (time.monotonic() - begun) - 3, 30, note)
        for i in again:  # the second round stands beside the first
            both = [t for t in (first[i], results[i].get("time", {})) if "us" in t]
            results[i]["time"] = min(both, key=lambda t: t["us"], default={})
    everything = [v for i, v in enumerate(everything) if i in results]
    results = dict(enumerate(results.values()))
    table = report(everything, results)
    (out / "sweep.txt").write_text(table)
    (out / "sweep.json").write_text(json.dumps(list(results.values()), indent=1))
    plans = HERE.parents[2] / "src/byte_spectral/plans.toml"
    best = write_best(everything, results, plans)
    (out / "best.json").write_text(json.dumps(best, indent=1))
    (out / "plans.toml").write_text(plans.read_text())
    print(short(everything, results))
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


def best_of_each(everything, results, count: int) -> list[int]:
    """The fastest few of every form, shape, precision and output type."""
    groups: dict[tuple, list] = {}
    for i, found in results.items():
        _, shape, form, options = everything[i]
        if "us" in found.get("time", {}):
            key = (shape, form, options.get("limbs"), options.get("out"))
            groups.setdefault(key, []).append((found["time"]["us"], i))
    return [i for group in groups.values() for _, i in sorted(group)[:count]]


def report(everything, results) -> str:
    best: dict[tuple[str, str], float] = {}
    for i, (_, shape, form, options) in enumerate(everything):
        us = results[i].get("time", {}).get("us")
        if form == "store" and us and not options.get("pdl") and not options.get("cache"):
            key = (shape, options["out"])
            best[key] = min(best.get(key, 1e9), us)
    rows = []
    for i, (name, shape, form, options) in enumerate(everything):
        timed, checked = results[i].get("time", {}), results[i].get("check", {})
        if "us" in timed:
            store = best.get((shape, options.get("out", "fp32")))
            share = f"{100 * store / timed['us']:5.1f}%" if store and form != "state" else "      "
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
