"""Links of a source: none is lost, none is followed out of it, and the plan names those that leave."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import machines
import pytest
from build_plans import NOBODY, laid_down
from trees import write

from tritonwin.build import copying
from tritonwin.build.copying import SourceError
from tritonwin.build.order import Order, survey
from tritonwin.build.plan import SourceEdit
from tritonwin.build.planner import plan

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Wine makes no links")

# link in the source -> where it leads -> where its copy must lead, below the copy or elsewhere
LINKS = {
    "inner": ("csrc", "copy/csrc"),
    "csrc/up": ("..", "copy"),
    "csrc/deep/sibling": ("../other", "copy/csrc/other"),
    "absolute": ("{mine}/csrc", "copy/csrc"),
    "through": ("inner/deep", "copy/inner/deep"),
    "out": ("../elsewhere", "elsewhere"),
    "far": ("{elsewhere}", "elsewhere"),
    "parent": ("..", "."),
    "nowhere": ("../gone", "gone"),
    "left_out": ("build/lib", "copy/build/lib"),
}
OUT = ["far", "nowhere", "out", "parent", "picture.png"]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    write(folder, {"setup.py": "", "csrc/a.cu": "a", "csrc/deep/b.cu": "b", "csrc/other/c.cu": "c",
                   "build/lib/old.o": ""})  # fmt: skip
    write(tmp_path / "elsewhere", {"large.bin": "large", "picture.png": "picture"})
    for name, (target, _) in LINKS.items():
        target = target.format(mine=folder, elsewhere=tmp_path / "elsewhere")
        (folder / name).symlink_to(target)
    (folder / "file.cu").symlink_to("csrc/a.cu")
    (folder / "picture.png").symlink_to(tmp_path / "elsewhere/picture.png")
    return folder


def copied(mine: Path, to: Path) -> None:
    copying.copy(mine, to, copying.NOT_COPIED, ())


def test_links_lead_from_the_copy_where_they_led(tmp_path: Path, mine: Path) -> None:
    to = tmp_path / "copy"
    to.mkdir()
    for _ in range(2):  # the second time as a resumed build does
        copied(mine, to)
        for name, (_, leads) in LINKS.items():
            assert (to / name).is_symlink(), name
            assert os.path.realpath(to / name) == os.path.realpath(tmp_path / leads), name
        assert (to / "csrc/up/csrc/deep/sibling/c.cu").read_text() == "c"
        assert (to / "out/large.bin").read_text() == "large"
        # a link to a file is the file
        for name, text in (("file.cu", "a"), ("picture.png", "picture")):
            assert not (to / name).is_symlink()
            assert (to / name).read_text() == text
        assert sorted(os.listdir(to / "csrc")) == ["a.cu", "deep", "other", "up"]
        assert not (to / "build").exists()


def test_the_plan_names_what_leads_out(tmp_path: Path, mine: Path) -> None:
    machine = machines.linux(tmp_path)
    order = Order(recipe="cuda-extension", source=str(mine))
    checkout = survey(order, machine.facts, machine.host, lambda: NOBODY.pip).checkout
    assert checkout is not None
    assert sorted(link.name for link in checkout.links_out) == OUT
    made = plan(order, survey(order, machine.facts, machine.host, lambda: NOBODY.pip))
    (warning,) = [w for w in made.warnings if "lead out of it" in w]
    assert f"out -> {tmp_path / 'elsewhere'}" in warning
    (mine / "one_more").symlink_to("/")
    made = plan(order, survey(order, machine.facts, machine.host, lambda: NOBODY.pip))
    assert any(w.endswith(" and 1 more") for w in made.warnings)


def test_a_link_becomes_a_folder_and_a_folder_a_link(tmp_path: Path, mine: Path) -> None:
    """No file is written through a link of an earlier run."""
    to = tmp_path / "copy"
    copied(mine, to)
    for name in ("out", "far"):
        (mine / name).unlink()
    write(mine, {"out/large.bin": "mine now", "far": "a file"})
    copied(mine, to)
    assert (to / "out/large.bin").read_text() == "mine now"
    assert (to / "far").read_text() == "a file"
    assert (tmp_path / "elsewhere/large.bin").read_text() == "large"
    (mine / "out/large.bin").unlink()
    (mine / "out").rmdir()
    (mine / "out").symlink_to("../elsewhere")
    (mine / "far").unlink()
    write(mine, {"far/b": "a folder"})
    (mine / "csrc/up").unlink()
    (mine / "csrc/deep/sibling").unlink()
    shutil.rmtree(mine / "csrc")
    write(mine, {"csrc": "a file"})
    copied(mine, to)
    assert (to / "out/large.bin").read_text() == "large"
    assert (to / "far/b").read_text() == "a folder"
    assert (to / "csrc").read_text() == "a file"


def test_nothing_is_edited_through_a_link(tmp_path: Path, mine: Path) -> None:
    edits = (
        SourceEdit(file="out/large.bin", find="large", replace="small", reason="", required=False),
    )
    with pytest.raises(SourceError, match="is a link") as refused:
        laid_down(tmp_path / "root", kind="folder", location=str(mine), edits=edits)
    assert "in place of the link" in refused.value.help
    assert (tmp_path / "elsewhere/large.bin").read_text() == "large"


def test_a_virtual_environment_is_not_part_of_a_source(tmp_path: Path, mine: Path) -> None:
    write(mine, {".venv/pyvenv.cfg": "", ".venv/lib/torch/large.so": "", "tools/env/pyvenv.cfg": "",
                 "tools/env/x": "", "tools/y": ""})  # fmt: skip
    (tmp_path / "copy").mkdir()
    copied(mine, tmp_path / "copy")
    assert not (tmp_path / "copy/.venv").exists()
    assert os.listdir(tmp_path / "copy/tools") == ["y"]


def test_what_is_no_file_holds_nothing_up(tmp_path: Path, mine: Path) -> None:
    os.mkfifo(mine / "pipe")
    (mine / "round").symlink_to("round")
    (tmp_path / "copy").mkdir()
    copied(mine, tmp_path / "copy")
    assert not (tmp_path / "copy/pipe").exists()
