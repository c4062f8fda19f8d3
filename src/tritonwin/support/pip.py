"""Ask the target's own pip for its package indexes, and for the files that it would install.

pip is run inside the target, so it answers for the target's tags, configuration, proxies and
credentials. How it is started there is the caller's choice (`python -m pip`, or a wheel of pip
where the target has none). Nothing here installs.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.support.addresses import for_record, local_path
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.process import Completed, run
from tritonwin.system.scratch import scratch_folder

QUERY_TIMEOUT = 120.0
RESOLVE_TIMEOUT = 1800.0
_DEFAULT_INDEX = re.compile(r"--index-url\s+<url>.*?\(default\s+(\S+?)\)", re.DOTALL)
_SETTING = re.compile(r"^(global|install|:env:)\.([\w-]+)=(.*)$", re.MULTILINE)
# sections of pip's configuration that count for `pip install`, each overriding the ones before
_SECTIONS = ("global", "install", ":env:")


# Variables PIP_* of the user that count: how packages are reached, and in which versions they are
# allowed. The others (PIP_TARGET, PIP_USER, PIP_DRY_RUN ...) would put packages elsewhere, or
# nowhere, and report that as done.
PLACES = frozenset({"INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX"})
CONSTRAINT = "CONSTRAINT"
_HEEDED = PLACES.union(
    ("CACHE_DIR", "CERT", "CLIENT_CERT", "CONFIG_FILE", CONSTRAINT, "DEFAULT_TIMEOUT", "ISOLATED"),
    ("KEYRING_PROVIDER", "NO_CACHE_DIR", "PROXY", "RESUME_RETRIES", "RETRIES", "TIMEOUT"),
    ("TRUSTED_HOST", "USE_DEPRECATED", "USE_FEATURE"),
)
# A pip.ini may hold these as well; variables come before every file.
_OFF = ["DRY_RUN", "QUIET", "REQUIRE_HASHES", "REQUIRE_VIRTUALENV", "USER", "VERBOSE"]
_SWITCHES = {
    **{f"PIP_{name}": "0" for name in _OFF},
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


class PipError(UserError):
    """pip could not be run, or refused."""


@dataclass(frozen=True)
class Pip:
    """A pip that runs in the target: the absolute program and the arguments before pip's own."""

    command: tuple[str, ...]
    version: str = "0"

    def run(
        self,
        args: Sequence[str],
        *,
        timeout: float,
        settled: frozenset[str] = frozenset(),
    ) -> Completed:
        """Run pip, never asking and never looking for a newer pip.

        Args:
            settled: variables, without their PIP_, that the arguments replace.

        Raises:
            PipError: it cannot be started, or took too long.
        """
        program, *before = self.command
        env = environment(os.environ, settled)
        try:
            # its input stays open while we are there: see ENDS_WITH_US
            done = run(program, [*before, *args], timeout=timeout, env=env, stdin=None)
        except OSError as error:
            raise PipError(
                f"pip cannot be started with {program}: {error}",
                "See what is wrong with that Python: tritonwin doctor",
            ) from None
        if done.timed_out:
            raise PipError(
                f"pip {args[0]} did not finish within {timeout:.0f} s",
                "Try again; a slow or blocked network is the usual cause.",
            )
        return done


def configured_places(pip: Pip) -> Sources:
    """The indexes, and the folders or pages of links, of this pip, by its files and variables.

    No address of an index is written into this program: the default one is pip's own, which its
    help names.

    Raises:
        PipError: pip cannot read a file or variable.
    """
    settings: dict[str, str] = {}
    done = pip.run(["config", "list"], timeout=QUERY_TIMEOUT)
    if done.code != 0:
        raise PipError(
            f"pip cannot read its configuration: {last_words(done)}",
            "Repair or rename the file (pip.ini) or variable that it names.",
        )
    text = done.out.decode("utf-8", "replace")
    for _, name, value in sorted(_SETTING.findall(text), key=lambda m: _SECTIONS.index(m[0])):
        settings[name] = value.strip()
        with suppress(ValueError, SyntaxError):
            settings[name] = str(ast.literal_eval(value.strip()))
    no_index = settings.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"}
    index = None if no_index else settings.get("index-url")
    if index is None and not no_index:
        help_text = pip.run(["install", "--help"], timeout=QUERY_TIMEOUT).out
        found = _DEFAULT_INDEX.search(help_text.decode("utf-8", "replace"))
        index = found[1] if found else None
    more = settings.get("extra-index-url", "").split()
    return Sources(
        lists=tuple(settings.get("find-links", "").split()),
        indexes=(index, *more) if index else (),
    )


def environment(ours: Mapping[str, str], settled: frozenset[str] = frozenset()) -> dict[str, str]:
    """The variables for pip.

    Args:
        settled: names without their PIP_ that the arguments replace.
    """
    heeded = _HEEDED - settled
    # PYTHONPATH and PYTHONHOME of this process do not apply to the target
    kept = {
        name: value
        for name, value in ours.items()
        if name not in {"PYTHONPATH", "PYTHONHOME"}
        and (not name.startswith("PIP_") or name.removeprefix("PIP_") in heeded)
    }
    with_index = {"PIP_NO_INDEX": "0"} if "NO_INDEX" in settled else {}
    # the output is parsed: in a narrow window pip would break addresses in two
    return {**kept, **_SWITCHES, **with_index, "PYTHONUTF8": "1", "COLUMNS": "200"}


def dry_run(
    pip: Pip,
    requirements: Iterable[str],
    *,
    options: Sequence[str] = (),
    limits: Iterable[str] = (),
) -> tuple[FileSource, ...]:
    """The files that `pip install` would install, missing dependencies included. Nothing changes.

    Only wheels: a source distribution would run its own code to be asked for its name.

    Args:
        limits: versions that hold for what is not asked for as well.

    Raises:
        PipError: pip finds no set that fits, in pip's own words.
    """
    args = ["install", "--dry-run", "--quiet", "--report", "-", "--only-binary", ":all:"]
    with scratch_folder() as folder:  # a wheel may ask for more than a command line holds
        for option, lines in (("--requirement", requirements), ("--constraint", limits)):
            file = folder / f"{option[2:]}s.txt"
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            args += [option, str(file)]
        done = pip.run([*args, *options], timeout=RESOLVE_TIMEOUT, settled=PLACES)
    if done.code != 0:
        msg = f"pip finds nothing to install: {last_words(done)}"
        allowed = os.environ.get(f"PIP_{CONSTRAINT}")
        raise PipError(
            msg,
            f"See what PIP_{CONSTRAINT} allows ({allowed}), or unset that variable for this."
            if allowed
            else "Look at the reasons above, or name another index with --index.",
        )
    try:
        # a sitecustomize of the target may print before pip does
        report = json.loads(done.out[done.out.index(b"{") :])
        return tuple(_download(entry) for entry in report["install"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PipError(
            f"pip's report cannot be read: {error!r}",
            "pip 22.2 or newer is needed: update it in the target.",
        ) from None


def _download(entry: dict[str, Any]) -> FileSource:
    info = entry["download_info"]
    archive = info.get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256")
    if sha256 is None and str(archive.get("hash", "")).startswith("sha256="):
        sha256 = archive["hash"].partition("=")[2]  # as pip before 23.1 wrote it
    return FileSource(
        name=canonicalize_name(entry["metadata"]["name"]),
        version=entry["metadata"]["version"],
        location=for_record(info["url"]),
        sha256=sha256,
    )


def by_address(name: str, location: str, sha256: str | None) -> str:
    """A requirement for pip: the wheel by its address or path, held to its hash."""
    path = local_path(location)
    address = path.absolute().as_uri() if path is not None else location
    return f"{name} @ {address}" + (f"#sha256={sha256}" if sha256 else "")


def last_words(done: Completed) -> str:
    """The reason that pip prints. pip hides passwords in addresses, but no other tokens."""
    # pip reports errors of its configuration on the other stream
    said = done.err.strip() or done.out
    lines = said.decode("utf-8", "replace").strip().splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    if errors[-1:] == ["Exception:"]:  # pip's own end: its kind is the traceback's last line
        errors[-1] = f"pip itself ended: {lines[-1]}"
    return hide_secrets(" ".join(errors or lines[-3:])) or done.ending()
