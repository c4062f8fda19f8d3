"""The proof ladder in real Windows Pythons with the real Triton, in front of a stand-in driver.

The stand-in computes nothing, so a launch is shown and no number is: the rungs must say so. What is
compiled, assembled, linked and loaded is real.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from winlane import Environment, Machine, standins

LAUNCHES = (
    "vector-add", "dot-fp16", "dot-bf16", "dot-tf32", "dot-fp8e4nv", "dot-fp8e5", "dot-int8",
    "atomics", "reductions", "math", "device-print", "large",
)  # fmt: skip
WITHOUT_TORCH = "triton-3.8"  # older ones find the driver through torch


def with_triton(machine: Machine, triton: str) -> Environment:
    machine.gpu()
    more = ["setuptools"] if triton == "triton-3.2" else []
    env = machine.environment("3.12", "full", [triton, *more])
    if triton != WITHOUT_TORCH:
        standins.cuda_torch(env, machine.fakes, "2.9.1", "12.8")
    return env


def verify(machine: Machine, env: Environment, *options: str) -> dict[str, Any]:
    """The rungs of the report by their ids."""
    done = machine.tool(
        "verify", "--python", env.python, "--json", *options, cwd="C:\\", timeout=900
    )
    assert done.stderr == ""
    document: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in document, document
    rungs = {rung["id"]: rung for rung in document["rungs"]}
    broken = {"failed", "crashed", "timed-out"} & {rung["state"] for rung in rungs.values()}
    assert done.returncode == {"proven": 0, "gpu-untried": 4, "not-proven": 1}[document["verdict"]]
    assert not broken or done.returncode == 1
    return rungs


def only(*rungs: str) -> list[str]:
    return [word for rung in rungs for word in ("--only", rung)]


def assert_all_passed(rungs: dict[str, Any]) -> None:
    assert {name: r["detail"] for name, r in rungs.items() if r["state"] != "passed"} == {}


def test_the_ladder_without_torch(machine: Machine) -> None:
    profile = machine.home("Jörg Müller")  # Triton reads ASCII alone from variables
    env = with_triton(machine, WITHOUT_TORCH)
    machine.variables["FAKECUDA_LOG"] = r"C:\cuda.log"
    chosen = ("import-triton", "toolchain", "vector-add")
    report = r"C:\proof.md"
    rungs = verify(machine, env, *only(*chosen, "user-cache", "sdpa"), "--report", report)
    assert rungs.pop("sdpa")["state"] == "not-installed"
    assert_all_passed(rungs)
    assert r"ptxas.exe" in rungs["toolchain"]["figures"]["ptxas"]
    assert rungs["import-triton"]["figures"]["libtriton.pyd"].endswith("libtriton.pyd")
    assert "vcruntime140.dll" in rungs["import-triton"]["figures"]
    # the launch was real, the numbers were not claimed
    launched = [json.loads(line) for line in env.path(r"C:\cuda.log").read_text().splitlines()]
    assert [e["kernel"] for e in launched if e["event"] == "launch"] == ["add"]
    assert rungs["vector-add"]["figures"]["numbers"] == "not checked"
    assert "no number is checked" in env.path(report).read_text("utf-8")
    # nothing was left in the user's folders
    assert not list(Path(env.path(profile)).glob(".triton*"))


@pytest.mark.full
def test_an_embedded_python_without_headers(machine: Machine) -> None:
    machine.gpu()
    env = machine.environment("3.12", "comfyui", [WITHOUT_TORCH])
    rungs = verify(machine, env, *only("headers-and-library", "ptxas"))
    assert rungs["headers-and-library"]["state"] == "failed"
    assert rungs["headers-and-library"]["problems"] == ["embedded-python-no-headers"]
    assert rungs["ptxas"]["state"] == "passed", rungs["ptxas"]


def launcher_that_trusts_an_old_error(machine: Machine) -> Environment:
    machine.variables["FAKECUDA_LAST_ERROR"] = "6"  # what an earlier call may leave on Windows
    return with_triton(machine, "triton-3.5")


def test_the_launcher_that_trusts_an_old_error_is_named(machine: Machine) -> None:
    env = launcher_that_trusts_an_old_error(machine)
    broken = verify(machine, env, *only("vector-add"))["vector-add"]
    assert broken["state"] == "crashed"
    assert "0xC0000005 (access violation)" in broken["detail"]
    assert broken["problems"][0] == "fork-launcher-stale-error"


@pytest.mark.full
def test_the_launcher_that_trusts_an_old_error_is_cured(machine: Machine) -> None:
    env = launcher_that_trusts_an_old_error(machine)
    patched = machine.tool("patch", "apply", "--python", env.python, cwd="C:\\", timeout=120)
    assert patched.returncode == 0, patched.stdout + patched.stderr
    assert_all_passed(verify(machine, env, *only("vector-add")))


@pytest.mark.full
@pytest.mark.parametrize("triton", ["triton-3.2", "triton-3.3", "triton-3.5", "triton-3.8"])
def test_every_rung_that_needs_no_gpu(machine: Machine, triton: str) -> None:
    env = with_triton(machine, triton)
    if triton == "triton-3.5":
        machine.tool("patch", "apply", "--python", env.python, cwd="C:\\", timeout=120).check()
    rungs = verify(machine, env, "--through", "large")
    assert_all_passed(rungs)
    assert rungs["driver"]["figures"]["stand-in"] is True
    for name in LAUNCHES:
        assert "no number is checked" in rungs[name]["detail"], name


DRIVER_FAULTS = {
    "cuModuleLoadData=209": ("vector-add", "gpu-generation-unsupported"),
    "cuCtxSynchronize=700": ("vector-add", "async-cuda-error-blames-triton"),
    "cuLaunchKernelEx=700": ("vector-add", "async-cuda-error-blames-triton"),
}


@pytest.mark.full
@pytest.mark.parametrize("fault", DRIVER_FAULTS)
def test_what_the_driver_refuses_is_named(machine: Machine, fault: str) -> None:
    rung, problem = DRIVER_FAULTS[fault]
    env = with_triton(machine, WITHOUT_TORCH)
    machine.variables["FAKECUDA_FAIL"] = fault
    rungs = verify(machine, env, *only("import-triton", "compile-cubin", rung))
    assert rungs[rung]["state"] == "failed"
    assert rungs[rung]["problems"][0] == problem, rungs[rung]
    assert {rungs[name]["state"] for name in ("import-triton", "compile-cubin")} == {"passed"}


@pytest.mark.full
def test_a_missing_dll_is_named(machine: Machine) -> None:
    env = with_triton(machine, WITHOUT_TORCH)
    library = env.site_packages / "triton/_C/libtriton.pyd"
    image = library.read_bytes()
    assert b"MSVCP140.dll" in image
    env.replace(library, image.replace(b"MSVCP140.dll", b"MSVCP149.dll"))
    rungs = verify(machine, env, *only("headers-and-library", "import-triton", "compile-cubin"))
    assert rungs["headers-and-library"]["state"] == "passed"
    assert rungs["import-triton"]["state"] == "failed"
    assert "MSVCP149.dll, which libtriton.pyd needs" in rungs["import-triton"]["detail"]
    assert rungs["import-triton"]["problems"], rungs["import-triton"]
    assert rungs["compile-cubin"]["state"] == "skipped"


@pytest.mark.full
def test_an_old_card_is_asked_for_what_it_can_do(machine: Machine) -> None:
    env = with_triton(machine, WITHOUT_TORCH)
    machine.gpu(cc="7.5", name="NVIDIA GeForce RTX 2080")
    rungs = verify(machine, env, *only("compile-fp8", "vector-add", "dot-fp16", "dot-int8"))
    for name in ("vector-add", "compile-fp8"):  # triton-windows converts fp8 there
        assert rungs[name]["state"] == "passed"
    for name in ("dot-fp16", "dot-int8"):
        assert rungs[name]["state"] == "not-applicable"
    assert "Turing" in rungs["dot-int8"]["detail"]
