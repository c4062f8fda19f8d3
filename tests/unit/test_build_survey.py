"""What a build is planned from: the chooser's wheel, the source's folder, the disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import machines
import pytest
from wheel_files import make_wheel

from tritonwin.build.order import Order, survey
from tritonwin.build.planner import plan
from tritonwin.errors import UserError
from tritonwin.support.pip import Pip

FITS = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
ANOTHER_TORCH = "flash_attn-2.8.3+cu128torch2.8-cp312-cp312-win_amd64.whl"


def no_pip() -> Pip:
    raise AssertionError("no pip is needed here")


@pytest.mark.parametrize(("file", "fits"), [(FITS, True), (ANOTHER_TORCH, False)])
def test_a_wheel_that_exists_is_found_first(tmp_path: Path, file: str, fits: bool) -> None:
    wheels = tmp_path / "wheels"
    make_wheel(wheels, file)
    machine = machines.windows(tmp_path)
    order = Order(recipe="flash-attn", offline=True)
    found = survey(order, machine.facts, machine.host, no_pip, lists=[str(wheels)])
    assert found.wheel is not None
    assert (found.wheel.file == file) == fits
    made = plan(order, replace(found, resources=machines.room(64)))
    assert ("a wheel that fits exists" in str(made.refusals)) == fits
    if not fits:
        assert "needs torch 2.8, this is torch 2.9" in str(made.decisions)
    anyway = survey(replace(order, anyway=True), machine.facts, machine.host, no_pip)
    assert anyway.wheel is None


def test_the_disk_of_a_folder_that_is_to_come(tmp_path: Path) -> None:
    machine = machines.linux(tmp_path)
    order = Order(recipe="flash-attn", anyway=True, root=tmp_path / "not" / "yet")
    found = survey(order, machine.facts, machine.host, no_pip)
    assert found.disk_free is not None
    assert found.disk_free > 0
    assert found.resources.cores >= 1


def test_a_folder_is_examined(tmp_path: Path) -> None:
    machine = machines.linux(tmp_path)
    source = tmp_path / "p"
    (source / "flash_attn").mkdir(parents=True)
    order = Order(recipe="flash-attn", source=str(source))
    with pytest.raises(UserError, match=r"neither setup\.py nor pyproject\.toml"):
        survey(order, machine.facts, machine.host, no_pip)
    (source / "setup.py").touch()
    (source / "flash_attn" / "__init__.py").write_text('__version__ = "2.8.4"\n')
    found = survey(order, machine.facts, machine.host, no_pip).checkout
    assert found is not None
    assert found.version == "2.8.4"
