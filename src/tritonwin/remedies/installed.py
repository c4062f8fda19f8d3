"""Files of distributions: which are whose, what goes with them, and where new ones come to lie."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.records import Distribution, Interpreter
from tritonwin.journal import tree
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.support.addresses import share_of
from tritonwin.system.files import is_file, is_folder, names_in, read_bytes, read_text

_RECORD_LIMIT = 1 << 26  # bytes; torch's has 1.5 million, conda's record of pytorch 3 million
_PYTHONS_OWN = re.compile(
    r"python[\d.w]*t?(\.exe|\.dll|\._pth|\.zip)?|pyvenv\.cfg|pip\.(ini|conf)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Removal:
    """The files and folders that go with a distribution, none inside another, and what stays.

    Attributes:
        stays: files in its folders that its RECORD does not list: they are somebody's own.
    """

    paths: tuple[Path, ...]
    stays: tuple[Path, ...] = ()


def removal(locations: Sequence[str], target: Interpreter) -> Removal:
    """The part of an environment that goes with distributions which are taken away together.

    That is their metadata and the existing files that their RECORDs list, with their bytecode, but
    for those that another distribution lists as well. A folder in which nothing else lies goes
    whole. Without a RECORD it is the metadata alone: see `in_the_way` for the rest.

    Args:
        locations: their `.dist-info` (or `.egg-info`) folders or files.

    Raises:
        CannotRemedyError: a RECORD names a file outside the environment, or one of Python's own.
    """
    infos = [Path(location) for location in locations]
    paths: dict[Path, None] = dict.fromkeys(infos)
    owned: dict[str, Path] = {}
    others: dict[Path, dict[str, str]] = {}
    for info in infos:
        site = info.parent
        if site not in others:
            others[site] = listed_by(site, besides=infos)
        prefix = Path(target.prefix or site)
        root = prefix if info.is_relative_to(prefix) else site
        owned |= _owned(recorded(info) or (), info, root, others[site])
    stays: list[Path] = []
    tops: dict[Path, Path] = {}  # folders right in site-packages
    for path in owned.values():
        site = next((s for s in others if path.is_relative_to(s)), path.parent)
        top = site / path.relative_to(site).parts[0]
        if top in {path, site / "__pycache__"}:
            paths[path] = None
            if path.suffix == ".py":
                cached = path.parent / "__pycache__"
                names = (n for n in names_in(cached) if n.startswith(f"{path.stem}."))
                paths.update(dict.fromkeys(cached / name for name in names))
        elif top not in paths:
            tops[top] = site
    for top, site in tops.items():
        goes, left = _cover(top, owned)
        paths.update(dict.fromkeys(goes))
        stays += (path for path in left if _key(path, site) not in others[site])
    return Removal(paths=tuple(p for p in paths if os.path.lexists(p)), stays=tuple(stays))


def _cover(folder: Path, owned: Mapping[str, Path]) -> tuple[list[Path], list[Path]]:
    """The parts of a folder that go and that stay; an empty folder goes as well."""
    goes: list[Path] = []
    stays: list[Path] = []
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:  # it may not be looked into
        return [], [folder]
    for entry in entries:
        path = folder / entry.name
        if tree.is_folder(entry.stat(follow_symlinks=False)):
            below, left = _cover(path, owned)
            goes += below
            stays += left
        elif os.path.normcase(path) in owned or _is_bytecode(path, owned):
            goes.append(path)
        else:
            stays.append(path)
    return (goes, stays) if stays else ([folder], [])


def _is_bytecode(path: Path, owned: Mapping[str, Path]) -> bool:
    """True for a file that Python made from an owned module, or from one that is gone."""
    source = path.parent.with_name(f"{path.name.partition('.')[0]}.py")
    return tree.is_compiled(path) and (
        os.path.normcase(source) in owned or not os.path.lexists(source)
    )


def recorded(info: Path) -> list[str] | None:
    """The files of a distribution, from site-packages on.

    None where there is no RECORD, or it cannot be made out.
    """
    content = read_bytes(info / "RECORD", _RECORD_LIMIT)
    if content is None:
        return None
    rows = csv.reader(content.decode("utf-8", "replace").splitlines())
    try:
        return [row[0] for row in rows if row and row[0]]
    except csv.Error:  # a field of more characters than any path has
        return None


def _owned(
    listed: Iterable[str], info: Path, prefix: Path, shared: Mapping[str, str]
) -> dict[str, Path]:
    """The listed files that exist and that no other distribution lists, by their normal case.

    Links in their folders are followed to see where they lie.
    """
    site = str(info.parent)
    bounds = Bounds((info.parent,), prefix)
    packages = bounds.packages[0]
    alone = os.path.realpath(prefix) == packages  # a user's own packages: scripts stay
    owned: dict[str, Path] = {}
    for name in listed:
        folder, file = os.path.split(os.path.normpath(os.path.join(site, name)))  # noqa: PTH118
        real = bounds.real(folder)
        within = _within(real, packages)
        if within:
            folder = site + real[len(packages) :]
        elif alone:
            continue
        path = os.path.join(folder, file)  # noqa: PTH118 - torch has 15,000 files
        try:
            if not bounds.elsewhere(folder) and tree.is_folder(os.lstat(path)):
                continue  # a RECORD names files: a folder may hold those of others
        except OSError:
            continue
        if not within and not bounds.allow(Path(path)):
            raise CannotRemedyError(
                f"the RECORD in {info} names {path}, which is no file of a package",
                "Uninstall that package by hand; tritonwin would take this file away with it.",
            )
        relative = path[len(site) + 1 :] if within else os.path.relpath(path, site)
        if os.path.normcase(relative).replace("\\", "/") not in shared:
            owned[os.path.normcase(path)] = Path(path)
    return owned


class Bounds:
    """The places where packages of an environment may have files.

    In site-packages, or elsewhere in its folder, but not among Python's own files: its library,
    its programs, what says where it looks.
    """

    def __init__(self, site_packages: Sequence[Path], prefix: Path) -> None:
        self.packages = [os.path.realpath(folder) for folder in site_packages]
        self._root = os.path.realpath(prefix)
        self._hosts = {share_of(str(folder)) for folder in (*site_packages, prefix)} | {None}
        self._real: dict[str, str] = {}

    def elsewhere(self, folder: str) -> bool:
        """True for a share that the environment is not on: a look would send it credentials."""
        return share_of(folder) not in self._hosts

    def real(self, folder: str) -> str:
        if folder not in self._real:
            found = folder if self.elsewhere(folder) else os.path.realpath(folder)
            self._real[folder] = found
        return self._real[folder]

    def allow(self, path: Path) -> bool:
        place = self.real(str(path.parent))
        if any(_within(place, each) for each in self.packages):
            return True
        library = any(_within(place, str(Path(folder).parent)) for folder in self.packages)
        inside = _within(place, self._root) and not library
        return inside and not _PYTHONS_OWN.fullmatch(path.name)


def listed_by(site_packages: Path, *, besides: Collection[Path] = ()) -> dict[str, str]:
    """The distributions by the files that they list, each from site-packages on.

    One without a RECORD is there by the folders that its `top_level.txt` names.
    """
    found: dict[str, str] = {}
    for name in names_in(site_packages):
        info = site_packages / name
        if name.endswith((".dist-info", ".egg-info")) and info not in besides:
            listed = recorded(info)
            if listed is None:
                listed = (read_text(info / "top_level.txt") or "").split()
            owner = canonicalize_name(name.partition("-")[0])
            found |= {os.path.normcase(each).replace("\\", "/"): owner for each in listed}
    return found


def _key(path: Path, site_packages: Path) -> str:
    return os.path.normcase(os.path.relpath(path, site_packages)).replace("\\", "/")


def _within(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder + os.sep)


def of_the_base(found: Distribution, target: Interpreter) -> bool:
    """True for a distribution that a virtual environment sees in its base."""
    if not target.prefix or not target.base_prefix or target.prefix == target.base_prefix:
        return False
    place = Path(found.location)
    return place.is_relative_to(target.base_prefix) and not place.is_relative_to(target.prefix)


def leave_to_conda(found: Iterable[Distribution], target: Interpreter) -> None:
    """Refuse to take away what conda installed: its records would go on saying that it is there.

    Raises:
        CannotRemedyError: with conda's own command.
    """
    for each in found:
        if each.installer != "conda":
            continue
        prefix = target.prefix or str(Path(target.executable).parent)
        package = conda_package(each, Path(prefix)) or each.name
        raise CannotRemedyError(
            f"{each.name} {each.version} was installed by conda (its package {package})",
            f'Let conda take it away, then try again: conda remove --force -p "{prefix}" {package}',
        )


def conda_package(found: Distribution, prefix: Path) -> str | None:
    """The package of conda whose record lists the distribution's metadata: pytorch has torch's."""
    wanted = f"site-packages/{Path(found.location).name}/".encode()
    for name in names_in(prefix / "conda-meta"):
        content = read_bytes(prefix / "conda-meta" / name, _RECORD_LIMIT)
        if name.endswith(".json") and content is not None and wanted in content:
            try:
                package = json.loads(content).get("name")
            except (ValueError, AttributeError, RecursionError):
                continue
            return package if isinstance(package, str) else None
    return None


def in_the_way(
    root: Path, site_packages: Sequence[Path], prefix: Path, going: Removal
) -> tuple[Path, ...]:
    """The files and folders of no package where those come that pip laid out below `root`.

    A folder that belongs to no distribution goes whole: Python would import a mixture.

    Raises:
        CannotRemedyError: a file would become one of Python's own, or replace one of another
            package, or one outside of site-packages.
    """
    bounds = Bounds(site_packages, prefix)
    gone = set(going.paths)
    mixed = {folder for path in going.stays for folder in path.parents}
    owners = {site: listed_by(site, besides=gone) for site in site_packages}
    claimed = {site: {name.partition("/")[0] for name in owners[site]} for site in site_packages}
    found: list[Path] = []
    # what no package brought there are modules and libraries of Python
    pythons_own = {os.path.normcase(each) for each in (prefix, prefix / "DLLs")}
    for laid_out, _, names in os.walk(root):
        folder = prefix / Path(laid_out).relative_to(root)
        for site in site_packages:
            inside = folder.relative_to(site).parts if folder.is_relative_to(site) else ()
            top = site.joinpath(*inside[:1])
            metadata = top.name.endswith(".dist-info") or top == site
            if metadata or top in mixed | gone or not is_folder(top):
                continue
            if os.path.normcase(top.name) not in claimed[site]:
                found.append(top)
                gone.add(top)
        free = not gone.isdisjoint((folder, *folder.parents)) or not os.path.lexists(folder)
        for name in names:
            place = folder / name
            if not bounds.allow(place):
                raise _misplaced(place)
            if free or place in gone or not os.path.lexists(place):
                continue
            if is_file(place) and place.read_bytes() == Path(laid_out, name).read_bytes():
                continue
            keys = [(site, _key(place, site)) for site in site_packages]
            owner = next(filter(None, (owners[site].get(key) for site, key in keys)), None)
            if owner is None and os.path.normcase(folder) in pythons_own:
                raise _misplaced(place)
            if owner or not any(place.is_relative_to(site) for site in site_packages):
                raise CannotRemedyError(
                    f"{place} of {owner or 'no package'} would be replaced",
                    "Uninstall that package, or move the file away, and try again.",
                )
            found.append(place)
    return tuple(found)


def _misplaced(place: Path) -> CannotRemedyError:
    return CannotRemedyError(
        f"a wheel holds {place}, which is no place for a file of a package", "Do not install it."
    )
