"""The files that keep versions: pip, uv, conda and ComfyUI-Manager are told not to replace them.

pip reads `pip.ini` (`pip.conf` on Linux) in the prefix of every Python, embedded ones too, and
takes the constraints file that it names for every installation. It is named as a URL, since pip
splits the value at blanks. ComfyUI-Manager never installs what its `pip_blacklist.list` names.
conda reads `conda-meta/pinned` of an environment. uv has no settings for an environment: it takes
those of the folder that it is started in, or of one above it, as the Manager starts it in a node.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from configparser import Error, RawConfigParser
from pathlib import Path
from typing import TypeVar

from tritonwin.facts.records import Facts
from tritonwin.remedies.context import ApplyContext
from tritonwin.remedies.installed import conda_package
from tritonwin.remedies.plan import (
    CannotRemedyError,
    ChangedSincePlanError,
    FileText,
    KeepSet,
    target_to_change,
)
from tritonwin.system.files import is_file, is_folder, read_bytes, read_text

T = TypeVar("T")

CONSTRAINTS = "tritonwin-constraints.txt"
_MARK = "# tritonwin guard"
_END = f"{_MARK} ends"
_HEAD = f"{_MARK}: versions that were proven to work together. To allow others: tritonwin guard off"
_BLOCK = re.compile(rf"^{_MARK}:.*?^{_END}\r?\n?", re.MULTILINE | re.DOTALL)
# Of a constraint pip shows its specifier alone: one that excludes nothing says who set it.
_SENTENCE = "0+proven.set.to.allow.others.run.tritonwin.guard.off"
_KEPT = re.compile(r"^([\w.-]+)(?:!=[^,\s]*,)?==(\S+)$", re.MULTILINE)
_UV_KEY = "constraint-dependencies"
_MARK_OF_UTF8 = b"\xef\xbb\xbf".decode("latin-1")  # counts at the beginning alone
# pip's section and key: a block in a value follows the key, one in the section its header
_INSTALL = re.compile(r"^\[install\][^\n]*\n?", re.MULTILINE)
_KEY = re.compile(r"^([ \t]*)(?:--)?constraint[ \t]*[=:][^\n]*\n?", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(r"^\[", re.MULTILINE)
# what packages are called in requirements files, where that is not their name
_ALSO = {"triton-windows": "triton"}
_CONDA = {"torch": "pytorch"}  # what conda calls them, where that is not their name


def constraints_file(facts: Facts) -> Path:
    """Raises CannotRemedyError where the target's prefix is not known."""
    prefix = target_to_change(facts).prefix
    if prefix is None:
        raise CannotRemedyError(
            "the folder of this Python's settings is not known", "See why: tritonwin doctor"
        )
    return Path(prefix, CONSTRAINTS)


def files(facts: Facts, kept: Mapping[str, str]) -> tuple[FileText, ...]:
    """Every file with its text now, and with the text that keeps these versions, or none.

    Raises:
        CannotRemedyError: pip's settings cannot be read, by pip neither.
    """
    constraints = constraints_file(facts)
    wanted = [f"{name}!={_SENTENCE},=={version}" for name, version in sorted(kept.items())]
    text = "".join(f"{line}\n" for line in (_HEAD, *wanted)) if kept else None
    settings = constraints.with_name("pip.ini" if facts.windows else "pip.conf")
    url = constraints.as_uri() if kept else None
    pinned = constraints.with_name("conda-meta") / "pinned"
    found = [
        FileText(path=str(constraints), old=_text(constraints), new=text),
        _file(settings, _settings, url),
    ]
    if is_folder(pinned.parent):
        found.append(_file(pinned, _with_block, _pins(facts, kept)))
    for base in _applications(constraints):
        found += [_file(file, _with_block, _names(kept)) for file in _blacklists(base)]
        if _may_have_settings_of_uv(base):
            found.append(_file(base / "uv.toml", _settings_of_uv, wanted))
    return tuple(found)


def left_alone(facts: Facts) -> tuple[Path, ...]:
    """uv's settings that hold constraints of their own, which cannot join the guard's."""
    found = [
        b / "uv.toml" for b in _applications(constraints_file(facts)) if _may_have_settings_of_uv(b)
    ]
    return tuple(file for file in found if _has_its_own(file, _text(file) or ""))


def read_kept(constraints: str | None) -> dict[str, str]:
    """The versions of a constraints file."""
    return dict(_KEPT.findall(constraints or ""))


def apply_keep(change: KeepSet, context: ApplyContext) -> None:
    """Write the files, if they are as the plan found them."""
    for file in change.files:
        path = Path(file.path)
        if _text(path) != file.old:
            raise ChangedSincePlanError(f"{path} was changed by another program")
        if file.new is None:
            context.journal.delete(path)
        else:
            context.journal.write(path, file.new.encode("latin-1"))


def _file(path: Path, change: Callable[[Path, str, T], str | None], given: T) -> FileText:
    old = _text(path)
    new = change(path, old or "", given)
    return FileText(path=str(path), old=old, new=old if new == (old or "") else new)


def _text(path: Path) -> str | None:
    """Every byte as one character: others' text has to stay as it is, whatever its encoding."""
    data = read_bytes(path)
    if data is None and os.path.lexists(path):
        raise CannotRemedyError(f"{path} cannot be read", "See who may read it, and try again.")
    return None if data is None else data.decode("latin-1")


def _settings(path: Path, old: str, url: str | None) -> str | None:
    """pip's settings without the guard's block, then with it, below the value that is there."""
    text = _without_block(path, old)
    if url is None:
        return text or (None if old else "")
    try:
        before = _options(text)
    except Error as error:
        raise CannotRemedyError(
            f"{path} cannot be read, by pip neither: {' '.join(str(error).split())}",
            "Repair or rename that file.",
        ) from None
    # a value in [install] replaces that of [global]
    general = before.get("global", {}).get("constraint", [])
    install = before.get("install", {})
    wanted = sorted([*install.get("constraint", general), url])
    new = _with_constraint(text, url, general)
    found: dict[str, dict[str, list[str]]] = {}
    with contextlib.suppress(Error):
        found = _options(new)
    if found != {**before, "install": {**install, "constraint": wanted}}:
        raise CannotRemedyError(
            f"{path} is written in a way that tritonwin cannot edit",
            f"Edit its section [install] by hand: constraint = {' '.join(wanted)}",
        )
    return new


def _options(text: str) -> dict[str, dict[str, list[str]]]:
    """The sorted words of the options, as pip reads them. Raises configparser.Error."""
    parser = RawConfigParser()
    parser.read_file(io.StringIO(text, newline=None))
    names = (*parser.sections(), parser.default_section)
    return {
        name: {key.removeprefix("--"): sorted(v.split()) for key, v in parser[name].items()}
        for name in names
    }


def _with_constraint(text: str, url: str, general: Sequence[str]) -> str:
    added = [" ".join(["constraint =", *general]), f"    {url}"]
    header = _INSTALL.search(text)
    if header is None:
        return _block(["[install]", *added]) + text
    at = header.end()
    following = _SECTION.search(text, at)
    key = _KEY.search(text, at, following.start() if following else len(text))
    if key is not None:
        at, added = key.end(), [f"{key[1]}    {url}"]
    end = "" if text[:at].endswith("\n") else "\n"
    return text[:at] + end + _block(added) + text[at:]


def _block(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in (_HEAD, *lines, _END))


def _without_block(path: Path, old: str) -> str:
    text = _BLOCK.sub("", old)
    if _MARK in text:
        raise CannotRemedyError(
            f"the guard's lines in {path} have lost their first or last line",
            f"Delete there by hand the lines that the guard wrote, and those with {_MARK!r}.",
        )
    return text


def _with_block(path: Path, old: str, lines: Sequence[str]) -> str | None:
    """A file of lines without the guard's block, then with it at the beginning."""
    text = _without_block(path, old)
    return (_block(lines) + text if lines else text) or (None if old else "")


def _names(kept: Mapping[str, str]) -> list[str]:
    """The lines of the Manager's list, which compares names as they are spelled."""
    names = {*kept, *(_ALSO[name] for name in kept if name in _ALSO)}
    return sorted(names | {name.replace("-", "_") for name in names})


def _pins(facts: Facts, kept: Mapping[str, str]) -> list[str]:
    """The lines for conda: what it installed stays, and what pip installed it does not bring."""
    lines = []
    for found in (each for name in sorted(kept) if (each := facts.distribution(name))):
        prefix = target_to_change(facts).prefix or ""
        package = conda_package(found, Path(prefix)) if found.installer == "conda" else None
        version = found.version.partition("+")[0] if package else _SENTENCE
        lines.append(f"{package or _CONDA.get(found.name, found.name)} =={version}")
    return lines


def _settings_of_uv(path: Path, old: str, wanted: Sequence[str]) -> str | None:
    """uv's settings with the constraints; as they are where they hold others, which cannot join."""
    if _has_its_own(path, old):
        return old
    lines = [f"{_UV_KEY} = [", *(f'    "{each}",' for each in wanted), "]"] if wanted else []
    return _with_block(path, old, lines)


def _has_its_own(path: Path, text: str) -> bool:
    return _UV_KEY in _without_block(path, text) or text.startswith(_MARK_OF_UTF8)


def _may_have_settings_of_uv(base: Path) -> bool:
    """True for ComfyUI's folder, where they take nothing from a project of uv."""
    if not is_folder(base / "custom_nodes") or is_file(base / "uv.lock"):
        return False
    return is_file(base / "uv.toml") or "[tool.uv" not in (read_text(base / "pyproject.toml") or "")


def _applications(constraints: Path) -> tuple[Path, ...]:
    """The folders in which the ComfyUI of this Python may lie."""
    prefix = constraints.parent
    return (prefix.parent / "ComfyUI", prefix.parent, prefix.parent.parent)


def _blacklists(base: Path) -> list[Path]:
    """The files of ComfyUI-Manager, newer and older."""
    folders = (base / "user" / folder for folder in ("__manager", "default/ComfyUI-Manager"))
    return [folder / "pip_blacklist.list" for folder in folders if is_folder(folder)]
