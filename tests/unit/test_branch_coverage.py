"""The bound on branch coverage can be missed: the table of the areas, and what the tool exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import branch_coverage
import pytest
from areas import Area


def entry(branches: int, *missing: tuple[int, int]) -> dict[str, Any]:
    return {"summary": {"num_branches": branches}, "missing_branches": [list(m) for m in missing]}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Two areas, of two modules and of one."""
    for file in ("problems/a.py", "problems/checks/b.py", "remedies/c.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return tmp_path


AREAS = {
    "problems": Area(about="", code=("problems/**/*.py",)),
    "remedies": Area(about="", code=("remedies/*.py",)),
}
FILES = {
    "src/tritonwin/problems/a.py": entry(20, (3, 7)),
    "C:\\checkout\\src\\tritonwin\\problems\\checks\\b.py": entry(20),
    "src/tritonwin/remedies/c.py": entry(10, (9, -1), (4, 5)),
    "src/tritonwin/cli/app.py": entry(100, (1, 2)),
}


def test_the_table_adds_up_the_modules_of_an_area(package: Path) -> None:
    found = list(
        branch_coverage.of_areas(AREAS, branch_coverage.measured({"files": FILES}), package)
    )
    assert list(branch_coverage.table(found))[2:] == [
        "| problems | 2 | 40 | 39 | 97.5 % |",
        "| remedies | 1 | 10 | 8 | 80.0 % |",
    ]
    assert [list(branch_coverage.gaps(area)) for area in found] == [
        ["problems/a.py: 3->7"],
        ["remedies/c.py: 4->5, 9->exit"],
    ]


@pytest.mark.parametrize(
    ("areas", "left_out", "says"),
    [
        (
            {"problems": Area(about="", code=("problem/*.py",))},
            None,
            "no file matches problem/*.py",
        ),
        (AREAS, "src/tritonwin/remedies/c.py", "remedies: not in the report: remedies/c.py"),
    ],
)
def test_an_area_that_was_not_measured_is_no_success(
    areas: dict[str, Area], left_out: str | None, says: str, package: Path
) -> None:
    files = {path: entry for path, entry in FILES.items() if path != left_out}
    with pytest.raises(SystemExit, match=says.replace("*", r"\*")):
        list(branch_coverage.of_areas(areas, branch_coverage.measured({"files": files}), package))


@pytest.mark.parametrize(("missing", "code"), [(5, 0), (6, 1)])
def test_below_the_bound_the_check_fails(
    missing: int,
    code: int,
    package: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(branch_coverage, "AREAS", {"remedies": AREAS["remedies"]})
    monkeypatch.setattr(branch_coverage, "PACKAGE", package)
    report = tmp_path / "coverage.json"
    gaps = [(line, line + 1) for line in range(missing)]
    report.write_text(
        json.dumps({"files": {"src/tritonwin/remedies/c.py": entry(100, *gaps)}}), "utf-8"
    )
    assert branch_coverage.main([str(report)]) == code
    said = capsys.readouterr().out
    assert ("94.0 % of the branches of remedies; 95 % are asked for" in said) is bool(code)
