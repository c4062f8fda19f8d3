"""Facts: the state of a machine as frozen records that can be written to a file and read back.

Every record says where it was read (`source`, or `sources` by field name where one record is put
together from several places). `None` means "not known", never "no"; an empty tuple means "looked
and found none". Paths are strings in the spelling of the machine that they were read on, because
a snapshot from Windows is examined on Linux too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

SCHEMA: Final = "tritonwin.facts/1"


@dataclass(frozen=True, kw_only=True)
class System:
    """The operating system and its settings."""

    os: Literal["windows", "linux", "other"]
    version: str  # "10.0.22631" on Windows, kernel release elsewhere
    machine: str  # "AMD64", "ARM64", "x86_64"
    wine: str | None = None  # version of Wine when Windows is played by it
    ansi_code_page: int | None = None
    long_paths: bool | None = None
    developer_mode: bool | None = None
    smart_app_control: Literal["off", "on", "evaluation"] | None = None
    admin: bool | None = None
    cpu_count: int | None = None
    memory_bytes: int | None = None
    temp: str | None = None
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PthFile:
    """The `pythonXY._pth` file that isolates an embedded Python."""

    path: str
    entries: tuple[str, ...]
    import_site: bool


PythonKind = Literal[
    "embedded",  # python.org's embeddable package, as shipped inside applications
    "store",  # Microsoft Store alias or package
    "system",  # installed for all users
    "user",  # installed for one user
    "venv",
    "conda",
    "uv",  # managed by uv
    "pyenv",
    "unknown",
]


ChosenBy = Literal[
    "python",  # `--python` names it
    "python-folder",  # `--python` names its folder
    "python-on-path",  # `--python` names a program on PATH
    "app",  # the Python of the application that `--app` names
    "running-embedded",  # runs tritonwin, and is an embedded Python
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "near",  # in or beside the current folder
    "running-with-packages",  # runs tritonwin, with torch or Triton in it
    "first-on-path",
    "running",  # runs tritonwin
]


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """A Python. Only the target is started; of the others only files and registry are read."""

    executable: str
    source: str
    kind: PythonKind
    chosen_by: ChosenBy | None = None  # the target alone
    started: bool | None = None  # False: what is known of the target was read from its files
    version: str | None = None  # "3.12.9"
    bits: int | None = None
    machine: str | None = None  # "AMD64", "ARM64", "x86"
    implementation: str | None = None  # "cpython"
    free_threaded: bool | None = None
    prefix: str | None = None
    base_prefix: str | None = None  # equal to prefix unless it is a virtual environment
    base_executable: str | None = None
    platform_tag: str | None = None  # "win_amd64"
    ext_suffix: str | None = None  # ".cp312-win_amd64.pyd"
    include: str | None = None  # where sysconfig says Python.h is, whether it exists or not
    pth: PthFile | None = None
    site_packages: tuple[str, ...] = ()
    user_site: str | None = None
    platlib: str | None = None  # sysconfig's: where Triton looks for the tools that it brings
    sys_path: tuple[str, ...] = ()
    site_loaded: bool | None = None
    writable: bool | None = None  # the first site-packages
    managers: tuple[PythonKind, ...] = ()  # more than one is a mixture
    packages: dict[str, str] = field(default_factory=dict)  # the few that matter: name -> version
    has_pip: bool | None = None
    error: str | None = None  # why it could not be examined


@dataclass(frozen=True, kw_only=True)
class PythonDev:
    """Headers and import library that the target's C modules would be compiled with."""

    headers: str | None = None  # the folder that holds Python.h
    headers_version: str | None = None  # from patchlevel.h
    # Py_GIL_DISABLED in pyconfig.h; None: python.org's headers for Windows serve both builds
    headers_free_threaded: bool | None = None
    headers_missing: tuple[str, ...] = ()  # of those that Python.h includes
    headers_damaged: tuple[str, ...] = ()  # empty or not text
    import_library: str | None = None  # ...\\libs\\python312.lib
    import_library_dll: str | None = None  # the DLL name stored in it: "python312.dll"
    import_library_machine: str | None = None  # "x64", "x86", "arm64"
    passed_over: tuple[str, ...] = ()  # folders that were looked in


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """An installed distribution, read from its `.dist-info` (or `.egg-info`)."""

    name: str  # normalised: "triton-windows"
    version: str
    location: str  # the .dist-info folder
    site_packages: str
    tags: tuple[str, ...] = ()  # of its WHEEL file
    requires: tuple[str, ...] = ()  # only lines that name packages this product deals with
    installer: str | None = None
    missing_files: tuple[str, ...] = ()  # of those that matter, named by RECORD, not on disk
    editable: bool = False  # its package lies in a source folder: `pip install -e`
    altered_files: tuple[str, ...] = ()  # of those that matter, with another hash than RECORD's
    cut_files: tuple[str, ...] = ()  # DLLs among them that are shorter than RECORD says


@dataclass(frozen=True, kw_only=True)
class Torch:
    """The torch that the target imports."""

    version: str  # "2.9.1+cu128", from torch/version.py
    location: str
    source: str
    cuda: str | None = None  # "12.8"
    hip: str | None = None
    xpu: str | None = None
    chips: tuple[str, ...] = ()  # AMD's that it has kernels for, where packages name them
    wants_triton: str | None = None  # the specifier in its own metadata: "==3.5.1"
    wants_triton_source: str | None = None


@dataclass(frozen=True, kw_only=True)
class Triton:
    """The package folder named `triton` that the target imports."""

    version: str | None  # `__version__` of its __init__.py
    location: str
    source: str
    flavour: Literal["fork", "upstream", "unknown"]  # by structure, not by name
    distribution: str | None = None  # the distribution whose RECORD owns the files
    libtriton: str | None = None
    libtriton_imports: tuple[str, ...] = ()  # DLL names
    libtriton_linker: str | None = None  # "14.44": version of the linker that made it
    ptxas: str | None = None
    ptxas_version: str | None = None  # "12.8", from the banner inside the file
    ptxas_blackwell: str | None = None
    hip_headers: bool | None = None  # it brings those of AMD's runtime
    tinycc: str | None = None
    tinycc_python_def: bool | None = None  # a .def for the target's Python lies beside TinyCC
    defects: tuple[str, ...] = ()  # rules of `patch` that its sources need
    patched: bool = False  # they carry edits of `patch`
    for_windows: bool = False  # they have branches for Windows
    namespace: bool = False  # no __init__.py: what an uninstall left, importable but empty
    import_hook: str | None = None  # tritonwin's, which patches the sources as they are imported
    python_driver: str | None = None  # the same, where it carries the driver in Python


@dataclass(frozen=True, kw_only=True)
class ExtensionFile:
    """A compiled extension module whose loading matters (flash_attn_2_cuda, _fused, ...)."""

    path: str
    package: str
    unresolved: tuple[str, ...]  # DLLs found neither beside it nor where Windows would look


@dataclass(frozen=True, kw_only=True)
class Gpu:
    index: int
    vendor: Literal["nvidia", "amd", "intel", "other"]
    name: str
    source: str
    compute_capability: str | None = None  # "8.9"
    architecture: str | None = None  # AMD: "gfx1100"
    integrated: bool | None = None  # AMD: built into the processor
    memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Driver:
    """A GPU driver as the drivers' own libraries describe it."""

    vendor: Literal["nvidia", "amd", "intel"]
    source: str
    version: str | None = None  # "581.57"
    cuda: str | None = None  # highest CUDA that the driver runs: "13.0"
    hip: str | None = None  # the HIP that comes with AMD's driver: "6.4"
    error: str | None = None  # "nvcuda.dll not found", "no answer within 10 s"


@dataclass(frozen=True, kw_only=True)
class Rocm:
    """AMD's ROCm in one of its forms.

    Attributes:
        version: of the wheels, "7.13.0".
        chips: those that the wheels have kernels for, "gfx1100"; empty: not known.
        devel: the headers and libraries for compilers; "packed" until `rocm-sdk init` unpacks them.
    """

    path: str
    source: str
    kind: Literal["hip-sdk", "rocm-wheels", "zluda"]
    missing: tuple[str, ...] = ()
    version: str | None = None
    chips: tuple[str, ...] = ()
    devel: Literal["absent", "packed", "expanded"] | None = None


CudaLayout = Literal["system", "pip-cu12", "pip-cu13", "conda", "bundled", "unknown"]


@dataclass(frozen=True, kw_only=True)
class CudaToolkit:
    path: str
    source: str
    layout: CudaLayout
    version: str | None = None  # "12.8"
    nvcc: str | None = None
    ptxas: str | None = None
    header: str | None = None
    library: str | None = None
    missing: tuple[str, ...] = ()  # parts that a compile or a build would need
    host_msvc_max: str | None = None  # the newest MSC_VER that host_config.h accepts: "1949"
    exists: bool = True
    variable: Literal["CUDA_PATH", "CUDA_HOME"] | None = None  # names this folder
    chosen: bool = False  # the one that Triton would take


@dataclass(frozen=True, kw_only=True)
class MsvcToolset:
    version: str  # "14.44.35207"
    path: str
    source: str
    compiler: str | None = None  # Hostx64\\x64\\cl.exe
    english: bool | None = None  # the English resource folder 1033 is there
    instance: str = ""  # Visual Studio's folder
    product: str = ""  # "Visual Studio Build Tools 2022"
    vcvarsall: str | None = None
    missing: tuple[str, ...] = ()
    chosen: bool = False  # the one that Triton would take


@dataclass(frozen=True, kw_only=True)
class WindowsSdk:
    version: str  # "10.0.22621.0"
    path: str
    source: str
    missing: tuple[str, ...] = ()
    chosen: bool = False  # the one that Triton would take


CompilerFamily = Literal["cl", "clang-cl", "clang", "gcc", "zig", "tinycc", "unknown"]
CompilerSource = Literal[
    "variable CC",
    "ROCm wheels",
    "activated Visual Studio prompt",
    "bundled with Triton",
    "PATH",
]
CompilerFlaw = Literal["missing", "folder"]


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A C compiler other than a Visual Studio toolset that was looked up in its own place."""

    family: CompilerFamily
    path: str
    source: CompilerSource
    target: str | None = None  # of Microsoft's: "x64", "x86"
    flaw: CompilerFlaw | None = None  # what CC names instead of a program
    chosen: bool = False  # the one that Triton would take


Flaw = Literal["trailing-blank", "leading-blank", "quotes", "semicolon"]
Scope = Literal["process", "user", "machine"]


@dataclass(frozen=True, kw_only=True)
class Variable:
    """An environment variable that matters to Triton, torch, CUDA or a compiler."""

    name: str
    value: str
    scope: Scope
    flaws: tuple[Flaw, ...] = ()


RuntimePlace = Literal["beside-python", "base-python", "system32", "package", "conda"]


@dataclass(frozen=True, kw_only=True)
class RuntimeDll:
    """A VC runtime DLL in one of the places Windows looks, in the order it looks."""

    name: str  # "msvcp140.dll"
    path: str
    place: RuntimePlace
    version: str | None
    loaded: bool  # the one that python.exe would get


@dataclass(frozen=True, kw_only=True)
class HelperModule:
    """A compiled helper (cuda_utils, a launcher) in Triton's cache."""

    path: str
    valid: bool  # a readable PE file
    python_dll: str | None  # "python312.dll"
    usable: bool  # its file name is one that the target would load
    unresolved: tuple[str, ...] = ()


CacheKind = Literal["triton", "inductor"]


@dataclass(frozen=True, kw_only=True)
class Cache:
    kind: CacheKind
    path: str
    source: str  # "default", "variable TRITON_CACHE_DIR"
    exists: bool
    writable: bool | None
    entries: int = 0
    size_bytes: int = 0
    longest_path: int = 0
    complete: bool = True  # False when the walk was cut short
    helpers: tuple[HelperModule, ...] = ()
    error: str | None = None


SearchedFor = Literal["current folder", "application folder", "PYTHONPATH"]


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """A file or folder that Python would import instead of the package."""

    module: str
    path: str
    reason: SearchedFor


@dataclass(frozen=True, kw_only=True)
class Proven:
    """The state of the target when it was last proven to work."""

    when: str  # ISO 8601, UTC
    python: str | None  # "3.12.9"
    driver: str | None  # NVIDIA's: "581.57"
    versions: dict[str, str]  # distributions that are compiled for each other


@dataclass(frozen=True, kw_only=True)
class PatchRecord:
    """The files that `tritonwin patch` wrote, by their present state, relative to the package.

    Files that are neither, or gone, are in neither list.
    """

    ours: tuple[str, ...] = ()  # as tritonwin left them
    original: tuple[str, ...] = ()  # as they were before: restored by a reinstall


@dataclass(frozen=True, kw_only=True)
class CollectionError:
    """A collector that failed: what is missing from the facts, and why."""

    collector: str
    error: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything known of one machine and one target interpreter."""

    tool_version: str
    system: System
    target: Interpreter | None = None
    interpreters: tuple[Interpreter, ...] = ()
    python_dev: PythonDev | None = None
    distributions: tuple[Distribution, ...] = ()
    torch: Torch | None = None
    triton: Triton | None = None
    extensions: tuple[ExtensionFile, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    drivers: tuple[Driver, ...] = ()
    rocm: tuple[Rocm, ...] = ()
    cuda_toolkits: tuple[CudaToolkit, ...] = ()
    msvc: tuple[MsvcToolset, ...] = ()
    windows_sdks: tuple[WindowsSdk, ...] = ()
    compilers: tuple[Compiler, ...] = ()
    variables: tuple[Variable, ...] = ()
    runtime_dlls: tuple[RuntimeDll, ...] = ()
    caches: tuple[Cache, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    proven: Proven | None = None
    patch: PatchRecord | None = None
    errors: tuple[CollectionError, ...] = ()
    schema: Literal["tritonwin.facts/1"] = SCHEMA

    def distribution(self, name: str) -> Distribution | None:
        """The installed distribution of that normalised name that Python finds first."""
        return next((d for d in self.distributions if d.name == name), None)

    def extensions_of(self, package: str) -> tuple[ExtensionFile, ...]:
        return tuple(e for e in self.extensions if e.package == package)

    def variable(self, name: str) -> Variable | None:
        """The variable as a process started now would see it (names are case-insensitive)."""
        wanted = name.upper()
        return next(
            (v for v in self.variables if v.name.upper() == wanted and v.scope == "process"), None
        )

    @property
    def nvidia_gpus(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.vendor == "nvidia")

    @property
    def amd_gpus(self) -> tuple[Gpu, ...]:
        """AMD's, in the order of HIP where its runtime answered."""
        return tuple(gpu for gpu in self.gpus if gpu.vendor == "amd")

    @property
    def amd_card(self) -> Gpu | None:
        """The one of AMD's that programs take; None beside an NVIDIA GPU.

        It is what HIP shows first, or else a card before what is built into the processor.
        """
        cards = self.amd_gpus
        if not cards or self.nvidia_gpus:
            return None
        visible = self.variable("HIP_VISIBLE_DEVICES")
        number = visible.value.partition(",")[0].strip() if visible else ""
        if number.isdecimal() and int(number) < len(cards):
            return cards[int(number)]
        if "amdhip64" in cards[0].source.lower():
            return cards[0]
        return min(cards, key=lambda card: bool(card.integrated))

    @property
    def intel_arc(self) -> Gpu | None:
        """The GPU that Intel's torch computes on, if there is none of NVIDIA or AMD."""
        arcs = (g for g in self.gpus if g.vendor == "intel" and "arc" in g.name.lower())
        return None if self.nvidia_gpus or self.amd_gpus else next(arcs, None)

    @property
    def nvidia_driver(self) -> Driver | None:
        """NVIDIA's driver, or the place it was looked for in, with the reason as its `error`."""
        return next((driver for driver in self.drivers if driver.vendor == "nvidia"), None)

    @property
    def windows(self) -> bool:
        return self.system.os == "windows"
