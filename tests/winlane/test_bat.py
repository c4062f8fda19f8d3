"""`tritonwin.bat` in Wine's cmd: double-clicked and from a prompt, in folders of many shapes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults import usual
from pages import opened
from trees import tree_hash
from winlane import Lane, Machine, standins
from winlane.process import Result

FULL = pytest.mark.full
LONG = "\\".join(["long folder " + "x" * 38] * 4)
# name: the application's folder, its Python's folder and the folder of the file, both below it.
# Not here: a percent sign, since Wine's cmd expands what came out of a variable again, which
# Windows' does not (tests/unit/test_pyz.py: no `call`, which does, is given one); a semicolon in
# Python's own folder, since Wine parts the folders there in which it looks for DLLs.
SHAPES = {
    "plain": (r"C:\ComfyUI_windows_portable", "python_embeded", ""),
    "beside": (r"C:\ComfyUI_windows_portable", "python_embeded", "ComfyUI"),
    "above": (r"C:\AI & co", r"ComfyUI\python_embeded", ""),
    "inside": (r"C:\app", "python_embeded", "python_embeded"),
    "blanks": (r"C:\Program Files (x86)\Comfy UI (1)", "python_embeded", ""),
    "ampersand": (r"C:\AI & more", "python_embeded", ""),
    "bang": (r"C:\wow! such!PATH!", "python_embeded", ""),
    "caret": (r"C:\a^b ^^c", "python_embeded", "ComfyUI"),
    "equals": (r"C:\a=b,c", "python_embeded", ""),
    "semicolon": (r"C:\app", "python_embeded", "a;b"),
    "OneDrive": (
        r"C:\users\jörg\OneDrive - Müller & Söhne GmbH\Dokumente\KI, Bilder & Modelle\ComfyUI (neu)",
        "python_embeded",
        "",
    ),
    "foreign": ("C:\\Jürgen 用户 Имя", "python_embeded", ""),
    "long": (rf"C:\{LONG}", "python_embeded", ""),
    "system": (r"C:\webui", r"system\python", ""),
    "one-click": (r"C:\text gen", r"installer_files\env", ""),
    "venv": (r"C:\venvs", "venv", ""),
    "node": (r"C:\Comfy & co", "python_embeded", r"ComfyUI\custom_nodes\tritonwin"),
    "node of Desktop": (r"C:\My ComfyUI", ".venv", r"custom_nodes\tritonwin"),
    "all of it": ("C:\\a&b!d!^e (ü) =,'", "python_embeded", "ComfyUI"),
}
SOME = {"plain", "node", "all of it"}  # in every run


@pytest.fixture
def bat(pyz: Path) -> Path:
    return pyz.with_suffix(".bat")


def placed(machine: Machine, bat: Path, shape: str) -> tuple[str, str]:
    """The Python of the application and the file, both as Windows paths."""
    app, python, folder = SHAPES[shape]
    if python == "venv":
        found = machine.environment("3.12", "venv", where=app).python
    else:
        machine.place(rf"{app}\{python}", machine.environment("3.12", "bare").home)
        found = rf"{app}\{python}\python.exe"
    file = "\\".join(part for part in (app, folder, "tritonwin.bat") if part)
    machine.place(file, bat)
    return found, file


def typed(machine: Machine, line: str, **options: str) -> Result:
    return machine.start(f'cmd /d /s /c "{line}"', cwd="C:\\", timeout=120, **options)


@pytest.mark.parametrize("shape", usual(SHAPES, *SOME))
def test_it_finds_the_python_in_every_folder(machine: Machine, bat: Path, shape: str) -> None:
    machine.home("jörg")
    python, file = placed(machine, bat, shape)
    before = tree_hash(machine.drives.linux(SHAPES[shape][0]))
    shown = typed(machine, f'"{file}" doctor --json')
    assert (shown.returncode, shown.stderr) == (1, "")
    assert json.loads(shown.stdout)["target"]["executable"].lower() == python.lower()
    # as the Explorer starts it; its window closes with the page
    with machine.begin(f'cmd /c ""{file}" "', cwd="C:\\") as clicked:
        page = opened(clicked)
        assert python.lower() in page.until("", "will not work here").lower()
        page.ask("POST", "end")
        out, _ = clicked.communicate(timeout=60)
        assert (clicked.returncode, b"Press" in out) == (0, False)
    assert tree_hash(machine.drives.linux(SHAPES[shape][0])) == before


@FULL
def test_from_a_share(machine: Machine, bat: Path) -> None:
    r"""A stand-in says what it is given: Python does not start from a share under Wine.

    There a program of a share is told that it is `UNC\nas\...`, a path below the current folder.
    """
    app, place = r"C:\shared & more\Comfy UI", r"nas\my apps\Comfy UI"
    machine.place(rf"{app}\tritonwin.bat", bat)
    machine.place(rf"{app}\python_embeded\python.exe", machine.fakes.tool())
    told = machine.place(rf"C:\UNC\{place}\python_embeded\python.exe.rc", "7")
    share = machine.lane.prefix.path / "dosdevices" / "unc" / "nas"
    share.mkdir(parents=True)
    share.joinpath("my apps").symlink_to(machine.drives.linux(r"C:\shared & more"))
    try:
        for words, given in ((' explain "a & b!.log"', ' explain "a & b!.log"'), ("", " ui")):
            done = typed(machine, rf'"\\{place}\tritonwin.bat"{words}')
            assert (done.returncode, done.stderr) == (7, ""), done
            log = told.with_suffix(".log")
            python = rf'"\\{place}\python_embeded\python.exe"'
            assert log.read_text("utf-8").strip() == rf'{python} "\\{place}\tritonwin.bat"{given}'
            log.unlink()
    finally:
        shutil.rmtree(share.parent)


@FULL
def test_on_media_that_cannot_be_written(lane: Lane, machine: Machine, bat: Path) -> None:
    """It looks, keeps its own files elsewhere, and says what it cannot change."""
    machine.home("jörg")
    _, file = placed(machine, bat, "blanks")
    app = machine.drives.linux(SHAPES["blanks"][0])
    wheels = machine.place(
        r"C:\wheels", machine.drives.linux(lane.wheels("3.12", ("triton-3.8", "pip")))
    )
    standins.wheel(wheels, "3.12", "a-package", "1.0", files={"a.py": ""})
    before = tree_hash(app)
    with read_only(app):
        assert "will not work here" in typed(machine, f'"{file}" doctor').stdout
        words = r"install a-package --offline --yes --find-links C:\wheels"
        done = typed(machine, f'"{file}" {words}')
        assert (done.returncode, "cannot change" in done.stderr) == (2, True), done
        assert " undone " in typed(machine, f'"{file}" undo --list').stdout
    assert tree_hash(app) == before


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written into the folder, by root neither."""
    bound = subprocess.run(
        ["mount", "--bind", str(folder), str(folder)], capture_output=True, check=False
    )
    if bound.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_words_and_the_exit_status_are_passed_on(machine: Machine, bat: Path) -> None:
    _, file = placed(machine, bat, "plain")
    log = r"C:\logs & more\a!b^c (1) ü.log"
    machine.place(log, "ModuleNotFoundError: No module named 'triton'\n")
    for words, status, says in (
        ("--version", 0, "tritonwin 0"),
        (f'explain "{log}"', 1, "triton"),
        (f'explain "{log}x"', 2, "a!b^c (1) ü.logx"),
    ):
        done = typed(machine, f'"{file}" {words}')
        assert done.returncode == status, done
        assert says in done.stdout + done.stderr
        assert "Press" not in done.stdout


def test_of_several_pythons_one_is_asked_for(machine: Machine, bat: Path) -> None:
    first, file = placed(machine, bat, "plain")
    app = SHAPES["plain"][0]
    second = rf"{app}\system\python\python.exe"
    machine.place(rf"{app}\system\python", machine.environment("3.12", "bare").home)
    for answer, python in (("1", first), ("2", second), ("3", ""), ("", "")):
        done = typed(machine, f'"{file}" doctor --json', input=f"{answer}\r\n")
        assert first in done.stdout
        assert second in done.stdout
        if python:
            found = json.loads(done.stdout[done.stdout.index("{") :])
            assert found["target"]["executable"].lower() == python.lower()
        else:
            assert (done.returncode, "none was chosen" in done.stderr) == (2, True)


def test_without_a_python_it_says_where_it_belongs(machine: Machine, bat: Path) -> None:
    machine.place(r"C:\downloads\x\tritonwin.bat", bat)
    done = typed(machine, r'"C:\downloads\x\tritonwin.bat"')
    assert done.returncode == 2
    assert "no Python lies in or beside" in done.stderr
    assert "Press" in done.stdout


@FULL
def test_a_file_that_is_cut_off_says_so(machine: Machine, bat: Path) -> None:
    _, file = placed(machine, bat, "plain")
    machine.place(file, bat.read_bytes()[:-1000])
    done = typed(machine, f'"{file}" doctor')
    assert (done.returncode, "not whole" in done.stderr) == (2, True)
