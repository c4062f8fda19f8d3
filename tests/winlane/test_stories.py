"""The three stories of docs/stories/ happen again, and go as the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import stories
from winlane import Lane


@pytest.mark.full
def test_the_stories_go_as_the_pages_say(lane: Lane, tmp_path: Path) -> None:
    repaired, planned, received = told = stories.told(lane, tmp_path)
    for story in told:
        page = (stories.PAGES / f"{story.file}.md").read_text("utf-8")
        assert stories.skeleton(story.text) == stories.skeleton(page), (
            "run: python tests/winlane/stories.py"
        )
    failed, doctor, _, fix, works, undo = repaired.outputs
    assert repaired.statuses == [1, 1, 0, 0, 0, 0]
    assert "0 active drivers" in failed
    for problem in (
        "cpu-only-torch",
        "triton-and-fork-both-installed",
        "embedded-python-no-headers",
    ):
        assert f"[{problem}]" in doctor
    assert "not solved" not in fix
    assert "Proven: it works now." in fix
    assert "GPUTarget(backend='cuda', arch=89, warp_size=32)" in works
    assert "Everything is as it was before." in undo

    assert planned.statuses == [1]
    assert "nvcc of CUDA 12.4 accepts" in planned.outputs[0]
    assert "MSVC v143 - VS 2022 C++ x64/x86 build tools (v14.44)" in planned.outputs[0]

    guessed, known, seen = received.outputs
    assert first(guessed) == ("problem, possible", "driver-too-old")
    assert first(known) == ("problem", "cpu-only-torch")
    assert known.count("  [") == 1
    # what doctor said there, but for how it was started
    there = doctor.replace(r".\python_embeded\python.exe tritonwin.pyz ", "tritonwin ")
    assert seen.replace(" Commands: on the machine in question.", "") == there


def first(printed: str) -> tuple[str, str]:
    """The certainty of the first problem, and its id."""
    found = re.search(r"^(problem[a-z, ]*?)(?:: .*|  )\[([a-z0-9-]+)\]$", printed, re.MULTILINE)
    assert found, printed
    return found[1], found[2]


@pytest.mark.parametrize("page", sorted(stories.PAGES.glob("*.md")), ids=lambda p: p.stem)
def test_a_page_is_of_a_user_and_of_nobody_else(page: Path) -> None:
    """Paths of the machine that wrote it, and how it was made, are not the reader's business."""
    text = page.read_text("utf-8")
    assert not re.search(r"Z:\\|C:\\lane|/tmp/|/root|/home|winlane-", text)
    assert len(stories.skeleton(text)) > 3
