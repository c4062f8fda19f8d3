"""Links of a source: what they lead to is copied, and what they lead to is never written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from build_plans import laid_down
from trees import write

from tritonwin.build import source
from tritonwin.build.records import SourceEdit
from tritonwin.errors import UserError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Wine makes no links")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    write(folder, {"setup.py": "", "csrc/a.cu": "a", "csrc/deep/b.cu": "b", "csrc/other/c.cu": "c",
                   "build/lib/old.o": ""})  # fmt: skip
    write(tmp_path / "elsewhere", {"large.bin": "large", "picture.png": "picture"})
    for name, target in {
        "inner": "csrc/deep",
        "csrc/up": "..",
        "csrc/deep/sibling": "../other",
        "through": "inner",
        "nowhere": "../gone",
        "round": "round",
        "file.cu": "csrc/a.cu",
        "picture.png": str(tmp_path / "elsewhere/picture.png"),
    }.items():
        (folder / name).symlink_to(target)
    return folder


def copied(mine: Path, to: Path) -> dict[str, str]:
    source.copy(mine, to, source.NOT_COPIED, ())
    files = [path for path in to.rglob("*") if not path.is_dir()]
    assert not any(path.is_symlink() for path in to.rglob("*"))
    return {path.relative_to(to).as_posix(): path.read_text() for path in files}


def test_what_a_link_leads_to_is_copied(tmp_path: Path, mine: Path) -> None:
    for _ in range(2):  # the second time as a resumed build does
        found = copied(mine, tmp_path / "copy")
        assert found == {
            "setup.py": "", "csrc/a.cu": "a", "csrc/deep/b.cu": "b", "csrc/other/c.cu": "c",
            "inner/b.cu": "b", "through/b.cu": "b", "csrc/deep/sibling/c.cu": "c",
            "inner/sibling/c.cu": "c", "through/sibling/c.cu": "c",
            "file.cu": "a", "picture.png": "picture",
        }  # fmt: skip


@pytest.mark.parametrize("target", ["..", "../elsewhere", "{elsewhere}", "/"])
def test_a_link_to_a_folder_elsewhere_is_refused(tmp_path: Path, mine: Path, target: str) -> None:
    (mine / "out").symlink_to(target.format(elsewhere=tmp_path / "elsewhere"))
    with pytest.raises(UserError, match="out leads out of the source") as refused:
        copied(mine, tmp_path / "copy")
    assert "folder itself" in refused.value.help


def test_an_edit_is_made_in_the_copy(tmp_path: Path, mine: Path) -> None:
    (mine / "mine.txt").symlink_to("../elsewhere/large.bin")
    edits = (SourceEdit(file="mine.txt", find="large", replace="small", reason=""),)
    made = laid_down(tmp_path / "root", kind="folder", location=str(mine), edits=edits)
    assert (made.layout.source / "mine.txt").read_text() == "small"
    assert (tmp_path / "elsewhere/large.bin").read_text() == "large"


def test_a_virtual_environment_is_not_part_of_a_source(tmp_path: Path, mine: Path) -> None:
    write(mine, {".venv/pyvenv.cfg": "", ".venv/lib/torch/large.so": "", "tools/env/pyvenv.cfg": "",
                 "tools/env/x": "", "tools/y": ""})  # fmt: skip
    found = copied(mine, tmp_path / "copy")
    assert [name for name in found if "venv" in name or "tools" in name] == ["tools/y"]


def test_what_is_no_file_holds_nothing_up(tmp_path: Path, mine: Path) -> None:
    os.mkfifo(mine / "pipe")
    assert "pipe" not in copied(mine, tmp_path / "copy")
