"""The relay to Linux' CUDA driver: what is passed on, as text. It is built and run on a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "gpu" / "winlane"))

import relay
from relay import Function

HEADER = """
typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;
CUresult cuInit(unsigned int Flags);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *dptr,
                       size_t bytesize);
CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData);
CUresult cuParamSetf(CUfunction hfunc, int offset, float value);
CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags);
CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr);
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId);
CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags);
"""


def test_integers_and_pointers_are_passed_on() -> None:
    assert relay.functions([HEADER]) == (
        Function("cuInit", 1),
        Function("cuCtxSynchronize", 0),
        Function("cuMemAlloc_v2", 2),
        Function("cuEventElapsedTime", 3),
        Function("cuIpcGetMemHandle", 2),
    )


def test_headers_of_two_versions_are_joined() -> None:
    newer = "CUresult cuInit(unsigned int Flags);\nCUresult cuCtxCreate_v4(CUcontext *a, int b);"
    assert relay.functions([HEADER, newer])[-1] == Function("cuCtxCreate_v4", 2)


def test_headers_that_disagree_are_refused() -> None:
    with pytest.raises(ValueError, match="cuInit takes 1 or 2 arguments"):
        relay.functions([HEADER, "CUresult cuInit(int a, int b);"])


def test_a_stand_in_says_so() -> None:
    functions = relay.functions([HEADER])
    assert relay.STAND_IN not in relay.spec(functions) + relay.c_source(functions)
    assert f"@ stdcall {relay.STAND_IN}() relay_{relay.STAND_IN}\n" in relay.spec(
        functions, stand_in=True
    )
    assert f"relay_{relay.STAND_IN}(void)" in relay.c_source(functions, stand_in=True)


def test_every_export_has_its_thunk() -> None:
    functions = relay.functions([HEADER])
    source = relay.c_source(functions)
    for line in relay.spec(functions).splitlines():
        name = line.split()[-1]
        assert f"int WINDOWS {name}(" in source
