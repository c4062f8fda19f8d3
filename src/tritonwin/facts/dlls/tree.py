"""The DLLs that a file needs, their places, and the faults that keep it from loading.

Nothing is loaded. The walk goes breadth first, as the loader does, and keeps its rule that a name
is looked for once in a process: what python.exe has loaded already serves all later modules.
"Dynamic-link library search order" (Microsoft Learn) says where Windows looks. Python loads a
compiled module with LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and _DEFAULT_DIRS since version 3.8: the
folder of the module, that of the running program, those that packages add with
`os.add_dll_directory`, System32. PATH and the current folder do not count; for a program that is
started they do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.pe import PeImage, is_api_set, read_pe
from tritonwin.facts.packages import search_path
from tritonwin.facts.records import Interpreter, Torch
from tritonwin.system.files import names_in
from tritonwin.system.host import Host
from tritonwin.system.toml import read_resource

PlaceKind = Literal[
    "named",  # the file itself
    "file",  # beside the file
    "program",  # beside python.exe
    "prefix",  # Python's folder
    "library",  # Library\\bin, which torch and conda add
    "torch",  # torch\\lib, which torch adds
    "nvidia",  # a wheel of NVIDIA's, whose folder the packages that need it add
    "libs",  # NAME.libs, which the package NAME adds
    "CUDA_PATH",  # added by torch
    "system32",
    "path",  # on PATH
]


Places = Mapping[Path, PlaceKind]  # folders in the order of the search, and why each counts


def module_places(target: Interpreter, torch: Torch | None, host: Host) -> Places:
    """For any compiled module of the target, after the module's own folder."""
    return _once(_of_modules(target, torch, host))


def program_places(program: Path, host: Host) -> Places:
    """For a program that is started, and for a DLL that none of our Pythons loads."""
    on_path: list[tuple[Path | None, PlaceKind]] = [(f, "path") for f in host.env.path_entries()]
    return _once([(program.parent, "file"), (host.system32(), "system32"), *on_path])


def _of_modules(
    target: Interpreter, torch: Torch | None, host: Host
) -> Iterator[tuple[Path | None, PlaceKind]]:
    # the program of a virtual environment is the python.exe of its base
    for program in (target.base_executable, target.executable):
        yield Path(program).parent if program else None, "program"
    for prefix in filter(None, (target.prefix, target.base_prefix)):
        yield Path(prefix), "prefix"
        yield Path(prefix, "Library", "bin"), "library"
    yield Path(torch.location, "lib") if torch else None, "torch"
    for folder in search_path(target):
        for part in names_in(folder / "nvidia"):
            yield folder / "nvidia" / part / "bin", "nvidia"
            yield folder / "nvidia" / part / "bin" / "x86_64", "nvidia"
        for name in names_in(folder):
            if name.endswith(".libs"):
                yield folder / name, "libs"
    yield host.env.folder("CUDA_PATH", "bin"), "CUDA_PATH"
    yield host.env.folder("CUDA_PATH", "bin/x64"), "CUDA_PATH"
    yield host.system32(), "system32"


def _once(places: Iterable[tuple[Path | None, PlaceKind]]) -> Places:
    """Each folder once, by the first reason to look in it."""
    found: dict[Path, PlaceKind] = {}
    for folder, kind in places:
        if folder is not None:
            found.setdefault(folder, kind)
    return found


@dataclass(frozen=True, kw_only=True)
class DllOrigin:
    """A product that brings DLLs along; `text` says what to do where one is missing."""

    names: tuple[str, ...]  # patterns, lower case
    text: str


@dataclass(frozen=True, kw_only=True)
class DllTable:
    """The content of `dlls.toml`."""

    system: tuple[str, ...]
    known: tuple[str, ...]
    origin: tuple[DllOrigin, ...]


_TABLE = read_resource("tritonwin.facts.dlls", "dlls.toml", DllTable)
SYSTEM_DLLS = frozenset(f"{name}.dll" for name in _TABLE.system)
KNOWN_DLLS = frozenset(f"{name}.dll" for name in _TABLE.known)


def origin(name: str) -> str:
    """The product that brings the DLL, and what to do where it is missing or too old."""
    lower = name.lower()
    return next(r.text for r in _TABLE.origin if any(fnmatchcase(lower, p) for p in r.names))


State = Literal[
    "found",
    "api-set",  # a name that Windows itself maps to a system DLL
    "system",  # on every Windows; there is no System32 here to look into
    "missing",
    "wrong-machine",  # built for another kind of processor than the file
    "unreadable",  # not a program file, or damaged
]
BAD: frozenset[State] = frozenset({"missing", "wrong-machine", "unreadable"})


@dataclass(frozen=True, kw_only=True)
class Need:
    """One import of a module. `lacking`: functions that the DLL found does not export."""

    dll: str
    delayed: bool = False
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Module:
    """A file of the tree.

    Attributes:
        found_in: the kind of place that it was found in.
        preloaded: python.exe has loaded it before.
        delayed: only delayed imports lead to it, so that nothing needs it to be loaded.
    """

    name: str
    state: State
    path: str | None = None
    found_in: PlaceKind | None = None
    preloaded: bool = False
    version: str | None = None
    bits: int | None = None
    machine: str | None = None
    delayed: bool = False
    needs: tuple[Need, ...] = ()


Loader = Literal["python", "program", "dll"]


@dataclass(frozen=True, kw_only=True)
class DllTree:
    """The file first, then all that it leads to, each name once, nearest first.

    Attributes:
        loader: a compiled module of `python`, a program that is started, or any other DLL.
        system_known: a System32 was there to look into.
    """

    loader: Loader
    python: str | None
    modules: tuple[Module, ...]
    system_known: bool

    def module(self, name: str) -> Module | None:
        return next((m for m in self.modules if m.name.lower() == name.lower()), None)


@dataclass
class Walk:
    """`places` after the folder of the file; `program` is what runs: python.exe, or the file."""

    places: Places
    program: Path | None = None
    _listings: dict[Path, dict[str, str]] = field(default_factory=dict)
    _images: dict[Path, PeImage | None] = field(default_factory=dict)
    _system_known: bool = False

    def tree(self, file: Path, loader: Loader, python: str | None = None) -> DllTree:
        self._system_known = any("kernel32.dll" in self._listing(f) for f in self.places)
        preloaded: dict[str, Module] = {}
        if self.program is not None and self.program != file:
            system = (item for item in self.places.items() if item[1] == "system32")
            around = _once([(self.program.parent, "program"), *system])
            # their imports are walked again, so that all of it is in the tree
            preloaded = {
                m.name.lower(): replace(m, preloaded=True, needs=())
                for m in self._walk(self.program, around, {})[1:]
                if m.state == "found" and not m.delayed
            }
        ordered = _once([(file.parent, "file"), *self.places.items()])
        modules = self._walk(file, ordered, preloaded)
        return DllTree(
            loader=loader,
            python=python,
            modules=tuple(modules),
            system_known=self._system_known,
        )

    def _walk(self, file: Path, places: Places, preloaded: dict[str, Module]) -> list[Module]:
        first = self._module(file.name, file, "named", None)
        done = {file.name.lower(): first}
        queue = deque([first])
        while queue:
            module = queue.popleft()
            image = self._image(module)
            needs = []
            for wanted in image.functions if image else ():
                key = wanted.dll.lower()
                if key not in done:
                    done[key] = preloaded.get(key) or self._find(wanted.dll, places, first.machine)
                    if done[key].state == "found" and key not in SYSTEM_DLLS:
                        queue.append(done[key])
                found = self._image(done[key])
                lacking = [f for f in wanted.functions if found and f not in found.exports]
                shown = tuple(f"#{f}" if isinstance(f, int) else f for f in lacking)
                needs.append(Need(dll=wanted.dll, delayed=wanted.delayed, lacking=shown))
            done[module.name.lower()] = replace(module, needs=tuple(needs))
        return _mark_delayed(list(done.values()))

    def _find(self, name: str, places: Places, machine: str | None) -> Module:
        key = name.lower()
        if is_api_set(name):  # before any folder: conda's environments hold files of these names
            return Module(name=name, state="api-set")
        for folder, kind in places.items():
            if key in KNOWN_DLLS and kind != "system32":
                continue
            spelled = self._listing(folder).get(key)
            if spelled is not None:
                return self._module(name, folder / spelled, kind, machine)
        system = not self._system_known and key in SYSTEM_DLLS
        return Module(name=name, state="system" if system else "missing")

    def _module(self, name: str, path: Path, found_in: PlaceKind, machine: str | None) -> Module:
        image = self._images[path] = read_pe(path, version=True, functions=True)
        if image is None:
            return Module(name=name, state="unreadable", path=str(path), found_in=found_in)
        return Module(
            name=name,
            state="found" if machine in (None, image.machine) else "wrong-machine",
            path=str(path),
            found_in=found_in,
            version=image.file_version,
            bits=image.bits,
            machine=image.machine,
        )

    def _image(self, module: Module) -> PeImage | None:
        """The content of a module that was found."""
        return self._images[Path(module.path or "")] if module.state == "found" else None

    def _listing(self, folder: Path) -> dict[str, str]:
        """Names as they are spelled, by lower case: Windows does not mind, other systems do."""
        if folder not in self._listings:
            self._listings[folder] = {name.lower(): name for name in names_in(folder)}
        return self._listings[folder]


def _mark_delayed(modules: list[Module]) -> list[Module]:
    """Mark what is only reached through delayed imports."""
    by_name = {m.name.lower(): m for m in modules}
    reached = {modules[0].name.lower()}
    queue = deque([modules[0]])
    while queue:
        for need in queue.popleft().needs:
            key = need.dll.lower()
            if not need.delayed and key not in reached:
                reached.add(key)
                queue.append(by_name[key])
    return [replace(m, delayed=m.name.lower() not in reached) for m in modules]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A DLL that is missing, of the wrong kind, or too old.

    Attributes:
        needed_by: the modules that ask for it, the nearest to the file first.
        lacking: functions that are asked of it and that it does not have.
    """

    dll: str
    path: str | None
    version: str | None
    needed_by: tuple[str, ...]
    lacking: tuple[str, ...]
    text: str
    help: str


def faults(tree: DllTree) -> tuple[Fault, ...]:
    """The faults that keep the file from being loaded, as far as files tell.

    Delayed imports are left out: the file loads without them. A damaged file is listed as one
    that needs itself.
    """
    first, by_name = tree.modules[0], {m.name.lower(): m for m in tree.modules}
    rows: dict[str, list[tuple[str, Need]]] = {}
    if first.state in BAD:
        rows[first.name.lower()] = [(first.name, Need(dll=first.name))]
    for owner in tree.modules:
        for need in owner.needs:
            bad = by_name[need.dll.lower()].state in BAD or need.lacking
            if bad and not (need.delayed or owner.delayed):
                rows.setdefault(need.dll.lower(), []).append((owner.name, need))
    return tuple(_fault(by_name[name], needs, first) for name, needs in rows.items())


_TEXTS = {
    "missing": "{name}, which {owner} needs, was found nowhere (Windows' error 126)",
    "unreadable": "{path}{who} is damaged (Windows' error 193)",
    "wrong-machine": "{path} is built for {machine}, and {owner} for {first} (Windows' error 193)",
    "found": "{path}{version} lacks {functions} that {owner} needs, so it is of another version "
    "(Windows' error 127)",
}


def _fault(module: Module, needs: Sequence[tuple[str, Need]], first: Module) -> Fault:
    needed_by = tuple(dict.fromkeys(owner for owner, _ in needs))
    lacking = tuple(dict.fromkeys(f for _, need in needs for f in need.lacking))
    text = _TEXTS[module.state].format(
        name=module.name,
        path=module.path,
        version=f" {module.version}" if module.version else "",
        machine=module.machine,
        owner=needed_by[0],
        who="" if module is first else f", which {needed_by[0]} needs,",
        first=first.machine,
        functions="a function" if len(lacking) == 1 else f"{len(lacking)} functions",
    )
    return Fault(
        dll=module.name,
        path=module.path,
        version=module.version,
        needed_by=needed_by,
        lacking=lacking,
        text=text,
        help=origin(module.name),
    )
