"""Packages of conda are conda's to take away, and those of a base are not an environment's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from healthy import TARGET, changed, dist

from tritonwin.facts.records import Facts
from tritonwin.remedies.distributions import install_change
from tritonwin.remedies.installed import leave_to_conda, of_the_base
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.support.wheel_choice import FileSource

TORCH = FileSource(name="torch", version="2.9.1+cu130", location="torch.whl", sha256=None)


def having(prefix: Path, base: Path, installer: str = "pip", where: Path | None = None) -> Facts:
    """A Python with torch in it, or in its base."""
    place = (where or prefix) / "Lib" / "site-packages"
    location = str(place / "torch-2.9.1.dist-info")
    torch = replace(dist("torch", "2.9.1"), location=location, installer=installer)
    target = replace(TARGET, prefix=str(prefix), base_prefix=str(base))
    return changed(target=target, distributions=(torch,))


def record(prefix: Path, name: str, content: str) -> None:
    (prefix / "conda-meta").mkdir(parents=True, exist_ok=True)
    (prefix / "conda-meta" / name).write_text(content, encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "package"),
    [
        (json.dumps({"name": "pytorch", "files": ["Lib/site-packages/torch-2.9.1.dist-info/RECORD"]}),
         "pytorch"),
        ('["Lib/site-packages/torch-2.9.1.dist-info/RECORD"]', "torch"),
        ("{ cut off: site-packages/torch-2.9.1.dist-info/", "torch"),
        ("{}", "torch"),
    ],
)  # fmt: skip
def test_condas_packages_are_left_to_conda(tmp_path: Path, content: str, package: str) -> None:
    record(tmp_path, "history", "site-packages/torch-2.9.1.dist-info/")
    record(tmp_path, "pytorch-2.9.1-cuda.json", content)
    facts = having(tmp_path, tmp_path, installer="conda")
    with pytest.raises(CannotRemedyError, match="installed by conda") as refused:
        install_change([TORCH], facts)
    assert refused.value.help.endswith(f'conda remove --force -p "{tmp_path}" {package}')


def test_what_pip_put_into_condas_environment_is_replaced(tmp_path: Path) -> None:
    record(tmp_path, "python-3.12.json", "{}")
    facts = having(tmp_path, tmp_path)
    leave_to_conda(facts.distributions, TARGET)
    assert install_change([TORCH], facts).removes == (facts.distributions[0].location,)


def test_what_the_base_has_stays_there(tmp_path: Path) -> None:
    base, own = tmp_path / "base", tmp_path / "base" / "venvs" / "own"
    seen = having(own, base, installer="conda", where=base)
    assert install_change([TORCH], seen).removes == ()
    mine = having(own, base)
    assert install_change([TORCH], mine).removes == (mine.distributions[0].location,)


@pytest.mark.parametrize(("prefix", "base"), [(None, "C:\\b"), ("C:\\b", None), ("C:\\b", "C:\\b")])
def test_a_python_without_a_base_owns_what_it_sees(prefix: str | None, base: str | None) -> None:
    target = replace(TARGET, prefix=prefix, base_prefix=base)
    assert not of_the_base(dist("torch", "2.9.1"), target)


@pytest.mark.parametrize(
    ("wheel", "torch", "cuda"),
    [
        (TORCH, True, "13.0"),
        (replace(TORCH, version="2.9.1"), True, None),  # which CUDA it is for is not said
        (replace(TORCH, name="xformers", version="0.0.33"), True, "12.8"),
        (replace(TORCH, name="xformers", version="0.0.33"), False, None),
    ],
)
def test_modules_are_held_against_the_torch_that_will_be_there(
    tmp_path: Path, wheel: FileSource, torch: bool, cuda: str | None
) -> None:
    facts = changed(target=replace(TARGET, prefix=str(tmp_path)), distributions=())
    change = install_change((wheel,), facts if torch else replace(facts, torch=None))
    assert (change.cuda, change.gpus) == (cuda, ("8.9",))
