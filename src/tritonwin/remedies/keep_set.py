"""The files that keep versions: pip and ComfyUI-Manager are told not to replace them.

pip reads `pip.ini` (`pip.conf` on Linux) in the prefix of every Python, embedded ones too, and
takes the constraints file that it names for every installation. It is named as a URL, since pip
splits the value at blanks. ComfyUI-Manager never installs what its `pip_blacklist.list` names.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from configparser import Error, RawConfigParser
from pathlib import Path

from tritonwin.facts.records import Facts
from tritonwin.remedies.context import ApplyContext
from tritonwin.remedies.plan import (
    CannotRemedyError,
    ChangedSincePlanError,
    FileText,
    KeepSet,
    target_to_change,
)
from tritonwin.system.files import is_folder, read_bytes

CONSTRAINTS = "tritonwin-constraints.txt"
_MARK = "# tritonwin guard"
_END = f"{_MARK} ends"
_HEAD = f"{_MARK}: versions that were proven to work together. To allow others: tritonwin guard off"
_BLOCK = re.compile(rf"^{_MARK}:.*?^{_END}\r?\n?", re.MULTILINE | re.DOTALL)
_OURS = re.compile(rf"^.*(?:{_MARK}|/{CONSTRAINTS}).*\n?", re.MULTILINE)
_EMPTY_KEY = re.compile(r"^constraint =\r?\n(?![ \t])", re.MULTILINE)
# a section that the guard began, with nothing in it any more
_EMPTY_SECTION = re.compile(r"\n?\[install\]\s*\Z")
_INSTALL = re.compile(r"^\[install\][^\n]*\n?", re.MULTILINE)
_KEY = re.compile(r"^([ \t]*)(?:--)?constraint[ \t]*[=:][^\n]*\n?", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(r"^\[", re.MULTILINE)
# what packages are called in requirements files, where that is not their name
_ALSO = {"triton-windows": "triton"}


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
    lines = [_HEAD, *(f"{name}=={version}" for name, version in sorted(kept.items()))]
    text = "".join(f"{line}\n" for line in lines) if kept else None
    settings = constraints.with_name("pip.ini" if facts.windows else "pip.conf")
    url = constraints.as_uri() if kept else None
    found = [
        _file(constraints, lambda _: text),
        _file(settings, lambda old: _settings(settings, old, url)),
    ]
    found += [_file(file, lambda old: _blacklist(old, kept)) for file in _blacklists(constraints)]
    return tuple(found)


def read_kept(constraints: str | None) -> dict[str, str]:
    """The versions of a constraints file."""
    pairs = (line.split("==") for line in (constraints or "").split() if "==" in line)
    return {name: version for name, version, *_ in pairs}


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


def _file(path: Path, change: Callable[[str], str | None]) -> FileText:
    old = _text(path)
    new = change(old or "")
    return FileText(path=str(path), old=old, new=old if new == (old or "") else new)


def _text(path: Path) -> str | None:
    """Every byte as one character: others' text has to stay as it is, whatever its encoding."""
    data = read_bytes(path)
    if data is None and os.path.lexists(path):
        raise CannotRemedyError(f"{path} cannot be read", "See who may read it, and try again.")
    return None if data is None else data.decode("latin-1")


def _settings(path: Path, old: str, url: str | None) -> str | None:
    """pip's settings without the guard's line, then with it, below the value that is there."""
    try:
        before = _options(old)
    except Error as error:
        raise CannotRemedyError(
            f"{path} cannot be read, by pip neither: {' '.join(str(error).split())}",
            "Repair or rename that file.",
        ) from None
    given = before.get("install", {}).get("constraint")
    if url in (given or "").split():
        return old
    text = old
    if f"/{CONSTRAINTS}" in old:
        text = _EMPTY_KEY.sub("", _OURS.sub("", old))
        text = _EMPTY_SECTION.sub("", text) if _MARK in old else text
    # a value in [install] replaces that of [global]
    general = before.get("global", {}).get("constraint", "").split()
    own = [each for each in (given or "").split() if not each.endswith(f"/{CONSTRAINTS}")]
    wanted = own
    if url is not None:
        text = _with_line(text, url, general)
        wanted = [*(general if given is None else own), url]
    found: dict[str, dict[str, str]] = {}
    with contextlib.suppress(Error):
        found = _options(text)
    held = found.get("install", {}).get("constraint", "").split()
    if sorted(held) != sorted(wanted) or _without(found) != _without(before):
        raise CannotRemedyError(
            f"{path} is written in a way that tritonwin cannot edit",
            f"Edit its section [install] by hand: constraint = {' '.join(wanted)}",
        )
    return text if text.strip() or text == old else None


def _options(text: str) -> dict[str, dict[str, str]]:
    """The options as pip reads them. Raises configparser.Error."""
    parser = RawConfigParser()
    parser.read_file(io.StringIO(text, newline=None))
    names = (*parser.sections(), parser.default_section)
    return {n: {k.removeprefix("--"): v for k, v in parser[n].items()} for n in names}


def _without(options: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The sections that are not empty, without the constraints that every installation takes."""
    kept = {
        section: {k: v for k, v in values.items() if (section, k) != ("install", "constraint")}
        for section, values in options.items()
    }
    return {section: values for section, values in kept.items() if values}


def _with_line(text: str, url: str, general: Sequence[str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    text += end if text and not text.endswith("\n") else ""
    added = end.join([" ".join(["constraint =", *general]), f"    {url}", ""])
    header = _INSTALL.search(text)
    if header is None:
        return f"{text}{_HEAD}{end}[install]{end}{added}"
    following = _SECTION.search(text, header.end())
    key = _KEY.search(text, header.end(), following.start() if following else len(text))
    if key is None:
        return text[: header.end()] + added + text[header.end() :]
    return f"{text[: key.end()]}{key[1]}    {url}{end}{text[key.end() :]}"


def _blacklist(old: str, kept: Mapping[str, str]) -> str | None:
    """The Manager's list without the guard's block, then with it. It compares names as spelled."""
    text = _BLOCK.sub("", old)
    if not kept:
        return text if text or not old else None
    names = {*kept, *(_ALSO[name] for name in kept if name in _ALSO)}
    names |= {name.replace("-", "_") for name in names}
    text += "\n" if text and not text.endswith("\n") else ""
    return text + "".join(f"{line}\n" for line in (_HEAD, *sorted(names), _END))


def _blacklists(constraints: Path) -> list[Path]:
    """The files of ComfyUI-Manager, newer and older, of the application around this Python."""
    prefix = constraints.parent
    bases = (prefix.parent / "ComfyUI", prefix.parent, prefix.parent.parent)
    folders = (b / "user" / f for b in bases for f in ("__manager", "default/ComfyUI-Manager"))
    return [folder / "pip_blacklist.list" for folder in folders if is_folder(folder)]
