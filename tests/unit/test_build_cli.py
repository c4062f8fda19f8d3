"""`tritonwin build` as it is called: what it prints and what it exits with."""

from __future__ import annotations

from pathlib import Path

import machines
import pytest
from commands import Call

from tritonwin.build import command
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.planner import plan
from tritonwin.cli import app
from tritonwin.errors import UserError
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.snapshot import write as write_snapshot
from tritonwin.system.host import Host


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildMachine:
    """The machine of every command: a Linux with a torch, and no package index to ask."""
    made = machines.linux(tmp_path)
    monkeypatch.setattr("tritonwin.facts.collect.collect", lambda **_: made.facts)
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: made)
    return made


on_linux = pytest.mark.usefixtures("machine")


@on_linux
@pytest.mark.parametrize(
    ("ref", "good"),
    [("v2.8.3", True), ("refs/pull/7/head", True), ("8e43f1f", True), ("-x", False),
     ("+main", False), ("a:b", False), ("a b", False), ("a\nb", False), ("*", False)],
)  # fmt: skip
def test_what_is_no_ref_is_refused(call: Call, ref: str, good: bool) -> None:
    done = call("build", "flash-attn", "--plan", f"--ref={ref}")
    assert (done.status == 2) is not good
    assert (f"{ref!r} is not a tag, branch or commit" in done.err) is not good
    assert (f" {ref}\n" in done.out) is good


@on_linux
def test_a_plan_is_shown_with_its_reasons(call: Call) -> None:
    done = call("build", "flash-attn", "--plan", "--all")
    assert (done.status, done.out.isascii()) == (0, True)
    for text in ("2.8.3.post2", "8.0", "--jobs", "never above", "about"):
        assert text in done.out
    words = ("--plan", "--json", "--arch", "sm_90", "--jobs", "2")
    document = call("build", "flash-attn", *words).document
    assert (document["schema"], document["status"]) == ("tritonwin.build/3", "planned")
    assert (document["plan"]["archs"], document["plan"]["jobs"]) == (["9.0"], 2)


def test_a_plan_for_the_machine_of_a_snapshot(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    write_snapshot(machines.windows(tmp_path).facts, file, Identity())
    done = call("build", "flash-attn", "--plan", "--anyway", "--offline", "--snapshot", file)
    assert done.status == 0
    assert "planned from a snapshot" in done.out
    assert "machine in question" in done.words
    assert "MSVC 14.44.35207" in done.out


@on_linux
def test_a_refused_plan(call: Call) -> None:
    done = call("build", "flash-attn", "--plan", "--arch", "7.5")
    assert done.status == 1
    assert "refused: flash-attn 2.8.3.post2 with CUDA 12.8 does not compile for 7.5" in done.out
    assert "help:" in done.out
    done = call("build", "flash-attn", "--yes", "--json", "--arch", "7.5")
    assert (done.status, done.document["status"]) == (1, "refused")


@on_linux
@pytest.mark.parametrize(
    "words",
    [
        ("flash-attn", "--version", "1", "--plan"),
        ("flash-attn", "--version", "../..", "--plan"),
        ("flash-attn", "--version", "1;2", "--plan", "--json"),
        ("flash-attn", "--version", "", "--plan"),
        ("flash-attn", "--snapshot", "report.json"),
        ("flash-attn", "--snapshot", "report.json", "--plan", "--script"),
        ("flash-attn", "--script"),
        ("flash-attn", "--plan", "--find-links", "nowhere"),
        ("cuda-extension", "--plan"),
        ("flash-attn", "--resume", "--yes"),
    ],
)
def test_wrong_use_is_the_users_to_solve(call: Call, words: tuple[str, ...]) -> None:
    done = call("build", *words)
    assert done.status == 2, done
    assert "help" in done.words or "Try" in done.words
    assert "Traceback" not in done.words


def test_a_script_is_printed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    made = machines.windows(tmp_path)
    monkeypatch.setattr("tritonwin.facts.collect.collect", lambda **_: made.facts)
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: made)
    assert app.run(["build", "flash-attn", "--script"]) == 0
    out, _ = capfdbinary.readouterr()
    assert out.startswith(b"@echo off\r\n")
    assert b'set "MAX_JOBS=8"\r\n' in out


# --- what vcvarsall must have set


def captured(tmp_path: Path) -> dict[str, str]:
    cl = tmp_path / "HostX64" / "x64" / "cl.exe"
    cl.parent.mkdir(parents=True)
    cl.touch()
    return {
        "Path": f"C:\\x;{cl.parent}",
        "INCLUDE": "C:\\Kits\\ucrt",
        "VSCMD_ARG_TGT_ARCH": "x64",
        "VSCMD_ARG_HOST_ARCH": "x64",
        "VCToolsVersion": "14.44.35207",
    }


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"VSCMD_ARG_TGT_ARCH": "x86"}, "sets VSCMD_ARG_TGT_ARCH to 'x86', not x64"),
        ({"VSCMD_ARG_HOST_ARCH": "x86"}, "sets VSCMD_ARG_HOST_ARCH"),
        ({"VCToolsVersion": "14.51.36014"}, "not 14.44.35207"),
        ({"Path": "C:\\x"}, "the 64-bit cl.exe is not the first on PATH"),
        ({"INCLUDE": "C:\\MSVC\\include"}, "no Universal C Runtime"),
    ],
)
def test_half_a_capture_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], why: str
) -> None:
    """The environment of vcvarsall.bat is the build's own, without blanks, if it is the plan's."""
    machine = machines.having(machines.windows(tmp_path), CL="/DX", KEPT=" 1 ")
    made = plan(Order(recipe="flash-attn"), machine)
    told = captured(tmp_path)

    def capture(file: Path, data: dict[str, str], host: Host, *, toolset: str) -> dict[str, str]:
        assert (str(file), toolset) == (made.toolset.vcvarsall, "14.44.35207")
        return {**data, **told}

    monkeypatch.setattr(command, "capture", capture)
    found = command.inherited(made, machine.host)
    assert found == {**found, **told, "KEPT": "1"}
    assert "CL" not in found
    told |= changes
    with pytest.raises(UserError, match=why) as caught:
        command.inherited(made, machine.host)
    assert caught.value.help.startswith("Repair Visual Studio")
