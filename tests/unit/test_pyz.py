"""The single file: the same bytes for the same sources, and what starts it."""

from __future__ import annotations

import os
import py_compile
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path

import build_pyz
import pytest
from wheel_files import sha256

import tritonwin
from tritonwin.facts.interpreters import EMBEDDED_FOLDERS, ENVIRONMENT_FOLDERS

MAIN = b"""
import pkgutil
from importlib.resources import files

def main():
    print(__file__)
    print(files("tritonwin").joinpath("data", "a.txt").read_text("utf-8"))
    print(pkgutil.get_data("tritonwin.data", "a.txt").decode("utf-8"))
    return 7
"""
CONTENTS = {
    "tritonwin/__init__.py": b"__version__ = '1'\n",
    "tritonwin/__main__.py": MAIN,
    "tritonwin/data/__init__.py": b"",
    "tritonwin/data/a.txt": "für alle".encode(),
}
OTHER = b"def main():\n    return 3\n"


def python(
    *words: str, home: Path | str, before: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """A run of Python; `before` are the words of a program that starts it."""
    told = {"TRITONWIN_HOME": str(home), "PYTHONUTF8": "1", **variables}
    return subprocess.run(
        [*before, sys.executable, *words],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
        env={**os.environ, **told},
    )


def start(file: Path, home: Path | str) -> subprocess.CompletedProcess[str]:
    return python(str(file), home=home, USERPROFILE=str(file.parent))


def ran_from(done: subprocess.CompletedProcess[str]) -> Path:
    assert done.returncode == 7, done.stderr
    place, *texts = done.stdout.splitlines()
    assert texts == ["für alle"] * 2
    return Path(place).parent.parent


@pytest.fixture(params=["pyz", "bat"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / f"ö b.{request.param}"
    build_pyz.write(CONTENTS, file)
    return file


def folder(home: Path) -> Path:
    return home / "app" / build_pyz.identity(CONTENTS)


@pytest.mark.parametrize("kind", ["pyz", "bat"])
def test_the_same_contents_give_the_same_bytes(tmp_path: Path, kind: str) -> None:
    first, second, other = (tmp_path / f"{name}.{kind}" for name in "abc")
    build_pyz.write(CONTENTS, first)
    build_pyz.write(dict(reversed(CONTENTS.items())), second)
    build_pyz.write({**CONTENTS, "tritonwin/x.py": b""}, other)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != other.read_bytes()
    builds = {zipfile.ZipFile(file).read("BUILD") for file in (first, second, other)}
    assert len(builds) == 2


def test_the_batch_file_ends_before_the_zip_begins(tmp_path: Path) -> None:
    """cmd reads line by line, needs CRLF and no mark of UTF-8, and searches labels forwards."""
    file = tmp_path / "t.bat"
    build_pyz.write(CONTENTS, file)
    head, _, _ = file.read_bytes().partition(b"PK\x03\x04")
    assert head.startswith(b"@echo off\r\n")
    assert head.isascii()
    lines = head.decode("ascii").split("\r\n")
    assert "\n" not in "".join(lines)
    assert max(map(len, lines)) < 200
    assert lines[-2:] == ["exit /b", ""]
    assert f'if not "%~z0"=="{file.stat().st_size}" goto damaged' in lines
    labels = {text[1:]: number for number, text in enumerate(lines) if text.startswith(":")}
    for number, text in enumerate(lines):
        for label in re.findall(r"(?:goto |call :)(\w+)", text):
            assert labels[label] > number
        # `call` expands what it is given twice: a percent sign of a folder would be lost
        assert all("%" not in given.replace("%%P", "") for given in re.findall(r"call (.*)", text))
    told = {re.sub(r"\\python\.exe$", "", word) for word in " ".join(lines).split()}
    places = {name.replace("/", "\\") for name in EMBEDDED_FOLDERS}
    assert places | {rf"{name}\Scripts" for name in ENVIRONMENT_FOLDERS} <= told


def test_it_is_laid_out_once(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home of mine"
    assert ran_from(start(file, home)) == folder(home)
    assert names(home / "app") == {folder(home).name}
    (folder(home) / "tritonwin/__main__.py").write_bytes(MAIN + b"main = lambda: 8\n")
    assert start(file, home).returncode == 8  # what is there is used


def test_many_at_once_lay_it_out_once(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: start(file, home), range(4)))
    assert {ran_from(each) for each in done} == {folder(home)}
    assert len(list((home / "app").iterdir())) == 1


def test_what_a_killed_start_or_deletion_left_is_deleted_later(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    app = an_older(file, home, days=40).parent
    (folder(home).parent / ".new-now").mkdir()
    for copy in names(app) - {".new-now"}:
        (app / copy).rename(app / f".old-{copy}")
    (app / ".new-old" / "app").mkdir(parents=True)
    for name in names(app) - {".new-now"}:
        os.utime(app / name, (time.time() - 7200,) * 2)
    ran_from(start(file, home))
    assert names(app) == {".new-now", folder(home).name}


def test_where_nothing_can_be_written_it_runs_from_memory(file: Path) -> None:
    # a file in the place of the folder
    assert ran_from(start(file, file)) == file / "app"


def an_older(file: Path, home: Path, *, days: float) -> Path:
    """A copy of another build, last used so long ago, as its own start made it."""
    older = file.with_name("older.pyz")
    build_pyz.write({**CONTENTS, "tritonwin/older.py": b""}, older)
    copy = ran_from(start(older, home))
    used(copy, days)
    return copy


def used(copy: Path, days: float) -> None:
    os.utime(copy / "USED", (time.time() - days * 86400,) * 2)


def names(copies: Path) -> set[str]:
    return {p.name for p in copies.iterdir()}


@pytest.mark.parametrize(("days", "kept"), [(29, True), (31, False)])
def test_what_was_not_used_for_a_month_is_deleted(
    tmp_path: Path, file: Path, days: float, kept: bool
) -> None:
    home = tmp_path / "home"
    older = an_older(file, home, days=days)
    (older.parent / "of the user").mkdir()
    done = start(file, home)
    assert ran_from(done) == folder(home)
    assert done.stderr == ""
    others = {"of the user", *([older.name] if kept else [])}
    assert names(older.parent) == {folder(home).name, *others}


def test_a_start_a_day_is_noted(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    for days, noted in ((0.9, False), (2, True)):
        ran_from(start(file, home))
        used(folder(home), days)
        ran_from(start(file, home))
        assert ((folder(home) / "USED").stat().st_mtime > time.time() - 60) == noted


@pytest.mark.skipif(os.name == "nt", reason="a limit of POSIX stands in for the full disk")
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    big, home = tmp_path / "big.pyz", tmp_path / "home"
    build_pyz.write({**CONTENTS, "tritonwin/big.bin": bytes(2_000_000)}, big)
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (10**6,) * 2); import runpy; \
runpy.run_path({str(big)!r}, run_name='__main__')"
    done = python("-c", limited, home=home)
    assert ran_from(done) == big / "app"
    assert list((home / "app").iterdir()) == []


@pytest.mark.parametrize("damage", ["changed", "cut", "gone", "bytecode"])
def test_a_damaged_copy_is_renewed(tmp_path: Path, file: Path, damage: str) -> None:
    home = tmp_path / "home"
    ran_from(start(file, home))
    module = folder(home) / "tritonwin/__main__.py"
    if damage == "gone":
        module.unlink()
    elif damage == "bytecode":
        package = folder(home) / "tritonwin/__init__.py"
        compiled = Path(cache_from_source(str(package)))
        compiled.parent.mkdir(exist_ok=True)
        py_compile.compile(str(package), str(compiled), doraise=True)
        compiled.write_bytes(compiled.read_bytes()[:20])
    else:
        module.write_bytes(OTHER if damage == "changed" else MAIN[:40])
    done = start(file, home)
    assert done.returncode == 3
    assert f"Its copy in {folder(home)} has been renewed; start it again." in done.stderr
    assert "Traceback" not in done.stderr
    assert ran_from(start(file, home)) == folder(home)


def test_a_copy_that_cannot_be_renewed_is_to_be_deleted(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    ran_from(start(file, home))
    module = folder(home) / "tritonwin/__main__.py"
    module.unlink()
    module.mkdir()
    for _ in range(2):
        done = start(file, home)
        assert done.returncode == 3
        assert f"{folder(home)} cannot be renewed: delete that folder" in done.stderr
        assert "has been renewed" not in done.stderr


@pytest.mark.parametrize("copied", [False, True], ids=["first start", "damaged copy"])
@pytest.mark.parametrize("where", [0.2, 0.5, 0.8])
def test_a_damaged_file_says_so(tmp_path: Path, file: Path, where: float, copied: bool) -> None:
    home = tmp_path / "home"
    if copied:
        ran_from(start(file, home))
        (folder(home) / "tritonwin/__main__.py").write_bytes(OTHER)
    content = bytearray(file.read_bytes())
    packed = zipfile.ZipFile(file).getinfo("app.zip")
    content[packed.header_offset + 40 + int(packed.file_size * where)] ^= 0xFF
    file.write_bytes(content)
    done = start(file, home)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {file} is damaged\nhelp:  Copy or fetch it again.\n"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off_says_so(file: Path, part: float) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * part)])
    done = start(file, file.parent / "home")
    assert (done.returncode, done.stdout) == (1, "")
    # a batch file compares its size itself, before it starts Python
    says = "fetch_it_again" if file.suffix == ".pyz" else "SyntaxError"
    assert says in done.stderr.splitlines()[-1]


def test_the_hash_beside_the_file_is_that_of_the_file(tmp_path: Path, file: Path) -> None:
    beside = build_pyz.write_hash(file)
    assert beside == tmp_path / f"{file.name}.sha256"
    assert beside.read_bytes().decode() == f"{sha256(file)}  {file.name}\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no current folder")
def test_a_current_folder_that_is_gone(tmp_path: Path, file: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leave = ["/bin/sh", "-c", f'cd "{gone}" && rmdir "$PWD" && exec "$@"', "sh"]
    done = python(str(file), home="here", before=leave)
    assert ran_from(done) == file / "app"


def test_a_failure_of_its_own_renews_nothing(tmp_path: Path) -> None:
    file, home = tmp_path / "t.pyz", tmp_path / "home"
    build_pyz.write({**CONTENTS, "tritonwin/__main__.py": OTHER}, file)
    for _ in range(2):
        done = start(file, home)
        assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("where", "mode"),
    [("", 0o757), ("app", 0o757), ("app", 0o770), ("copy", 0o757), ("copy", 0o770)],
)
def test_code_that_others_could_have_put_there_is_not_run(
    tmp_path: Path, file: Path, where: str, mode: int
) -> None:
    home = tmp_path / "home"
    ran_from(start(file, home))
    inside = folder(home)
    assert not any(p.stat().st_mode & 0o077 for p in (home, inside.parent, inside))
    (inside / "tritonwin/__main__.py").write_bytes(OTHER)
    assert start(file, home).returncode == 3
    (inside / "tritonwin/__main__.py").write_bytes(OTHER)
    {"": home, "app": inside.parent, "copy": inside}[where].chmod(mode)
    assert ran_from(start(file, home)) == file / "app"


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_nothing_is_laid_out_where_others_can_write(tmp_path: Path, file: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    assert ran_from(start(file, home)) == file / "app"
    assert list(home.iterdir()) == []


def test_the_archive_in_memory_says_what_it_lacks(file: Path) -> None:
    lacks = """
import importlib.util, tritonwin

def main():
    names = "tritonwin.none", "tritonwin.data.a"
    assert not any(importlib.util.find_spec(name) for name in names)
    for path in (tritonwin.__file__ + "x", "x"):
        try:
            tritonwin.__loader__.get_data(path)
            return 1
        except OSError:
            pass
    return 7
"""
    build_pyz.write({**CONTENTS, "tritonwin/__main__.py": lacks.encode()}, file)
    done = start(file, file)
    assert done.returncode == 7, done.stderr


def test_an_old_python_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (build_pyz.PYZ / "__main__.py").read_text("utf-8")
    names: dict[str, object] = {"__name__": "pyz", "__file__": str(tmp_path / "t/__main__.py")}
    exec(compile(source.replace("(3, 10)", "(9, 9)"), "main", "exec"), names)
    main = names["main"]
    assert callable(main)
    assert main() == 2
    assert "needs Python 3.10 or later" in capsys.readouterr().err


def test_everything_of_the_package_is_in_it() -> None:
    packed = dict(build_pyz.of_folder(build_pyz.PACKAGE))
    package = Path(tritonwin.__file__).parent
    assert any(
        name.startswith("tritonwin/problems/catalogue/") and name.endswith(".toml")
        for name in packed
    )
    assert {n for n in packed if n.endswith(".py")} == {
        p.relative_to(package.parent).as_posix() for p in package.rglob("*.py")
    }


def test_nothing_asks_for_what_is_left_out(tmp_path: Path) -> None:
    """Of what rich depends on, the file holds nothing: see tools/pyz/requirements.txt."""
    program = """
import importlib, pkgutil, sys
for name in ("pygments", "markdown_it", "mdurl"):
    sys.modules[name] = None
import rich.console, rich.progress, rich.table, rich.text, rich.tree
import tritonwin.cli, tritonwin.output
for package in (tritonwin.cli, tritonwin.output):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from tritonwin.cli.app import run
sys.exit(max(run(["matrix"]), run(["demo"])))
"""
    done = python("-c", program, home=tmp_path, FORCE_COLOR="1")
    assert done.returncode in {0, 1}, done.stderr
    assert "\x1b[" in done.stdout


def test_the_package_finds_its_own_modules_in_memory(tmp_path: Path) -> None:
    """In an archive in memory no folder can be listed."""
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for name, content in build_pyz.of_folder(build_pyz.PACKAGE):
            made.writestr(name, content)
    code = (
        "import pathlib, sys, tritonwin_in_memory as memory;"
        f"memory.install(pathlib.Path({str(archive)!r}).read_bytes(), pathlib.Path('none.pyz'));"
        "from tritonwin.patch.rules import RULES;"
        "from tritonwin.problems.checks import CHECKS;"
        "sys.exit(not (RULES and CHECKS))"
    )
    done = python("-c", code, home=tmp_path, PYTHONPATH=str(build_pyz.PYZ))
    assert done.returncode == 0, done.stderr
