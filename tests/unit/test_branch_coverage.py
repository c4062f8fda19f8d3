"""The bound on branch coverage can be missed, and copies of modules count as the modules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import branch_coverage
import pytest
from areas import Area
from coverage import CoverageData

import tritonwin
from tritonwin.facts.torch_triton import HOOK
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate

PACKAGE = Path(tritonwin.__file__).parent
AREAS = {
    "problems": Area(about="", code=("problems/**/*.py",)),
    "remedies": Area(about="", code=("remedies/*.py",)),
}


def entry(branches: int, *missing: tuple[int, int]) -> dict[str, Any]:
    return {"summary": {"num_branches": branches}, "missing_branches": [list(m) for m in missing]}


FILES = {
    "src/tritonwin/problems/a.py": entry(20, (3, 7)),
    "C:\\checkout\\src\\tritonwin\\problems\\checks\\b.py": entry(20),
    "src/tritonwin/remedies/c.py": entry(20, (9, -1)),
    "src/tritonwin/cli/app.py": entry(100, (1, 2)),
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two areas, of two modules and of one."""
    for file in ("problems/a.py", "problems/checks/b.py", "remedies/c.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(branch_coverage, "AREAS", AREAS)
    monkeypatch.setattr(branch_coverage, "PACKAGE", tmp_path)
    return tmp_path


def run(folder: Path, files: dict[str, Any]) -> int:
    report = folder / "coverage.json"
    report.write_text(json.dumps({"files": files}), "utf-8")
    return branch_coverage.main([str(report)])


def test_the_table_adds_up_the_modules_of_an_area(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(package, FILES) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[2:4] == [
        "| problems | 2 | 40 | 39 | 97.5 % |",
        "| remedies | 1 | 20 | 19 | 95.0 % |",
    ]
    assert {"problems/a.py: 3->7", "remedies/c.py: 9->exit"} < {*said}


def test_below_the_bound_it_fails(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    low = FILES | {"src/tritonwin/remedies/c.py": entry(20, (9, -1), (4, 5))}
    assert run(package, low) == 1
    assert "90.0 % of the branches of remedies; 95 % are asked for" in capsys.readouterr().out


def test_an_area_that_was_not_measured_is_no_success(package: Path) -> None:
    del (files := dict(FILES))["src/tritonwin/remedies/c.py"]
    with pytest.raises(SystemExit, match=r"remedies: not in the report: remedies/c\.py"):
        run(package, files)
    (package / "remedies" / "c.py").unlink()
    with pytest.raises(SystemExit, match=r"no file matches remedies/\*\.py"):
        run(package, files)


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/tmp/a b/site-packages/_tritonwin_hook.py", "hook/runtime.py"),
        (r"C:\py\Lib\site-packages\_tritonwin_hook.py", "hook/runtime.py"),
        ("/a/_tritonwin_patch/hook/apply.py", "hook/apply.py"),
        ("src/tritonwin/patch/hook/apply.py", None),
        ("my_tritonwin_hook.py", None),
    ],
)
def test_a_copy_is_known_by_its_name(file: str, module: str | None) -> None:
    found = branch_coverage.original(file)
    assert found == (module and f"src/tritonwin/patch/{module}")
    assert found is None or (PACKAGE.parents[1] / found).is_file()


def test_the_hook_has_the_lines_of_its_original() -> None:
    """Otherwise what was measured would be told of other lines."""
    copy = generate(RuleChoice(only=(), allow_unknown=False))[HOOK].decode().splitlines()
    own = (PACKAGE / "patch/hook/runtime.py").read_text("utf-8").splitlines()
    assert len(copy) == len(own)
    assert [a for a, b in zip(own, copy, strict=True) if a != b] == [
        "SETTINGS: dict[str, Any] = {}  # filled in by install.py"
    ]


def test_what_copies_did_is_added_up(tmp_path: Path) -> None:
    data = CoverageData(basename=str(tmp_path / ".coverage.1"))
    data.add_arcs(
        {
            str(tmp_path / "a/_tritonwin_hook.py"): [(1, 2)],
            str(tmp_path / "b/_tritonwin_hook.py"): [(2, 3)],
            "_tritonwin_patch/engine.py": [(4, 5)],
            "src/tritonwin/errors.py": [(6, 7)],
        }
    )
    data.write()
    other = CoverageData(basename=str(tmp_path / ".coverage.2"))
    other.add_arcs({"src/tritonwin/errors.py": [(6, 7)]})
    other.write()
    assert branch_coverage.main(["--copies", str(tmp_path)]) == 0
    assert sorted(p.name for p in tmp_path.glob(".coverage*")) == [
        ".coverage.1", ".coverage.1.copies", ".coverage.2",
    ]  # fmt: skip
    found = CoverageData(basename=str(tmp_path / ".coverage.1.copies"))
    found.read()
    assert {file: set(found.arcs(file) or ()) for file in found.measured_files()} == {
        "src/tritonwin/patch/hook/runtime.py": {(1, 2), (2, 3)},
        "src/tritonwin/patch/engine.py": {(4, 5)},
    }
