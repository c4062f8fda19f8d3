"""The main job shown on real input: doctor on machines that are broken in known ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files

from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts


@dataclass(frozen=True)
class Story:
    """A machine, and the problem that doctor must name first; empty: nothing is wrong."""

    title: str
    expects: str
    facts: Facts


def stories() -> Iterator[Story]:
    """Snapshots of real Windows Pythons, as `tools/lane_stories.py` recorded them."""
    folder = files("tritonwin.demo").joinpath("snapshots")
    for entry in json.loads(folder.joinpath("index.json").read_text("utf-8")):
        with as_file(folder.joinpath(entry["file"])) as path:
            yield Story(entry["title"], entry["expects"], snapshot.read(path))
