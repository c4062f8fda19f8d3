"""Facts of a Windows PC on which everything works, to be broken in one place by a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tritonwin.facts.amd import chip
from tritonwin.facts.records import (
    Cache,
    Compiler,
    CudaToolkit,
    Distribution,
    Driver,
    Facts,
    Gpu,
    Interpreter,
    MsvcToolset,
    PthFile,
    PythonDev,
    Rocm,
    RuntimeDll,
    System,
    Torch,
    Triton,
    Variable,
    WindowsSdk,
)
from tritonwin.problems.records import Problem, Remedy

HOME = r"C:\ComfyUI\python_embeded"
SITE = HOME + r"\Lib\site-packages"
TRITON = SITE + r"\triton"

TARGET = Interpreter(
    executable=HOME + r"\python.exe",
    source="--python",
    kind="embedded",
    version="3.12.9",
    bits=64,
    machine="AMD64",
    implementation="cpython",
    free_threaded=False,
    prefix=HOME,
    base_prefix=HOME,
    platform_tag="win_amd64",
    ext_suffix=".cp312-win_amd64.pyd",
    include=HOME + r"\Include",
    pth=PthFile(path=HOME + r"\python312._pth", entries=("python312.zip", "."), import_site=True),
    site_packages=(SITE,),
    site_loaded=True,
    writable=True,
    has_pip=True,
)

SYSTEM = System(
    os="windows",
    version="10.0.22631",
    machine="AMD64",
    ansi_code_page=1252,
    long_paths=True,
    developer_mode=False,
    smart_app_control="off",
    admin=False,
    cpu_count=16,
    memory_bytes=64 * 2**30,
    temp=r"C:\Users\ada\AppData\Local\Temp",
    git_long_paths=True,
)


def dist(name: str, version: str, **more: Any) -> Distribution:
    """An installed distribution of the healthy environment."""
    folder = f"{SITE}\\{name.replace('-', '_')}-{version}.dist-info"
    return Distribution(name=name, version=version, location=folder, site_packages=SITE, **more)


def variable(name: str, value: str, *flaws: str) -> Variable:
    return Variable(name=name, value=value, scope="process", flaws=flaws)


def gpu(capability: str, name: str = "NVIDIA GeForce RTX 4090") -> Gpu:
    return Gpu(
        index=0,
        vendor="nvidia",
        name=name,
        source="NVML",
        compute_capability=capability,
        memory_bytes=24 * 2**30,
    )


FORK = dist("triton-windows", "3.5.1.post24", tags=("cp312-cp312-win_amd64",))

HEALTHY = Facts(
    tool_version="0.1.0",
    system=SYSTEM,
    target=TARGET,
    interpreters=(TARGET,),
    python_dev=PythonDev(
        headers=HOME + r"\Include",
        headers_version="3.12.9",
        headers_free_threaded=False,
        headers_missing=(),
        headers_damaged=(),
        import_library=HOME + r"\libs\python312.lib",
        import_library_dll="python312.dll",
        import_library_machine="x64",
    ),
    distributions=(
        dist(
            "torch",
            "2.9.1+cu128",
            tags=("cp312-cp312-win_amd64",),
            requires=('triton==3.5.1; platform_system == "Linux"',),
        ),
        FORK,
        dist("setuptools", "80.9.0"),
    ),
    torch=Torch(
        version="2.9.1+cu128",
        location=SITE + r"\torch",
        source=SITE + r"\torch\version.py",
        cuda="12.8",
        wants_triton="==3.5.1",
        wants_triton_source=SITE + r"\torch-2.9.1+cu128.dist-info\METADATA",
    ),
    triton=Triton(
        version="3.5.1",
        location=TRITON,
        source=FORK.location,
        flavour="fork",
        distribution="triton-windows",
        libtriton=TRITON + r"\_C\libtriton.pyd",
        libtriton_imports=("KERNEL32.dll", "MSVCP140.dll", "VCRUNTIME140.dll"),
        libtriton_linker="14.44",
        ptxas=TRITON + r"\backends\nvidia\bin\ptxas.exe",
        ptxas_version="12.8",
        tinycc=TRITON + r"\runtime\tcc\tcc.exe",
        for_windows=True,
    ),
    gpus=(gpu("8.9"),),
    drivers=(Driver(vendor="nvidia", source="NVML", version="581.57", cuda="13.0"),),
    cuda_toolkits=(
        CudaToolkit(
            path=TRITON + r"\backends\nvidia",
            source="bundled with Triton",
            layout="bundled",
            version="12.8",
            ptxas=TRITON + r"\backends\nvidia\bin\ptxas.exe",
            chosen=True,
        ),
    ),
    compilers=(
        Compiler(
            family="tinycc",
            path=TRITON + r"\runtime\tcc\tcc.exe",
            source="bundled with Triton",
            target="x64",
            chosen=True,
        ),
    ),
    runtime_dlls=(
        RuntimeDll(
            name="msvcp140.dll",
            path=r"C:\Windows\System32\msvcp140.dll",
            place="system32",
            version="14.44.35211.0",
            loaded=True,
        ),
    ),
    caches=(
        Cache(
            kind="triton",
            path=r"C:\Users\ada\.triton\cache",
            source="default",
            exists=True,
            writable=True,
        ),
        Cache(
            kind="inductor",
            path=r"C:\Users\ada\AppData\Local\Temp\torchinductor_ada",
            source="default",
            exists=False,
            writable=True,
        ),
    ),
)

TOOLSET = MsvcToolset(
    version="14.44.35207",
    path=r"C:\BT\VC\Tools\MSVC\14.44.35207",
    compiler=r"C:\BT\VC\Tools\MSVC\14.44.35207\bin\Hostx64\x64\cl.exe",
    english=True,
    instance=r"C:\BT",
    product="Visual Studio Build Tools 2022",
    source="vswhere",
    vcvarsall=r"C:\BT\VC\Auxiliary\Build\vcvarsall.bat",
    chosen=True,
)
SDK = WindowsSdk(version="10.0.22621.0", path=r"C:\Kits\10", source="registry", chosen=True)


def radeon(architecture: str = "gfx1100", **changes: Any) -> Facts:
    """A PC with a card of AMD on which everything works, of that chip."""
    version, rocm = "2.12.0+rocm7.13.0", SITE + r"\_rocm_sdk_core"
    known = chip(architecture)
    card = Gpu(
        index=0,
        vendor="amd",
        name=f"AMD {known.cards if known else 'Radeon'}",
        source=r"C:\Windows\System32\amdhip64_7.dll",
        architecture=architecture,
        integrated=bool(known and known.integrated),
        memory_bytes=16 * 2**30,
    )
    facts = replace(
        HEALTHY,
        distributions=(
            dist("torch", version),
            dist("torchvision", "0.27.0+rocm7.13.0"),
            dist("triton-windows", "3.7.1.post27", tags=("cp312-cp312-win_amd64",)),
            dist("rocm", "7.13.0"),
        ),
        torch=Torch(
            version=version,
            location=SITE + r"\torch",
            source=SITE + r"\torch\version.py",
            hip="7.13.26194",
            chips=(architecture,),
        ),
        triton=replace(
            HEALTHY.triton or Triton(version="", location="", source="", flavour="fork"),
            version="3.7.1",
            hip_headers=True,
        ),
        gpus=(card,),
        drivers=(Driver(vendor="amd", source="registry", version="32.0.22021.1009", hip="7.2"),),
        rocm=(
            Rocm(
                path=rocm,
                source="site-packages",
                kind="rocm-wheels",
                version="7.13.0",
                chips=(architecture,),
                devel="absent",
            ),
        ),
        cuda_toolkits=(),
        compilers=(
            Compiler(
                family="clang-cl",
                path=rocm + r"\lib\llvm\bin\clang-cl.exe",
                source="ROCm wheels",
                chosen=True,
            ),
        ),
        msvc=(TOOLSET,),
        windows_sdks=(SDK,),
    )
    return replace(facts, **changes)


def toolkit(version: str, place: str, **more: Any) -> CudaToolkit:
    """A complete CUDA toolkit, unless `more` takes a part away; `place` may be a variable."""
    root = rf"C:\CUDA\v{version}"
    parts: dict[str, Any] = {
        "nvcc": root + r"\bin\nvcc.exe",
        "ptxas": root + r"\bin\ptxas.exe",
        "header": root + r"\include\cuda.h",
        "library": root + r"\lib\x64\cuda.lib",
    }
    return CudaToolkit(
        path=root,
        source=place,
        variable=place if place in ("CUDA_PATH", "CUDA_HOME") else None,
        layout="system",
        version=version,
        **{**parts, **more},
    )


def without(name: str) -> tuple[Distribution, ...]:
    return tuple(d for d in HEALTHY.distributions if d.name != name)


def changed(**changes: Any) -> Facts:
    """The healthy facts with some fields replaced."""
    return replace(HEALTHY, **changes)


def part(field: str, **changes: Any) -> Facts:
    """The healthy facts with fields of one record replaced: part("torch", cuda=None)."""
    return changed(**{field: replace(getattr(HEALTHY, field), **changes)})


def problem(name: str, severity: Any = "error", certainty: Any = "certain", **more: Any) -> Problem:
    """A problem of that id, with no more words than a test gives it."""
    plain = {"title": "", "cause": "", "evidence": (), "remedy": Remedy(summary="")}
    return Problem(id=name, severity=severity, certainty=certainty, **{**plain, **more})
