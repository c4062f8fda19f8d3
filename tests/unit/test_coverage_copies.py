"""What a copy of a module did in a target counts as the module's own."""

from __future__ import annotations

from pathlib import Path

import branch_coverage
import pytest
from coverage import CoverageData

import tritonwin
from tritonwin.facts.torch_triton import HOOK
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate

PACKAGE = Path(tritonwin.__file__).parent


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/tmp/a b/site-packages/_tritonwin_hook.py", "hook/runtime.py"),
        (r"C:\py\Lib\site-packages\_tritonwin_hook.py", "hook/runtime.py"),
        ("_tritonwin_patch/rules/amd.py", "rules/amd.py"),
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
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".coverage.1", ".coverage.1.copies", ".coverage.2",
    ]  # fmt: skip
    found = CoverageData(basename=str(tmp_path / ".coverage.1.copies"))
    found.read()
    assert {file: set(found.arcs(file) or ()) for file in found.measured_files()} == {
        "src/tritonwin/patch/hook/runtime.py": {(1, 2), (2, 3)},
        "src/tritonwin/patch/engine.py": {(4, 5)},
    }
