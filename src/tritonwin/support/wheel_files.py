"""Files of wheels: looked into before they are chosen, fetched, and checked before pip reads them.

A wheel on a server is read in parts, a megabyte at most: its directory, METADATA, RECORD and the
beginnings of its compiled modules.
"""

from __future__ import annotations

import atexit
import configparser
import contextlib
import io
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO

from packaging.utils import canonicalize_name

from tritonwin.facts.dlls.gpu_code import Code, codes_in, gpu_code
from tritonwin.facts.dlls.pe import PeImage, read_beginning, read_pe
from tritonwin.support import addresses, download
from tritonwin.support.addresses import DownloadError
from tritonwin.support.archives import DAMAGE, Allowance, TooMuchError, opened
from tritonwin.support.download import NoAnswerError, NoRangesError, RangedFile
from tritonwin.support.links import WheelLink
from tritonwin.support.versions import parse
from tritonwin.support.wheels import WheelName, WheelNameError, read
from tritonwin.system.host import Host, data_folder
from tritonwin.system.scratch import scratch_folder

MACHINES = {"win_amd64": "AMD64", "win_arm64": "ARM64"}  # of tags, and of modules
METADATA_LIMIT = 4 * 2**20  # bytes of a METADATA; torch's has 30,000
_INFO_LIMIT = 64 * 2**20  # bytes of any other file of the metadata: RECORD
_LARGEST = 8 * 2**30  # bytes of one file: a library of torch has 1.5 GiB
_MOST = 32 * 2**30  # bytes of all files together
_DOWNLOADS = "downloads"  # below the data folder
_MOST_READ = 900_000  # bytes of a wheel on a server
_SECONDS = 30.0
_RECORD_LIMIT = 2**20
_BEGINNING = 32 * 2**20  # bytes of a module, unpacked
_PIECE = 64 * 2**10
_PYTHON_DLL = re.compile(r"python(\d)(\d+)t?\.dll")
_CUDA_DLL = re.compile(r"(?:cudart|cublas|cublaslt)64_(\d\d)\d*\.dll")
# Windows has no such names, or reads them as others: "python.exe.", "python.exe::$DATA", and the
# short "PYTHON~1.DLL"; a name that begins with "//" would be sought on another machine
_MISREAD = re.compile(
    r'\A/|[\x00-\x1f:<>"|?*\\]|[^./][. ]+(?:/|\Z)|~\d{1,6}(?:\.[^/.]{0,3})?(?:/|\Z)'
)
_MODULE_ABI = re.compile(r"\.cp(\d)(\d+)t?-[^/]*$")


class WheelRefusedError(DownloadError):
    """A wheel that is not what its name says, or that exceeds a bound."""


@dataclass(frozen=True, kw_only=True)
class CompiledModule:
    """A module of a wheel, as far as it was read.

    Attributes:
        machine: "AMD64"; None where it is no module for Windows.
        dlls: in lower case; empty where their table was not reached.
        code: the GPU code that was reached.
        whole: all of it was read.
    """

    file: str
    machine: str | None = None
    dlls: tuple[str, ...] = ()
    code: tuple[Code, ...] = ()
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class WheelContent:
    """The content of a wheel.

    Attributes:
        wrong: the reason why it must not be handed to pip; None where there is none.
        requires: its Requires-Dist lines; None: they could not be read.
    """

    wrong: str | None = None
    requires: tuple[str, ...] | None = None
    modules: tuple[CompiledModule, ...] = ()


def look_into(link: WheelLink, seconds: float = _SECONDS) -> WheelContent:
    """Read a wheel where it lies, or as much of it as its place gives without the whole.

    Args:
        seconds: for each of its METADATA and its parts; one that takes longer is not known.
    """
    path = addresses.local_path(link.location)
    if path is not None:
        return content_of(path)
    if link.metadata is not None:
        with contextlib.suppress(DownloadError):
            metadata = download.read(link.metadata, limit=METADATA_LIMIT, timeout=seconds)
            return WheelContent(requires=_requires(_headers(metadata)))
    try:
        with RangedFile(link.location, most=_MOST_READ, timeout=seconds) as parts:
            if link.size is not None and link.size != parts.size:
                return WheelContent(wrong=f"it has {parts.size} bytes, its list says {link.size}")
            # a zip's reader wants as many bytes as it asked for
            return _content(io.BufferedReader(parts, _PIECE), link.name, parts.size)
    except (NoRangesError, NoAnswerError):
        return WheelContent()  # checked when it was fetched
    except DownloadError as error:
        return WheelContent(wrong=str(error))


def content_of(path: Path, *, deep: bool = True) -> WheelContent:
    """The content of a wheel on this machine; its modules only if `deep`."""
    try:
        name = read(path.name)
        with path.open("rb") as file:
            return _content(file, name, path.stat().st_size, deep=deep)
    except WheelNameError as error:
        return WheelContent(wrong=f"not a valid wheel name ({error})")
    except OSError as error:
        return WheelContent(wrong=f"it is damaged ({error})")


def _content(file: IO[bytes], name: WheelName, size: int, *, deep: bool = True) -> WheelContent:
    """Raises NoRangesError where METADATA alone is more than may be read."""
    try:
        with zipfile.ZipFile(file) as wheel:
            headers = _headers(_metadata(wheel, size))
            wrong = _misnamed(headers, name) or _misread(wheel) or _incomplete(wheel)
            modules = tuple(_modules(wheel)) if deep and not wrong else ()
            return WheelContent(wrong=wrong, requires=_requires(headers), modules=modules)
    except TooMuchError as error:
        return WheelContent(wrong=str(error))
    except NoRangesError:
        raise
    except (OSError, *DAMAGE) as error:
        return WheelContent(wrong=f"it is damaged ({error})")


def _misnamed(headers: Message, name: WheelName) -> str | None:
    """The reason in its METADATA against a wheel's name.

    A public version where the file name adds a local one is taken: makers of extensions rename
    their wheels so.
    """
    names, versions = (
        [str(value).strip() for value in headers.get_all(field, [])]
        for field in ("Name", "Version")
    )
    if [canonicalize_name(each) for each in names] != [name.distribution]:
        return f"its own metadata calls it {', '.join(names)[:100] or 'nothing'}"
    found = parse(versions[0]) if len(versions) == 1 else None
    renamed = found and found.local is None and str(found) == name.version.public
    if found is None or not (found == name.version or renamed):
        return f"its own metadata says version {', '.join(versions)[:100] or 'nothing'}"
    return None


def _misread(wheel: zipfile.ZipFile) -> str | None:
    """The reason in its names: Windows, or pip, would lay a file out elsewhere."""
    names = [member.orig_filename for member in wheel.infolist()]
    points = next((n for n in names if n.endswith(".dist-info/entry_points.txt")), None)
    if points is not None:
        with opened(wheel, wheel.getinfo(points)) as stream:
            # a launcher has no folder: a slash is as wrong in its name as a backslash
            names += (n.replace("/", "\\") for n in launchers(stream.read(_INFO_LIMIT)))
    found = next(filter(_MISREAD.search, names), None)
    return None if found is None else f"it holds {found!r}, which is no name for a file on Windows"


def launchers(entry_points: bytes) -> Iterator[str]:
    """The programs that pip makes for a wheel, by its entry_points.txt, without their suffix."""
    parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(entry_points.decode("utf-8", "replace"))
    except configparser.Error:
        return
    for section in ("console_scripts", "gui_scripts"):
        if parser.has_section(section):
            yield from parser.options(section)


def _incomplete(wheel: zipfile.ZipFile) -> str | None:
    """The reason in its RECORD: a module is listed that is not there."""
    names = set(wheel.namelist())
    record = next((n for n in names if n.endswith(".dist-info/RECORD")), None)
    if record is None or wheel.getinfo(record).file_size > _RECORD_LIMIT:
        return None
    with opened(wheel, wheel.getinfo(record)) as stream:
        lines = stream.read(_RECORD_LIMIT).decode("utf-8", "replace").splitlines()
    listed = (line.rsplit(",", 2)[0].strip('"') for line in lines if line.strip())
    missing = [n for n in listed if n.endswith((".py", ".pyd", ".dll", ".so")) and n not in names]
    return f"its RECORD lists {missing[0]}, which is not in it" if missing else None


def _metadata(wheel: zipfile.ZipFile, packed: int) -> bytes:
    """METADATA, once all members are within bounds.

    Raises:
        TooMuchError: they are not.
        ValueError: there is no metadata, or more than one.
    """
    allowance = Allowance(packed, largest=_LARGEST, most=_MOST)
    infos = set()
    for member in wheel.infolist():
        allowance.take(member.filename, member.file_size)
        top = PurePosixPath(member.filename).parts[:1]
        if not top or not top[0].lower().endswith(".dist-info"):
            continue
        infos.add(top[0])
        name = member.filename.rpartition("/")[2]
        if member.file_size > (METADATA_LIMIT if name == "METADATA" else _INFO_LIMIT):
            raise TooMuchError(f"{member.filename} is too large: {member.file_size:,} bytes")
    if len(infos) != 1:
        raise ValueError(f"{len(infos)} folders of metadata")
    with opened(wheel, wheel.getinfo(f"{infos.pop()}/METADATA")) as stream:
        return stream.read(METADATA_LIMIT)


def _headers(metadata: bytes) -> Message:
    return HeaderParser().parsestr(metadata.decode("utf-8", "replace"), headersonly=True)


def _requires(headers: Message) -> tuple[str, ...]:
    return tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", []))


def _modules(wheel: zipfile.ZipFile) -> Iterator[CompiledModule]:
    """The compiled modules for Windows, the smallest first, as far as they may be read."""
    members = [m for m in wheel.infolist() if m.filename.lower().endswith(".pyd")]
    for member in sorted(members, key=lambda m: m.compress_size):
        beginning = b""
        try:
            with opened(wheel, member) as stream:
                while len(beginning) < _BEGINNING and (piece := stream.read(_PIECE)):
                    beginning += piece
        except NoRangesError:
            pass
        image, whole = read_beginning(beginning), len(beginning) == member.file_size
        yield _module(member.filename, image, codes_in(beginning), whole=whole)


def _module(
    file: str, image: PeImage | None, code: tuple[Code, ...], *, whole: bool
) -> CompiledModule:
    return CompiledModule(
        file=file,
        machine=image.machine if image else None,
        dlls=tuple(name.lower() for name in image.imports) if image else (),
        code=code,
        whole=whole,
    )


# --- wheels that were fetched


@cache
def _folder() -> Path:
    """A folder for the wheels that this process fetched, gone at its end.

    Where tritonwin keeps its data, if that can be: what a killed process fetched is found there.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    with contextlib.suppress(OSError):
        downloads = data_folder(Host.this_machine().env) / _DOWNLOADS
        downloads.mkdir(parents=True, exist_ok=True)
        return stack.enter_context(scratch_folder(downloads))
    return stack.enter_context(scratch_folder())


_fetched: dict[tuple[str, str | None], Path] = {}


def obtain(
    location: str, sha256: str | None, progress: Callable[[int], None] | None = None
) -> Path:
    """The wheel at an address or a path as a file of this machine, checked. Fetched once.

    Args:
        sha256: None where the user allowed a wheel without a hash.

    Raises:
        DownloadError: it cannot be fetched, or has another hash.
        WheelRefusedError: see `WheelContent.wrong`.
    """
    path = addresses.local_path(location)
    if path is None:
        key = (location, sha256)
        if key not in _fetched:
            to = Path(tempfile.mkdtemp(dir=_folder()), read(location).file)
            parts = _folder().parent if _folder().parent.name == _DOWNLOADS else None
            download.fetch(location, to, sha256=sha256, progress=progress, parts=parts)
            _fetched[key] = to
        path = _fetched[key]
    if (wrong := content_of(path, deep=False).wrong) is not None:
        raise WheelRefusedError(
            f"{addresses.without_secrets(location)} is refused: {wrong}", "Do not install it."
        )
    return path


def whole_modules(folder: Path, names: Iterable[str]) -> Iterator[CompiledModule]:
    """The compiled modules for Windows among these files of a folder, each read whole."""
    for name in names:
        if name.lower().endswith(".pyd"):
            yield _module(name, read_pe(folder / name), gpu_code(folder / name), whole=True)


def module_misfit(
    modules: Iterable[CompiledModule],
    *,
    machine: str | None = None,
    python: str | None = None,
    cuda: str | None = None,
    gpus: Sequence[str] = (),
) -> str | None:
    """The reason in a wheel's compiled modules against a target; None: none was found.

    Args:
        machine: of the target, "AMD64".
        python: the target's version, "3.12.9".
        cuda: the CUDA that its torch was built for, "12.8".
        gpus: compute capabilities; one that is served is enough.
    """
    modules, series = tuple(modules), tuple((python or "").split(".")[:2])

    def of_another(found: re.Match[str] | None) -> bool:
        return found is not None and python is not None and found.groups() != series

    for module in modules:
        if machine and module.machine not in {None, machine}:
            return f"{module.file} is made for {module.machine}, this Python is {machine}"
        abi = _MODULE_ABI.search(module.file)
        if abi and of_another(abi):
            return f"{module.file} is made for Python {'.'.join(abi.groups())}, this is {python}"
        for dll in module.dlls:
            if of_another(_PYTHON_DLL.fullmatch(dll)):
                return f"{module.file} needs {dll}, this is Python {python}"
            found = _CUDA_DLL.fullmatch(dll)
            if found and cuda and found[1] != cuda.split(".")[0]:
                return f"{module.file} needs {dll}, this torch is built for CUDA {cuda}"
    code = sorted({code for module in modules for code in module.code})
    compared = [(each, gpu) for each in code for gpu in gpus]
    if not compared or not all(module.whole for module in modules):
        return None
    if any(each.serves(int(gpu.replace(".", ""))) for each, gpu in compared):
        return None
    first = compared[0][1].replace(".", "")
    return f"no code for sm_{first}: it holds {', '.join(map(str, code))}"
