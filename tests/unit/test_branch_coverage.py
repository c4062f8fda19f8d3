"""The bound on branch coverage can be missed, and copies of modules count as the modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import branch_coverage
import pytest
from branch_coverage import Area

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


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Two areas, of two modules and of one."""
    for file in ("problems/a.py", "problems/checks/b.py", "remedies/c.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return tmp_path


def test_the_modules_of_an_area_are_added_up(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert branch_coverage.judge(AREAS, FILES, package) == 0
    assert capsys.readouterr().out.splitlines() == [
        "problems: 39 of 40 branches, 97.5 %",
        "    problems/a.py: 3->7",
        "remedies: 19 of 20 branches, 95.0 %",
        "    remedies/c.py: 9->exit",
    ]


def test_below_the_bound_it_fails(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    low = FILES | {"src/tritonwin/remedies/c.py": entry(20, (9, -1), (4, 5))}
    assert branch_coverage.judge(AREAS, low, package) == 1
    assert "90.0 %; FAILED: 95 % are asked for" in capsys.readouterr().out


def test_an_area_that_was_not_measured_is_no_success(package: Path) -> None:
    del (files := dict(FILES))["src/tritonwin/remedies/c.py"]
    with pytest.raises(SystemExit, match=r"remedies: not in the report: remedies/c\.py"):
        branch_coverage.judge(AREAS, files, package)
    (package / "remedies" / "c.py").unlink()
    with pytest.raises(SystemExit, match=r"no file matches remedies/\*\.py"):
        branch_coverage.judge(AREAS, files, package)


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
