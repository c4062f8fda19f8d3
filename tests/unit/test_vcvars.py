"""The output of vcvarsall.bat; tests/winlane runs the real cmd.exe."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hosts import fake_host

from tritonwin.facts.toolchain import msvc
from tritonwin.facts.toolchain.msvc import VcvarsError
from tritonwin.system.host import Environment, Host
from tritonwin.system.process import Completed

VCVARSALL = Path("C:\\BT\\VC\\Auxiliary\\Build\\vcvarsall.bat")


def host(tmp_path: Path) -> Host:
    env = Environment({"SystemRoot": str(tmp_path)}, windows=True)
    return replace(fake_host(tmp_path), env=env)


def answering(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], noise: str = ""
) -> list[tuple[object, ...]]:
    """cmd.exe in whose place a function answers."""
    calls: list[tuple[object, ...]] = []

    def run(program: Path, args: tuple[str, ...], **options: object) -> Completed:
        calls.append((program, args, options["env"], Path(args[2]).read_bytes()))
        cookie = args[-1]
        out = noise + cookie + json.dumps(variables) + cookie[::-1]
        return Completed(0, out.encode(), b"not found")

    monkeypatch.setattr(msvc, "run", run)
    return calls


@pytest.mark.parametrize(
    ("toolset", "arguments"), [(None, "x64"), ("14.44", "x64 -vcvars_ver=14.44")]
)
def test_the_environment_is_captured_from_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toolset: str | None, arguments: str
) -> None:
    short = ";".join(
        str(tmp_path / "System32" / end) for end in ("", "Wbem", "WindowsPowerShell/v1.0")
    )
    seen = {"INCLUDE": "C:\\ü\\include", "TRITONWIN_PYTHON": "x", "Path": f"C:\\BT;{short}"}
    calls = answering(monkeypatch, seen, noise="** Visual Studio **\r\n")
    before = {"A": "1", "Include": "of an earlier prompt", "PATH": "C:\\long"}
    found = msvc.capture(VCVARSALL, before, host(tmp_path), toolset=toolset)
    assert found == {"INCLUDE": "C:\\ü\\include", "PATH": "C:\\BT;C:\\long"}
    program, args, env, batch = calls[0]
    assert program == tmp_path / "System32" / "cmd.exe"
    assert args[:2] == ("/d", "/c")  # type: ignore[index]
    # the path goes through a variable: a batch file has no way to write every name
    assert b"BT" not in batch  # type: ignore[operator]
    assert env == {
        "A": "1",
        "PATH": short,
        "TRITONWIN_VCVARSALL": str(VCVARSALL),
        "TRITONWIN_VCVARS_ARGUMENTS": arguments,
        "TRITONWIN_PYTHON": sys.executable,
        "VSCMD_SKIP_SENDTELEMETRY": "1",
    }


def test_a_capture_without_headers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, {"Path": "C:\\"})
    with pytest.raises(VcvarsError, match="gave no environment"):
        msvc.capture(VCVARSALL, {}, host(tmp_path))
    with pytest.raises(VcvarsError, match="SystemRoot"):
        msvc.capture(VCVARSALL, {}, fake_host(tmp_path))
