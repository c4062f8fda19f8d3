"""Whatever a stranger wrote is read or refused: a few hundred tries a reader, a million in `--full`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutation import WHOLE, WORDS, spliced
from targets import SEEDS, TARGETS, seeds

ROOT = Path(__file__).parents[2]
EXECUTIONS = int(os.environ.get("TRITONWIN_FUZZ_RUNS", "1000000"))
SLOW = {"patch_edits": 100, "patch_text": 150}  # examples

SPLICES = st.lists(
    st.tuples(
        st.integers(0, WHOLE - 1),
        st.sampled_from([0, 1, 4, 40]),
        st.sampled_from(WORDS) | st.binary(max_size=8),
    ),
    max_size=6,
)


def test_every_target_has_seeds_and_they_are_small() -> None:
    assert {path.name for path in SEEDS.iterdir()} == set(TARGETS)
    sizes = {path.name: path.stat().st_size for path in SEEDS.rglob("*") if path.is_file()}
    assert max(sizes.values()) <= 4096


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    for seed in seeds(name):
        TARGETS[name](seed)
    TARGETS[name](b"")


@pytest.mark.parametrize("name", TARGETS)
def test_mutated(name: str) -> None:
    @settings(
        max_examples=SLOW.get(name, 250),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.builds(spliced, st.sampled_from(seeds(name)) | st.binary(max_size=200), SPLICES))
    def tried(data: bytes) -> None:
        TARGETS[name](data)

    gc.freeze()  # pefile collects garbage for every damaged file
    try:
        tried()
    finally:
        gc.unfreeze()


def fuzz(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), *args]
    # measured, it would take ten times as long
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=24 * 3600, check=False, env=env
    )


@pytest.mark.full
@pytest.mark.parametrize("name", TARGETS)
def test_a_million_executions(name: str, tmp_path: Path) -> None:
    done = fuzz(name, "--runs", str(EXECUTIONS), "--found", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[1].replace(",", "")) >= EXECUTIONS
