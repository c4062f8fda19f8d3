"""The last proven state: kept, read back, compared; never a reason to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import healthy
import pytest

from tritonwin.facts.history import forget_proven, proven_state, read_proven, write_proven
from tritonwin.facts.records import Facts
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.system.host import Environment, data_folder


def home(tmp_path: Path) -> Environment:
    return Environment({"TRITONWIN_HOME": str(tmp_path / "home")})


def drift(facts: Facts) -> list[str]:
    found = [p for p in diagnose(facts, CHECKS).problems if p.id == "environment-drifted"]
    return [e.text for p in found for e in p.evidence]


def test_it_is_read_back(tmp_path: Path) -> None:
    assert read_proven(healthy.TARGET, home(tmp_path)) is None
    write_proven(healthy.HEALTHY, home(tmp_path))
    found = read_proven(healthy.TARGET, home(tmp_path))
    assert found
    assert found.versions == {"torch": "2.9.1+cu128", "triton-windows": "3.5.1.post24"}
    assert (found.python, found.driver) == ("3.12.9", "581.57")
    other = replace(healthy.TARGET, executable=r"D:\\other\\python.exe")
    assert read_proven(other, home(tmp_path)) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"when": 1}'])
def test_a_damaged_record_is_none(tmp_path: Path, content: str) -> None:
    write_proven(healthy.HEALTHY, home(tmp_path))
    file = next((tmp_path / "home" / "proven").iterdir())
    file.write_text(content)
    assert read_proven(healthy.TARGET, home(tmp_path)) is None


@pytest.mark.parametrize(
    ("since", "kept"),
    [
        ("2000-01-01T00:00:00+00:00", False),
        ("2999-01-01T00:00:00+00:00", True),
        ("2000-01-01", True),
        ("once", True),
    ],
)
def test_a_proof_of_what_was_given_back_is_dropped(tmp_path: Path, since: str, kept: bool) -> None:
    forget_proven(healthy.TARGET.executable, home(tmp_path), since=since)
    write_proven(healthy.HEALTHY, home(tmp_path))
    forget_proven(healthy.TARGET.executable, home(tmp_path), since=since)
    assert (read_proven(healthy.TARGET, home(tmp_path)) is not None) is kept


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    write_proven(healthy.HEALTHY, home(tmp_path))


def test_what_changed_is_named() -> None:
    proven = replace(healthy.HEALTHY, proven=proven_state(healthy.HEALTHY))
    assert drift(proven) == []
    torch = (*healthy.without("torch"), healthy.dist("torch", "2.9.1+cu130"))
    assert drift(replace(proven, distributions=torch)) == [
        "torch was 2.9.1+cu128 when it was proven to work, and is 2.9.1+cu130"
    ]
    gone = replace(proven, drivers=(replace(healthy.HEALTHY.drivers[0], version="591.00"),))
    assert drift(gone) == ["the driver was 581.57 when it was proven to work, and is 591.00"]
    assert drift(healthy.HEALTHY) == []


def test_the_folder_can_be_named(tmp_path: Path) -> None:
    assert data_folder(home(tmp_path)) == tmp_path / "home"
    assert data_folder(Environment({})).name == "tritonwin"
