from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest
from hosts import fake_host
from pe_files import pe_file

from tritonwin.problems import explain
from tritonwin.problems.explain import explain_lines, with_dlls

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

    monkeypatch.setattr(explain, "Path", there)
    return drive


def evidence(disk: Path, log: list[str] = LOG) -> list[str]:
    """The additions to the evidence of the log, by the place and its text."""
    explained = explain_lines(log)
    assert explained.problems
    found = with_dlls(explained, fake_host(disk))
    said, more = explained.problems[0].evidence, found.problems[0].evidence
    assert more[: len(said)] == said
    return [f"{e.where}: {e.text}" for e in more[len(said) :]]


def put(disk: Path, name: str, *needs: str) -> Path:
    file = disk.joinpath(*PureWindowsPath(name).parts[1:])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pe_file(*needs))
    return file


def test_what_is_missing_below_the_file_is_evidence(disk: Path) -> None:
    file = put(disk, SHOWN, "vcruntime140_threads.dll")
    (told,) = evidence(disk)
    assert told.startswith(
        f"{file}: vcruntime140_threads.dll, which shm.dll needs, was found nowhere"
    )


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (f'"{SHOWN}"', 1),
        (f"'{SHOWN}'", 1),
        # as Python shows a text inside another one
        (f"'{SHOWN}'".replace("\\", "\\\\"), 1),
        (SHOWN, 0),  # where it ends is not known without quotes
    ],
)
def test_how_a_log_names_a_file(disk: Path, named: str, told: int) -> None:
    put(disk, SHOWN, "gone.dll")
    log = [
        f"OSError: [WinError 126] The specified module could not be found. Error loading {named}"
    ]
    assert len(evidence(disk, log)) == told


def test_a_file_that_is_no_dll_tells_nothing(disk: Path) -> None:
    put(disk, SHOWN).write_bytes(b"not even a program")
    assert evidence(disk) == []


def test_of_many_that_are_missing_three_are_named_and_none_twice(disk: Path) -> None:
    put(disk, SHOWN, "a.dll", "b.dll", "c.dll", "d.dll")
    told = evidence(disk, [*LOG, *LOG])
    assert [text.split(": ")[1].partition(",")[0] for text in told] == ["a.dll", "b.dll", "c.dll"]


def test_a_file_that_was_loaded_is_not_looked_at(disk: Path) -> None:
    """Only the line that says so speaks of a file that would not load."""
    put(disk, r"C:\other\fine.dll", "gone.dll")
    assert evidence(disk, [r'loaded "C:\other\fine.dll"', *LOG]) == []


def test_a_log_of_another_machine_gets_none(disk: Path) -> None:
    assert evidence(disk) == []
