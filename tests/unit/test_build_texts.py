"""Every error text that is known of builds, with the problem that it is a sign of.

From nvcc, cl, link, ninja, gcc, git, torch's cpp_extension, flash-attn's and Triton's setup.py: what
each prints for blanks in variables, for want of memory, and for flags and versions that do not go
together. Where one text alone could mean many things, the lines stand with it that decide.
"""

from __future__ import annotations

import pytest
from healthy import changed, variable

from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines

BLANKS, MEMORY, SOURCE = "build-variable-blanks", "build-resource-limits", "source-not-msvc-clean"
HOST, PATHS, TOOLKIT = (
    "nvcc-host-compiler-mismatch",
    "build-path-too-long",
    "cuda-toolkit-for-build",
)
TORCH = r"C:\v\Lib\site-packages\torch\include"
FLASH = "building 'flash_attn_2_cuda' extension\n"

TEXTS = [
    # what a blank at the end of a value does
    (BLANKS, "nvcc fatal   : '1 ': expected a number"),
    (BLANKS, "NameError: name 'IS_ROCM' is not defined"),
    (SOURCE, ("cl : Command line warning D9002 : ignoring unknown option '-std=c++17'\n"
             "x.h(1): fatal error C1083: x\nerror: subprocess-exited-with-error")),
    (SOURCE, 'platform.h(1): error: namespace "cutlass::platform" has no member "is_unsigned_v"'),
    (SOURCE, "f.cpp(3): error C2039: 'is_unsigned_v': is not a member of 'cutlass::platform'"),
    ("build-arch-unknown", ('  File "C:\\v\\torch\\utils\\cpp_extension.py", line 2059, in '
                           "_get_cuda_arch_flags\n    arch_list[-1] += '+PTX'\n"
                           "IndexError: list index out of range")),
    # want of memory, and what looks like it
    (MEMORY, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"),
    (MEMORY, "nvcc error   : 'ptxas' died due to signal 9 (Kill signal)"),
    (MEMORY, "nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)"),
    (MEMORY, "c++: fatal error: Killed signal terminated program cc1plus"),
    (MEMORY, "g++: internal compiler error: Killed (program cc1plus)"),
    (MEMORY, "virtual memory exhausted: Cannot allocate memory"),
    (MEMORY, FLASH + "Killed"),
    (MEMORY, "LLVM ERROR: out of memory"),
    (MEMORY, "nvcc error   : '\"\"%CICC_PATH%\\cicc\"' died with status 0xC0000409"),
    (MEMORY, "nvcc error   : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)"),
    (MEMORY, "a.cu(1): fatal error C1060: compiler is out of heap space"),
    (MEMORY, "a.cpp(1): fatal error C1002: compiler is out of heap space in pass 2"),
    (MEMORY, "a.cpp(1): fatal error C1076: compiler limit: internal heap limit reached"),
    (MEMORY, "LINK : fatal error LNK1257: code generation failed"),
    ("x86-toolchain", (r'"C:\VS\VC\Tools\MSVC\14.44.35207\bin\HostX86\x64\cl.exe" /c f.cpp'
                      "\nf.cpp(1): fatal error C1060: compiler is out of heap space")),
    (MEMORY, ("Attempted to use ninja as the BuildExtension backend but we could not find ninja. "
             "Falling back to using the slow distutils backend.")),
    (PATHS, "fatal error C1083: Cannot open compiler generated file: '': Invalid argument"),
    (PATHS, "ninja: error: Stat(C:/a/b.obj): Filename longer than 260 characters"),
    (PATHS, (r"LINK : fatal error LNK1181: cannot open input file 'C:\x\build\temp.win-amd64-cpython"
            r"-312\Release\csrc\flash_api.obj'")),
    ("python-libs-not-found-venv-uv", "LINK : fatal error LNK1104: cannot open file 'python312.lib'"),
    (TOOLKIT, "LINK : fatal error LNK1104: cannot open file 'cudart.lib'"),
    ("build-isolation-hides-torch", "LINK : fatal error LNK1104: cannot open file 'c10.lib'"),
    (SOURCE, FLASH + "flash_attn_2_cuda.pyd : fatal error LNK1120: 3 unresolved externals"),
    (HOST, r"error: command 'C:\CUDA\bin\nvcc.exe' failed with exit code 4294967295"),
    ("msvc-env-not-initialised", "nvcc fatal   : Cannot find compiler 'cl.exe' in PATH"),
    (HOST, "nvcc fatal   : Host compiler targets unsupported OS."),
    ("gpu-generation-unsupported", "nvcc fatal   : Unsupported gpu architecture 'compute_70'"),
    ("max-path-260", r"OSError: [WinError 206] The filename or extension is too long: 'C:\x'"),
    ("git-long-paths", "error: unable to create file csrc/composable_kernel/x.hpp: Filename too long"),
    # versions and flags that do not go together
    (HOST, ("host_config.h(153): fatal error C1189: #error:  -- unsupported Microsoft Visual Studio "
           "version! Only the versions between 2017 and 2022 (inclusive) are supported!")),
    (HOST, "nvcc fatal   : nvcc cannot find a supported version of Microsoft Visual Studio."),
    (HOST, ('yvals_core.h(902): error: static assertion failed with "error STL1002: Unexpected '
           'compiler version, expected CUDA 12.4 or newer."')),
    (HOST, ("preprocessor.h(23): fatal error C1189: #error:  MSVC/cl.exe with traditional "
           "preprocessor is used.")),
    (SOURCE, "x.h(1): error C7555: use of designated initializers requires at least '/std:c++20'"),
    (SOURCE, TORCH + r"\ATen\x.h(60): error C7582: 'a': default member initializers for bit-fields "
             "requires at least '/std:c++20'"),
    (SOURCE, TORCH + r"\c10\util\ArrayRef.h(1): error C2666: 'c10::operator ==': overloaded"),
    (SOURCE, TORCH + r"\ATen\x.h(60): error: data member initializer is not allowed"),
    (SOURCE, ("ATen.h(4): fatal error C1189: #error:  C++20 or later compatible compiler is required "
             "to use ATen.")),
    ("msvc-std-ambiguous", TORCH + r"\torch\csrc\dynamo\compiled_autograd.h(1134): error C2872: "
                           "'std': ambiguous symbol"),
    (SOURCE, 'softmax.h(70): error: identifier "M_LOG2E" is undefined'),
    (SOURCE, "flash_api.cpp(104): error C2065: 'M_LOG2E': undeclared identifier"),
    (SOURCE, ("cuda.h(1): error C2719: 'unnamed-parameter': formal parameter with requested alignment "
             "of 128 won't be aligned")),
    (MEMORY, "nvcc error   : 'cudafe++' died with status 0xC0000409"),
    (SOURCE, ("x.h(9): warning C4819: The file contains a character that cannot be represented in the "
             "current code page (932).\nx.h(10): error C2001: newline in constant")),
    ("symlinks-not-allowed", ("OSError: [WinError 1314] A required privilege is not held by the "
                             r"client: 'C:\triton\a' -> 'C:\triton\b'")),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "text"), TEXTS)
def test_every_known_text_has_its_problem(problem: str, text: str) -> None:
    found = explain_lines(text.split("\n")).problems
    assert problem in {p.id for p in found} | {e for p in found for e in p.explains}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVCC_THREADS", "1 "),
        ("BUILD_TARGET", "cuda "),
        ("MAX_JOBS", "1 "),
        ("FLASH_ATTN_CUDA_ARCHS", "80;120 "),
        ("FLASH_ATTENTION_FORCE_BUILD", "TRUE "),
        ("DISTUTILS_USE_SDK", "1 "),
        ("TRITON_OFFLINE_BUILD", "1 "),
    ],
)
def test_a_blank_that_prints_nothing_is_found_in_the_facts(name: str, value: str) -> None:
    facts = changed(variables=(variable(name, value, "trailing-blank"),))
    assert BLANKS in {p.id for p in diagnose(facts, CHECKS).problems}
