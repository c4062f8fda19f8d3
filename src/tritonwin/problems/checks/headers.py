"""Python's headers and import library: there, whole, and of the target's own version."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts, PythonDev
from tritonwin.problems.check import (
    Check,
    NotApplicable,
    finding,
    need_target,
    python_series,
)
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support.versions import series


def _dev(facts: Facts) -> PythonDev:
    if facts.python_dev is None:
        raise NotApplicable("headers were not looked for")
    return facts.python_dev


def _absent(facts: Facts) -> list[str]:
    dev = _dev(facts)
    missing = [] if dev.headers else ["Python.h"]
    if facts.windows and dev.import_library is None:
        missing.append("the import library pythonXY.lib")
    return missing


def embedded_no_headers(facts: Facts) -> Iterator[Finding]:
    if need_target(facts).kind != "embedded":
        raise NotApplicable("this is no embedded Python")
    yield from _missing(facts, "embedded-python-no-headers")


def installed_no_headers(facts: Facts) -> Iterator[Finding]:
    if need_target(facts).kind == "embedded":
        raise NotApplicable("this is an embedded Python")
    yield from _missing(facts, "python-libs-not-found-venv-uv")


def _missing(facts: Facts, problem: str) -> Iterator[Finding]:
    target, missing = need_target(facts), _absent(facts)
    if not missing:
        return
    looked = dict.fromkeys(c.path for c in _dev(facts).candidates if not c.chosen)
    text = f"{' and '.join(missing)} not found for Python {target.version}"
    # seen in real runs: TinyCC with a .def of its own for this Python links without pythonXY.lib
    spared = _dev(facts).headers is not None and bool(
        facts.triton and facts.triton.tinycc_python_def
    )
    yield finding(
        problem,
        text + (f"; looked in {', '.join(looked)}" if looked else ""),
        target.base_prefix or target.prefix or target.executable,
        severity="warning" if spared else None,
        also=[
            Evidence(
                text="the bundled TinyCC does without it, any other compiler does not",
                where=facts.triton.tinycc or facts.triton.location,
            )
        ]
        if spared and facts.triton
        else (),
    )


def wrong_set(facts: Facts) -> Iterator[Finding]:
    dev = _dev(facts)
    if dev.headers is None and dev.import_library is None:
        raise NotApplicable("there are no headers to look at")
    for text, where in _contradictions(facts, dev):
        yield finding(
            "python-headers-wrong-set",
            text,
            where,
        )


def _contradictions(facts: Facts, dev: PythonDev) -> Iterator[tuple[str, str]]:
    target = need_target(facts)
    wanted = python_series(target)
    headers = dev.headers or ""
    if dev.headers_version and series(dev.headers_version) != wanted:
        yield (
            f"headers of Python {dev.headers_version}, the interpreter is {target.version}",
            headers,
        )
    if dev.headers_missing:
        yield f"{', '.join(dev.headers_missing[:5])} missing from the headers", headers
    if dev.headers_damaged:
        yield f"{', '.join(dev.headers_damaged[:5])} damaged", headers
    threads = target.free_threaded
    if dev.headers_free_threaded and threads is False:
        yield "headers of a free-threaded Python, the interpreter is not one", headers
    library = dev.import_library or ""
    dll = "python" + wanted.replace(".", "") + ("t" if threads else "") + ".dll"
    if dev.import_library_dll and dev.import_library_dll.lower() != dll:
        yield f"the import library is for {dev.import_library_dll}, not for {dll}", library
    machine = dev.import_library_machine
    if machine and target.bits == 64 and machine == "x86":
        yield "the import library is for 32-bit programs", library


CHECKS = (
    Check(
        id="embedded-python-no-headers",
        title="the embedded Python has headers and import library",
        run=embedded_no_headers,
    ),
    Check(
        id="python-libs-not-found-venv-uv",
        title="Python's headers and import library are found",
        run=installed_no_headers,
        windows_only=False,
    ),
    Check(
        id="python-headers-wrong-set",
        title="headers and import library are whole and of this Python's version",
        run=wrong_set,
        windows_only=False,
    ),
)
