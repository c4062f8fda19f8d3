"""Score `explain` on logs with known causes: `python tools/score_corpus.py DIR`.

DIR holds `cases.jsonl` and `logs/<id>.log`. A case is an object with `id`, `label` (the problem, or
null for a log of nothing that explain should know) and perhaps `accept` (labels as right as it).
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonwin.problems.explain import explain_file
from tritonwin.problems.records import Problem


@dataclass(frozen=True, kw_only=True)
class Case:
    """A log, the answers that are right, and what explain says."""

    id: str
    label: str | None
    right: frozenset[str]
    answers: tuple[Problem, ...]

    @property
    def first(self) -> bool:
        """The first answer is right; for a log of nothing known, there is none above info."""
        if self.label is None:
            return not self.alarms
        return any(p.id in self.right for p in self.answers[:1])

    @property
    def third(self) -> bool:
        return self.first or any(p.id in self.right for p in self.answers[:3])

    @property
    def certain(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.answers if p.certainty == "certain")

    @property
    def wrongly_certain(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.certain if p.id not in self.right)

    @property
    def alarms(self) -> tuple[Problem, ...]:
        """Answers above info on a log of nothing known."""
        if self.label is not None:
            return ()
        return tuple(p for p in self.answers if p.severity != "info")


@dataclass(frozen=True, kw_only=True)
class Score:
    cases: tuple[Case, ...]

    @property
    def top1(self) -> float:
        return self._share(c.first for c in self.cases)

    @property
    def top3(self) -> float:
        return self._share(c.third for c in self.cases)

    @property
    def precision(self) -> float:
        """The share of the answers called certain that are right."""
        return self._share(p.id in c.right for c in self.cases for p in c.certain)

    def confusions(self) -> list[tuple[str, str, list[str]]]:
        """Pairs of label and wrong answer, with the cases, the most frequent first."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for case in self.cases:
            if not case.first:
                answer = next((p.id for p in case.answers), "nothing")
                found[case.label or "nothing", answer].append(case.id)
        return [(*pair, ids) for pair, ids in sorted(found.items(), key=lambda i: -len(i[1]))]

    @staticmethod
    def _share(outcomes: Iterable[bool]) -> float:
        listed = list(outcomes)
        return sum(listed) / len(listed) if listed else 1.0


def score(folder: Path) -> Score:
    """Explain every case of a folder. Raises OSError, KeyError, json.JSONDecodeError."""
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return Score(cases=tuple(_case(folder, json.loads(line)) for line in lines if line.strip()))


def _case(folder: Path, entry: dict[str, object]) -> Case:
    label, accept = entry["label"], entry.get("accept") or []
    answers = explain_file(folder / "logs" / f"{entry['id']}.log").problems
    return Case(
        id=str(entry["id"]),
        label=str(label) if label else None,
        right=frozenset(map(str, [label, *accept] if isinstance(accept, list) else [label])),
        answers=answers,
    )


def report(result: Score) -> Iterable[str]:
    """The score as lines of text."""
    cases = result.cases
    yield f"{len(cases)} logs"
    yield f"top 1:     {result.top1:7.2%}"
    yield f"top 3:     {result.top3:7.2%}"
    called = sum(len(c.certain) for c in cases)
    yield f"certain:   {result.precision:7.2%} right of {called} answers called certain"
    alarms = [(c.id, p.id) for c in cases for p in c.alarms]
    yield f"alarms:    {len(alarms)} on {sum(c.label is None for c in cases)} logs of nothing known"
    yield from (f"    {case}: {problem}" for case, problem in alarms)
    yield "per label (right / logs):"
    logs = Counter(c.label or "nothing" for c in cases)
    right = Counter(c.label or "nothing" for c in cases if c.first)
    yield from (f"    {label:34} {right[label]:3} / {logs[label]}" for label in sorted(logs))
    yield "wrongly certain:"
    yield from (f"    {c.id}: {p.id}, is {c.label}" for c in cases for p in c.wrongly_certain)
    yield "confusions (is -> answer):"
    for label, answer, ids in result.confusions():
        yield f"    {label} -> {answer}: {', '.join(ids)}"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    print("\n".join(report(score(Path(arguments[0])))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
