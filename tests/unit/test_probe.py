from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from environments import VirtualEnvironment, make_venv

PROBE = files("tritonwin.facts").joinpath("probe.py").read_bytes()
COOKIE = "0123456789abcdef"
MINORS = range(8, 15)


def pythons() -> dict[int, Path]:
    """The Pythons of this machine by minor version: pyenv's, uv's, and those on PATH."""
    home = Path.home()
    found: dict[int, Path] = {sys.version_info[1]: Path(sys.executable)}
    for minor in MINORS:
        places = [
            *home.glob(f".pyenv/versions/3.{minor}.*/bin/python"),
            *home.glob(f".local/share/uv/python/cpython-3.{minor}.*/bin/python3"),
            Path(f"/usr/bin/python3.{minor}"),
            Path(f"/usr/local/bin/python3.{minor}"),
        ]
        for place in places:
            if place.is_file():
                found.setdefault(minor, place)
    return found


def ask(
    python: Path | str,
    *args: str,
    flags: tuple[str, ...] = ("-I", "-B", "-X", "utf8"),
    env: dict[str, str] | None = None,
) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), *flags, "-", COOKIE, *args],
        input=PROBE,
        capture_output=True,
        timeout=60,
        env={**os.environ, **(env or {})},
    )
    _, _, rest = done.stdout.decode().partition(COOKIE)
    body, end, _ = rest.partition(COOKIE[::-1])
    assert end, done.stderr.decode()
    answer = json.loads(body)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("minor", MINORS)
def test_every_python_answers(minor: int) -> None:
    python = pythons().get(minor)
    if python is None:
        pytest.skip(f"no Python 3.{minor} on this machine")
    answer = ask(python)
    assert answer["version"].startswith(f"3.{minor}.")
    assert answer["implementation"] == "cpython"
    assert answer["bits"] == 64
    assert Path(answer["executable"]).samefile(python)
    assert answer["site_loaded"] is True
    assert answer["notes"] == []
    assert f"3{minor}" in answer["ext_suffix"]
    assert {"include", "purelib", "platlib", "platform"} <= set(answer["paths"])
    said = subprocess.run(
        [str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        timeout=60,
        text=True,
    )
    assert answer["paths"]["purelib"] == said.stdout.strip()


@pytest.mark.parametrize("name", ["probe.py", "gpu_script.py"])
def test_a_script_for_targets_suits_old_pythons_and_stands_alone(name: str) -> None:
    text = files("tritonwin.facts").joinpath(name).read_bytes()
    assert text.isascii()
    nodes = list(ast.walk(ast.parse(text, feature_version=(3, 8))))
    modules = {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
    modules |= {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    imported = {module.split(".")[0] for module in modules}
    assert imported <= sys.stdlib_module_names
    # each costs a start of the probe some time
    assert name != "probe.py" or not imported & {"platform", "subprocess", "typing", "re"}


def test_pythonpath_and_sitecustomize_do_not_reach_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('must not run')")
    (tmp_path / "json.py").write_text("raise SystemExit('must not run')")
    answer = ask(sys.executable, env={"PYTHONPATH": str(tmp_path)})
    assert str(tmp_path) not in answer["sys_path"]


@pytest.fixture
def venv(tmp_path: Path) -> VirtualEnvironment:
    return make_venv(tmp_path / "venv")


def test_noise_of_the_site_packages(venv: VirtualEnvironment) -> None:
    (venv.site_packages / "sitecustomize.py").write_text(
        f"import sys\nprint('hello', {{'version': '0'}}, {COOKIE[::-1]!r})\n"
        "sys.stdout = sys.stderr\n"
    )
    answer = ask(venv.python)
    assert Path(answer["prefix"]).samefile(venv.folder)
    assert answer["prefix"] != answer["base_prefix"]
    assert str(venv.site_packages) in answer["sys_path"]


@pytest.mark.parametrize("shared", [True, False])
def test_user_site(venv: VirtualEnvironment, tmp_path: Path, shared: bool) -> None:
    settings = venv.folder / "pyvenv.cfg"
    line = "include-system-site-packages = "
    settings.write_text(settings.read_text().replace(f"{line}false", line + str(shared).lower()))
    where = "import site; print(site.getusersitepackages())"
    env = {"PYTHONUSERBASE": str(tmp_path / "user")}
    said = subprocess.run(
        [str(venv.python), "-c", where],
        capture_output=True,
        timeout=60,
        text=True,
        env={**os.environ, **env},
    )
    folder = Path(said.stdout.strip())
    folder.mkdir(parents=True)
    answer = ask(venv.python, flags=("-B", "-s"), env=env)
    assert answer["user_site"] == (str(folder) if shared else None)
    shut_out = ask(venv.python, flags=("-B",), env={**env, "PYTHONNOUSERSITE": "1"})
    assert shut_out["user_site"] is None
