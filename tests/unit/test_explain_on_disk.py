from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest
from pe_files import pe_file

from tritonwin.facts.host import fake_host
from tritonwin.problems.explain import explain_lines, on_disk

SHOWN = r"C:\py\Lib\site-packages\torch\lib\shm.dll"
LOG = [
    "Traceback (most recent call last):",
    f'OSError: [WinError 126] The specified module could not be found. Error loading "{SHOWN}" or.',
]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for drive C:, which only Windows has."""
    drive = tmp_path / "c"

    def there(name: str) -> Path:
        path = PureWindowsPath(name)
        return drive.joinpath(*path.parts[1:]) if path.drive else Path(name)

    monkeypatch.setattr(on_disk, "Path", there)
    return drive


def evidence(disk: Path) -> list[str]:
    explained = explain_lines(LOG)
    assert explained.problems
    found = on_disk.with_dlls(explained, fake_host(disk))
    return [e.text for e in found.problems[0].evidence if e not in explained.problems[0].evidence]


def test_what_is_missing_below_the_file_is_evidence(disk: Path) -> None:
    file = disk / "py" / "Lib" / "site-packages" / "torch" / "lib" / "shm.dll"
    file.parent.mkdir(parents=True)
    file.write_bytes(pe_file("vcruntime140_threads.dll"))
    (text,) = evidence(disk)
    assert text.startswith("vcruntime140_threads.dll, which shm.dll needs, was found nowhere")


def test_a_log_of_another_machine_gets_none(disk: Path) -> None:
    assert evidence(disk) == []
