from __future__ import annotations

from pathlib import Path

import pytest
from hosts import MemoryRegistry, fake_host
from installed import target
from trees import plant

from tritonwin.facts.packages import read_shadows
from tritonwin.facts.records import PthFile
from tritonwin.system.host import Host


def host(tmp: Path, env: dict[str, str] | None = None, app: Path | None = None) -> Host:
    made = fake_host(tmp, env)
    return Host(made.env, MemoryRegistry(), cwd=tmp / "cwd", home=tmp, windows=True, app=app)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["triton.py"], ["triton.py"]),
        (["triton/__init__.py"], ["triton"]),
        (["torch.py", "triton.py"], ["triton.py", "torch.py"]),
        (["triton.py", "triton/__init__.py"], ["triton"]),  # Python takes the package first
        (["triton/notes.txt"], []),
        (["triton_test.py", "Triton.py"], []),
        (["triton/__init__.py", "triton/_C/libtriton.pyd"], []),
        (["torch/__init__.py", "torch/_C.cp312-win_amd64.pyd"], []),
        ([], []),
    ],
)
def test_what_hides_a_package_in_the_current_folder(
    tmp_path: Path, files: list[str], found: list[str]
) -> None:
    plant(tmp_path / "cwd", *files)

    shadows = read_shadows(target(), host(tmp_path))

    assert [s.path for s in shadows] == [str(tmp_path / "cwd" / name) for name in found]
    assert {s.reason for s in shadows} <= {"current folder"}
    assert all(Path(s.path).stem == s.module for s in shadows)


def test_the_application_folder(tmp_path: Path) -> None:
    app = plant(tmp_path / "app", "triton.py")

    (found,) = read_shadows(target(), host(tmp_path, app=app))

    assert (found.path, found.reason) == (str(app / "triton.py"), "application folder")


def test_a_folder_that_is_both_is_named_once(tmp_path: Path) -> None:
    plant(tmp_path / "cwd", "triton.py")

    (found,) = read_shadows(target(), host(tmp_path, app=tmp_path / "cwd"))

    assert found.reason == "current folder"


def test_every_entry_of_pythonpath(tmp_path: Path) -> None:
    plant(tmp_path, "a/triton.py", "b/torch.py")
    value = f"{tmp_path / 'a'};;{tmp_path / 'b'}"

    found = read_shadows(target(), host(tmp_path, {"PYTHONPATH": value}))

    assert [(s.module, s.reason) for s in found] == [
        ("triton", "PYTHONPATH"),
        ("torch", "PYTHONPATH"),
    ]


def test_a_pth_file_makes_python_ignore_pythonpath(tmp_path: Path) -> None:
    plant(tmp_path, "a/triton.py")
    embedded = target(pth=PthFile(path="python312._pth", entries=(), import_site=True))

    assert read_shadows(embedded, host(tmp_path, {"PYTHONPATH": str(tmp_path / "a")})) == ()


def test_site_packages_in_pythonpath_shadow_nothing(tmp_path: Path) -> None:
    plant(tmp_path / "site", "triton/__init__.py")

    python = target(tmp_path / "site")

    assert read_shadows(python, host(tmp_path, {"PYTHONPATH": str(tmp_path / "site")})) == ()
