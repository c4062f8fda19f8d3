"""The environment in which `run` starts the target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PureWindowsPath

import healthy
import pytest
from hosts import fake_host

from tritonwin.errors import UserError
from tritonwin.problems.records import Action
from tritonwin.remedies import launch
from tritonwin.remedies.launch import Settings
from tritonwin.system.files import refuse_foreign
from tritonwin.system.host import Environment, Host
from tritonwin.system.shells import ScriptError

VCVARSALL = Path(r"C:\BT\VC\Auxiliary\Build\vcvarsall.bat")


UNSET_CC = Action(name="set-variable", arguments={"variable": "CC"})
SET_JOBS = Action(name="set-variable", arguments={"variable": "MAX_JOBS", "value": "4"})
SHORT = replace(healthy.SYSTEM, long_paths=False)


def test_wrong_variables_are_left_out_and_corrected() -> None:
    # what cannot be done by variables is done by nobody here
    rename = Action(name="rename-shadow", arguments={"path": "triton.py"})
    found = launch.settings(
        healthy.HEALTHY, [healthy.problem("x", actions=(UNSET_CC, rename, SET_JOBS))]
    )
    assert (found.variables, found.vcvarsall) == ({"CC": None, "MAX_JOBS": "4"}, None)


def test_caches_are_short_where_long_paths_are_off() -> None:
    assert launch.settings(healthy.changed(system=SHORT), []).variables == {
        "TRITON_CACHE_DIR": r"C:\Users\ada\AppData\Local\tw\t",
        "TORCHINDUCTOR_CACHE_DIR": r"C:\Users\ada\AppData\Local\tw\i",
    }
    own = healthy.changed(system=SHORT, variables=(healthy.variable("TRITON_CACHE_DIR", "D:\\t"),))
    assert set(launch.settings(own, []).variables) == {"TORCHINDUCTOR_CACHE_DIR"}


GERMAN = replace(SHORT, temp="C:\\Users\\J\u00f6rg\\AppData\\Local\\Temp")


@pytest.mark.parametrize("short", [r"C:\Users\JRG~1\AppData\Local", None])
def test_what_triton_reads_from_a_variable_is_in_ascii(
    monkeypatch: pytest.MonkeyPatch, short: str | None
) -> None:
    found = short and PureWindowsPath(short)
    monkeypatch.setattr("tritonwin.system.winapi.short_path", lambda path: found)
    caches = launch.settings(healthy.changed(system=GERMAN), []).variables
    assert caches.get("TRITON_CACHE_DIR") == (rf"{short}\tw\t" if short else None)


def test_an_earlier_environment_of_visual_studio_does_not_stay() -> None:
    found = launch.settings(healthy.changed(msvc=(healthy.TOOLSET,)), [])
    assert found.vcvarsall == healthy.TOOLSET.vcvarsall
    assert {"INCLUDE", "VSCMD_ARG_TGT_ARCH", "WindowsSDKVersion"} <= set(found.variables)
    without = replace(healthy.TOOLSET, compiler=None)
    assert launch.settings(healthy.changed(msvc=(without,)), []).vcvarsall is None


def host(tmp_path: Path, **variables: str) -> Host:
    return replace(
        fake_host(tmp_path),
        env=Environment({"SystemRoot": str(tmp_path), **variables}, windows=True),
    )


def test_names_are_compared_as_windows_does(tmp_path: Path) -> None:
    chosen = Settings(variables={"CC": None, "MAX_JOBS": "4"})
    data = launch.environment(chosen, host(tmp_path, cc="x", max_jobs="64 ", KEEP="1"))
    assert {k: v for k, v in data.items() if k != "SystemRoot"} == {"KEEP": "1", "MAX_JOBS": "4"}


def test_the_batch_file_says_the_same() -> None:
    variables = {"CC": None, "TRITON_CACHE_DIR": r"C:\50%\t", "INCLUDE": None}
    chosen = Settings(variables=variables, vcvarsall=str(VCVARSALL))
    text = launch.batch_file(chosen, r"C:\py\python.exe", ["my app.py", "--listen"])
    assert text.split("\r\n") == [
        "@echo off",
        f"rem {launch.MARK}: starts Python in the environment that Triton needs.",
        "setlocal DisableDelayedExpansion",
        r'pushd "%SystemRoot%\System32"',
        "chcp 65001 >nul",
        'set "CC="',
        'set "INCLUDE="',
        f'call "{VCVARSALL}" x64 >nul',
        "popd",
        r'set "TRITON_CACHE_DIR=C:\50%%\t"',
        r'"C:\py\python.exe" "my app.py" "--listen" %*',
        "",
    ]


def test_what_cmd_would_not_read_is_refused() -> None:
    with pytest.raises(ScriptError, match="cannot be written"):
        launch.batch_file(Settings(variables={}), "python.exe", ['a" & del b'])
    for chosen, args in (
        (Settings(variables={"A": "b" * 8200}), []),
        (Settings(variables={}), ["a"] * 3000),
    ):
        with pytest.raises(ScriptError, match="8,191"):
            launch.batch_file(chosen, "python.exe", args)


def test_only_our_own_batch_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "start.bat"
    refuse_foreign(file, launch.MARK)
    file.write_text(launch.batch_file(Settings(variables={}), "python.exe", []))
    refuse_foreign(file, launch.MARK)
    file.write_text("@echo mine")
    huge = tmp_path / "huge.bat"  # as an endless device, not to be read whole
    huge.write_text(launch.batch_file(Settings(variables={}), "python.exe", []) + " " * 2**23)
    for foreign in (file, tmp_path, huge):
        with pytest.raises(UserError, match=r"not written by this command|is one itself"):
            refuse_foreign(foreign, launch.MARK)
