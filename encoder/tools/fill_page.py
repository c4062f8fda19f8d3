#!/usr/bin/env python3
"""Fill docs/encoder.md and README.md with what was measured, from benchmarks/results/*.json.

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
PAGE = ROOT / "docs" / "encoder.md"
README = ROOT / "README.md"
PART = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
NOT_YET = "Not measured yet.\n"
Json = dict[str, Any]
FRONTS = ("embedding", "naive", "rfft", "fused", "one kernel")


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


def goals(benches: list[Json]) -> str:
    """Every goal with what each card reached, and whether that meets it."""
    found: dict[str, dict[str, Json]] = defaultdict(dict)
    for bench in benches:
        for each in bench["goals"]:
            found[each["what"]][bench["device"]] = each

    def reached(each: Json | None) -> Iterable[str]:
        if each is None:
            return ("", "")
        value = each["value"]
        return (
            f"{value:.3g}" if value < 1000 else f"{value:,.0f}",
            "yes" if each["met"] else "**no**",
        )

    rows = []
    for what, by_card in found.items():
        one = next(iter(by_card.values()))
        cells = (word for bench in benches for word in reached(by_card.get(bench["device"])))
        rows.append((what, f"{'at least' if one['least'] else 'at most'} {one['limit']:g}", *cells))
    head = (word for bench in benches for word in (card(bench["device"]), "met"))
    met = ", ".join(
        f"{sum(each['met'] for each in bench['goals'])} of {len(bench['goals'])} on the "
        f"{card(bench['device'])}"
        for bench in benches
    )
    words = "".join(map(measured_on, benches))
    return f"{words}Met: {met}.\n\n{table(('what', 'goal', *head), rows)}"


def times(benches: list[Json]) -> str:
    """Microseconds of the encoder and of the same function by other means, shape by shape."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for bench in benches:
        for each in bench["cases"]:
            if each["section"] in {"pytorch", "naive"}:
                shape = "{}, {}, {}, W={}".format(*each["shape"])
                found[each["what"], card(bench["device"])][shape] = each["us"]
    shapes = list(dict.fromkeys(shape for row in found.values() for shape in row))
    whats = list(dict.fromkeys(what for what, _ in found))
    rows = [
        (what, on, *(f"{row[s]:,.1f}" if s in row else "" for s in shapes))
        for (what, on), row in sorted(found.items(), key=lambda pair: whats.index(pair[0][0]))
    ]
    return "".join(map(measured_on, benches)) + table(("microseconds", "card", *shapes), rows)


def grid(found: list[Json]) -> str:
    """Each shape's microseconds, share of the limit, and microseconds before; and what they say."""
    text = ""
    for each in found:
        rows = each["rows"]
        fast = sum(0.75 <= row["share"] <= 1 for row in rows)  # above 1 the limit is none
        slower = sum(row["us"] > 1.02 * row["old"] for row in rows)
        faster = sum(row["us"] < 0.98 * row["old"] for row in rows)
        worst = {
            mode: max(max(row["errors"]) for row in rows
                      if row["mode"] == mode and row["parts"] in ("mag", "reim"))
            for mode in ("exact", "fast")
        }  # fmt: skip
        text += measured_on(each)
        text += (
            f"Of {len(rows)} figures {fast} reach 0.75 of the limit; {faster} are faster than "
            f"before by more than 2 %, {slower} slower. Largest error of mag and reim: "
            f"{worst['exact']:.1e} exact, {worst['fast']:.1e} fast.\n\n"
        )
        shapes: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            B, T, K, W = row["shape"]
            shapes[f"{B} x {T} | {K} | {W} | {row['parts']}"].append(
                f"{row['us']:.1f} / {row['share']:.2f} / {row['old']:.1f}"
            )
        head = ("rows", "bins", "window", "parts", "exact fp32", "fast fp32", "fast bf16")
        text += table(head, ((shape, *cells) for shape, cells in shapes.items())) + "\n"
    return text.rstrip("\n") + "\n"


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
            both = (row["table gradient"][name]["us"] for name in ("sorted", "product"))
            rows.append((f"{B} x {T}", "", f"{D}", "gradient of the table alone",
                         *(f"{us:.1f}" for us in both), "", ""))  # fmt: skip
        head = ("rows", "bins", "width", "", "lookup", "one kernel", "gated", "separate steps")
        text += measured_on(each) + table(head, rows) + "\n"
    return text.rstrip("\n") + "\n"


def few(found: list[Json]) -> str:
    """Microseconds of small calls with the plan before, and with the one chosen, in one run."""
    text = ""
    for each in found:
        rows: dict[str, list[str]] = defaultdict(list)
        for row in each["rows"]:
            B, T, K, W, _ = row["shape"]
            before, after = row["us"]["{}"], row["us"][row["chosen"]]
            rows[f"{B} x {T} | {K} | {W}"].append(f"{before:.1f} / {after:.1f}")
        head = ("rows", "bins", "window", "exact fp32", "fast fp32", "fast bf16")
        text += measured_on(each) + table(head, ((what, *cells) for what, cells in rows.items()))
        text += "\n"
    return text.rstrip("\n") + "\n"


def end_to_end(benches: list[Json]) -> str:
    cases = {
        (c["shape"][1], card(bench["device"]), c["what"]): c["us"]
        for bench in benches
        for c in bench["cases"]
        if c["section"] == "end-to-end"
    }
    batch = next((c["shape"][0] for c in benches[0]["cases"] if c["section"] == "end-to-end"), 0)
    places = sorted({(length, on) for length, on, _ in cases})

    def cell(front: str, length: int, on: str) -> str:
        kinds = ("front, eager", "model, eager", "model, graph")
        found = [cases.get((length, on, f"{front}, {kind}")) for kind in kinds]
        return " / ".join("-" if us is None else f"{us / 1000:,.2f}" for us in found)

    rows = [(f"{n}", on, *(cell(front, n, on) for front in FRONTS)) for n, on in places]
    words = f"Milliseconds, {batch} rows: front end / whole model / whole model in a CUDA graph."
    head = "".join(map(measured_on, benches))
    return f"{head}{words}\n\n{table(('T', 'card', *FRONTS), rows)}"


def counters(recorded: list[Json]) -> str:
    """Load of each part of the chip by each kernel, in percent of its capacity."""
    (found,) = recorded
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


def by_arm(found: Json, equal: str, text: str) -> dict[str, list[Json]]:
    arms: dict[str, list[Json]] = defaultdict(list)
    for each in found["results"]:
        if (each["equal"], each["text"]) == (equal, text):
            arms[each["arm"]].append(each)
    return arms


def by_text(found: Json, equal: str) -> dict[str, dict[str, list[Json]]]:
    """Runs by text and arm, the longest-known text first."""
    texts = {each["text"] for each in found["results"] if each["equal"] == equal}
    return {text: by_arm(found, equal, text) for text in sorted(texts, reverse=True)}


def mean(runs: list[Json], key: str) -> float:
    return statistics.fmean(each[key] for each in runs)


def spread(runs: list[Json]) -> str:
    """Mean bits a byte over seeds and the distance of the furthest; seeds, where not three."""
    values = [each["all"] for each in runs]
    if not values:
        return "not run"
    middle = statistics.fmean(values)
    text = f"{middle:.3f}"
    if len(values) > 1:
        text += f" ± {max(abs(value - middle) for value in values):.3f}"
    return text if len(values) == 3 else f"{text} ({len(values)} seed{'s' * (len(values) > 1)})"


def cards(runs: Iterable[Json]) -> str:
    """Number of runs on each card."""
    counts = Counter(f"{each['device']}, PyTorch {each['torch']}" for each in runs)
    return "; ".join(f"{where}: {n} run{'s' * (n != 1)}" for where, n in counts.items()) + ".\n\n"


def leaks(runs: Iterable[Json]) -> str:
    return "**yes**" if any(each["leak"] for each in runs) else "no"


def arms(kept: list[Json]) -> str:
    """Every front end before the same transformer, on Shakespeare."""
    (found,) = kept
    of_arm = by_arm(found, "body", "shakespeare")
    rows = [
        (
            f"`{name}`",
            found["words"][name],
            f"{runs[0]['front_parameters']:,}",
            " / ".join(f"{each['all']:.3f}" for each in runs),
            f"{mean(runs, 'last'):.3f}",
            leaks(runs),
        )
        for name, runs in of_arm.items()
    ]
    head = ["name", "front end", "parameters", "bpb", "bpb, last position", "sees the future"]
    words = f"Without any context: {found['unigram']['shakespeare']:.3f} bits a byte.\n\n"
    return cards(run for runs in of_arm.values() for run in runs) + words + table(head, rows)


def equal(kept: list[Json]) -> str:
    """Models of one size: the same steps, and as many as fit into the same time."""
    (found,) = kept
    steps, seconds = by_text(found, "parameters"), by_text(found, "time")
    rows = []
    for name, words in found["words"].items():
        runs = [run for arms in steps.values() for run in arms.get(name, [])]
        if not runs:
            continue
        last = (
            f"{mean(arms[name], 'last'):.3f}" if name in arms else "" for arms in steps.values()
        )
        timed = (arms.get(name, []) for arms in seconds.values())
        rows.append((
            f"`{name}`", words, f"{runs[0]['front_parameters']:,}", f"{runs[0]['parameters']:,}",
            leaks(runs), *(spread(arms.get(name, [])) for arms in steps.values()), *last,
            f"{runs[0]['us_a_step'] / 1000:.2f}",
            *(f"{spread(runs)}, {runs[0]['steps']} steps" if runs else "not run" for runs in timed),
        ))  # fmt: skip
    head = ("name", "front end", "parameters", "of the model", "sees the future", *steps,
            *(f"{text}, last position" for text in steps), "ms a step",
            *(f"{text}, equal time" for text in seconds))  # fmt: skip
    unigram = "; ".join(f"{text} {found['unigram'][text]:.3f}" for text in steps)
    runs = [each for each in found["results"] if each["equal"] != "body"]
    words = f"Without any context: {unigram} bits a byte.\n\n"
    return cards(runs) + words + table(head, rows) + "\n" + one_kernel(steps)


def one_kernel(steps: dict[str, dict[str, list[Json]]]) -> str:
    """The fused front end beside the same parameters in separate steps, seed by seed."""
    text = ""
    for name, arms in steps.items():
        apart = {each["seed"]: each["all"] for each in arms["embedding+mag-linear"]}
        found = [f"{each['all'] - apart[each['seed']]:+.3f}" for each in arms["one-kernel"]]
        text += f"- {name}: {', '.join(found)}\n"
    return f"One kernel less separate steps, bits a byte at each seed:\n\n{text}"


def worth(kept: list[Json]) -> str:
    """The README's table: mean bits a byte at equal size and steps, best first; and what wins."""
    (found,) = kept
    steps = by_text(found, "parameters")
    means = {
        name: [mean(arms[name], "all") for arms in steps.values()]
        for name in found["words"]
        if all(len(arms.get(name, [])) == 3 for arms in steps.values())
    }
    best = [min(means, key=lambda name: means[name][i]) for i in range(len(steps))]
    runs = {name: next(iter(steps.values()))[name][0] for name in means}
    common = runs["embedding"]["parameters"]
    rows = []
    for name, values in sorted(means.items(), key=lambda each: sum(each[1])):
        size = runs[name]["parameters"]
        larger = f"; {size / 1e6:.1f} million parameters" if size > 1.02 * common else ""
        rows.append((
            f"{found['words'][name]} (`{name}`){larger}",
            *(f"**{value:.3f}**" if best[i] == name else f"{value:.3f}"
              for i, value in enumerate(values)),
            f"{runs[name]['us_a_step'] / 1000:.2f}",
        ))  # fmt: skip
    wins = "; ".join(f"`{name}` on {text}" for name, text in zip(best, steps, strict=True))
    return (
        f"Bits a byte on held-out text, mean of three seeds, {runs['embedding']['steps']} steps, "
        f"models of {common / 1e6:.1f} million parameters. Lowest: {wins}.\n\n"
        + table(("front end", *steps, "ms a step"), rows)
    )


TABLES: dict[str, tuple[str, Callable[[list[Json]], str]]] = {
    "goals": ("bench", goals),
    "counters": ("counters", counters),
    "grid": ("grid", grid),
    "few": ("few", few),
    "front-end": ("front-end", front_end),
    "times": ("bench", times),
    "end-to-end": ("bench", end_to_end),
    "arms": ("arms", arms),
    "equal": ("arms", equal),
    "worth": ("arms", worth),
    "toy": ("toy", arms),
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
    for file in (PAGE, README):
        file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
