"""The pair of torch and Triton from a log: by versions, and by names that an error misses."""

from __future__ import annotations

import healthy
import pytest

from tritonwin.facts.records import ExtensionFile
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.records import Problem

KEY = "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler' (C:\\a\\b.py)"
OTHER = "RuntimeError: something that nobody knows"


def first(*lines: str) -> Problem:
    return explain_lines(lines).problems[0]


def test_versions_alone_answer_where_something_failed() -> None:
    found = first("pytorch version: 2.13.0+cu130", "triton-windows==3.2.0.post21", OTHER)
    assert (found.id, found.certainty) == ("triton-too-old", "likely")
    assert found.remedy.commands == ('python -m pip install -U "triton-windows<3.8"',)
    assert [e.where for e in found.evidence] == ["line 2", "table of pairs"]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["NVIDIA GeForce RTX 5090", "torch==2.5.1+cu124"],
            ("gpu-generation-unsupported", "likely"),
        ),
        (["NVIDIA GeForce GTX 1080", "triton==3.1.0"], ("gpu-generation-unsupported", "possible")),
        (["NVIDIA GeForce RTX 5090", "torch==2.9.1+cpu"], ("cpu-only-torch", "possible")),
        (["Python 3.12.4", "setuptools==65.5.0"], ("old-setuptools", "likely")),
    ],
)
def test_what_versions_say_of_gpu_torch_and_setuptools(
    lines: list[str], found: tuple[str, str]
) -> None:
    problem = first(*lines, OTHER)
    assert (problem.id, problem.certainty) == found
    assert explain_lines(lines).problems == ()


def test_the_triton_of_zluda_has_no_pair() -> None:
    lines = [
        "Device: cuda:0 AMD Radeon RX 9070 XT [ZLUDA] : native",
        "pytorch version: 2.7.0+cu118",
    ]
    lines += ["Detected Triton version: 3.4.0", OTHER]
    assert explain_lines(lines).problems == ()
    assert explain_lines(["Device: cuda:0 NVIDIA GeForce RTX 5090", *lines[1:]]).problems


def test_versions_of_the_log_are_judged_beside_those_of_a_snapshot() -> None:
    problems = explain_lines(["pytorch version: 2.10.0+cu128", OTHER], healthy.HEALTHY).problems
    assert [(p.id, p.certainty) for p in problems] == [("triton-too-old", "likely")]
    assert explain_lines([OTHER], healthy.part("torch", version="2.10.0")).problems == ()


def test_pips_own_python_is_not_the_one_that_runs() -> None:
    pip = r"pip 24.0 from C:\Python312\Lib\site-packages\pip (python 3.12)"
    target = explain_lines([pip]).facts.target
    assert target
    assert target.version == "3.12"
    frame = r'  File "D:\app\venv\Lib\site-packages\torch\a.py", line 1'
    target = explain_lines([pip, frame]).facts.target
    assert target
    assert (target.prefix, target.version) == (r"D:\app\venv", None)


def test_the_record_tells_whose_module_was_not_loaded() -> None:
    line = "ImportError: DLL load failed while importing _C: The specified procedure could not be found."
    owner = ExtensionFile(path=r"C:\s\kaput\_C.cp312-win_amd64.pyd", package="kaput", unresolved=())
    (found,) = explain_lines([line], healthy.changed(extensions=(owner,))).problems
    assert found.id == "extension-torch-mismatch"
    assert "compiled part of kaput" in found.cause
    assert "kaput" not in explain_lines([line], healthy.HEALTHY).problems[0].cause


def test_versions_alone_are_no_failure() -> None:
    lines = ["pytorch version: 2.13.0+cu130", "triton-windows==3.2.0.post21", "done"]
    assert explain_lines(lines).problems == ()


def test_a_name_bounds_the_torch_that_is_asked_for() -> None:
    found = first(KEY)
    assert found.id == "triton-too-new-for-torch"
    assert found.remedy.commands == ()
    assert found.question
    assert "torch 2.8 takes triton-windows<3.5" in found.question.text
    assert "2.9" not in found.question.text
    assert found.question.command == 'python -c "import torch; print(torch.__version__)"'


def test_on_linux_the_triton_of_this_torch_is_named() -> None:
    place = '  File "/home/u/venv/lib/python3.11/site-packages/torch/a.py", line 1, in x'
    found = first("torch: 2.7.1+cu128", place, KEY)
    assert found.remedy.commands == ('python -m pip install -U "triton==3.3.*"',)


def test_a_name_and_a_torch_give_the_command() -> None:
    found = first("torch: 2.7.1+cu128", KEY)
    assert found.id == "triton-too-new-for-torch"
    assert found.remedy.commands == ('python -m pip install -U "triton-windows<3.4"',)


@pytest.mark.parametrize(
    ("lines", "torch"),
    [
        (["I use torch 2.5.1.", OTHER], "2.5.1"),
        (["with torch 2.4.x", OTHER], "2.4"),
        (["- torch==2.5.1", "+ torch==2.6.0", OTHER], "2.6.0"),
        (["Updated torch 2.5.1 -> 2.6.0", OTHER], "2.6.0"),
        (["torch==2.5.1", "Successfully installed filelock-3.1 torch-2.6.0", OTHER], "2.6.0"),
        (
            [
                r"C:\Users\u\AppData\Local\Temp\pip-build-env-3vu\overlay\Lib\site-packages\a.py",
                "torch.__version__  = 2.5.1+cpu",
            ],
            None,
        ),
    ],
)
def test_the_torch_that_is_the_users(lines: list[str], torch: str | None) -> None:
    known = explain_lines(lines).facts.torch
    assert (known.version if known else None) == torch


def test_folders_of_one_build_are_nobodys() -> None:
    place = r"C:\Users\u\AppData\Local\uv\cache\builds-v0\.tmpX\Lib\site-packages\setuptools\a.py"
    assert explain_lines([place]).facts.target is None


def test_the_python_that_is_named_comes_before_one_that_is_guessed() -> None:
    lines = [
        r"** Python executable: C:\app\python_embeded\python.exe",
        r'  File "D:\other\venv\Lib\site-packages\torch\a.py", line 1',
        "LINK tmp\\cuda_utils.cp311-win_amd64.pyd",
    ]
    target = explain_lines(lines).facts.target
    assert target
    assert target.executable == r"C:\app\python_embeded\python.exe"
    assert target.version == "3.11"


MISSES = "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'"


def test_versions_that_contradict_a_missing_name_leave_it_open() -> None:
    stated = ["pytorch version: 2.9.0+cu128", "triton-windows==3.2.0.post21"]
    found = {p.id: p.certainty for p in explain_lines([*stated, MISSES]).problems}
    assert found == {"triton-too-old": "likely", "triton-too-new-for-torch": "possible"}
    assert first(MISSES).certainty == "certain"


def frame(package: str) -> str:
    return rf'  File "C:\v\Lib\site-packages\{package}\a.py", line 1, in f'


@pytest.mark.parametrize(
    ("package", "found", "named"),
    [
        ("awq", "stale-package-needs-triton-ops", "awq"),
        ("torch", "torch-too-old-for-triton", ""),
    ],
)
def test_a_missing_name_is_the_matter_of_the_package_that_asks(
    package: str, found: str, named: str
) -> None:
    error = "ImportError: cannot import name 'get_cuda_stream' from 'triton.runtime.jit'"
    problem = first(frame("torch"), frame(package), error)
    assert problem.id == found
    assert named in problem.remedy.summary


@pytest.mark.parametrize(
    ("package", "said"), [("sageattention", "without sageattention"), ("mine", "")]
)
def test_a_kernel_that_fails_is_that_of_the_package_that_called_it(package: str, said: str) -> None:
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    problems = explain_lines([frame(package), error]).problems
    assert [said in p.remedy.summary for p in problems] == ([True] if said else [])


@pytest.mark.parametrize(
    ("card", "index"),
    [
        ("Intel(R) Arc(TM) B580", "/xpu"),
        ("AMD Radeon RX 7900 XTX", "torch[device-gfx1100]"),
    ],
)
def test_no_build_for_nvidia_is_advised_for_another_card(card: str, index: str) -> None:
    lines = [card, "AssertionError: Torch not compiled with CUDA enabled"]
    problem = first(*lines)
    assert not any("whl/cu" in command for command in problem.remedy.commands)
    assert any(index in command for command in problem.remedy.commands)


def test_triton_windows_is_nothing_for_linux() -> None:
    place = "/home/u/venv/lib/python3.11/site-packages/triton/a.py"
    problem = first(place, "RuntimeError: Cannot find ptxas")
    assert "triton-windows" not in problem.remedy.summary
