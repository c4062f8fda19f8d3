"""The workflows that run elsewhere: pinned, without rights they do not need, naming what exists.

None has run yet; see docs/ci.md for what was run of them by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"ci", "release"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_every_action_is_pinned_by_hash_and_says_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert used
    for line in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_version_of_each_action() -> None:
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: ([\w./-]+)@(\w+)", text))
    assert len({name for name, _ in pins}) == len(pins)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_rights_and_time_are_limited(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "\npermissions: {}\n" in text
    jobs = re.findall(r"^  (\w+):\n(?:    .*\n|\n)*", text.split("\njobs:\n")[1], re.MULTILINE)
    assert text.count("runs-on:") == text.count("timeout-minutes:") == len(jobs)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert "pull_request_target" not in text
    assert "secrets." not in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_what_is_started_exists(path: Path) -> None:
    for name in re.findall(r"(?:\.ci|tools|tests|benchmarks)/[\w/.-]+", path.read_text("utf-8")):
        assert (ROOT / name).exists(), name
