"""Ask one interpreter what it is (the probe), or whether a module can be imported in it."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tritonwin.errors import UserError
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.packages import python_path
from tritonwin.facts.python_layout import describe, is_store_alias
from tritonwin.facts.records import Interpreter
from tritonwin.system.files import file_size, is_file, is_folder
from tritonwin.system.host import Host
from tritonwin.system.process import Completed, parse_answer, run
from tritonwin.system.scratch import scratch_folder

_WRONG_USE = 2  # how Python 2 ends when it is given -I
_ERROR_LENGTH = 500  # characters of a foreign program's error text that are shown

# What sysconfig calls the platform of a Windows program, by the machine in its header.
_PLATFORM_TAGS = {"AMD64": "win_amd64", "ARM64": "win_arm64", "x86": "win32"}


class TargetError(UserError):
    """An interpreter that cannot be examined: what is wrong, and what to do (`help`)."""


def examine(executable: str, host: Host, timeout: float | None = 30) -> Interpreter:
    """Run the probe in an interpreter; join its answer with what its files say.

    Where the interpreter only starts without its `site` module, `site_loaded` is False and
    `error` says why. `sys_path` is that of an ordinary start, less the folder of the script.
    A 32-bit Python is reported like any other.

    Args:
        timeout: seconds for each start; None: its files are read, and it is not started.

    Raises:
        TargetError: no Python, no answer in time, a crash, or an answer that makes no sense.
    """
    path = Path(executable).absolute()
    _refuse(path, windows=host.windows)
    seen = describe(path, "target", host)
    if timeout is None:
        return replace(
            seen,
            started=False,
            platform_tag=_PLATFORM_TAGS.get(seen.machine or "") if host.windows else None,
            sys_path=(*python_path(seen, host), *seen.site_packages),
        )
    done, answer = _ask(path, host, timeout, ("-I", "-B", "-X", "utf8"))
    trouble = None
    if answer is None and not done.timed_out:
        trouble = _said(done) or done.ending()
        without, answer = _ask(path, host, timeout, ("-I", "-S", "-B", "-X", "utf8"))
        done = done if answer is None else without
    if answer is None:
        raise _failure(path, done, timeout)
    found = _join(seen, answer, host)
    if trouble is not None:
        # without `site`, an old interpreter does not know that it is a virtual environment
        found = replace(
            found,
            prefix=seen.prefix,
            base_prefix=seen.base_prefix,
            site_packages=tuple(dict.fromkeys((*seen.site_packages, *found.site_packages))),
            site_loaded=False,
            has_pip=seen.has_pip,
            error=f"starts only without its site module: {trouble}",
        )
    return found


def import_error(executable: str, module: str, timeout: float = 120, first: str = "") -> str | None:
    """Import one module as the user's programs do, in a child process, in an empty folder.

    Args:
        timeout: in seconds.
        first: a statement to run before.

    Returns:
        How it failed: its exception, or how the process ended. None: it was imported.
    """
    # the end of an interpreter with torch in it takes seconds, and may crash
    program = f"{first}import {module}; import os; os._exit(0)"
    with scratch_folder() as folder:
        done = run(executable, ("-B", "-c", program), timeout=timeout, cwd=folder)
    if done.code == 0:
        return None
    said = _said(done)
    return said if said and done.code == 1 else ": ".join(filter(None, (done.ending(), said)))


def _refuse(path: Path, *, windows: bool) -> None:
    """Name what can be seen to be no interpreter without starting it."""
    if is_store_alias(path):
        raise TargetError(
            f"{path} is a Microsoft Store alias, which may open the Store instead of a Python",
            "Install Python from python.org and name its python.exe: --python",
        )
    if not (is_file(path) or is_folder(path)):
        raise TargetError(
            f"there is no file {path}", "Check the path; `where python` lists the Pythons on PATH"
        )
    # a shell would take the probe's lines for commands
    other = windows and path.suffix.lower() != ".exe"
    if other or is_folder(path) or not file_size(path) or not _looks_like_python(path):
        raise TargetError(
            f"{path} is not a Python", "Name a Python 3 interpreter, such as a python.exe: --python"
        )


def _looks_like_python(path: Path) -> bool:
    """By its name, or by the library of Python that a renamed program needs."""
    names = (path.name.lower(), Path(os.path.realpath(path)).name.lower())
    if any(word in name for word in ("python", "pypy") for name in names):
        return True
    image = read_pe(path)
    return image is not None and any(name.lower().startswith("python3") for name in image.imports)


def _ask(
    path: Path, host: Host, timeout: float, flags: tuple[str, ...]
) -> tuple[Completed, dict[str, Any] | None]:
    cookie = secrets.token_hex(16)
    probe = files("tritonwin.facts").joinpath("probe.py").read_bytes()
    env = dict(host.env.data)
    try:
        arguments = (*flags, "-", cookie)
        done = run(path, arguments, timeout=timeout, env=env, cwd=path.parent, stdin=probe)
    except OSError as error:
        raise TargetError(
            f"{path} cannot be started: {error.strerror or error}",
            "Name an interpreter that runs on this machine: --python",
        ) from error
    return done, parse_answer(done.out, cookie)


def _failure(path: Path, done: Completed, timeout: float) -> TargetError:
    if done.timed_out:
        return TargetError(
            f"{path} gave no answer within {timeout:g} s",
            f'Run it by hand to see what it waits for: "{path}" -c pass',
        )
    said = _said(done)
    ending = done.ending() + (f": {said}" if said else "")
    return TargetError(
        f"{path} did not answer as a Python would" + (f" ({ending})" if done.code else ""),
        f'Name a Python 3.8 or later: --python. If it is one, run it by hand: "{path}" -c pass',
    )


def _said(done: Completed) -> str | None:
    """The line that names the trouble: the last one of a traceback, the first of a usage text."""
    lines = [line.strip() for line in done.err.decode("utf-8", "replace").splitlines()]
    lines = [line[:_ERROR_LENGTH] for line in lines if line]
    if not lines:
        return None
    return lines[0] if done.code == _WRONG_USE else lines[-1]


# The fields of an interpreter that the probe answers under their own names.
_TOLD = (
    *("version", "implementation", "bits", "free_threaded", "prefix", "base_prefix"),
    *("ext_suffix", "site_loaded", "has_pip"),
)


def _join(seen: Interpreter, answer: dict[str, Any], host: Host) -> Interpreter:
    """The answer of the interpreter where it has one, else what the files say."""
    paths = answer["paths"] or {}
    user_site = None if seen.pth else answer["user_site"]  # a ._pth rules sys.path
    sys_path: list[str] = answer["sys_path"]
    sites = [p for p in sys_path if Path(p).name.lower() in ("site-packages", "dist-packages")]
    if user_site is not None:
        # `site` puts the user's folder right before the first one of the installation
        place = sys_path.index(sites[0]) if sites else len(sys_path)
        sys_path.insert(place, user_site)
    own = (paths.get("purelib"), paths.get("platlib"))
    # A virtual environment's own program is only a launcher on Windows. Launchers that are not
    # CPython's leave `sys._base_executable` at it; then `pyvenv.cfg` knows better.
    launcher = answer["base_executable"] == answer["executable"]
    base = seen.base_executable if launcher and seen.prefix != seen.base_prefix else None
    tag = (paths.get("platform") or "").replace("-", "_").replace(".", "_")
    return replace(
        seen,
        **{name: answer[name] for name in _TOLD},
        user_site=user_site,
        started=True,
        machine=seen.machine or answer["machine"],
        base_executable=base or answer["base_executable"] or seen.base_executable,
        platform_tag=tag or None,
        include=paths.get("include"),
        site_packages=tuple(dict.fromkeys(p for p in (*sites, *own) if p)) or seen.site_packages,
        platlib=paths.get("platlib"),
        sys_path=(*python_path(seen, host), *sys_path),
        error="; ".join(answer["notes"])[:_ERROR_LENGTH] or None,
    )
