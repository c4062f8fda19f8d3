"""Score `explain` on logs with known causes: `python tools/score_corpus.py DIR`.

DIR holds `cases.jsonl` and `logs/<id>.log`. A case is an object with `id`, `label` (the problem, or
`none-fits` for a log of nothing that explain should know) and perhaps `accept` (labels as right as
it), `remedy_any` (expressions, one of which a right remedy holds) and `remedy_never` (what harms).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonwin.problems.explain import explain_file
from tritonwin.problems.records import Problem

NOTHING = "none-fits"
FILLER = re.compile(r"\(not known\)|\(version not known\)|\bas installed\b|\{[a-z]\w*\}")
# Which Triton each torch takes, as a question shows it: a table recommends no one row.
_ROW = re.compile(r"torch \d[\d.]*(?: or \d[\d.]*)* takes triton[\w-]*[<=]+[\d.*]+\d")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A log, the answers and remedies that are right or harmful, and what explain says."""

    id: str
    label: str
    right: frozenset[str]
    wanted: tuple[str, ...]
    never: tuple[str, ...]
    answers: tuple[Problem, ...]

    @property
    def first(self) -> bool:
        """The first answer is right; for a log of nothing known, there is none above possible."""
        if self.label == NOTHING and all(p.certainty == "possible" for p in self.answers):
            return True
        return any(p.id in self.right for p in self.answers[:1])

    @property
    def third(self) -> bool:
        return self.first or any(p.id in self.right for p in self.answers[:3])

    @property
    def certain(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.answers if p.certainty == "certain")

    @property
    def wrongly_certain(self) -> tuple[Problem, ...]:
        """Problems that are called certain, break something and are not there."""
        found = (p for p in self.certain if p.severity != "info")
        return tuple(p for p in found if p.id not in self.right)

    @property
    def cured(self) -> bool:
        """The remedy of the first answer is right, or of the first two where both are possible."""
        open_ = all(p.certainty == "possible" for p in self.answers[:2])
        said = "\n".join(t for p in self.answers[: 2 if open_ else 1] for t in advice(p))
        return not self.wanted or any(_has(pattern, said) for pattern in self.wanted)

    @property
    def harm(self) -> tuple[str, ...]:
        """The expressions of harm that a text of the advice or of a question holds."""
        said = [_ROW.sub("", t) for p in self.answers for t in (*advice(p), *asked(p))]
        return tuple(pattern for pattern in self.never if any(_has(pattern, t) for t in said))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Fillers in place of a fact."""
        said = (t for p in self.answers for t in (p.title, p.cause, *advice(p), *asked(p)))
        return tuple(filler for text in said for filler in FILLER.findall(text))


def advice(problem: Problem) -> list[str]:
    return [problem.remedy.summary, *problem.remedy.commands]


def asked(problem: Problem) -> list[str]:
    question = problem.question
    return [question.text, question.command] if question else []


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None


def cases(folder: Path) -> Iterator[Case]:
    """Explain every case of a folder. Raises OSError, KeyError, json.JSONDecodeError."""
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        yield Case(
            id=entry["id"],
            label=entry["label"],
            right=frozenset([entry["label"], *entry.get("accept", ())]),
            wanted=tuple(entry.get("remedy_any", ())),
            never=tuple(entry.get("remedy_never", ())),
            answers=explain_file(folder / "logs" / f"{entry['id']}.log").problems,
        )


def report(found: Sequence[Case]) -> Iterable[str]:
    """The score as lines of text."""
    certain = [(p.id in c.right) for c in found for p in c.certain]
    yield f"{len(found)} logs"
    for name, right in (
        ("top 1", [c.first for c in found]),
        ("top 3", [c.third for c in found]),
        ("remedy", [c.cured for c in found if c.wanted]),
        ("certain", certain),
        ("no harm", [not c.harm for c in found]),
        ("no gap", [not c.gaps for c in found]),
    ):
        yield f"{name + ':':10} {sum(right) / (len(right) or 1):7.2%} of {len(right)}"
    yield "per label (right / logs):"
    logs = Counter(c.label for c in found)
    right_of = Counter(c.label for c in found if c.first)
    yield from (f"    {label:34} {right_of[label]:3} / {logs[label]}" for label in sorted(logs))
    yield "wrong (is -> answer):"
    for case in found:
        wrong = [] if case.first else [next((p.id for p in case.answers), "nothing")]
        wrong += [f"{p.id} for certain" for p in case.wrongly_certain]
        wrong += [] if case.cured else ["no right remedy"]
        wrong += [f"harm: {pattern}" for pattern in case.harm]
        yield from (f"    {case.id}: {case.label} -> {each}" for each in (*wrong, *case.gaps))


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    print("\n".join(report(list(cases(Path(arguments[0]))))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
