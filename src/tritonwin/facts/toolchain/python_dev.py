"""Headers and import library with which the target's C modules are compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tritonwin.facts.model import Candidate, Interpreter, PythonDev
from tritonwin.facts.toolchain.import_library import read_import_library
from tritonwin.facts.toolchain.python_headers import Headers, read_headers
from tritonwin.system.files import is_file, is_folder, names_in, same_place
from tritonwin.system.host import Host

_LIBRARY = re.compile(r"python3\d+t?\.lib", re.IGNORECASE)


def find_python_dev(target: Interpreter, host: Host) -> PythonDev:
    """Find what the compilers of Triton and torch would be given for `target`.

    Headers: both take sysconfig's `include` and no other folder, so headers elsewhere (in a
    virtual environment's own folder, say) are listed but not chosen. Import library: the order
    of triton-windows' `find_python()`: `<prefix>\\libs`, `<base prefix>\\libs`, then `libs`
    beside python.exe; the first that holds `pythonXY.lib` (`pythonXYt.lib` when free-threaded).
    On Linux `libpythonX.Y` is looked for in the base installation, though modules do not need
    it.
    """
    folder, headers, header_places = _headers(target, host)
    library, library_places = (_windows_library if host.windows else _posix_library)(target)
    imported = read_import_library(library) if library and host.windows else None
    return PythonDev(
        headers=str(folder) if folder else None,
        headers_version=headers.version if headers else None,
        headers_free_threaded=headers.free_threaded if headers else None,
        headers_missing=headers.missing if headers else (),
        headers_damaged=headers.damaged if headers else (),
        import_library=str(library) if library else None,
        import_library_dll=imported.dll if imported else None,
        import_library_machine=imported.machine if imported else None,
        stable_abi_library=_stable_library(target) if host.windows else None,
        candidates=header_places + library_places,
    )


def _headers(
    target: Interpreter, host: Host
) -> tuple[Path | None, Headers | None, tuple[Candidate, ...]]:
    places = _include_folders(target, host)
    chosen: Path | None = None
    chosen_headers: Headers | None = None
    candidates = []
    for path, source in places.items():
        found = read_headers(path)
        asked = not target.include or path == Path(target.include)
        take = found is not None and asked and chosen is None
        if take:
            chosen, chosen_headers = path, found
        if found is None:
            reason = "no Python.h" if is_folder(path) else "no such folder"
        elif take:
            reason = "the include folder that compilers are given"
        else:
            reason = f"compilers are given {target.include or chosen} only"
        candidates.append(
            Candidate(
                path=str(path),
                source=source,
                chosen=take,
                reason=reason,
                version=found.version if found else None,
            )
        )
    return chosen, chosen_headers, tuple(candidates)


def _include_folders(target: Interpreter, host: Host) -> Mapping[Path, str]:
    """Include folder -> where the idea comes from, sysconfig's first."""
    below = "Include" if host.windows else f"include/python{_version(target)}{_threads(target)}"
    places = [(Path(target.include), "sysconfig")] if target.include else []
    places += [(root / below, source) for root, source in _roots(target).items()]
    return _unique(places)


def _windows_library(target: Interpreter) -> tuple[Path | None, tuple[Candidate, ...]]:
    if not _version(target):
        return None, ()
    name = f"python{_version(target).replace('.', '')}{_threads(target)}.lib"
    chosen: Path | None = None
    candidates = []
    for folder, source in _libs_folders(target).items():
        here = is_file(folder / name)
        take = here and chosen is None
        if take:
            chosen = folder / name
        others = [other for other in names_in(folder) if _LIBRARY.fullmatch(other)]
        if here:
            reason = f"holds {name}" if take else f"{chosen} comes first"
        elif others:
            reason = f"holds {', '.join(others)}, not {name}"
        else:
            reason = f"no {name}" if is_folder(folder) else "no such folder"
        candidates.append(Candidate(path=str(folder), source=source, chosen=take, reason=reason))
    return chosen, tuple(candidates)


def _stable_library(target: Interpreter) -> str | None:
    name = f"python3{_threads(target)}.lib"
    found = (folder / name for folder in _libs_folders(target) if is_file(folder / name))
    return next((str(path) for path in found), None)


def _libs_folders(target: Interpreter) -> Mapping[Path, str]:
    return _unique((root / "libs", source) for root, source in _roots(target).items())


def _posix_library(target: Interpreter) -> tuple[Path | None, tuple[Candidate, ...]]:
    root = target.base_prefix or target.prefix
    if not root or not _version(target):
        return None, ()
    lib = Path(root, "lib")
    folders = [lib, Path(root, "lib64"), *(lib / n for n in names_in(lib) if "-linux-" in n)]
    stem = f"libpython{_version(target)}{_threads(target)}"
    found = [
        f / (stem + end) for f in folders for end in (".so", ".a") if is_file(f / (stem + end))
    ]
    candidates = tuple(
        Candidate(
            path=str(path),
            source="base installation",
            chosen=path == found[0],
            reason="modules are not linked with it on this system",
        )
        for path in found
    )
    return (found[0] if found else None), candidates


def _roots(target: Interpreter) -> Mapping[Path, str]:
    folder = str(Path(target.executable).parent)
    named = (
        (target.prefix, "prefix"),
        (target.base_prefix, "base installation"),
        (folder, "beside the interpreter"),
    )
    return _unique((Path(path), source) for path, source in named if path)


def _unique(places: Iterable[tuple[Path, str]]) -> Mapping[Path, str]:
    kept: dict[str, tuple[Path, str]] = {}
    for path, source in places:
        kept.setdefault(same_place(path), (path, source))
    return dict(kept.values())


def _version(target: Interpreter) -> str:
    """ "3.12", or nothing where the target's version is unknown."""
    return ".".join((target.version or "").split(".")[:2])


def _threads(target: Interpreter) -> str:
    return "t" if target.free_threaded else ""
