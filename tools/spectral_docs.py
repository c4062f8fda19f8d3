#!/usr/bin/env python3
"""Fill docs/spectral.md with what was measured: tables and plots from benchmarks/results/*.json.

    python tools/spectral_docs.py                 tables and plots of results
    python tools/spectral_docs.py --spectrogram   also the picture of a text; needs PyTorch

Nothing measured is typed by hand: a table stands between `<!-- generated: NAME -->` and
`<!-- end -->`, and a test fails when it is not what the results say.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spectral_plots import COLOURS, RED, Bar, Line, bars, curves, picture

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "spectral.md"
PLOTS = ROOT / "docs" / "spectral"
NOT_YET = "Not measured yet.\n"
Json = dict[str, Any]
FRONTS = ("embedding", "naive", "rfft", "fused", "one kernel")
TEXT = """\
To be, or not to be, that is the question:
Whether 'tis nobler in the mind to suffer
The slings and arrows of outrageous fortune,
Or to take arms against a sea of troubles
And by opposing end them. To die - to sleep,
No more; and by a sleep to say we end
The heart-ache and the thousand natural shocks
"""


def results(name: str) -> Json | None:
    """What a program wrote, or None where it was not run."""
    file = RESULTS / f"spectral-{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def measured_on(found: Json) -> str:
    triton = f", Triton {found['triton']}" if "triton" in found else ""
    note = "".join(f"; {found[key]}" for key in ("when", "note") if key in found)
    return f"{found['device']}, PyTorch {found['torch']}{triton}{note}.\n\n"


def goals(bench: Json) -> str:
    rows = [
        (
            each["what"],
            f"{each['value']:.3g}" if each["value"] < 1000 else f"{each['value']:,.0f}",
            f"{'at least' if each['least'] else 'at most'} {each['limit']:g}",
            "yes" if each["met"] else "**no**",
        )
        for each in bench["goals"]
    ]
    return measured_on(bench) + table(("what", "measured", "goal", "met"), rows)


def times(bench: Json) -> str:
    """Microseconds of the encoder and of the same function by other means, shape by shape."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for each in bench["cases"]:
        if each["section"] in {"pytorch", "naive"}:
            shape = "{}, {}, {}, W={}".format(*each["shape"])
            found[each["what"]][shape] = each["us"]
    shapes = list(dict.fromkeys(shape for row in found.values() for shape in row))
    rows = [
        (what, *(f"{row[s]:,.1f}" if s in row else "" for s in shapes))
        for what, row in found.items()
    ]
    return measured_on(bench) + table(("microseconds", *shapes), rows)


def end_to_end(bench: Json) -> str:
    cases = {(c["what"], c["shape"][1]): c["us"] for c in bench["cases"]
             if c["section"] == "end-to-end"}  # fmt: skip
    rows_of = next((c["shape"][0] for c in bench["cases"] if c["section"] == "end-to-end"), 0)
    lengths = sorted({length for _, length in cases})

    def cell(front: str, length: int) -> str:
        kinds = ("front, eager", "model, eager", "model, graph")
        found = [cases.get((f"{front}, {kind}", length)) for kind in kinds]
        return " / ".join("-" if us is None else f"{us / 1000:,.2f}" for us in found)

    rows = [(f"{length}", *(cell(front, length) for front in FRONTS)) for length in lengths]
    words = (
        f"Milliseconds, {rows_of} rows: front end / whole model / whole model in a CUDA graph.\n\n"
    )
    return measured_on(bench) + words + table(("T", *FRONTS), rows)


def counters(found: Json) -> str:
    """Which part of the chip each kernel keeps busy, in percent of what that part can do."""
    shares = ("tensor", "transcendental", "issue", "l1", "l2", "dram", "occupancy")

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.0f}"

    rows = [
        (
            each["case"],
            f"`{each['kernel']}`",
            "" if each["us"] is None else f"{each['us']:.1f}",
            *(share(each[name]) for name in shares),
            share(each["registers"]),
            f"{each['shared_bytes'] / 1024:.0f}",
            ", ".join(f"{k.replace('_', ' ')} {v:.1f}" for k, v in each["waits"].items()),
        )
        for each in found["kernels"]
    ]
    head = ("case", "kernel", "us", "tensor cores", "transcendental unit", "issue slots", "L1",
            "L2", "DRAM", "warps resident", "registers", "shared KiB", "cycles waited")  # fmt: skip
    return measured_on(found) + table(head, rows)


def by_arm(found: Json) -> dict[str, list[Json]]:
    arms: dict[str, list[Json]] = defaultdict(list)
    for each in found["results"]:
        arms[each["arm"]].append(each)
    return arms


def mean(runs: list[Json], key: str) -> float:
    return statistics.fmean(each[key] for each in runs)


def arms(found: Json) -> str:
    rows = [
        (
            f"`{name}`",
            runs[0]["words"],
            f"{runs[0]['front_parameters']:,}",
            " / ".join(f"{each['all']:.3f}" for each in runs),
            f"{mean(runs, 'last'):.3f}",
            "**yes**" if any(each["leak"] for each in runs) else "no",
            *([f"{runs[0]['front_us']:.0f}"] if runs[0].get("front_us") else []),
        )
        for name, runs in by_arm(found).items()
    ]
    head = ("name", "front end", "parameters", "bpb", "bpb, last position", "sees the future")
    timed = ("front end, us",) if len(rows[0]) > len(head) else ()
    words = f"Without any context: {found['unigram']:.3f} bits a byte.\n\n"
    return measured_on(found) + words + table((*head, *timed), rows)


def shown(plot: str, words: str) -> Callable[[Json], str]:
    """The line that shows a plot, which is drawn when its results are there."""
    return lambda _: f"![{words}](spectral/{plot}.svg)\n"


TABLES: dict[str, tuple[str, Callable[[Json], str]]] = {
    "goals": ("bench", goals),
    "counters": ("counters", counters),
    "times": ("bench", times),
    "end-to-end": ("bench", end_to_end),
    "arms": ("arms", arms),
    "speed-plot": ("bench", shown("speed", "Share of the store-only rate over sizes")),
    "arms-plot": ("arms", shown("arms", "Bits a byte of the front ends")),
    "toy": ("toy", arms),
}


def filled(page: str) -> str:
    """The page with every table as the results have it."""

    def one(match: re.Match[str]) -> str:
        source, write = TABLES[match[1]]
        found = results(source)
        body = NOT_YET if found is None else write(found)
        return f"<!-- generated: {match[1]} -->\n\n{body}\n<!-- end -->"

    return re.sub(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end -->", one, page, flags=re.DOTALL)


def speed_plot(bench: Json) -> str:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each in bench["cases"]:
        if each["section"] == "sizes" and "share" in each:
            found[each["what"]].append((each["shape"][0] * each["shape"][1], each["share"]))
    lines = [Line(name=name, points=points) for name, points in found.items()]
    title = f"Share of the rate of a kernel that only stores ({bench['device']})"
    return curves(title, "positions (rows times bytes), W=64, K=256", "share", lines, top=1.0)


def arms_plot(found: Json) -> str:
    rows = [
        Bar(name=runs[0]["words"], value=mean(runs, "all"), tick=mean(runs, "last"),
            colour=RED if any(each["leak"] for each in runs) else COLOURS[0])
        for runs in by_arm(found).values()
    ]  # fmt: skip
    return bars("Bits a byte on held-out plays; red: sees the future", "bits a byte",
                "the last position of each window alone, where nothing can leak", rows,
                {"no context": found["unigram"]})  # fmt: skip


def spectrogram() -> str:
    sys.path.insert(0, str(ROOT / "src"))
    import torch

    from tritonwin.spectral import byte_spectral

    x = torch.tensor([list(TEXT.encode())], dtype=torch.uint8)
    features = byte_spectral(x, K=64, parts="logmag", backend="torch")
    columns = ((features[0] - features.min()) / (features.max() - features.min())).T.tolist()
    return picture(
        "log |X| of a text, W=64, K=64: each column is one byte and the 63 before it",
        f"byte 0 to {len(TEXT) - 1}: {TEXT[:42]} ...", "bin", columns,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spectrogram", action="store_true")
    options = parser.parse_args()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    plots = {"speed": ("bench", speed_plot), "arms": ("arms", arms_plot)}
    for name, (source, draw) in plots.items():
        found = results(source)
        if found is not None:
            (PLOTS / f"{name}.svg").write_text(draw(found), encoding="utf-8")
    if options.spectrogram:
        (PLOTS / "spectrogram.svg").write_text(spectrogram(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
