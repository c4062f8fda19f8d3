"""A story of the demo: facts of one machine, and the problem that doctor must name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Diagnosis

HEALTHY = ""


@dataclass(frozen=True)
class Story:
    """`expects` is the id of the problem, `HEALTHY` for a machine on which all is well.

    With `first`, no graver problem may stand before it; without, it must be among those found:
    on a machine that we did not set up, other things may be wrong as well.
    """

    title: str
    expects: str
    facts: Facts
    first: bool = True

    def diagnosis(self) -> Diagnosis:
        return diagnose(self.facts, CHECKS)

    def kept(self, diagnosis: Diagnosis) -> bool:
        """True if doctor said what the story promises."""
        if self.expects == HEALTHY:
            return diagnosis.healthy
        found = [p.id for p in diagnosis.problems]
        return self.expects in (found[:1] if self.first else found)


def shipped() -> Iterator[Story]:
    """Stories from snapshots of real Windows Pythons, as `tools/make_demo.py` recorded them."""
    folder = files("tritonwin.demo").joinpath("snapshots")
    listed: list[dict[str, Any]] = json.loads(folder.joinpath("index.json").read_text("utf-8"))
    for entry in listed:
        with as_file(folder.joinpath(entry["file"])) as path:
            yield Story(entry["title"], entry["expects"], snapshot.read(path))
