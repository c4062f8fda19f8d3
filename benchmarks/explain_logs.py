"""Logs of any length for `benchmarks/explain.py`: made, not collected, no compile twice.

The command lines are those that torch's extension builder gives to ninja on Windows (cl for C++,
nvcc for CUDA), the error lines those that MSVC, nvcc and Python print.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

# Five problems and the ids that explain must find; each is planted once, far from the others.
PLANTED = {
    "msvc-std-ambiguous": (
        r"C:\app\venv\Lib\site-packages\torch\include\torch/csrc/dynamo/compiled_autograd.h(1134): "
        "error C2872: 'std': ambiguous symbol"
    ),
    "nvcc-host-compiler-mismatch": (
        r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\include\crt/host_config.h(153): "
        "fatal error C1189: #error:  -- unsupported Microsoft Visual Studio version! Only the "
        "versions between 2017 and 2022 (inclusive) are supported!"
    ),
    "build-resource-limits": "LLVM ERROR: out of memory",
    "old-setuptools": (
        "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'. "
        "Did you mean: 'zipimporter'?"
    ),
    "fp8-needs-sm89": (
        'ValueError("type fp8e4nv not supported in this architecture. '
        "The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")"
    ),
}

_CL = (
    r'[{n}/{total}] "C:\Program Files\Microsoft Visual Studio\2022\BuildTools\VC\Tools\MSVC'
    r'\14.44.35207\bin\Hostx64\x64\cl.exe" /showIncludes /nologo /O2 /W3 /GL /DNDEBUG /MD /MD '
    r"/wd4819 /wd4251 /wd4244 /wd4267 /wd4275 /wd4018 /wd4190 /wd4624 /wd4067 /wd4068 /EHsc "
    r"-ID:\build\csrc\{part} -ID:\build\csrc\{part}\src -ID:\build\csrc\cutlass\include "
    r"-IC:\app\venv\Lib\site-packages\torch\include "
    r"-IC:\app\venv\Lib\site-packages\torch\include\torch\csrc\api\include "
    r'"-IC:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.8\include" '
    r"-IC:\app\venv\include -IC:\Python312\include -c D:\build\csrc\{part}\{name}.cpp "
    r"/FoD:\build\temp.win-amd64-cpython-312\Release\csrc\{part}\{name}.obj -O3 -std=c++17 "
    r"-DTORCH_API_INCLUDE_EXTENSION_H -DTORCH_EXTENSION_NAME={part} /std:c++17"
)
_NVCC = (
    r'[{n}/{total}] "C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.8\bin\nvcc" '
    r"--generate-dependencies-with-compile --dependency-output "
    r"D:\build\temp.win-amd64-cpython-312\Release\csrc\{part}\{name}.obj.d -std=c++17 "
    r"--use-local-env -Xcompiler /MD -Xcompiler /wd4819 -Xcompiler /wd4251 -Xcompiler /EHsc "
    r"-Xcudafe --diag_suppress=base_class_has_different_dll_interface "
    r"-Xcudafe --diag_suppress=field_without_dll_interface -ID:\build\csrc\{part} "
    r"-IC:\app\venv\Lib\site-packages\torch\include -c D:\build\csrc\{part}\{name}.cu "
    r"-o D:\build\temp.win-amd64-cpython-312\Release\csrc\{part}\{name}.obj "
    r"-D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ --expt-relaxed-constexpr "
    r"-O3 -std=c++17 --use_fast_math --ptxas-options=-v "
    r"-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 --threads 4"
)
_PTXAS = (
    "ptxas info    : Compiling entry function '_ZN5flash{name}' for 'sm_90'\n"
    "ptxas info    : Function properties for _ZN5flash{name}\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used {n} registers, used 1 barriers, 480 bytes cmem[0]"
)
_WARNING = (
    r"D:\build\csrc\{part}\{name}.h({n}): warning C4244: '=': conversion from '__int64' to 'int', "
    "possible loss of data"
)

_TRACEBACK = r"""Traceback (most recent call last):
  File "D:\work\{part}\{name}.py", line {n}, in execute
    output_data = get_output_data(obj, input_data_all, execution_block_cb=block_{n})
  File "C:\app\venv\Lib\site-packages\torch\nn\modules\module.py", line {n}, in _call_impl
    return forward_call(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "C:\app\venv\Lib\site-packages\torch\_inductor\runtime\{name}.py", line {n}, in run
    return launcher(*args, stream=stream_{n})
  File "C:\app\venv\Lib\site-packages\triton\runtime\jit.py", line {n}, in <lambda>
    return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)
KeyError: 'blocks.{n}.attn.{name}'"""
_COMPILER = r"""D:\build\csrc\{part}\{name}.cpp({n}): error C2065: '{name}': undeclared identifier
D:\build\csrc\{part}\{name}.cpp({n}): note: see declaration of 'flash::{name}'
D:\build\csrc\{part}\{name}.cu({n}): error: identifier "{name}" is undefined
{name}.obj : error LNK2001: unresolved external symbol "void __cdecl {name}(int)"
ninja: build stopped: subcommand failed."""


def successes(size: int) -> Iterator[str]:
    """A `ninja -v` log of about `size` bytes in which the compiles succeed."""
    templates = (_CL, _NVCC, _NVCC, _PTXAS, _CL, _WARNING)
    yield from _planted(size, lambda n: templates[n % len(templates)])


def failures(size: int) -> Iterator[str]:
    """About `size` bytes of tracebacks and compiler errors, of problems that nobody knows."""
    templates = (_TRACEBACK, _COMPILER)
    yield from _planted(size, lambda n: templates[n % len(templates)])


def _planted(size: int, template: Callable[[int], str]) -> Iterator[str]:
    waiting = list(PLANTED.values())
    written = number = 0
    while written < size:
        if waiting and written >= size * (len(PLANTED) - len(waiting) + 0.5) / len(PLANTED):
            text = waiting.pop(0)
        else:
            name = hashlib.blake2b(str(number).encode(), digest_size=8).hexdigest()
            text = template(number).format(
                n=number, total=10_000_000, name=f"kernel_{name}", part=f"part{number % 7}"
            )
        number += 1
        written += len(text) + 1
        yield text + "\n"
