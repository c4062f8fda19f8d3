"""The files that keep versions: pip, uv, conda and ComfyUI-Manager are told not to replace them.

pip reads `pip.ini` (`pip.conf` on Linux) in the prefix of every Python, embedded ones too, and
takes the constraints file that it names for every installation. It is named as a URL, since pip
splits the value at blanks. ComfyUI-Manager never installs what its `pip_blacklist.list` names.
conda reads `conda-meta/pinned` of an environment. uv has no settings for an environment: it takes
those of the folder that it is started in, or of one above it, as the Manager starts it in a node.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from configparser import Error, RawConfigParser
from pathlib import Path

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

CONSTRAINTS = "tritonwin-constraints.txt"
_MARK = "# tritonwin guard"
_END = f"{_MARK} ends"
_HEAD = f"{_MARK}: versions that were proven to work together. To allow others: tritonwin guard off"
_BLOCK = re.compile(rf"^{_MARK}:.*?^{_END}\r?\n?", re.MULTILINE | re.DOTALL)
# Of a constraint pip shows its specifier alone: one that excludes nothing says who set it.
_SENTENCE = "0+proven.set.to.allow.others.run.tritonwin.guard.off"
_KEPT = re.compile(r"^([\w.-]+)(?:!=[^,\s]*,)?==(\S+)$", re.MULTILINE)
_UV = "uv.toml"
_PIP = {True: "pip.ini", False: "pip.conf"}  # True: on Windows
_MARK_OF_UTF8 = b"\xef\xbb\xbf".decode("latin-1")  # counts at the beginning alone
_INSTALL = re.compile(r"^\[install\][^\n]*\n?", re.MULTILINE)
_CONSTRAINT = re.compile(r"(?:^|\r)[ \t]*(?:--)?constraint[ \t]*[=:]", re.MULTILINE | re.IGNORECASE)
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
        CannotRemedyError: a file cannot be read or edited.
    """
    constraints = constraints_file(facts)
    text = "".join(f"{line}\n" for line in (_HEAD, *_pinned(kept))) if kept else None
    found = [FileText(path=str(constraints), old=_text(constraints), new=text)]
    for path, lines in _blocks(facts, kept):
        old = _text(path)
        new = _edited(path, old or "", lines if kept else ())
        found.append(FileText(path=str(path), old=old, new=new or (None if old else old)))
    return tuple(found)


def left_alone(facts: Facts) -> tuple[Path, ...]:
    """Settings of pip and uv with constraints of their own, which the guard's cannot join."""
    return tuple(
        path
        for path, _ in _blocks(facts, {})
        if _has_its_own(path, _without_block(path, _text(path) or ""))
    )


def _blocks(facts: Facts, kept: Mapping[str, str]) -> Iterator[tuple[Path, Sequence[str]]]:
    """The files of others, and the lines that each of them gets."""
    constraints = constraints_file(facts)
    prefix = constraints.parent
    yield prefix / _PIP[facts.windows], [f"constraint = {constraints.as_uri()}"]
    if is_folder(prefix / "conda-meta"):
        yield prefix / "conda-meta" / "pinned", _of_conda(facts, kept)
    # the folders in which the ComfyUI of this Python may lie
    for base in (prefix.parent / "ComfyUI", prefix.parent, prefix.parent.parent):
        for folder in ("__manager", "default/ComfyUI-Manager"):  # of the Manager, newer and older
            if is_folder(base / "user" / folder):
                yield base / "user" / folder / "pip_blacklist.list", _names(kept)
        # those of a project of uv would hide them
        project = read_text(base / "pyproject.toml") or ""
        hidden = is_file(base / "uv.lock") or ("[tool.uv" in project and not is_file(base / _UV))
        if is_folder(base / "custom_nodes") and not hidden:
            pins = (f'    "{each}",' for each in _pinned(kept))
            yield base / _UV, ["constraint-dependencies = [", *pins, "]"]


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


def _text(path: Path) -> str | None:
    """Every byte as one character: others' text has to stay as it is, whatever its encoding."""
    data = read_bytes(path)
    if data is None and os.path.lexists(path):
        raise CannotRemedyError(f"{path} cannot be read", "See who may read it, and try again.")
    return None if data is None else data.decode("latin-1")


def _edited(path: Path, old: str, lines: Sequence[str]) -> str:
    """The text without the guard's block, then with it, at the beginning of what it belongs to."""
    text = _without_block(path, old)
    if not lines or _has_its_own(path, text):
        return text
    if path.name not in _PIP.values():
        return _block(lines) + text
    header = _INSTALL.search(text)
    at = header.end() if header else 0
    end = "" if text[:at].endswith("\n") or not header else "\n"
    block = _block(lines if header else ("[install]", *lines))
    new = f"{text[:at]}{end}{block}{text[at:]}"
    try:
        wanted = _options(text)
        wanted.setdefault("install", {})["constraint"] = lines[0].partition(" = ")[2]
        joined = _options(new) == wanted
    except Error:
        joined = False
    if not joined:
        raise CannotRemedyError(
            f"{path} is written in a way that tritonwin cannot edit",
            f"Edit its section [install] by hand, and run this again: {lines[0]}",
        )
    return new


def _options(text: str) -> dict[str, dict[str, str]]:
    """The options as pip reads them. Raises configparser.Error."""
    parser = RawConfigParser()
    parser.read_file(io.StringIO(text, newline=None))
    return {name: dict(parser[name]) for name in parser.sections()}


def _has_its_own(path: Path, text: str) -> bool:
    """True for settings with constraints, or in a form that no block can precede."""
    if path.name not in {_UV, *_PIP.values()}:
        return False
    own = "constraint-dependencies" in text if path.name == _UV else _CONSTRAINT.search(text)
    return bool(own) or text.startswith(_MARK_OF_UTF8)


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


def _pinned(kept: Mapping[str, str]) -> list[str]:
    return [f"{name}!={_SENTENCE},=={version}" for name, version in sorted(kept.items())]


def _names(kept: Mapping[str, str]) -> list[str]:
    """The lines of the Manager's list, which compares names as they are spelled."""
    names = {*kept, *(_ALSO[name] for name in kept if name in _ALSO)}
    return sorted(names | {name.replace("-", "_") for name in names})


def _of_conda(facts: Facts, kept: Mapping[str, str]) -> list[str]:
    """The lines for conda: what it installed stays, and what pip installed it does not bring."""
    lines = []
    for found in (each for name in sorted(kept) if (each := facts.distribution(name))):
        prefix = target_to_change(facts).prefix or ""
        package = conda_package(found, Path(prefix)) if found.installer == "conda" else None
        version = found.version.partition("+")[0] if package else _SENTENCE
        lines.append(f"{package or _CONDA.get(found.name, found.name)} =={version}")
    return lines
