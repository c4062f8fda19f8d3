"""Every check on facts that are healthy but for one thing, and all that it says of several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import healthy
import pytest
from healthy import (
    SDK,
    TOOLSET,
    changed,
    dist,
    gpu,
    part,
    radeon,
    toolkit,
    variable,
    without,
)
from hypothesis import given
from hypothesis import strategies as st
from screens import LONGEST, height, of_facts, screen
from triton_trees import sources

from tritonwin.facts.records import (
    Compiler,
    CudaToolkit,
    Driver,
    ExtensionFile,
    Facts,
    Gpu,
    HelperModule,
    Interpreter,
    MsvcToolset,
    PatchRecord,
    Proven,
    RequirementLine,
    Rocm,
    RuntimeDll,
    Shadow,
    System,
    WindowsSdk,
)
from tritonwin.problems import catalogue
from tritonwin.problems.advice import context, names
from tritonwin.problems.check import Check
from tritonwin.problems.checks import CHECKS, caches
from tritonwin.problems.doctor import diagnose, findings_of
from tritonwin.system.codec import DecodeError, Json, from_json, to_json

H = healthy.HEALTHY


def cc(value: str, family: str = "unknown", flaw: str | None = None, *flaws: str) -> Facts:
    named = Compiler(family=family, path=value, source="variable CC", flaw=flaw, chosen=True)  # type: ignore[arg-type]
    return changed(
        variables=(variable("CC", value, *flaws),),
        compilers=(named, replace(H.compilers[0], chosen=False)),
    )


def cache(index: int, **changes: object) -> Facts:
    caches = list(H.caches)
    caches[index] = replace(caches[index], **changes)
    return changed(caches=tuple(caches))


def helper(**changes: object) -> Facts:
    module = HelperModule(path="m.pyd", valid=True, python_dll="python312.dll", usable=True)
    return cache(0, helpers=(replace(module, **changes),))


def target(**changes: object) -> Facts:
    return part("target", **changes)


def torch(version: str, wants: str | None, cuda: str | None = "12.8") -> Facts:
    return part("torch", version=version, wants_triton=wants, cuda=cuda)


def triton(version: str, release: str | None = None, **changes: object) -> Facts:
    """A fork of that version, and a torch that wants it."""
    series = ".".join(version.split(".")[:2])
    owner = replace(healthy.FORK, version=release or f"{version}.post1")
    return replace(
        part("triton", version=version, **changes),
        distributions=(*without("triton-windows"), owner),
        torch=replace(H.torch, wants_triton=f"=={series}.0"),
    )


def installed(*dists: object, **changes: object) -> Facts:
    return changed(distributions=(*H.distributions, *dists), **changes)


def fork(**flaws: object) -> Facts:
    """pip's record of the fork, with these flaws."""
    record = replace(healthy.FORK, **flaws)  # type: ignore[arg-type]
    return changed(distributions=(*without("triton-windows"), record))


def setuptools(version: str, python: str = "3.12.9") -> Facts:
    others = (*without("setuptools"), dist("setuptools", version))
    return replace(target(version=python), distributions=others)


def bitsandbytes(version: str, triton: str) -> Facts:
    return replace(
        installed(dist("bitsandbytes", version)), triton=part("triton", version=triton).triton
    )


def pair(torch: str, triton: str) -> Facts:
    return replace(part("torch", version=torch), triton=part("triton", version=triton).triton)


def short(**changes: object) -> Facts:
    """A Windows without long paths."""
    return replace(system(long_paths=False), **changes)  # type: ignore[arg-type]


def extension(package: str, version: str, *unresolved: str) -> Facts:
    """A package with a compiled library."""
    library = replace(FLASH, package=package, unresolved=unresolved)
    return installed(dist(package, version), extensions=(library,))


def visual(*tools: MsvcToolset, sdk: WindowsSdk | None = SDK, **changes: object) -> Facts:
    """These toolsets, with or without a Windows SDK."""
    return changed(msvc=tools, windows_sdks=(sdk,) if sdk else (), **changes)


def defects(*rules: str, version: str = "3.5.1", for_windows: bool = True) -> Facts:
    return part("triton", defects=rules, version=version, for_windows=for_windows)


def old_runtime(version: str, linker: str | None = "14.44") -> Facts:
    beside = RuntimeDll(
        name="msvcp140.dll",
        path=healthy.HOME + r"\msvcp140.dll",
        place="beside-python",
        version=version,
        loaded=True,
    )
    system = replace(H.runtime_dlls[0], loaded=False)
    return replace(part("triton", libtriton_linker=linker), runtime_dlls=(beside, system))


def one(check: str) -> list[Check]:
    return [next(c for c in CHECKS if c.id == check)]


def texts(check: str, facts: Facts) -> list[str]:
    """The findings of that check, each in its own words."""
    assert diagnose(facts, one(check)).checks[0].state != "crashed"
    return [found.evidence[0].text for found in findings_of(facts, one(check))]


def dev(**changes: object) -> Facts:
    return part("python_dev", **changes)


def threaded(**changes: object) -> Facts:
    """A free-threaded Python with headers of its kind."""
    return replace(part("target", free_threaded=True), python_dev=replace(H.python_dev, **changes))


def system(**changes: object) -> Facts:
    return part("system", **changes)


def gpus(capability: str, name: str = "NVIDIA GeForce RTX 4090") -> Facts:
    return changed(gpus=(gpu(capability, name),))


def toolkits(*found: CudaToolkit) -> Facts:
    return changed(cuda_toolkits=found)


def variables(**values: str) -> Facts:
    return changed(variables=tuple(variable(*each) for each in values.items()))


def builders(cuda: tuple[str, ...], msvc: tuple[str, ...]) -> Facts:
    """Toolkits and toolsets of these versions."""
    return visual(
        *(replace(TOOLSET, version=version) for version in msvc),
        cuda_toolkits=tuple(toolkit(version, "Program Files") for version in cuda),
    )


def driver(**fields: object) -> Facts:
    return changed(drivers=(Driver(vendor="nvidia", source="NVML", **fields),))  # type: ignore[arg-type]


def rocm(*missing: str) -> Facts:
    kit = Rocm(path=r"C:\R", source="x", kind="hip-sdk", missing=missing)
    return changed(gpus=(AMD,), drivers=(), rocm=(kit,))


def proven(**fields: object) -> Facts:
    """A proof of what is there, but for these."""
    versions = {d.name: d.version for d in H.distributions if d.name != "setuptools"}
    record = Proven(when="then", python="3.12.9", driver="581.57", versions=versions)
    return changed(proven=replace(record, **fields))


OTHER_PYTHON = Interpreter(
    executable=r"C:\Python312\python.exe",
    source="PATH",
    kind="system",
    packages={"triton-windows": "3.5.1.post24"},
)
AMD = Gpu(
    index=0, vendor="amd", name="Radeon RX 7900 XTX", source="registry", architecture="gfx1100"
)
RADEON = radeon()
RAPHAEL = replace(
    RADEON.gpus[0], name="AMD Radeon(TM) Graphics", architecture="gfx1036", integrated=True
)


def on_amd(record: str, **fields: Any) -> Facts:
    """The healthy PC with a Radeon, with fields of one record changed: the first of several."""
    found = getattr(RADEON, record)
    first = found[0] if isinstance(found, tuple) else found
    changed_one = replace(first, **fields)
    return replace(RADEON, **{record: (changed_one,) if isinstance(found, tuple) else changed_one})


CL = Compiler(family="cl", path=r"C:\VS\bin\Hostx64\x64\cl.exe", source="PATH", target="x64")
FLASH = ExtensionFile(
    path=r"C:\s\flash_attn_2_cuda.pyd", package="flash-attn", unresolved=("cudart64_13.dll",)
)

OLD_CUDA = toolkit("12.4", "CUDA_PATH")
INIT = "triton/__init__.py"
CONDA_HOME = r"C:\conda"
CONDA = {"CONDA_PREFIX": CONDA_HOME}
JOBS = {"MAX_JOBS": "16", "NVCC_THREADS": "2"}
GERMAN = "D:\\J\u00f6rg"
GERMAN_CACHE = variable("TRITON_CACHE_DIR", GERMAN)
BEFORE = Proven(when="2026-11-01T12:00:00+00:00", python="3.12.9", driver="570.00", versions={})

# id, facts, what the first evidence must name
BROKEN = [
    ("windows-too-old", system(version="6.1.7601"), "6.1"),
    ("intel-wrong-triton", torch("2.9.1+xpu", "==3.5.0", None), "3.5.1.post24"),
    ("python-unsupported", target(bits=32), "32-bit"),
    (
        "python-unsupported",
        replace(target(machine="ARM64"), triton=None),
        "ARM64",
        "warning, likely",
    ),
    ("python-unsupported", target(implementation="pypy"), "pypy"),
    ("python-unsupported", target(kind="store"), "Store", "warning, likely"),
    ("python-unsupported", target(version="3.15.0"), "3.15"),
    ("python-unsupported", target(free_threaded=True), "TinyCC"),
    ("mixed-environments", target(managers=("conda", "venv")), "conda and venv", "likely"),
    ("mixed-environments", variables(VIRTUAL_ENV=r"C:\other"), r"C:\other", "likely"),
    (
        "mixed-environments",
        replace(
            target(pth=None, kind="venv"), variables=(variable("PYTHONHOME", r"C:\Python310"),)
        ),
        r"C:\Python310",
    ),
    ("mixed-environments", variables(**CONDA, CONDA_DEFAULT_ENV="ml"), CONDA_HOME, "likely"),
    ("wrong-interpreter", changed(triton=None, interpreters=(OTHER_PYTHON,)), r"C:\Python312"),
    ("app-control-blocks-dll", system(smart_app_control="on"), "Smart App", "warning, possible"),
    ("long-paths-off", system(long_paths=False), "LongPathsEnabled"),
    ("max-path-260", short(caches=(replace(H.caches[1], longest_path=271),)), "271"),
    (
        "max-path-260",
        short(caches=(replace(H.caches[0], path="C:\\" + "x" * 120),)),
        "triton cache",
        "warning, likely",
    ),
    (
        "max-path-260",
        short(caches=(replace(H.caches[1], path="C:\\" + "d" * 110),)),
        "113",
        "warning, likely",
    ),
    ("build-path-too-long", system(long_paths=False, temp="C:\\" + "t" * 60), "63", "info, likely"),
    ("git-long-paths", system(git_long_paths=False), "core.longpaths", "info"),
    ("driver-too-old", changed(gpus=(), drivers=()), "no NVIDIA driver"),
    ("driver-too-old", driver(error="no answer in 10 s"), "no answer"),
    (
        "driver-too-old",
        replace(part("torch", cuda="13.0"), drivers=(replace(H.drivers[0], cuda="12.8"),)),
        "CUDA 13.0",
    ),
    ("gpu-generation-unsupported", gpus("6.1", "GTX 1060"), "GTX 1060"),
    ("gpu-generation-unsupported", gpus("7.5", "RTX 2080"), "simple kernels", "warning"),
    ("gpu-generation-unsupported", gpus("7.0", "V100"), "<3.3"),
    (
        "gpu-generation-unsupported",
        replace(triton("3.2.0"), gpus=(gpu("12.0", "RTX 5090"),)),
        ">=3.3",
    ),
    (
        "gpu-generation-unsupported",
        replace(torch("2.9.1+cu126", "==3.5.1", "12.6"), gpus=(gpu("12.0"),)),
        "12.6",
    ),
    ("bf16-needs-sm80", gpus("7.5"), "7.5", "info"),
    ("fp8-needs-sm89", replace(triton("3.4.0"), gpus=(gpu("8.6"),)), "8.6", "info"),
    ("triton-missing", changed(triton=None, distributions=without("triton-windows")), "triton"),
    ("triton-missing", part("triton", namespace=True, version=None), "uninstall"),
    ("triton-too-old", torch("2.10.0+cu128", "==3.6.0"), "3.5.1"),
    ("triton-too-old", torch("2.10.0+cu128", None), "3.5.1"),
    (
        "triton-too-old",
        replace(
            triton("3.2.0"), gpus=(gpu("7.5"),), torch=replace(H.torch, wants_triton="==3.5.0")
        ),
        "3.2.0",
        "warning, likely",
    ),
    ("triton-too-new-for-torch", torch("2.8.0+cu128", "==3.4.0"), "3.5.1"),
    ("torch-too-old-for-triton", torch("2.3.1+cu121", "==2.3.1", "12.1"), "2.3.1"),
    ("no-triton-for-torch-yet", torch("2.15.0+cu132", "~=3.9.0", "13.2"), "3.8.0"),
    ("triton-and-fork-both-installed", installed(dist("triton", "3.5.1")), "triton 3.5.1"),
    ("triton-and-fork-both-installed", installed(dist("triton-xpu", "3.4.0")), "triton-xpu"),
    (
        "upstream-triton-no-windows-wheel",
        changed(requirement_lines=(RequirementLine(path="r.txt", line=3, text="triton"),)),
        "line 3",
        "info, likely",
    ),
    (
        "upstream-triton-no-windows-wheel",
        part("triton", libtriton=healthy.TRITON + r"\_C\libtriton.so"),
        "Linux library",
    ),
    ("triton-files-missing", part("triton", libtriton=None), "libtriton"),
    ("triton-files-missing", fork(missing_files=("triton/_C/libtriton.pyd",)), "libtriton.pyd"),
    ("triton-files-missing", fork(cut_files=("triton/_C/libtriton.pyd",)), "cut short"),
    *(
        ("triton-files-missing", replace(fork(missing_files=(INIT,)), triton=left), INIT)
        for left in (None, replace(H.triton, namespace=True))
    ),
    (
        "distribution-name-or-url",
        installed(dist("somenode", "1", requires=("triton>=3",))),
        "node",
        "info, likely",
    ),
    ("sageattention-too-old", installed(dist("sageattention", "1.0.6")), "1.0.6", "info"),
    ("extension-torch-mismatch", installed(dist("nunchaku", "1.0.2+torch2.8")), "2.8"),
    ("new-setuptools", replace(torch("2.6.0+cu126", "==3.2.0", "12.6")), "80.9.0", "info"),
    ("headers-free-threaded", dev(headers_version="3.13.4", headers_free_threaded=True), "3.13.4"),
    ("arm64-emulated-python", system(machine="ARM64"), "ARM64"),
    ("arm64-emulated-python", gpus("12.1", "NVIDIA N1X"), "12.1", "likely"),
    ("amd-wrong-torch", changed(gpus=(AMD,)), "Radeon"),
    (
        "amd-wrong-torch",
        replace(torch("2.9.1+cpu", "==3.5.1", None), gpus=(AMD,)),
        "processor alone",
        "warning, likely",
    ),
    (
        "amd-gpu-unsupported",
        replace(part("torch", cuda=None, hip="7.2"), gpus=(replace(AMD, architecture="gfx906"),)),
        "gfx906",
    ),
    (
        "amd-wrong-torch",
        replace(torch("2.9.1+cpu", "==3.5.1", None), gpus=(AMD,), rocm=RADEON.rocm),
        "processor alone",
    ),
    (
        "amd-wrong-torch",
        replace(RADEON, distributions=(*RADEON.distributions, dist("torchaudio", "2.11.0"))),
        "torchaudio 2.11.0",
    ),
    ("amd-gpu-unsupported", on_amd("torch", chips=("gfx1201",)), "gfx1201 alone"),
    (
        "intel-wrong-torch",
        changed(gpus=(replace(AMD, vendor="intel", name="Intel(R) Arc(TM) A770 Graphics"),)),
        "A770",
    ),
    ("amd-gpu-unsupported", on_amd("rocm", chips=("gfx1201", "gfx1200")), "ROCm's libraries"),
    (
        "amd-integrated-first",
        replace(RADEON, gpus=(RAPHAEL, RADEON.gpus[0])),
        "gfx1036",
    ),
    ("amd-driver-too-old", on_amd("drivers", hip=None, error="amdhip64 is missing"), "missing"),
    ("amd-driver-too-old", on_amd("drivers", hip="6.4"), "HIP 6.4", "warning, likely"),
    (
        "amd-override-wrong",
        replace(RADEON, variables=(variable("TRITON_OVERRIDE_ARCH", "gfx1030"),)),
        "gfx1030",
    ),
    (
        "amd-override-wrong",
        replace(RADEON, variables=(variable("HSA_OVERRIDE_GFX_VERSION", "10.3.0"),)),
        "10.3.0",
        "warning, likely",
    ),
    ("cpu-only-torch", torch("2.9.1+cpu", "==3.5.1", None), "2.9.1+cpu"),
    ("update-replaced-torch", installed(dist("torch", "2.8.0+cu128")), "2.8.0", "likely"),
    ("environment-drifted", changed(proven=BEFORE), "was 570.00"),
    (
        "environment-drifted",
        changed(proven=replace(BEFORE, versions={"torch": "2.8.0", "xformers": "1"})),
        "torch was 2.8.0",
    ),
    ("old-setuptools", setuptools("65.5.0"), "65.5.0"),
    (
        "wheel-tag-unsupported",
        installed(dist("flash-attn", "2.8.3", tags=("cp311-cp311-win_amd64",))),
        "cp311",
    ),
    (
        "wheel-tag-unsupported",
        installed(dist("xformers", "0.0.33", tags=("cp39-abi3-manylinux_2_28_x86_64",))),
        "manylinux",
    ),
    (
        "script-shadows-triton",
        changed(shadows=(Shadow(module="triton", path=r"C:\w\triton.py", reason="here"),)),
        r"C:\w\triton.py",
    ),
    ("stale-package-needs-triton-ops", installed(dist("bitsandbytes", "0.43.1")), "0.43.1"),
    (
        "triton-sources-not-for-windows",
        defects("libcuda-folder", "dlfcn", for_windows=False),
        "ldconfig",
    ),
    ("triton-patch-incomplete", defects("dlfcn"), "some sources"),
    ("triton-patch-overwritten", changed(patch=PatchRecord(original=("knobs.py",))), "knobs.py"),
    (
        "foreign-or-patched-triton-build",
        fork(altered_files=("triton/runtime/build.py",)),
        "build.py",
        "warning, likely",
    ),
    (
        "foreign-or-patched-triton-build",
        replace(part("triton", distribution=None), distributions=without("triton-windows")),
        "no installed distribution",
        "warning, likely",
    ),
    ("fork-launcher-stale-error", defects("last-error-launcher"), "old error", "info, possible"),
    (
        "ptxas-path-variable-ignored",
        replace(defects("tool-variables"), variables=(variable("TRITON_PTXAS_PATH", r"C:\p.exe"),)),
        r"C:\p.exe",
    ),
    ("c-long-32bit", defects("int64-arguments"), "32 bits", "warning, likely"),
    ("ptxas-not-found", replace(part("triton", ptxas=None), cuda_toolkits=()), "ptxas"),
    (
        "ptxas-not-found",
        replace(defects("ptxas-blackwell"), gpus=(gpu("12.0"),)),
        "ptxas-blackwell",
    ),
    ("vcredist-missing", changed(runtime_dlls=(replace(H.runtime_dlls[0], loaded=False),)), "msvc"),
    (
        "vcredist-missing",
        changed(extensions=(replace(FLASH, unresolved=("VCRUNTIME140_THREADS.dll",)),)),
        "VCRUNTIME140_THREADS.dll",
    ),
    ("vcredist-too-old-beside-python", old_runtime("14.29.30139.0"), "14.29"),
    ("vcredist-too-old-beside-python", old_runtime("14.29.30139.0", None), "14.29", "likely"),
    ("vcredist-too-old-beside-python", old_runtime("14.40.33807.0"), "14.40", "warning, possible"),
    ("flash-wheel-torch-mismatch", installed(dist("flash-attn", "2.8.3+cu128torch2.8.0")), "2.8.3"),
    ("flash-wheel-torch-mismatch", installed(dist("flash-attn", "2.8.3+cu130torch2.9")), "cu130"),
    (
        "flash-wheel-needs-cuda-dlls",
        installed(dist("flash-attn", "2.8.3"), extensions=(FLASH,)),
        "cudart64_13.dll",
    ),
    *(
        ("sage-wheel-torch-mismatch", extension("sageattention", f"2.2.0+cu128torch{torch}"), torch)
        for torch in ("2.7.1.post3", "2.10.0andhigher.post4")
    ),
    ("sage-kernels-not-loaded", installed(dist("sageattention", "2.2.0")), "2.2.0"),
    (
        "xformers-torch-mismatch",
        installed(dist("xformers", "0.0.31", requires=("torch==2.7.1",))),
        "2.7.1",
    ),
    (
        "benign-triton-warning",
        changed(
            triton=None, distributions=(*without("triton-windows"), dist("xformers", "0.0.33"))
        ),
        "xformers",
    ),
    ("bnb-without-windows-binaries", installed(dist("bitsandbytes", "0.45.0")), "0.45.0"),
    ("bnb-without-windows-binaries", installed(dist("bitsandbytes-windows", "0.37")), "0.37"),
    ("embedded-python-no-headers", dev(headers=None), "Python.h"),
    ("embedded-python-no-headers", dev(import_library=None), "pythonXY.lib"),
    (
        "embedded-python-no-headers",
        replace(
            dev(import_library=None), triton=replace(H.triton, tinycc_python_def="python312.def")
        ),
        "pythonXY.lib",
        "warning",
    ),
    (
        "python-libs-not-found-venv-uv",
        replace(target(kind="venv"), python_dev=replace(H.python_dev, import_library=None)),
        "pythonXY.lib",
    ),
    ("python-headers-wrong-set", dev(headers_version="3.11.9"), "3.11.9"),
    ("python-headers-wrong-set", dev(headers_missing=("pyconfig.h",)), "pyconfig.h"),
    ("python-headers-wrong-set", dev(headers_damaged=("object.h",)), "object.h"),
    ("python-headers-wrong-set", dev(headers_free_threaded=True), "free-threaded"),
    ("python-headers-wrong-set", dev(import_library_dll="python310.dll"), "python310.dll"),
    ("python-headers-wrong-set", dev(import_library_machine="x86"), "32-bit"),
    ("cc-variable-wrong", cc(r"C:\bin;", "unknown", "missing", "semicolon"), "semicolon"),
    ("cc-variable-wrong", cc(r"C:\bin", "unknown", "folder"), "folder"),
    ("cc-variable-wrong", cc(r"C:\gone\gcc.exe", "gcc", "missing"), "no such program"),
    ("cc-variable-wrong", cc("gcc ", "gcc", None, "trailing-blank"), "blanks"),
    ("cc-variable-wrong", cc(r"C:\VS\cl.exe", "cl"), "INCLUDE"),
    ("path-with-spaces-unquoted", variables(CL=r"/IC:\Program Files\x\include /O2"), r"C:\Program"),
    ("msvc-env-not-initialised", variables(WindowsSdkDir=r"C:\Kits\10"), "WindowsSDKVersion"),
    ("msvc-env-not-initialised", changed(compilers=(*H.compilers, CL)), "cl.exe", "warning"),
    ("x86-toolchain", variables(VSCMD_ARG_TGT_ARCH="x86"), "x86"),
    (
        "x86-toolchain",
        changed(
            variables=(variable("INCLUDE", "x"),),
            compilers=(*H.compilers, replace(CL, target="x86")),
        ),
        "32-bit",
    ),
    ("cc-and-toolchain-absent", replace(part("triton", tinycc=None), compilers=()), "TinyCC"),
    # installed with --user: the compiler is there, and Triton looks elsewhere
    ("cc-and-toolchain-absent", changed(compilers=()), "in this folder only"),
    ("no-c-compiler", replace(triton("3.1.0", "3.1.0.post17"), compilers=()), "before a compiler"),
    ("vs-components-missing", visual(replace(TOOLSET, missing=("omp.h",))), "omp.h", "warning"),
    ("vs-components-missing", visual(TOOLSET, sdk=None), "no Windows SDK", "warning"),
    *(
        ("msvc-localised-output", visual(*tools), "English", "warning, likely")
        for tools in (
            [replace(TOOLSET, english=False)],
            [replace(TOOLSET, english=english, chosen=False) for english in (False, True)],
        )
    ),
    ("inductor-needs-cl", H, "Visual C++", "info"),
    ("cuda-path-wrong", toolkits(toolkit("11.8", "CUDA_PATH")), "11.8"),
    ("cuda-path-wrong", toolkits(toolkit("12.8", "CUDA_PATH", exists=False)), "does not exist"),
    ("cuda-path-wrong", toolkits(toolkit("12.8", "CUDA_HOME", header=None)), "cuda.h"),
    ("ptxas-older-than-ptx", toolkits(OLD_CUDA, *H.cuda_toolkits), "12.4", "warning, possible"),
    (
        "ptxas-older-than-ptx",
        replace(toolkits(OLD_CUDA, *H.cuda_toolkits), gpus=(gpu("12.0"),)),
        "12.4",
    ),
    (
        "ptxas-older-than-ptx",  # and new enough for the GPU
        replace(
            part("triton", ptxas_version="12.9.86"),
            cuda_toolkits=(toolkit("12.8", "CUDA_PATH"),),
            gpus=(gpu("12.0"),),
        ),
        "12.8",
        "warning, possible",
    ),
    ("cuda-toolkit-for-build", H, "12.8", "info"),
    ("nvcc-host-compiler-mismatch", builders(("12.8",), ("14.50.1",)), "14.50.1", "info"),
    ("triton-home-not-writable", cache(0, writable=False, error="WinError 5"), "WinError 5"),
    (
        "tinycc-path-letters",
        part("triton", tinycc="D:\\\u6a21\u578b\\triton\\runtime\\tcc\\tcc.exe"),
        "TinyCC lies in a folder whose name holds \u6a21\u578b",
    ),
    (
        "tinycc-path-letters",
        dev(headers="C:\\\u0141\u00f3d\u017a\\Include"),
        "Python's headers lie in a folder whose name holds \u0141",
    ),
    (
        "triton-variable-not-ascii",
        changed(variables=(GERMAN_CACHE, replace(GERMAN_CACHE, scope="user"))),
        "TRITON_CACHE_DIR (process, user)",
    ),
    (
        "triton-variable-not-ascii",
        replace(triton("3.5.0"), variables=(variable("TRITON_HOME", "D:\\\u7528\u6237"),)),
        "Triton 3.5.0",
    ),
    (
        "triton-variable-not-ascii",
        variables(TRITON_CACHE_DIR="D:\\c", TRITON_HOME=GERMAN, TRITON_DUMP_DIR=GERMAN),
        "TRITON_KERNEL_DUMP",
        "warning",
    ),
    *(
        (
            "triton-variable-not-ascii",
            replace(facts, variables=(variable(name, GERMAN),)),
            f"{name} (process)",
        )
        for facts, name in (
            (triton("3.8.0"), "TRITON_LIBDEVICE_PATH"),
            (defects("tool-variables"), "TRITON_PTXAS.EXE_PATH"),
            (defects(), "TRITON_PTXAS_PATH"),
        )
    ),
    (
        "triton-variable-not-ascii",
        variables(TRITON_CUPTI_LIB_PATH=GERMAN),
        "but only for Triton's profiler",
        "warning",
    ),
    ("stale-helper-module", helper(valid=False), "damaged"),
    ("stale-helper-module", helper(python_dll="python310.dll"), "python310.dll"),
    (
        "stale-helper-module",
        replace(helper(), target=target(free_threaded=True).target),
        "python312t.dll",
    ),
    ("stale-helper-module", helper(unresolved=("nvcuda2.dll",)), "nvcuda2.dll"),
    ("inductor-rename-windows", torch("2.5.1", "==3.1.0", "12.4"), "2.5.1", "warning, likely"),
    ("amd-rocm-paths", changed(gpus=(AMD,), drivers=()), "Radeon", "warning"),
    ("amd-rocm-paths", rocm("hip_runtime.h"), "hip_runtime.h", "warning"),
    ("amd-rocm-paths", on_amd("rocm", version="7.2.1"), "7.2.1", "warning"),
    (
        "amd-helper-compiler",
        replace(on_amd("triton", hip_headers=False), rocm=on_amd("rocm", devel="packed").rocm),
        "rocm-sdk init",
    ),
    ("amd-helper-compiler", replace(RADEON, compilers=H.compilers), "TinyCC", "likely"),
    ("amd-helper-compiler", on_amd("triton", version="3.6.0"), "TinyCC", "likely"),
    ("amd-helper-compiler", replace(RADEON, msvc=()), "needs Visual C++"),
    (
        "amd-helper-compiler",
        replace(RADEON, msvc=(), windows_sdks=()),
        "Visual C++ and a Windows SDK",
    ),
    ("amd-helper-compiler", on_amd("msvc", version="14.50.35717"), "v143", "warning"),
    ("python-unsupported", on_amd("target", version="3.9.13"), "3.9"),
    (
        "build-variable-blanks",
        changed(variables=(variable("NVCC_THREADS", "1 ", "trailing-blank"),)),
        "NVCC_THREADS",
    ),
    ("build-resource-limits", variables(**JOBS), "224 GiB", "warning, likely"),
]


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row[0])
def test_finds_what_is_broken(row: tuple[Any, ...]) -> None:
    """The evidence names the culprit; a fourth item: severity or certainty that are not usual."""
    problem, facts, names, *unusual = row
    (found,) = diagnose(facts, one(problem)).problems
    assert found.id == problem
    assert names in " ".join(e.text + e.where for e in found.evidence)
    usual = catalogue.load().entry(problem).severity
    kinds = [found.severity] if found.severity != usual else []
    kinds += [found.certainty] if found.certainty != "certain" else []
    assert kinds == [kind for text in unusual for kind in text.split(", ")]


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row[0])
def test_one_problem_fits_a_screen(monkeypatch: pytest.MonkeyPatch, row: tuple[Any, ...]) -> None:
    grave = [found for found in diagnose(row[1], CHECKS).problems if found.severity != "info"]
    text = screen(monkeypatch, of_facts(row[1]), 80)
    assert len(grave) > 1 or height(text, 80) <= LONGEST, text


HALF = ": half of Visual Studio's environment"
SIX = ("a.h", "b.h", "c.h", "d.h", "e.h", "f.h")

# check, facts, all that it says
SAID = [
    (
        "cuda-path-wrong",
        changed(
            cuda_toolkits=(
                toolkit("12.8", "CUDA_PATH", header=None, library=None),
                toolkit("11.8", "CUDA_HOME"),
                toolkit("11.7", "PATH"),
            )
        ),
        [
            r"CUDA_PATH is C:\CUDA\v12.8: incomplete: cuda.h, cuda.lib not there",
            r"CUDA_HOME is C:\CUDA\v11.8: CUDA 11.8; Triton needs 12 or later",
        ],
    ),
    ("cuda-path-wrong", toolkits(toolkit("12.0", "CUDA_PATH")), []),
    (
        "cuda-path-wrong",
        toolkits(toolkit("12.8", "CUDA_PATH", ptxas=None)),
        [r"CUDA_PATH is C:\CUDA\v12.8: incomplete: ptxas not there"],
    ),
    (
        "nvcc-host-compiler-mismatch",
        builders(("12.8",), ("14.50.35717", "14.60.1")),
        ["nvcc 12.8 accepts Visual C++ >=14.10,<14.50, installed is 14.50.35717, 14.60.1"],
    ),
    ("nvcc-host-compiler-mismatch", builders(("12.8",), ("14.50.35717", "14.44.35207")), []),
    (
        "cuda-toolkit-for-build",
        builders(("11.8", "13.0"), ()),
        ["only CUDA 11.8 was found; building an extension for this torch needs CUDA 12.8"],
    ),
    ("cuda-toolkit-for-build", builders(("13.0", "12.4"), ()), []),
    (
        "embedded-python-no-headers",
        dev(headers=None, import_library=None, passed_over=(r"C:\a", r"C:\b")),
        [
            (
                "Python.h and the import library pythonXY.lib not found for Python 3.12.9; "
                r"looked in C:\a, C:\b"
            )
        ],
    ),
    (
        "python-headers-wrong-set",
        dev(headers_missing=SIX, headers_damaged=SIX[::-1]),
        ["a.h, b.h, c.h, d.h, e.h missing from the headers", "f.h, e.h, d.h, c.h, b.h damaged"],
    ),
    (
        "python-headers-wrong-set",
        threaded(headers_free_threaded=True),
        ["the import library is for python312.dll, not for python312t.dll"],
    ),
    (
        "python-headers-wrong-set",
        threaded(headers_free_threaded=True, import_library_dll="PYTHON312T.dll"),
        [],
    ),
    ("python-headers-wrong-set", dev(import_library_machine="x64"), []),
    (
        "vs-components-missing",
        visual(replace(TOOLSET, missing=SIX)),
        ["Visual Studio Build Tools 2022: a.h, b.h, c.h, d.h not installed"],
    ),
    (
        "vs-components-missing",
        visual(TOOLSET, sdk=replace(SDK, missing=SIX)),
        ["Windows SDK 10.0.22621.0 lacks a.h, b.h, c.h, d.h"],
    ),
    (
        "vs-components-missing",
        changed(
            msvc=(replace(TOOLSET, missing=SIX), TOOLSET),
            windows_sdks=(replace(SDK, missing=SIX), SDK),
        ),
        [],
    ),
    # only a backslash is what is left where no SDK was found
    *(
        (
            "msvc-env-not-initialised",
            variables(WindowsSdkDir=r"C:\Kits\10", WindowsSDKVersion=version),
            said,
        )
        for version, said in (
            ("\\", [f"WindowsSdkDir is set and WindowsSDKVersion is not{HALF}"]),
            (" \\ ", [f"WindowsSdkDir is set and WindowsSDKVersion is not{HALF}"]),
            ("10.0.22621.0\\", []),
        )
    ),
    (
        "msvc-env-not-initialised",
        variables(VCINSTALLDIR=r"C:\VC"),
        [f"VCINSTALLDIR is set and VCToolsVersion is not{HALF}"],
    ),
    (
        "msvc-env-not-initialised",
        variables(VCINSTALLDIR=r"C:\VC", VCToolsVersion="14.44"),
        [f"VCINSTALLDIR is set and WindowsSdkDir is not{HALF}"],
    ),
    (
        "x86-toolchain",
        variables(VSCMD_ARG_TGT_ARCH=" X86 "),
        ["this is the environment of the x86 prompt"],
    ),
    ("x86-toolchain", variables(VSCMD_ARG_TGT_ARCH="x64"), []),
    (
        "path-with-spaces-unquoted",
        variables(CL=r"/Id:/My Files\x", _LINK_=r"/LIBPATH:C:\a b\c", LINK=r'/O "C:\a b\c" /x\y'),
        [
            r"CL holds a path that is cut at its blank: /Id:/My Files\x",
            r"_LINK_ holds a path that is cut at its blank: /LIBPATH:C:\a b\c",
        ],
    ),
    ("path-with-spaces-unquoted", variables(CL=r"/IC:\a -DX=\y @C:\z C:\b c:\d"), []),
    (
        "mixed-environments",
        part("target", managers=("conda", "venv", "uv")),
        ["this environment carries marks of conda and venv and uv"],
    ),
    # the same folder, as other programs write it
    ("mixed-environments", variables(VIRTUAL_ENV="c:/comfyui/PYTHON_EMBEDED/"), []),
    ("mixed-environments", variables(CONDA_PREFIX=healthy.HOME + "\\"), []),
    (
        "environment-drifted",
        proven(python="3.11.9"),
        ["Python was 3.11.9 when it was proven to work, and is 3.12.9"],
    ),
    (
        "environment-drifted",
        proven(driver=None),
        ["the driver was not there when it was proven to work, and is 581.57"],
    ),
    ("environment-drifted", proven(), []),
    ("amd-rocm-paths", rocm(*SIX), [r"ROCm in C:\R lacks a.h, b.h, c.h, d.h"]),
    (
        "update-replaced-torch",
        changed(distributions=(*H.distributions, dist("torch", "2.8.0"), dist("torch", "2.7.0"))),
        [
            (
                "the records of torch 2.9.1+cu128 and 2.8.0 and 2.7.0 lie side by side: one was put "
                "over the other"
            )
        ],
    ),
    (
        "distribution-name-or-url",
        changed(
            distributions=(
                *without("triton-windows"),
                dist("triton", "3.5.1"),
                dist("somenode", "1", requires=("triton-windows>=3", "triton>=3")),
            )
        ),
        ["somenode 1 requires triton-windows>=3, installed is triton"],
    ),
    # borders of versions
    ("old-setuptools", setuptools("65.5.0", "3.11.9"), []),
    (
        "old-setuptools",
        setuptools("66.0.0", "3.12.0"),
        ["setuptools 66.0.0 uses pkgutil.ImpImporter, which Python 3.12 removed"],
    ),
    ("old-setuptools", setuptools("66.1.0", "3.12.0"), []),
    ("stale-package-needs-triton-ops", bitsandbytes("0.44.1", "3.0.0"), []),
    (
        "stale-package-needs-triton-ops",
        bitsandbytes("0.44.1", "3.1.0"),
        ["bitsandbytes 0.44.1 imports triton.ops, which Triton 3.1.0 no longer has"],
    ),
    ("stale-package-needs-triton-ops", bitsandbytes("0.45.0", "3.1.0"), []),
    (
        "torch-too-old-for-triton",
        pair("2.3.1", "3.0.0"),
        [
            (
                "torch 2.3.1 is installed beside Triton 3.0.0; "
                "2.4 is the first torch that works with a triton-windows"
            )
        ],
    ),
    ("torch-too-old-for-triton", pair("2.3.1", "2.1.0"), []),
    ("torch-too-old-for-triton", pair("2.4.0", "3.0.0"), []),
    ("driver-too-old", driver(version="525.60", cuda="12.0"), []),
    (
        "driver-too-old",
        driver(version="472.12", cuda="11.4"),
        ["driver 472.12 runs CUDA up to 11.4, torch needs CUDA 12.8"],
    ),
    ("driver-too-old", driver(error="it does not answer"), ["it does not answer"]),
    ("driver-too-old", driver(version="581.57"), []),
    # the second GPU is the first whose capability is known
    (
        "bf16-needs-sm80",
        changed(gpus=(replace(gpu("8.9"), compute_capability=None), gpu("7.5"), gpu("8.9"))),
        ["compute capability 7.5 has no bf16 instructions (8.0 and later have)"],
    ),
]


@pytest.mark.parametrize(("check", "facts", "said"), SAID, ids=lambda v: str(v)[:30])
def test_everything_that_a_check_says(check: str, facts: Facts, said: list[str]) -> None:
    assert texts(check, facts) == said


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        (("py3-none-any",), True),
        (("py2-none-any",), False),
        (("py2-none-any", "py3-none-any"), True),
        (("py3-none-win_amd64",), True),
        (("cp312-none-any",), True),
        (("cp313-none-any",), False),
        (("cp312-cp312-win_amd64",), True),
        (("cp312-cp312t-win_amd64",), False),
        (("cp311-cp311-win_amd64",), False),
        (("cp311-cp312-win_amd64",), False),
        (("cp39-abi3-win_amd64",), True),
        (("cp312-abi3-win_amd64",), True),
        (("cp313-abi3-win_amd64",), False),
        (("cp312-cp312-win_arm64",), False),
        (("cp312-cp312-win32",), False),
        (("cp312-cp312-manylinux_2_28_x86_64",), False),
        (("cp312-cp312-win32.win_amd64",), True),
        (("cp312-cp312-win32.linux_x86_64",), False),
        (("pp310-pypy310_pp73-win_amd64",), True),  # an unusual one proves nothing
        ((f"cp3{'1' * 5000}-cp312-win_amd64",), True),
        (("cp312",), True),  # and neither does a malformed one
        (("cp311-win_amd64",), True),
        (("cp311-cp311-win-amd64",), True),
        (("cp311-cp311-",), True),
        (("",), True),
        (("unknown", "cp311-cp311-win_amd64"), True),
        ((), True),
    ],
)
def test_which_wheels_are_made_for_this_python(tags: tuple[str, ...], fits: bool) -> None:
    facts = changed(distributions=(*H.distributions, dist("numpy", "2.0", tags=tags)))
    said = f"numpy 2.0 is made for {tags[0]}, this is Python 3.12.9 on win_amd64" if tags else ""
    assert texts("wheel-tag-unsupported", facts) == ([] if fits else [said])


@pytest.mark.parametrize(
    ("target", "tag", "fits"),
    [
        ({"free_threaded": True}, "cp312-cp312t-win_amd64", True),
        ({"free_threaded": True}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "win_arm64"}, "cp312-cp312-win_arm64", True),
        ({"platform_tag": "win_arm64"}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-manylinux_2_28_x86_64", True),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-linux_x86_64", True),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-macosx_11_0_arm64", False),
        ({"version": "3.9.1"}, "cp39-cp39-win_amd64", True),
        ({"version": "3.9.1"}, "cp310-abi3-win_amd64", False),
    ],
)
def test_wheels_for_other_pythons(target: dict[str, object], tag: str, fits: bool) -> None:
    facts = replace(part("target", **target), distributions=(dist("numpy", "2.0", tags=(tag,)),))
    assert (texts("wheel-tag-unsupported", facts) == []) is fits


NO_NUMBER = "the interpreter's version is not known"


@pytest.mark.parametrize(
    ("check", "facts", "reason"),
    [
        ("embedded-python-no-headers", part("target", kind="venv"), "this is no embedded Python"),
        (
            "python-headers-wrong-set",
            dev(headers=None, import_library=None),
            "there are no headers to look at",
        ),
        (
            "wheel-tag-unsupported",
            part("target", platform_tag=None),
            "the interpreter's platform is not known",
        ),
        *(
            (check, part("target", version=None), NO_NUMBER)
            for check in ("wheel-tag-unsupported", "python-headers-wrong-set")
        ),
        (
            "old-setuptools",
            part("target", version=None),
            "the version of python is not known",
        ),
        (
            "old-setuptools",
            changed(distributions=without("setuptools")),
            "setuptools is not installed",
        ),
        (
            "cpu-only-torch",
            changed(torch=replace(H.torch, version="2.9.1+cpu", cuda=None), gpus=(AMD,)),
            "no NVIDIA GPU was seen",
        ),
        *(
            (
                check,
                part("triton", version=None),
                "the pairing of this torch and Triton is not known",
            )
            for check in ("triton-too-old", "triton-too-new-for-torch")
        ),
        (
            "no-triton-for-torch-yet",
            part("torch", version="9.9.9", wants_triton=None),
            "what torch 9.9.9 wants is not known",
        ),
        *(
            (check, part("triton", libtriton=library), "there is no Windows binary of Triton")
            for check in (
                "triton-sources-not-for-windows", "triton-patch-incomplete", "c-long-32bit",
                "triton-patch-overwritten", "fork-launcher-stale-error",
            )
            for library in (None, r"C:\triton\_C\libtriton.so")
        ),
        (
            "triton-variable-not-ascii",
            part("triton", version="3.4.0"),
            "only Triton 3.5 and later ask C for their variables",
        ),
        (
            "triton-variable-not-ascii",
            system(ansi_code_page=65001),
            "the code page of Windows is UTF-8",
        ),
        *(
            (check, gpus("99.0"), "compute capability 99.0 is newer than this table")
            for check in ("gpu-generation-unsupported", "bf16-needs-sm80", "fp8-needs-sm89")
        ),
        *(
            ("nvcc-host-compiler-mismatch", facts, "no pair of CUDA toolkit and Visual C++ to compare")
            for facts in (builders((), ("14.44.35207",)), builders(("12.8",), ()))
        ),
        ("driver-too-old", changed(gpus=(AMD,), drivers=()), "the GPU is not NVIDIA's"),
    ],
)  # fmt: skip
def test_why_a_check_has_nothing_to_look_at(check: str, facts: Facts, reason: str) -> None:
    (result,) = diagnose(facts, one(check)).checks
    assert (result.state, result.detail) == ("not-applicable", reason)


def test_findings_and_facts_supply_the_values_of_the_catalogues_words() -> None:
    supplied: dict[str, set[str]] = {}
    for problem, facts, *_ in BROKEN:
        for found in findings_of(facts, one(problem)):
            supplied.setdefault(problem, {"python"}).update(found.values, context(facts))
    for problem, values in supplied.items():
        entry = catalogue.load().entry(problem)
        arguments = (text for action in entry.actions for text in action.arguments.values())
        texts = (entry.cause, entry.remedy.summary, *entry.remedy.commands, *arguments)
        # what a line of a log says fills a sentence of its own
        said = {"torch_pairs", *(name for each in entry.signatures for name in each.values)}
        assert {name for text in texts for name in names(text)} <= {*values, *said}, problem


def test_every_check_is_shown_to_find_something() -> None:
    shown = {row[0] for row in BROKEN}
    assert {c.id for c in CHECKS} == shown, "each check has a row in BROKEN above"


def test_what_has_no_check_says_why_only_a_log_shows_it() -> None:
    entries = catalogue.load().entries
    assert {c.id for c in CHECKS} == {i for i, e in entries.items() if e.log_only is None}, (
        "an entry of the catalogue has a check, or says in log_only why there is none"
    )


FINE = [
    H,
    # patched by tritonwin, and still so; or overwritten, and patched when it is imported
    changed(patch=PatchRecord(ours=("knobs.py",))),
    replace(
        part("triton", import_hook="_tritonwin_hook.py"), patch=PatchRecord(original=("knobs.py",))
    ),
    gpus("8.6"),
    replace(triton("3.8.0"), gpus=(gpu("12.0"),)),
    changed(msvc=(TOOLSET,), windows_sdks=(SDK,)),
    # headers of another patch release, a newer minor CUDA in torch than in the driver
    dev(headers_version="3.12.3"),
    changed(drivers=(replace(H.drivers[0], cuda="12.4"),)),
    # an old runtime DLL is no fault for a libtriton from before the break
    old_runtime("14.38.33130.0", "14.38"),
    old_runtime("14.44.35112.1"),
    changed(runtime_dlls=(replace(H.runtime_dlls[0], version="14.42.34433.0"),)),
    # conda's base is active in the shell, the target is a plain installation
    replace(target(kind="user", pth=None), variables=(variable("CONDA_PREFIX", r"C:\conda"),)),
    variables(CONDA_PREFIX=r"C:\conda", CONDA_DEFAULT_ENV="base"),
    # a venv activated on top of a conda environment
    replace(
        target(kind="venv", pth=None, prefix=r"C:\venv"),
        variables=(variable("CONDA_PREFIX", r"C:\conda"), variable("VIRTUAL_ENV", r"C:\venv")),
    ),
    # torch 2.4 asks for 3.0, which triton-windows serves with 3.1
    replace(
        part("triton", version="3.1.0"),
        torch=replace(H.torch, version="2.4.1+cu124", wants_triton="==3.0.0", cuda="12.4"),
    ),
    installed(dist("flash-attn", "2.8.3+cu128torch2.9.0", tags=("cp39-abi3-win_amd64",))),
    installed(
        dist("sageattention", "2.2.0+cu128torch2.9.0andhigher.post4"),
        extensions=(replace(FLASH, package="sageattention", unresolved=()),),
    ),
    # a folder whose letters the code page has, and one for which there is no such page
    part("triton", tinycc="D:\\J\u00f6rg\\tcc.exe"),
    *(
        replace(
            part("triton", tinycc="D:\\\u6a21\u578b\\tcc.exe"),
            system=system(ansi_code_page=page).system,
        )
        for page in (936, 65001)
    ),
    # Triton that asks Python for its variables, and a Windows where C's letters are UTF-8 too
    replace(triton("3.4.0"), variables=(GERMAN_CACHE,)),
    replace(system(ansi_code_page=65001), variables=(GERMAN_CACHE,)),
    # another program's variable
    variables(TORCHINDUCTOR_CACHE_DIR=GERMAN_CACHE.value),
    helper(python_dll="python310.dll", usable=False),
    helper(python_dll="python3.dll"),
    variables(FLASH_ATTN_CUDA_ARCHS="80;120"),
    changed(variables=(variable("CL", r'/I"C:\Program Files\x\include" /O2'),)),
    variables(MAX_JOBS="4"),
    variables(MAX_JOBS="100000"),  # no number of jobs
    # what only an extra asks for, which nobody did
    installed(dist("somenode", "1", requires=("triton>=3; extra == 'gpu'",))),
    defects("ptxas-blackwell", "amd-dlfcn"),
    # Microsoft's compiler in CC, in a prompt that has its folders
    replace(
        cc(CL.path, "cl"),
        variables=(variable("CC", CL.path), variable("INCLUDE", r"C:\VS\include")),
    ),
    # a whole toolkit in CUDA_PATH, newer than what Triton brings along, and a compiler it accepts
    changed(
        variables=(variable("CUDA_PATH", toolkit("12.9", "CUDA_PATH").path),),
        cuda_toolkits=(toolkit("12.9", "CUDA_PATH"), *H.cuda_toolkits),
        msvc=(TOOLSET,),
        windows_sdks=(SDK,),
    ),
    extension("bitsandbytes", "0.49.0"),
    installed(dist("xformers", "0.0.33", requires=("torch==2.9.1", "numpy"))),
    # what neither CUDA nor Microsoft's runtime is may be found when the package is imported
    extension("flash-attn", "2.8.3+cu128torch2.9.0", "beside_it.dll"),
    installed(dist("liger-kernel", "0.6.0", requires=("triton-windows>=3.2",))),
    variables(TRITON_PTXAS_PATH=r"C:\CUDA\v12.9\bin\ptxas.exe"),
]


@pytest.mark.parametrize("facts", FINE)
def test_leaves_the_healthy_alone(facts: Facts) -> None:
    # torch below 2.6 has a defect of its own
    ignored = {"inductor-rename-windows"} if facts.torch.version.startswith("2.4") else set()
    worse = [p.id for p in diagnose(facts, CHECKS).problems if p.severity != "info"]
    assert set(worse) <= ignored


@pytest.mark.parametrize(
    ("temp", "value"),
    [
        ("C:\\Users\\ada\\Temp", "C:\\Users\\ada\\Temp\\triton"),
        ("C:\\Users\\J\u00f6rg\\Temp", None),
    ],
)
def test_another_cache_is_one_whose_name_triton_can_read(temp: str, value: str | None) -> None:
    facts = cache(0, writable=False, error="WinError 5")
    facts = replace(facts, system=replace(facts.system, temp=temp))
    (problem,) = diagnose(facts, one("triton-home-not-writable")).problems
    assert [a.arguments["value"] for a in problem.actions] == ([value] if value else [])
    assert problem.remedy.commands


@pytest.mark.parametrize(
    ("more", "severity", "unset"),
    [
        ({}, "error", "TRITON_HOME"),
        ({"TRITON_DUMP_DIR": "D:\\\u00f6"}, "error", "TRITON_HOME"),
        ({"TRITON_CACHE_DIR": "D:\\c"}, "warning", "TRITON_HOME"),
        (
            {"TRITON_CACHE_DIR": "D:\\c", "TRITON_DUMP_DIR": "D:\\\u00f6"}
            | {"TRITON_KERNEL_DUMP": "1"},
            "error",
            "TRITON_DUMP_DIR",
        ),
    ],
)
def test_a_variable_that_triton_does_not_read_yet_is_a_warning(
    more: dict[str, str], severity: str, unset: str
) -> None:
    values = {"TRITON_HOME": "D:\\J\u00f6rg", **more}
    (problem,) = diagnose(variables(**values), one("triton-variable-not-ascii")).problems
    assert problem.severity == severity
    assert [dict(action.arguments) for action in problem.actions] == [{"variable": unset}]


def test_a_launcher_before_3_4_asks_where_python_may_be_used() -> None:
    facts = defects("last-error-launcher", version="3.3.1")
    assert diagnose(facts, one("fork-launcher-stale-error")).problems == ()


def test_a_variable_that_this_triton_ignores_is_not_one_that_it_cannot_read() -> None:
    """`ptxas-path-variable-ignored` names it."""
    facts = defects("tool-variables")
    facts = replace(facts, variables=(variable("TRITON_PTXAS_PATH", GERMAN),))
    found = [p.id for p in diagnose(facts, CHECKS).problems]
    assert "triton-variable-not-ascii" not in found
    assert "ptxas-path-variable-ignored" in found


@pytest.mark.parametrize("release", ["windows:3.8.0.post29", "3.9.0"])
def test_every_path_that_triton_reads_through_c_is_known(release: str) -> None:
    knobs = sources(release).joinpath("knobs.py").read_text("utf-8")
    asked = set(re.findall(r'env_\w*str\w*\(\s*"(TRITON_\w+(?:PATH|DIR|HOME))"', knobs))
    tools = {
        name.upper().replace("-", "_") for name in re.findall(r'env_nvidia_tool\("(.+)"\)', knobs)
    }
    assert len(asked) > 8
    assert asked <= set(caches.path_variables().paths)
    assert tools == set(caches.path_variables().tools)


def test_a_linux_wheel_over_the_fork_is_one_problem() -> None:
    """Its tag is not told as a second one, which nobody could solve."""
    tags = ("cp312-cp312-manylinux_2_27_x86_64",)
    found = [p.id for p in diagnose(installed(dist("triton", "3.8.0", tags=tags)), CHECKS).problems]
    assert "triton-and-fork-both-installed" in found
    assert "wheel-tag-unsupported" not in found


def test_linux_runs_what_applies_there_and_says_what_does_not() -> None:
    facts = system(os="linux")
    results = {c.id: c for c in diagnose(facts, CHECKS).checks}
    assert results["long-paths-off"].state == "not-applicable"
    assert results["triton-missing"].state == "ok"


EMPTY = Facts(tool_version="0", system=System(os="windows", version="", machine=""))


@pytest.mark.parametrize(
    "facts",
    [
        H,
        EMPTY,
        system(os="linux"),
        changed(torch=None),
        torch("2.9.1+cpu", None, cuda=None),
        changed(triton=None, distributions=without("triton-windows")),
        changed(gpus=(), drivers=()),
        changed(gpus=(AMD,)),
    ],
    ids=["healthy", "unknown", "Linux", "no torch", "CPU torch", "no Triton", "no GPU", "AMD"],
)
def test_what_does_not_apply_says_why(facts: Facts) -> None:
    silent = [c for c in diagnose(facts, CHECKS).checks if c.state == "not-applicable"]
    assert silent
    assert [c.id for c in silent if not c.detail] == []


@given(st.sets(st.sampled_from([f.name for f in fields(Facts)])))
def test_no_check_needs_a_fact_that_may_be_missing(names: set[str]) -> None:
    kept = {n: getattr(H, n) for n in names - {"system", "tool_version", "schema"}}
    crashed = [c for c in diagnose(replace(EMPTY, **kept), CHECKS).checks if c.state == "crashed"]
    assert crashed == []


def places(tree: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of texts in a tree."""
    if isinstance(tree, str):
        yield path
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from places(item, (*path, index))
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from places(item, (*path, key))


TREE = to_json(H)
ODD = ["", " ", "1", "3.", "12.x", ">=", "9" * 5000, "0." + "9" * 5000]
NONSENSE = st.text(max_size=12) | st.sampled_from([*ODD, "\uff10.\uff11", "v1!2", "\\", "C:"])


@given(st.sampled_from(sorted(places(TREE), key=str)), NONSENSE)
def test_nonsense_in_any_text_crashes_nothing(place: tuple[str | int, ...], value: str) -> None:
    tree: Any = deepcopy(TREE)
    inner = tree
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    try:
        facts = from_json(Facts, tree)
    except DecodeError:
        return  # a word that the model fixes
    results = diagnose(facts, CHECKS).checks
    assert [c for c in results if c.state == "crashed"] == []


@pytest.mark.parametrize("architecture", ["gfx1030", "gfx1100", "gfx1103", "gfx1151", "gfx1201"])
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="as installed"),
        pytest.param({"variables": (variable("HIP_VISIBLE_DEVICES", "0"),)}, id="visible"),
        pytest.param(
            {
                "msvc": (),
                "windows_sdks": (),
                "triton": replace(RADEON.triton or H.triton, python_driver="C:\\hook.py"),
            },
            id="driver in Python, no Visual Studio",
        ),
    ],
)
def test_a_healthy_radeon_is_left_alone(architecture: str, changes: dict[str, Any]) -> None:
    facts = radeon(architecture, **changes)
    if "triton" not in changes:
        version = f"{architecture[3:5]}.{architecture[5]}.{architecture[6]}"
        right = (
            variable("TRITON_OVERRIDE_ARCH", architecture),
            variable("HSA_OVERRIDE_GFX_VERSION", version),
        )
        facts = replace(facts, variables=(*facts.variables, *right))
    found = diagnose(facts, CHECKS)
    assert [p.id for p in found.problems if p.severity != "info"] == []
    assert not [c for c in found.checks if c.state == "crashed"]
