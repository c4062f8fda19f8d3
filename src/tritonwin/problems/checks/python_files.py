"""Files of Python that Triton needs: headers, the import library, the Visual C++ runtime."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tritonwin.facts.records import Facts, PythonDev, RuntimeDll
from tritonwin.problems.check import (
    Check,
    Seen,
    check,
    need,
    need_target,
    python_series,
    seen,
)
from tritonwin.problems.records import Evidence
from tritonwin.support.versions import older, series


def _dev(facts: Facts) -> PythonDev:
    return need(facts.python_dev, "headers were not looked for")


def _missing(facts: Facts, *, embedded: bool) -> Iterator[Seen]:
    target = need_target(facts)
    fitting = (target.kind == "embedded") is embedded
    need(fitting, f"this is {'no' if embedded else 'an'} embedded Python")
    dev, triton = _dev(facts), facts.triton
    missing = [] if dev.headers else ["Python.h"]
    if facts.windows and dev.import_library is None:
        missing.append("the import library pythonXY.lib")
    if not missing:
        return
    text = f"{' and '.join(missing)} not found for Python {target.version}"
    also = []
    # seen in real runs: TinyCC with a .def of its own for this Python links without pythonXY.lib
    if dev.headers is not None and triton and triton.tinycc_python_def:
        spared = "the bundled TinyCC does without it, any other compiler does not"
        also = [Evidence(text=spared, where=triton.tinycc or triton.location)]
    yield seen(
        text + (f"; looked in {', '.join(dev.passed_over)}" if dev.passed_over else ""),
        target.base_prefix or target.prefix or target.executable,
        severity="warning" if also else None,
        also=also,
    )


embedded_no_headers, installed_no_headers = (
    Check("embedded-python-no-headers", partial(_missing, embedded=True)),
    Check("python-libs-not-found-venv-uv", partial(_missing, embedded=False)),
)


@check("python-headers-wrong-set")
def wrong_set(facts: Facts) -> Iterator[Seen]:
    dev = _dev(facts)
    need(dev.headers or dev.import_library, "there are no headers to look at")
    target = need_target(facts)
    wanted = python_series(target)
    headers = dev.headers or ""
    if dev.headers_version and series(dev.headers_version) != wanted:
        text = f"headers of Python {dev.headers_version}, the interpreter is {target.version}"
        yield seen(text, headers)
    if dev.headers_missing:
        yield seen(f"{', '.join(dev.headers_missing[:5])} missing from the headers", headers)
    if dev.headers_damaged:
        yield seen(f"{', '.join(dev.headers_damaged[:5])} damaged", headers)
    threads = target.free_threaded
    if dev.headers_free_threaded and threads is False and not _of_3_13_4(dev):
        yield seen("headers of a free-threaded Python, the interpreter is not one", headers)
    library = dev.import_library or ""
    dll = "python" + wanted.replace(".", "") + ("t" if threads else "") + ".dll"
    if dev.import_library_dll and dev.import_library_dll.lower() != dll:
        yield seen(f"the import library is for {dev.import_library_dll}, not for {dll}", library)
    machine = dev.import_library_machine
    if machine and target.bits == 64 and machine == "x86":
        yield seen("the import library is for 32-bit programs", library)


def _of_3_13_4(dev: PythonDev) -> bool:
    """The one release whose pyconfig.h is that of a free-threaded Python by mistake."""
    return dev.headers_version == "3.13.4"


@check("headers-free-threaded")
def headers_free_threaded(facts: Facts) -> Iterator[Seen]:
    dev = _dev(facts)
    if dev.headers_free_threaded and need_target(facts).free_threaded is False and _of_3_13_4(dev):
        yield seen("pyconfig.h of Python 3.13.4 defines Py_GIL_DISABLED", dev.headers or "")


# Code compiled by toolset 14.40 or later initialises std::mutex at compile time; an older
# msvcp140.dll then locks a null pointer (release notes of Visual Studio 2022 17.10). The functions
# themselves are all there: those that libtriton imports are exported by 14.29 already.
MUTEX_BREAK = "14.40"


def _loaded(facts: Facts, name: str) -> RuntimeDll | None:
    return next((d for d in facts.runtime_dlls if d.name == name and d.loaded), None)


def _needs_msvcp(facts: Facts) -> bool:
    imports = facts.triton.libtriton_imports if facts.triton else ()
    return facts.triton is None or any(i.lower() == "msvcp140.dll" for i in imports)


@check("vcredist-missing")
def vcredist_missing(facts: Facts) -> Iterator[Seen]:
    need(facts.runtime_dlls, "the places of the VC runtime were not read")
    if facts.triton and _needs_msvcp(facts) and _loaded(facts, "msvcp140.dll") is None:
        yield seen(
            "libtriton.pyd needs msvcp140.dll, which is neither beside Python nor in System32",
            facts.triton.libtriton or facts.triton.location,
            dll="msvcp140.dll",
        )
    for extension in facts.extensions:
        for name in extension.unresolved:
            if re.match(r"(msvcp|vcruntime|vcomp|concrt)140", name.lower()):
                yield seen(
                    f"{extension.package} needs {name}, which was found nowhere",
                    extension.path,
                    dll=name,
                )


@check("vcredist-too-old-beside-python")
def vcredist_too_old(facts: Facts) -> Iterator[Seen]:
    unloaded = "no msvcp140.dll of known version is loaded"
    dll = need((_needs_msvcp(facts) and _loaded(facts, "msvcp140.dll")) or None, unloaded)
    version = need(dll.version, unloaded)
    linker = facts.triton.libtriton_linker if facts.triton else None
    if not older(version, MUTEX_BREAK) or older(linker, MUTEX_BREAK):
        return
    others = [
        Evidence(text=f"version {d.version} is there too, but is not the one loaded", where=d.path)
        for d in facts.runtime_dlls
        if d.name == dll.name and not d.loaded and d.version
    ]
    compiled = f"libtriton was linked by tools of {linker or MUTEX_BREAK + ' or later'}"
    yield seen(
        f"msvcp140.dll {dll.version} is the one that Python loads; {compiled}",
        dll.path,
        certainty="certain" if linker else "likely",
        also=others,
        dll=dll.name,
        dll_version=dll.version,
        path=dll.path,
    )
