#!/usr/bin/env python3
"""Fill the README and the pages in docs/ with what was measured, from benchmarks/results/*.json.

    python tools/fill_page.py

Nothing measured is typed by hand: a table stands between `<!-- generated: NAME -->` and
`<!-- end -->`, and a test fails when it is not what the results say.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "docs" / "encoder.md", ROOT / "docs" / "grid.md"]
PART = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
NOT_YET = "Not measured yet.\n"
Json = dict[str, Any]
# rows of the table of shares, by the least window
WINDOWS = {777: "777 to 4096", 129: "192 to 512", 65: "96 to 128", 64: "64", 1: "8 to 31"}


def results(name: str) -> list[Json]:
    """The results in NAME.json, or in NAME-CARD.json for each card."""
    files = [RESULTS / f"{name}.json", *sorted(RESULTS.glob(f"{name}-*.json"))]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def measured_on(found: Json) -> str:
    triton = f", Triton {found['triton']}" if "triton" in found else ""
    note = "".join(f"; {found[key]}" for key in ("when", "note") if key in found)
    return f"{found['device']}, PyTorch {found['torch']}{triton}{note}.\n\n"


def card(device: str) -> str:
    """Title of a column: "H100" of "NVIDIA H100 80GB HBM3"."""
    return device.removeprefix("NVIDIA ").split()[0]


def times(benches: list[Json]) -> str:
    """Microseconds of the encoder and of the same function by other means, shape by shape."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for bench in benches:
        for each in bench["cases"]:
            if each["section"] == "others":
                shape = "{}, {}, {}, W={}".format(*each["shape"])
                found[each["what"], card(bench["device"])][shape] = each["us"]
    shapes = list(dict.fromkeys(shape for row in found.values() for shape in row))
    whats = list(dict.fromkeys(what for what, _ in found))
    rows = [
        (what, on, *(f"{row[s]:,.1f}" if s in row else "" for s in shapes))
        for (what, on), row in sorted(found.items(), key=lambda pair: whats.index(pair[0][0]))
    ]
    words = "".join(map(measured_on, benches))
    text = f"{words}{table(('microseconds', 'card', *shapes), rows)}\n"
    for bench in benches:
        us = {(c["section"], c["what"]): c["us"] for c in bench["cases"]}
        calls = [value for (section, _), value in us.items() if section == "host"]
        least, most = min(calls), max(calls)
        text += f"{card(bench['device'])}: a call costs the host {least:.0f} to {most:.0f} us"
        for what in ("window", "taps"):
            if ("gradients", f"{what}, forward") in us:
                forward = us["gradients", f"{what}, forward"]
                both = us["gradients", f"{what}, forward and backward"]
                text += f"; {what} that learn: {forward:.1f} us forward, {both:.1f} with backward"
        text += ".\n\n"
    return text


def shares(found: list[Json]) -> str:
    """Shares of the limit by window and mode: the median, and the lowest to the highest."""
    text = ""
    for each in found:
        by_window: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in sorted(each["rows"], key=lambda row: row["shape"][3]):
            window = next(words for least, words in WINDOWS.items() if row["shape"][3] >= least)
            by_window[window][row["mode"]].append(row["share"])
        rows = [
            (window, f"{len(of['exact'])}", *map(middle, of.values()))
            for window, of in by_window.items()
        ]
        head = ("window", "shapes", "exact fp32", "fast fp32", "fast bf16")
        text += measured_on(each) + table(head, rows) + f"\n{summary(each)}\n"
    return text


def middle(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def summary(found: Json) -> str:
    rows = found["rows"]
    fast = sum(0.75 <= row["share"] <= 1 for row in rows)  # above 1 the limit is none
    slower = sum(row["us"] > 1.02 * row["old"] for row in rows)
    faster = sum(row["us"] < 0.98 * row["old"] for row in rows)
    worst = {
        mode: max(
            max(row["errors"])
            for row in rows
            if row["mode"] == mode and row["parts"] in ("mag", "reim")
        )
        for mode in ("exact", "fast")
    }
    return (
        f"Of {len(rows)} figures {fast} reach 0.75 of the limit; {faster} are faster than "
        f"before by more than 2 %, {slower} slower. Largest error of mag and reim against float64: "
        f"{worst['exact']:.1e} exact, {worst['fast']:.1e} fast.\n"
    )


def grid(found: list[Json]) -> str:
    """Each shape's microseconds, share of the limit, and microseconds before; and what they say."""
    text = ""
    for each in found:
        shapes: dict[str, list[str]] = defaultdict(list)
        for row in each["rows"]:
            B, T, K, W = row["shape"]
            shapes[f"{B} x {T} | {K} | {W} | {row['parts']}"].append(
                f"{row['us']:.1f} / {row['share']:.2f} / {row['old']:.1f}"
            )
        head = ("rows", "bins", "window", "parts", "exact fp32", "fast fp32", "fast bf16")
        rows = ((shape, *cells) for shape, cells in shapes.items())
        text += f"{measured_on(each)}{summary(each)}\n{table(head, rows)}\n"
    return text


def front_end(found: list[Json]) -> str:
    """Microseconds, and times the lookup's, of the front end in one kernel and in steps."""
    text = ""
    for each in found:
        rows = []
        for row in each["rows"]:
            B, T, K, D = row["shape"]
            for way in ("forward", "forward and backward"):
                cells = row[way]
                rows.append((
                    f"{B} x {T}", f"{K}", f"{D}", way, f"{cells['lookup']['us']:.1f}",
                    *(f"{cells[name]['us']:.1f} / **{cells[name]['ratio']:.2f}**"
                      for name in ("one kernel", "gated", "apart")),
                ))  # fmt: skip
        head = ("rows", "bins", "width", "", "lookup", "one kernel", "gated", "separate steps")
        text += measured_on(each) + table(head, rows) + "\n"
    return text.rstrip("\n") + "\n"


def ratios(found: list[Json]) -> str:
    """The README's sentence about the time of the front end."""
    text = ""
    for each in found:
        shapes = ", ".join("{} x {} at {}".format(*row["shape"][:2], row["shape"][3])
                           for row in each["rows"])  # fmt: skip
        forward, both = (
            ", ".join(f"{row[way]['one kernel']['ratio']:.2f}" for row in each["rows"])
            for way in ("forward", "forward and backward")
        )
        text += (
            f"On an {card(each['device'])} the front end takes {forward} times as long as "
            f"PyTorch's embedding lookup forward, and {both} forward and backward "
            f"({shapes} columns).\n"
        )
    return text


def runs_of(found: Json, equal: str) -> dict[str, dict[str, list[Json]]]:
    """Runs by text and arm, the longest-known text first."""
    runs: dict[str, dict[str, list[Json]]] = defaultdict(lambda: defaultdict(list))
    for each in sorted(found["results"], key=lambda run: run["text"], reverse=True):
        if each["equal"] == equal:
            runs[each["text"]][each["arm"]].append(each)
    return runs


def mean(runs: list[Json], key: str = "all") -> float:
    return statistics.fmean(each[key] for each in runs)


def spread(runs: list[Json], best: float | None = None) -> str:
    """Mean bits a byte over seeds and the distance of the furthest; seeds, where not three."""
    if not runs:
        return ""
    middle = mean(runs)
    text = f"**{middle:.3f}**" if middle == best else f"{middle:.3f}"
    if len(runs) > 1:
        text += f" ± {max(abs(each['all'] - middle) for each in runs):.3f}"
    return text if len(runs) == 3 else f"{text} ({len(runs)} seed{'s' * (len(runs) > 1)})"


def cards(runs: Iterable[Json]) -> str:
    """Number of runs on each card."""
    counts = Counter(f"{each['device']}, PyTorch {each['torch']}" for each in runs)
    return "; ".join(f"{where}: {n} run{'s' * (n != 1)}" for where, n in counts.items()) + ".\n\n"


def arms(kept: list[Json]) -> str:
    """Every front end before the same transformer, on Shakespeare."""
    (found,) = kept
    of_arm = runs_of(found, "body")["shakespeare"]
    rows = [
        (
            f"`{name}`",
            found["words"][name],
            f"{runs[0]['front_parameters']:,}",
            " / ".join(f"{each['all']:.3f}" for each in runs),
            f"{mean(runs, 'last'):.3f}",
            "**yes**" if any(each["leak"] for each in runs) else "no",
        )
        for name, runs in of_arm.items()
    ]
    head = ["name", "front end", "parameters", "bpb", "bpb, last position", "sees the future"]
    words = f"Without any context: {found['unigram']['shakespeare']:.3f} bits a byte.\n\n"
    return cards(run for runs in of_arm.values() for run in runs) + words + table(head, rows)


EQUAL = {"parameters": "equal steps", "time": "equal time"}
Columns = dict[tuple[str, str], dict[str, list[Json]]]


def columns(found: Json) -> Columns:
    """Runs of models of one size by what is equal and text, then by arm."""
    return {(way, text): arms for way in EQUAL for text, arms in runs_of(found, way).items()}


def title(way: str, text: str) -> str:
    return f"{text}, {EQUAL[way]}"


def lowest(of: Columns) -> dict[tuple[str, str], float]:
    """The lowest mean of three seeds in each column."""
    return {
        key: min(mean(runs) for runs in arms.values() if len(runs) == 3) for key, arms in of.items()
    }


def equal(kept: list[Json]) -> str:
    """Models of one size after the same steps, and after as many as fit into the same time."""
    (found,) = kept
    of = columns(found)
    best = lowest(of)
    rows = []
    for name in found["words"]:
        by_column = {key: arms.get(name, []) for key, arms in of.items()}
        runs = [run for each in by_column.values() for run in each]
        if not runs:
            continue
        timed = next((run["steps"] for run in runs if run["equal"] == "time"), "")
        rows.append((
            f"`{name}`", f"{runs[0]['front_parameters']:,}", f"{runs[-1]['us_a_step'] / 1000:.2f}",
            f"{timed:,}" if timed else "",
            *(spread(each, best[key]) for key, each in by_column.items()),
        ))  # fmt: skip
    head = ("front end", "parameters", "ms a step", "steps in equal time",
            *(title(*key) for key in of))  # fmt: skip
    every = [run for arms in of.values() for runs in arms.values() for run in runs]
    leaks = sorted({run["arm"] for run in every if run["leak"]})
    seen = f"The future is seen by {', '.join(leaks)}" if leaks else "None sees the future"
    unigram = "; ".join(f"{text} {found['unigram'][text]:.3f}" for text in found["unigram"])
    words = f"{seen}, in {len(every)} runs. Without any context: {unigram} bits a byte.\n\n"
    conv = less(of, "one-kernel+conv8", "embedding+conv8")
    return (
        f"{cards(every)}{words}{table(head, rows)}\n{one_kernel(of)}\n"
        f"`one-kernel+conv8` less `embedding+conv8` at each seed:\n\n{conv}"
    )


def less(of: Columns, one: str, other: str) -> str:
    """The difference of one arm from another at each seed, as a list."""
    text = ""
    for key, arms in of.items():
        base = {run["seed"]: run["all"] for run in arms.get(other, [])}
        found = [
            f"{r['all'] - base[r['seed']]:+.3f}" for r in arms.get(one, []) if r["seed"] in base
        ]
        if found:
            text += f"- {title(*key)}: {', '.join(found)}\n"
    return text


def one_kernel(of: Columns) -> str:
    """The fused front end beside the same parameters in separate steps."""
    every = [run for arms in of.values() for run in arms.get("one-kernel", []) if "apart" in run]
    worst = max((abs(run["all"] - run["apart"]) for run in every), default=0.0)
    return (
        "`one-kernel` less `embedding+mag-linear`, the same parameters trained in separate steps, "
        f"bits a byte at each seed:\n\n{less(of, 'one-kernel', 'embedding+mag-linear')}\n"
        f"What was trained in one kernel and is judged in separate steps ({len(every)} runs) "
        f"differs by at most {worst:.4f}.\n"
    )


def worth(kept: list[Json]) -> str:
    """The README's table: bits a byte over three seeds, best first; and what wins."""
    (found,) = kept
    of = columns(found)
    best = lowest(of)
    means = {
        name: [mean(arms[name]) for arms in of.values()]
        for name in found["words"]
        if all(name in arms for arms in of.values())
    }
    runs = {name: next(iter(of.values()))[name][0] for name in means}
    common = runs["embedding"]["parameters"]
    rows = []
    for name in sorted(means, key=lambda name: sum(means[name])):
        size = runs[name]["parameters"]
        larger = f"; {size / 1e6:.1f} million parameters" if size > 1.02 * common else ""
        cells = (spread(arms[name], best[key]) for key, arms in of.items())
        rows.append((f"{found['words'][name]} (`{name}`){larger}", *cells))
    winners = "; ".join(
        f"`{next(name for name, runs in arms.items() if mean(runs) == best[key])}` on {title(*key)}"
        for key, arms in of.items()
    )
    return (
        "Bits a byte on held-out text, mean of three seeds ± the furthest, models of "
        f"{common / 1e6:.1f} million parameters. Lowest: {winners}.\n\n"
        + table(("front end", *(title(*key) for key in of)), rows)
        + f"\nDifferences of the means, column by column: {differences(of)}.\n"
    )


def differences(of: Columns) -> str:
    pairs = (
        ("one-kernel", "embedding"),
        ("one-kernel", "embedding+conv8"),
        ("one-kernel+conv8", "embedding+conv8"),
        ("embedding+conv8+ngrams", "embedding+conv8"),
    )
    return "; ".join(
        f"`{one}` less `{other}` "
        + ", ".join(f"{mean(a[one]) - mean(a[other]):+.3f}" for a in of.values())
        for one, other in pairs
        if all(one in arms and other in arms for arms in of.values())
    )


TABLES: dict[str, tuple[str, Callable[[list[Json]], str]]] = {
    "shares": ("grid", shares),
    "grid": ("grid", grid),
    "front-end": ("front-end", front_end),
    "ratios": ("front-end", ratios),
    "times": ("bench", times),
    "arms": ("arms", arms),
    "equal": ("arms", equal),
    "worth": ("arms", worth),
}


def filled(page: str) -> str:
    """The page with every table as the results have it."""

    def part(found: re.Match[str]) -> str:
        text = _table(found[1]).strip("\n")
        return f"<!-- generated: {found[1]} -->\n\n{text}\n\n<!-- end -->"

    return PART.sub(part, page)


def _table(name: str) -> str:
    source, write = TABLES[name]
    found = results(source)
    return write(found) if found else NOT_YET


def main() -> None:
    for file in PAGES:
        file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
