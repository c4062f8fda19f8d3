from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hosts import MemoryRegistry, fake_host
from trees import plant

from tritonwin.facts.records import WindowsSdk
from tritonwin.facts.toolchain.msvc import find_windows_sdks
from tritonwin.facts.toolchain.parts import parts

ROOTS_KEY = "HKLM\\SOFTWARE\\Microsoft\\Windows Kits\\Installed Roots"
SDKS_KEY = "HKLM\\SOFTWARE\\Microsoft\\Microsoft SDKs\\Windows\\v10.0"


def sdk(root: Path, version: str, *without: str) -> Path:
    plant(root / "Include" / version, "shared/minwindef.h")
    return plant(root, *(p.format(version) for p in parts().sdk.every if not p.endswith(without)))


def find(
    tmp: Path, env: Mapping[str, str] | None = None, registry: MemoryRegistry | None = None
) -> list[WindowsSdk]:
    variables = {"ProgramFiles(x86)": str(tmp / "pf86"), **(env or {})}
    found = find_windows_sdks(fake_host(tmp, variables, registry))
    assert sum(s.chosen for s in found) <= 1
    return list(found)


def test_nothing_anywhere(tmp_path: Path) -> None:
    assert find(tmp_path) == []


def test_highest_version_by_number(tmp_path: Path) -> None:
    for version in ("10.0.9600.0", "10.0.22621.0", "10.0.19041.0"):
        sdk(tmp_path / "pf86/Windows Kits/10", version)
    plant(tmp_path / "pf86/Windows Kits/10/Include/wdf", "kmdf.h")
    found = find(tmp_path)
    assert [s.version for s in found] == ["10.0.22621.0", "10.0.19041.0", "10.0.9600.0"]
    assert [s.chosen for s in found] == [True, False, False]
    assert found[0].missing == ()


@pytest.mark.parametrize(
    ("key", "name"), [(ROOTS_KEY, "KitsRoot10"), (SDKS_KEY, "InstallationFolder")]
)
def test_by_registry(tmp_path: Path, key: str, name: str) -> None:
    sdk(tmp_path / "kits", "10.0.26100.0")
    (found,) = find(tmp_path, registry=MemoryRegistry({key: {name: f"{tmp_path / 'kits'}/"}}))
    assert (found.source, found.chosen) == (f"registry {key}", True)


def test_registry_comes_before_program_files(tmp_path: Path) -> None:
    sdk(tmp_path / "kits", "10.0.19041.0")
    sdk(tmp_path / "pf86/Windows Kits/10", "10.0.26100.0")
    registry = MemoryRegistry({ROOTS_KEY: {"KitsRoot10": str(tmp_path / "kits")}})
    assert [(s.version, s.chosen) for s in find(tmp_path, registry=registry)] == [
        ("10.0.19041.0", True),
        ("10.0.26100.0", False),
    ]


@pytest.mark.parametrize("value", [7, "", "Z:\\gone"])
def test_useless_registry_value(tmp_path: Path, value: str | int) -> None:
    assert find(tmp_path, registry=MemoryRegistry({ROOTS_KEY: {"KitsRoot10": value}})) == []


@pytest.mark.parametrize(
    ("without", "chosen"),
    [("stdlib.h", False), ("ucrt.lib", False), ("Windows.h", True), ("kernel32.lib", True)],
)
def test_missing_parts(tmp_path: Path, without: str, chosen: bool) -> None:
    sdk(tmp_path / "pf86/Windows Kits/10", "10.0.22621.0", without)
    (found,) = find(tmp_path)
    (missing,) = found.missing
    assert missing.endswith(f"\\{without}")
    assert "10.0.22621.0\\" in missing
    assert found.chosen is chosen


@pytest.mark.parametrize("name", ["WindowsSDKVersion", "WindowsSDKVer"])
def test_activated_prompt_comes_first(tmp_path: Path, name: str) -> None:
    root = tmp_path / "pf86/Windows Kits/10"
    sdk(root, "10.0.19041.0")
    sdk(root, "10.0.26100.0")
    found = find(tmp_path, {"WindowsSdkDir": f"{root}/", name: "10.0.19041.0\\"})
    assert [(s.version, s.source, s.chosen) for s in found] == [
        ("10.0.19041.0", "variable WindowsSdkDir", True),
        ("10.0.26100.0", "Program Files", False),
    ]


def test_prompt_that_names_a_version_not_there(tmp_path: Path) -> None:
    root = tmp_path / "pf86/Windows Kits/10"
    sdk(root, "10.0.19041.0")
    found = find(tmp_path, {"WindowsSdkDir": str(root), "WindowsSDKVersion": "10.0.1.0"})
    assert [(s.version, s.chosen) for s in found] == [("10.0.1.0", False), ("10.0.19041.0", True)]
    assert len(found[0].missing) == len(parts().sdk.every)


def test_a_file_in_place_of_the_include_folder(tmp_path: Path) -> None:
    plant(tmp_path / "pf86/Windows Kits/10", "Include")
    assert find(tmp_path) == []
