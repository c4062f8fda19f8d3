"""A plan as the steps of a script that needs nothing but the target's Python.

What a shell does differently everywhere (fetch, hash, unpack, copy, edit) is done by one-liners of
Python. They hold no double quote, so that every shell can pass them on as they are.
"""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tritonwin.build.environment import GIT_REPOSITORY, NEVER
from tritonwin.build.model import BuildPlan, PinnedFile, Source
from tritonwin.errors import UserError

_FETCH = (
    "import hashlib, os, sys, urllib.request as u; f, h, a = (sys.argv[1:] + [''])[:3]; "
    "os.path.exists(f) or not a or u.urlretrieve(a, f); "
    "os.path.exists(f) or sys.exit('missing: ' + f); "
    "h and hashlib.sha256(open(f, 'rb').read()).hexdigest() != h and sys.exit('wrong hash: ' + f)"
)
_UNPACK_SDIST = (
    "import os, shutil, sys, tarfile; f, d, *skip = sys.argv[1:]; t = tarfile.open(f); "
    "[(os.makedirs(os.path.dirname(p), exist_ok=True), "
    "shutil.copyfileobj(t.extractfile(m), open(p, 'wb'))) "
    "for m in t if m.isfile() for n in [m.name.partition('/')[2]] "
    "if n[:1] not in '/' and ':' not in n and '..' not in n "
    "and not any((n + '/').startswith(s + '/') for s in skip) "
    "for p in [os.path.join(d, n)]]"
)
_UNPACK_WHEEL = (
    "import os, sys, zipfile; f, d = sys.argv[1:]; z = zipfile.ZipFile(f); "
    "[(os.makedirs(os.path.dirname(p), exist_ok=True), open(p, 'wb').write(z.read(n)), "
    "os.chmod(p, 0o755)) "
    "for n in z.namelist() if n.startswith('nvidia/cu13/') and n[-1] != '/' and n[12] != '/' "
    "and ':' not in n and '..' not in n "
    "for p in [os.path.join(d, n[12:])]]"
)
_NAME_LIBRARIES = (
    "import os, sys; d = sys.argv[1]; "
    "[os.symlink(n, os.path.join(d, n.partition('.so.')[0] + '.so')) for n in os.listdir(d) "
    "if '.so.' in n and not os.path.lexists(os.path.join(d, n.partition('.so.')[0] + '.so'))]"
)
_COPY = (
    "import os, shutil, sys; s, d, *skip = sys.argv[1:]; "
    "[(os.makedirs(os.path.dirname(t), exist_ok=True), shutil.copyfile(f, t)) "
    "for r, _, fs in os.walk(s) for n in fs for f in [os.path.join(r, n)] "
    "for q in [os.path.relpath(f, s).replace(os.sep, '/')] "
    "if not any((q + '/').startswith(k + '/') for k in skip) for t in [os.path.join(d, q)]]"
)
_CHECKED_OUT = ".checked-out"
_REFUSE_LINKS = (
    "r = os.path.realpath; [sys.exit('a link to elsewhere: ' + n) for n in names "
    "if os.path.commonpath((r(d), r(os.path.join(d, n)))) != r(d)]; "
)
_LEAVE_OUT = (
    f"import os, shutil, sys; d, *names = sys.argv[1:]; {_REFUSE_LINKS}"
    # what git stores is read-only
    "[os.chmod(os.path.join(r, n), 0o700) "
    "for g in names for r, _, fs in os.walk(os.path.join(d, g)) for n in fs "
    "if not os.path.islink(os.path.join(r, n))]; "
    "[shutil.rmtree(os.path.join(d, g), True) for g in names]; "
    f"open(os.path.join(d, '{_CHECKED_OUT}'), 'w').close()"
)
_EDIT = (
    f"import os, sys; d, f, need = sys.argv[1:]; names = [f]; {_REFUSE_LINKS}"
    "s = open(f, encoding='utf-8', newline='').read(); "
    "a, b = os.environ['TW_FIND'], os.environ['TW_REPLACE']; "
    "a in s or b in s or need == 'optional' or sys.exit('not found in ' + f + ': ' + a); "
    "b in s or open(f, 'w', encoding='utf-8', newline='').write(s.replace(a, b))"
)
_LINK = (
    "import os, sys; open(os.path.join(sys.argv[1], 'target.pth'), 'w', encoding='utf-8')"
    ".write(chr(10).join(p for p in sys.path if p.endswith('-packages')))"
)


class ScriptError(UserError):
    """The plan cannot be written as a script."""


@dataclass(frozen=True, kw_only=True)
class Note:
    text: str


@dataclass(frozen=True, kw_only=True)
class Folder:
    path: str


@dataclass(frozen=True, kw_only=True)
class Set:
    """A variable; `value` None takes it away."""

    name: str
    value: str | None


@dataclass(frozen=True, kw_only=True)
class Head:
    """Folders for the head of PATH."""

    folders: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A program with its words; not run where the file `unless` exists.

    Attributes:
        cwd: the folder to run in.
        vcvarsall: Visual Studio's batch file, whose environment it runs in.
        toolset: for its `-vcvars_ver=`.
    """

    words: tuple[str, ...]
    unless: str | None = None
    cwd: str | None = None
    vcvarsall: str | None = None
    toolset: str | None = None


Step = Note | Folder | Set | Head | Run


def steps(plan: BuildPlan, addresses: Mapping[str, str]) -> Iterator[Step]:
    """What a script does, in order.

    Args:
        addresses: file name -> where it can be fetched; a file without one must lie in the build
            folder already.

    Raises:
        ScriptError: the plan is refused.
    """
    if not plan.possible:
        msg = f"there is no script for a plan that is refused: {plan.refusals[0].message}"
        raise ScriptError(msg, plan.refusals[0].help)
    path = ntpath if plan.windows else posixpath
    root, target = plan.root, plan.target
    folder = {n: path.join(root, n) for n in ("s", "v", "c", "t", "dist", "files")}
    yield Note(text=f"{plan.distribution or plan.recipe} {plan.version} for {target}")
    for place in folder.values():
        yield Folder(path=place)
    yield Note(text="the source")
    yield from _source(plan, plan.source, addresses, folder)
    for edit in plan.edits:
        yield Set(name="TW_FIND", value=edit.find)
        yield Set(name="TW_REPLACE", value=edit.replace)
        file = path.join(folder["s"], *edit.file.split("/"))
        need = "required" if edit.required else "optional"
        yield Run(words=(target, "-c", _EDIT, folder["s"], file, need))
    yield Note(text="the build environment, which sees the packages of the target")
    yield from _environment(plan, folder["v"])
    if plan.cuda and plan.cuda.parts:
        yield Note(text="the CUDA toolkit")
        yield from _toolkit(plan, plan.cuda.parts, addresses, folder)
    yield Note(text="the build")
    for name in dict.fromkeys((*NEVER, *plan.unset, "TW_FIND", "TW_REPLACE")):
        yield Set(name=name, value=None)
    for name, value in plan.environment.items():
        yield Set(name=name, value=value)
    scripts = path.dirname(_python(plan, folder["v"]))
    yield Head(folders=(scripts, *plan.path))
    yield Run(
        words=(_python(plan, folder["v"]), *plan.command),
        cwd=path.join(folder["s"], *filter(None, plan.source.subfolder.split("/"))),
        vcvarsall=plan.toolset.vcvarsall if plan.toolset else None,
        toolset=plan.toolset.vcvars_ver if plan.toolset else None,
    )


def _source(
    plan: BuildPlan, source: Source, addresses: Mapping[str, str], folder: Mapping[str, str]
) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    if source.kind == "folder":
        yield Run(words=(plan.target, "-c", _COPY, source.location, folder["s"], *source.skip))
        return
    if source.kind == "sdist":
        file = source.location
        if path.basename(file) == file:
            file = path.join(folder["files"], file)
            yield from _fetch(plan, file, source.sha256, addresses)
        yield Run(
            words=(plan.target, "-c", _UNPACK_SDIST, file, folder["s"], *source.skip),
            unless=path.join(folder["s"], "setup.py"),
        )
        return
    for name in GIT_REPOSITORY:
        yield Set(name=name, value=None)
    for words in _checkout(source, folder["s"]):
        yield Run(words=words, unless=path.join(folder["s"], _CHECKED_OUT))
    gone = (".git", *source.skip)
    yield Run(words=(plan.target, "-c", _LEAVE_OUT, folder["s"], *gone))


def _checkout(source: Source, to: str) -> Iterator[tuple[str, ...]]:
    git = ("git", "-C", to)
    yield (*git, "init", "--quiet")
    yield (*git, "config", "core.longpaths", "true")
    yield (*git, "config", "core.autocrlf", "false")
    # without a remote, submodules with a relative address are sought below this folder
    yield (*git, "config", "remote.origin.url", source.location)
    yield (*git, "fetch", "--quiet", "--depth", "1", "--", "origin", source.ref or "HEAD")
    yield (*git, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    if source.submodules:
        update = ("submodule", "--quiet", "update", "--init", "--recursive", "--depth", "1", "--")
        yield (*git, *update, *source.submodules)


def _environment(plan: BuildPlan, venv: str) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    python = _python(plan, venv)
    minor = ".".join(plan.python.split(".")[:2])
    site = ("Lib",) if plan.windows else ("lib", f"python{minor}")
    pip = () if plan.requirements else ("--without-pip",)
    yield Run(words=(plan.target, "-m", "venv", *pip, venv), unless=python)
    yield Run(words=(plan.target, "-c", _LINK, path.join(venv, *site, "site-packages")))
    if plan.requirements:
        yield Run(words=(python, "-m", "pip", "install", "--quiet", *plan.requirements))


def _toolkit(
    plan: BuildPlan,
    parts: tuple[PinnedFile, ...],
    addresses: Mapping[str, str],
    folder: Mapping[str, str],
) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    for part in parts:
        file = path.join(folder["files"], part.file)
        yield from _fetch(plan, file, part.sha256, addresses)
        yield Run(words=(plan.target, "-c", _UNPACK_WHEEL, file, folder["c"]))
    if not plan.windows:
        yield Run(words=(plan.target, "-c", _NAME_LIBRARIES, path.join(folder["c"], "lib")))


def _fetch(
    plan: BuildPlan, file: str, sha256: str | None, addresses: Mapping[str, str]
) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    address = addresses.get(path.basename(file))
    known = (address,) if address else ()
    yield Run(words=(plan.target, "-c", _FETCH, file, sha256 or "", *known))


def _python(plan: BuildPlan, venv: str) -> str:
    if plan.windows:
        return ntpath.join(venv, "Scripts", "python.exe")
    return posixpath.join(venv, "bin", "python")
