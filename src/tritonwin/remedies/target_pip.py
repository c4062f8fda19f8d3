"""The pip that runs in a target, its own or one lent to it, and what it lays out for a journal.

Nothing of the target is touched: pip writes the installed layout, its RECORD and launchers below
a folder of the journal's, as if that were its environment; the journal moves it into place.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.journal import faultpoint
from tritonwin.remedies.installed import recorded
from tritonwin.remedies.plan import CannotRemedyError, target_to_change
from tritonwin.support import packages
from tritonwin.support.addresses import local_path
from tritonwin.support.pip import (
    CONSTRAINT,
    PLACES,
    RESOLVE_TIMEOUT,
    Pip,
    PipError,
    by_address,
    last_words,
)
from tritonwin.support.versions import older, parse
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheel_files import (
    MACHINES,
    WheelRefusedError,
    module_misfit,
    obtain,
    whole_modules,
)
from tritonwin.support.wheels import read
from tritonwin.system.files import names_in
from tritonwin.system.process import ENDS_WITH_US, NOTHING_FROM_HERE

OLDEST = "22.2"  # the first that reports what it would install
# pip builds what a requirement names by an address, whatever --only-binary says: that would run its
# code, also in a dry run. What pip needs to start for wheels is keyring alone, and itself in the
# Python that --python names: the environment of a build.
_NO_BUILDS = """
other = sys.argv[sys.argv.index("--python") + 1] if "--python" in sys.argv else None
def watch(event, args):
    if event == "subprocess.Popen":
        program, line = args[:2]
        if not program:
            program = line.split('"')[1] if line.startswith('"') else line.split()[0]
        name = os.path.basename(os.fsdecode(program))
        if program != other and name.partition(".")[0].lower() != "keyring":
            raise PermissionError(f"only wheels are taken, so that pip may not start {name}")
sys.addaudithook(watch)
"""
# The METADATA of a wheel that pip finds by itself may unpack to any size; pip itself takes 0.5 GB.
# Windows has such a limit for job objects.
_MOST_MEMORY = 4 * 2**30
_BOUND = f"""
try:
    import resource
    for kind in resource.RLIMIT_AS, resource.RLIMIT_FSIZE:
        most = {_MOST_MEMORY} * (1 if kind == resource.RLIMIT_AS else 2)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))
except ImportError:
    import ctypes
    limits = bytearray(144)  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION of 64 bits
    limits[16:20] = (0x100).to_bytes(4, "little")  # JOB_OBJECT_LIMIT_PROCESS_MEMORY
    limits[112:120] = ({_MOST_MEMORY}).to_bytes(8, "little")
    system, handle = ctypes.WinDLL("kernel32"), ctypes.c_void_p
    system.CreateJobObjectW.restype = system.GetCurrentProcess.restype = handle
    job = handle(system.CreateJobObjectW(None, None))
    system.SetInformationJobObject(job, 9, (ctypes.c_char * 144).from_buffer(limits), 144)
    system.AssignProcessToJobObject(job, handle(system.GetCurrentProcess()))
"""
_OWN = (
    f"{NOTHING_FROM_HERE}; {ENDS_WITH_US}; {_NO_BUILDS}{_BOUND}"
    "import pip._internal.cli.main as cli; sys.exit(cli.main())"
)
# Its folder is off the path again before pip looks around: the distributions that lie beside it
# are not the target's. pip finds its own modules without.
_BORROW = (
    f"{NOTHING_FROM_HERE}; {ENDS_WITH_US}; {_NO_BUILDS}{_BOUND}"
    "place = sys.argv.pop(1); sys.path.insert(0, place); "
    "import pip._internal.cli.main as cli; sys.path.remove(place); sys.exit(cli.main())"
)

_OPTIONS = (
    "--quiet",
    "--no-deps",
    "--ignore-installed",
    "--no-compile",
    "--no-build-isolation",
    "--no-warn-script-location",
    "--no-index",
    "--target=",  # a pip.ini may name a folder of its own
)


def find_pip(facts: Facts, lists: Sequence[str]) -> Pip:
    """The target's own pip; where it has none, a broken or too old one, one that lies elsewhere.

    Nothing of a lent pip stays in the target.

    Args:
        lists: folders that the user named, which may hold a wheel of pip.

    Raises:
        CannotRemedyError: none was found.
    """
    target = target_to_change(facts)
    own = facts.distribution("pip")
    if target.has_pip and own and not older(own.version, OLDEST) and _whole(Path(own.location)):
        return Pip((target.executable, "-B", "-c", _OWN), own.version)
    lent = next(_lent(lists), None)
    if lent is None:
        raise CannotRemedyError(
            f"{target.executable} has no whole pip of {OLDEST} or later, and there is none to lend",
            "Give a folder with a wheel of pip: --find-links DIR (pip download pip)",
        )
    place, version = lent
    return Pip((target.executable, "-B", "-c", _BORROW, str(place)), version)


def _lent(lists: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Places that hold a package `pip`, with its version: our site-packages, and wheels."""
    ours = importlib.util.find_spec("pip")
    for folder in (ours.submodule_search_locations or ()) if ours else ():
        version = metadata.version("pip")
        if not older(version, OLDEST) and _whole(Path(folder).parent / f"pip-{version}.dist-info"):
            yield Path(folder).parent, version
    for place in lists:
        path = local_path(place)
        if path is not None:
            yield from _wheels(path.absolute())
    bundled = importlib.util.find_spec("ensurepip")
    for folder in (bundled.submodule_search_locations or ()) if bundled else ():
        yield from _wheels(Path(folder, "_bundled"))


def _whole(info: Path) -> bool:
    """True where every module is there that this pip's RECORD lists, or it has no RECORD.

    An update that was cut off, or a cleaner, takes some away.
    """
    wanted: dict[str, set[str]] = {}  # by folder: to ask for each file is slow on Windows
    for listed in recorded(info) or ():
        folder, _, name = listed.rpartition("/")
        if name.endswith(".py"):
            wanted.setdefault(folder, set()).add(name)
    return all(names <= set(names_in(info.parent / folder)) for folder, names in wanted.items())


def _wheels(folder: Path) -> Iterator[tuple[Path, str]]:
    found = [n for n in names_in(folder) if n.startswith("pip-") and n.endswith(".whl")]
    for name in sorted(found, reverse=True):
        version = name.split("-")[1]
        if not older(version, OLDEST):
            yield folder / name, version


def stage(
    pip: Pip, wheels: Sequence[FileSource], root: Path, progress: Callable[[int, int | None], None]
) -> None:
    """Lay exactly these wheels out below `root`, in the folders that they have in the target.

    They are fetched and checked here: pip is given files of this machine alone.

    Args:
        progress: told how many bytes of how many have come of the file that is fetched.

    Raises:
        DownloadError: a wheel cannot be fetched, has another hash, or is not what its name says.
        PipError: pip cannot lay them out.
    """
    faultpoint("before pip")
    files = [_on_disk(wheel, progress) for wheel in wheels]
    # without Windows' limit of 260 characters: a journal's folder is long, and torch's names are
    options = ["--prefix", f"\\\\?\\{root}" if os.name == "nt" else str(root), *_OPTIONS]
    addresses = (
        by_address(wheel.name, str(file), wheel.sha256)
        for wheel, file in zip(wheels, files, strict=True)
    )
    arguments = ["install", *options, "--", *addresses]
    settled = PLACES | {CONSTRAINT}  # the plan was made within it
    done = pip.run(arguments, timeout=RESOLVE_TIMEOUT, settled=settled)
    faultpoint("after pip")
    if done.code != 0:
        raise PipError(
            f"pip could not lay out the wheels: {last_words(done)}",
            "Nothing was changed. Try again, or look at the file it names.",
        )
    # the exit status alone is not relied on: the distributions that they replace go next
    found = {canonicalize_name(i.name.partition("-")[0]) for i in root.rglob("*.dist-info")}
    missing = [wheel.name for wheel in wheels if canonicalize_name(wheel.name) not in found]
    if missing:
        raise PipError(
            f"pip did not lay {missing[0]} out where it was told to",
            "Nothing was changed. See what it is set to: pip config debug",
        )
    for origin in root.rglob("*.dist-info/direct_url.json"):
        _forget_origin(origin)


def check_modules(
    root: Path, target: Interpreter, *, cuda: str | None, gpus: Sequence[str]
) -> None:
    """Compare the compiled modules that were laid out with the target, before they are moved.

    Only of packages that are compiled for one torch: others bring a library for each CUDA.

    Raises:
        WheelRefusedError: they do not fit.
    """
    for info in root.rglob("*.dist-info"):
        name = canonicalize_name(info.name.partition("-")[0])
        if name not in packages.load():
            continue
        found = module_misfit(
            whole_modules(info.parent, recorded(info) or ()),
            machine=MACHINES.get(target.platform_tag or ""),
            python=target.version,
            cuda=cuda,
            gpus=gpus,
        )
        if found:
            raise WheelRefusedError(f"{name} is refused: {found}", "Nothing was changed.")


def _on_disk(wheel: FileSource, progress: Callable[[int, int | None], None]) -> Path:
    """The file of a wheel of the plan; raises as `stage` does."""
    path = obtain(wheel.location, wheel.sha256, lambda done: progress(done, wheel.size))
    name = read(path.name)
    if name.distribution != canonicalize_name(wheel.name) or name.version != parse(wheel.version):
        raise WheelRefusedError(
            f"{path.name} is not {wheel.name} {wheel.version}, which was asked for",
            "Do not install it.",
        )
    return path


def _forget_origin(origin: Path) -> None:
    """Take the address of a wheel, a file that may be gone soon, from what `pip freeze` prints."""
    record = origin.with_name("RECORD")
    listed = f"{origin.parent.name}/{origin.name},"
    lines = record.read_text("utf-8").splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith(listed))
    record.write_text(kept, "utf-8", newline="")
    origin.unlink()
