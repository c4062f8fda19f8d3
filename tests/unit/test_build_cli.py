"""`tritonwin build` as it is called: what it prints and what it exits with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import machines
import pytest
from commands import Call

from tritonwin.build.command import UnfitEnvironmentError, verify_capture
from tritonwin.build.order import BuildMachine, Order, read_checkout
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load
from tritonwin.cli import app
from tritonwin.errors import UserError
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.snapshot import write as write_snapshot


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


# --- sources


@pytest.mark.parametrize(
    ("named", "kind"),
    [("https://github.com/x/y", "git"), ("git@github.com:x/y.git", "git"), ("p", "folder"),
     ("flash_attn-2.8.3.tar.gz", "sdist")],
)  # fmt: skip
def test_a_source_of_ones_own(tmp_path: Path, named: str, kind: str) -> None:
    (tmp_path / "p" / "csrc" / "cutlass" / "include").mkdir(parents=True)
    (tmp_path / "p" / "setup.py").touch()
    (tmp_path / "flash_attn-2.8.3.tar.gz").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").touch()
    local = tmp_path / named
    order = Order(
        recipe="flash-attn", source=str(local) if local.exists() else named, version="2.8.3"
    )
    checkout = read_checkout(local, load("flash-attn"), windows=False) if kind == "folder" else None
    made = plan(order, replace(machines.linux(tmp_path), checkout=checkout))
    assert made.source.kind == kind
    git = next(decision for decision in made.decisions if decision.name == "git")
    assert git.value == ("needed" if kind == "git" else "not needed")
    assert made.possible, made.refusals
    if kind == "folder":
        # what earlier builds left, and what only git needs, stays behind
        assert {".git", "build", "csrc/composable_kernel"} <= set(made.source.skip)
        assert all(not edit.required for edit in made.edits)


@pytest.mark.parametrize(
    "named",
    ["ext::sh -c touch% x", "fd::17", "file::x", "git@host::x", "git+https://bob:pa55w0rd@h/x",
     "ht:////me:pa55w0rd@h.org/x"],
)  # fmt: skip
def test_what_git_would_take_for_more_than_an_address(tmp_path: Path, named: str) -> None:
    """`ext::` runs a command, `fd::` waits for ever."""
    with pytest.raises(UserError, match="neither a folder") as refused:
        plan(Order(recipe="flash-attn", source=named), machines.linux(tmp_path))
    assert "pa55w0rd" not in str(refused.value)


def test_a_checkout_without_its_submodule(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "setup.py").touch()
    checkout = read_checkout(folder, load("flash-attn"), windows=False)
    order = Order(recipe="flash-attn", source=str(folder), version="2.8.3")
    made = plan(order, replace(machines.linux(tmp_path), checkout=checkout))
    assert "submodule update --init csrc/cutlass" in made.refusals[0].help


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
def test_half_a_capture_is_refused(tmp_path: Path, changes: dict[str, str], why: str) -> None:
    whole = captured(tmp_path)
    verify_capture(whole, "14.44.35207")
    with pytest.raises(UnfitEnvironmentError, match=why) as caught:
        verify_capture({**whole, **changes}, "14.44.35207")
    assert caught.value.help
