"""The single file: the same bytes for the same sources, and what starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import build_pyz
import pytest

import tritonwin

CONTENTS = {
    "tritonwin/__init__.py": b"__version__ = '1'\n",
    "tritonwin/__main__.py": b"import sys\n\ndef main():\n    print(sys.path[0])\n    return 7\n",
}


def start(file: Path, home: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "TRITONWIN_HOME": str(home)},
    )


def test_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("a.pyz", "b.pyz", "c.pyz"))
    build_pyz.write(CONTENTS, first)
    build_pyz.write(dict(reversed(CONTENTS.items())), second)
    build_pyz.write({**CONTENTS, "tritonwin/x.py": b""}, other)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != other.read_bytes()
    builds = {zipfile.ZipFile(file).read("BUILD") for file in (first, second, other)}
    assert len(builds) == 2


def test_it_is_laid_out_once_and_the_status_passes(tmp_path: Path) -> None:
    file, home = tmp_path / "ö b.pyz", tmp_path / "home of mine"
    build_pyz.write(CONTENTS, file)
    done = start(file, home)
    assert done.returncode == 7, done.stderr
    assert Path(done.stdout.strip()).parent == home / "app"
    assert [p.name.startswith(".new") for p in (home / "app").iterdir()] == [False]
    inside = home / "app" / build_pyz.identity(CONTENTS) / "tritonwin/__main__.py"
    inside.write_text("def main():\n    return 3\n")
    assert start(file, home).returncode == 3  # what is there is used


def test_where_nothing_can_be_written_it_runs_from_the_zip(tmp_path: Path) -> None:
    file = tmp_path / "t.pyz"
    build_pyz.write(CONTENTS, file)
    done = start(file, file)  # a file in the place of the folder
    assert done.returncode == 7, done.stderr
    assert done.stdout.strip() == str(file / "app")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize("where", ["", "app", "app/BUILD"])
def test_code_that_others_could_have_put_there_is_not_run(tmp_path: Path, where: str) -> None:
    file, home = tmp_path / "t.pyz", tmp_path / "home"
    build_pyz.write(CONTENTS, file)
    build = build_pyz.identity(CONTENTS)
    inside = home / "app" / build / "tritonwin/__main__.py"
    inside.parent.mkdir(parents=True)
    inside.write_text("def main():\n    return 3\n")
    (inside.parent / "__init__.py").touch()
    assert start(file, home).returncode == 3
    (home / where.replace("BUILD", build)).chmod(0o777)
    done = start(file, home)
    assert (done.returncode, done.stdout.strip()) == (7, str(file / "app"))


def test_an_old_python_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (build_pyz.PYZ / "__main__.py").read_text("utf-8")
    names: dict[str, object] = {"__name__": "pyz", "__file__": str(tmp_path / "t/__main__.py")}
    exec(compile(source.replace("(3, 10)", "(9, 9)"), "main", "exec"), names)
    main = names["main"]
    assert callable(main)
    assert main() == 2
    assert "needs Python 3.10 or later" in capsys.readouterr().err


def test_everything_of_the_package_is_in_it() -> None:
    packed = dict(build_pyz.of_tritonwin())
    package = Path(tritonwin.__file__).parent
    assert any(
        name.startswith("tritonwin/problems/catalogue/") and name.endswith(".toml")
        for name in packed
    )
    assert {n for n in packed if n.endswith(".py")} == {
        p.relative_to(package.parent).as_posix() for p in package.rglob("*.py")
    }
