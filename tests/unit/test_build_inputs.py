"""Inputs of a plan: options that people mistake, the source's folder, a wheel that exists, the disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import machines
import pytest
from packaging.version import Version
from trees import write
from wheel_files import make_wheel

from tritonwin.build import copying
from tritonwin.build.order import Order, survey
from tritonwin.build.plan import BuildPlan
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load
from tritonwin.errors import UserError
from tritonwin.support.pip import Pip


def planned(tmp_path: Path, recipe: str = "flash-attn", **order: Any) -> BuildPlan:
    return plan(Order(recipe=recipe, **order), machines.linux(tmp_path))


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"local_version": "a b;c"}, r"'a b;c' is not a valid local version"),
        ({"local_version": "../x"}, "is not a valid local version"),
        ({"local_version": ""}, "is not a valid local version"),
        ({"local_version": "x" * 5000}, f"'{'x' * 60}' is not a valid local version"),
        ({"nvcc_flags": ("a\nb",)}, "NVCC_APPEND_FLAGS has a stray blank, quote or control"),
        ({"nvcc_flags": ('-DX="',)}, "NVCC_APPEND_FLAGS has a stray"),
        ({"source": ""}, "--source is empty"),
        ({"source": "  "}, "--source is empty"),
        ({"source": "nowhere"}, "nowhere cannot be built"),
        ({"version": "9.9"}, "has no version 9.9"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, order: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why) as refused:
        planned(tmp_path, **order)
    assert refused.value.help
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("version", ["2.9.0a0+gitabc", "my build/7", "main", "", "x" * 300])
def test_a_torch_of_any_version_gives_a_wheel_a_name(tmp_path: Path, version: str) -> None:
    machine = machines.linux(tmp_path, torch=machines.torch(version, "12.8"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert Version(f"2.8.3+{made.local_version}").local
    assert made.local_version.startswith("cu128torch")


@pytest.mark.parametrize("asked", ["99.9", "nowhere", "/no where", "banana"])
def test_the_toolkit_that_was_asked_for_is_named(tmp_path: Path, asked: str) -> None:
    (refusal,) = [r for r in planned(tmp_path, cuda=asked).refusals if "--cuda" in r.message]
    assert f"--cuda {asked} names none" in refusal.message
    if asked != "99.9":
        assert f"{asked} (the folder does not exist)" in refusal.message


def test_a_toolset_of_windows_is_no_use_elsewhere(tmp_path: Path) -> None:
    assert any("--msvc 14.44 is for Windows" in w for w in planned(tmp_path, msvc="14.44").warnings)
    assert not any("--msvc" in w for w in planned(tmp_path).warnings)
    made = plan(Order(recipe="flash-attn", msvc="14.44"), machines.windows(tmp_path))
    assert not any("--msvc" in w for w in made.warnings)


def test_no_architecture_has_its_reason(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), machines.linux(tmp_path, gpus=()))
    (archs,) = [d for d in made.decisions if d.name == "archs"]
    assert (archs.value, archs.reason) == ("none", "no NVIDIA GPU is here, and none is asked for")


@pytest.mark.parametrize("name", ["Flash-Attn", "flash_attn", "FLASH.ATTN"])
def test_a_recipe_has_the_spellings_of_its_package(tmp_path: Path, name: str) -> None:
    assert load(name).name == "flash-attn"
    assert planned(tmp_path, name).root == planned(tmp_path).root


@pytest.mark.parametrize("name", ["../flash-attn", "", "flash attn", "recipes/triton", "."])
def test_no_other_name_is_a_recipe(name: str) -> None:
    with pytest.raises(UserError, match="there is no recipe"):
        load(name)


def test_links_of_a_folder_named_from_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"mine/setup.py": "", "mine/csrc/a.cu": ""})
    (tmp_path / "mine/inner").symlink_to("csrc")
    (tmp_path / "mine/round").symlink_to("round")
    (tmp_path / "mine/out").symlink_to("..")
    monkeypatch.chdir(tmp_path)
    assert [link.name for link in copying.links_out(Path("mine"), ())] == ["out"]


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (r"\\?\C:\work\csrc", r"C:\work\csrc"),
        (r"\\?\UNC\host\share\x", r"\\host\share\x"),
        (r"\\?\Volume{ab-12}\x", r"\\?\Volume{ab-12}\x"),
        (r"..\csrc", r"..\csrc"),
        ("/src/csrc", "/src/csrc"),
    ],
)
def test_where_a_link_of_windows_leads(given: str, plain: str) -> None:
    assert copying._plain(given) == plain


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
