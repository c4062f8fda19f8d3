"""A Triton's sources, the state of every rule in them, and the plan of their edits."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.history import Manifest
from tritonwin.facts.torch_triton import is_fork, version_of
from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Flavour, RuleChoice, Verdict
from tritonwin.patch.records import (
    FileEdit,
    FileRefusal,
    Misfit,
    PatchPlan,
    Report,
    RuleReport,
)
from tritonwin.patch.rules import FILES, RULES
from tritonwin.system.files import is_file

SIZE_LIMIT = 4 * 2**20  # bytes; the largest source that a rule is about has 60,000
_NO_TEXT = "not UTF-8, or with mixed line ends"
_TOO_LARGE = f"larger than {SIZE_LIMIT >> 20} MiB, which no source of Triton is"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file. Its text has `\\n` line ends; `encode` restores what the file had.

    Attributes:
        file: relative to the package folder, with slashes.
        data: None: it is larger than `SIZE_LIMIT`.
    """

    file: str
    path: Path
    data: bytes | None

    @cached_property
    def text(self) -> str | None:
        """None where it is not UTF-8 or its line ends are mixed: such a file is left alone."""
        try:
            data = b"\xff" if self.data is None else self.data
            text = data.removeprefix(self._mark).decode("utf-8")
        except UnicodeDecodeError:
            return None
        if self._carriage_returns:
            text = text.replace("\r\n", "\n")
        return None if "\r" in text else text

    @property
    def fault(self) -> str:
        """The reason that there is no text."""
        return _TOO_LARGE if self.data is None else _NO_TEXT

    def encode(self, text: str) -> bytes:
        """The bytes of a text in the style of this file: its line ends, its byte order mark."""
        data = text.replace("\n", "\r\n" if self._carriage_returns else "\n").encode("utf-8")
        return self._mark + data

    @property
    def sha256(self) -> str | None:
        return None if self.data is None else hashlib.sha256(self.data).hexdigest()

    @cached_property
    def releases(self) -> tuple[str, ...]:
        return () if self.text is None else engine.releases(self.file, self.text)

    @property
    def _mark(self) -> bytes:
        return codecs.BOM_UTF8 if (self.data or b"").startswith(codecs.BOM_UTF8) else b""

    @property
    def _carriage_returns(self) -> bool:
        """Every line ends as on Windows."""
        data = self.data or b""
        ends = data.count(b"\r\n")
        return ends > 0 and ends == data.count(b"\n")


@dataclass(frozen=True, kw_only=True)
class TritonSources:
    """The files of a Triton that rules are about."""

    package: Path
    flavour: Flavour
    version: str | None
    files: dict[str, SourceFile]


def read_triton(package: Path) -> TritonSources:
    """Read the files that rules are about.

    Args:
        package: the folder that holds Triton's `__init__.py`.

    Raises:
        UserError: that is not the package folder of a Triton, or a file cannot be read.
    """
    package = package.absolute()
    if not is_file(package / "runtime" / "build.py"):
        raise UserError(
            f"{package} is not the package folder of a Triton (no runtime/build.py in it)",
            "Name the folder that holds Triton's __init__.py: --triton ...\\triton",
        )
    return TritonSources(
        package=package,
        flavour="fork" if is_fork(package) else "upstream",
        version=version_of(package),
        files={file: _read(file, package / file) for file in FILES if is_file(package / file)},
    )


def _read(file: str, path: Path) -> SourceFile:
    try:
        size = path.stat().st_size
        data = None if size > SIZE_LIMIT else path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}",
            "Give yourself the right to read it, or see what holds it.",
        ) from error
    return SourceFile(file=file, path=path, data=data)


# -- the state of the rules


def examine(sources: TritonSources) -> Report:
    """The report on a Triton, from the structure of its sources alone."""
    parsed = {file: Source(f.text) for file, f in sources.files.items() if f.text is not None}
    return Report(
        package=str(sources.package),
        flavour=sources.flavour,
        version=sources.version,
        rules=tuple(_rule_report(rule, sources, parsed) for rule in RULES),
    )


def _rule_report(
    rule: engine.Rule, sources: TritonSources, parsed: dict[str, Source]
) -> RuleReport:
    verdict = Verdict("not-applicable", "this Triton has no such file")
    if rule.file in parsed:
        verdict = engine.judge(rule, parsed[rule.file], sources.flavour)
    elif rule.file in sources.files:
        verdict = Verdict("unknown", sources.files[rule.file].fault)
    row = (rule.id, rule.defect, rule.need, rule.file)
    return RuleReport(*row, verdict.state, verdict.reason)


def _is_ours(source: SourceFile, manifest: Manifest | None) -> bool:
    entry = manifest.of(source.file) if manifest else None
    return entry is not None and entry.after == source.sha256


# -- the plan


def make_plan(
    sources: TritonSources, choice: RuleChoice | None = None, manifest: Manifest | None = None
) -> PatchPlan:
    """Plan the edits of the chosen rules; nothing is written.

    Args:
        manifest: what was patched before.
    """
    choice = choice or RuleChoice()
    edits: list[FileEdit] = []
    refused: list[FileRefusal] = []
    skipped: list[Misfit] = []
    for source in sources.files.values():
        text, applied, misfits = _transformed(source, sources.flavour, choice.only)
        known = bool(source.releases) or _is_ours(source, manifest)
        readable = source.data is not None and source.text is not None
        if not (readable and (known or choice.allow_unknown)) and (applied or misfits):
            refused.append(_refusal(source, manifest, applied, misfits))
            continue
        skipped += misfits
        if applied and source.data is not None:
            edits.append(
                FileEdit(
                    file=source.file,
                    path=source.path,
                    before=source.data,
                    after=source.encode(text),
                    rules=applied,
                    known=known,
                )
            )
    return PatchPlan(
        package=sources.package,
        version=sources.version,
        edits=tuple(edits),
        refused=tuple(refused),
        skipped=tuple(skipped),
    )


def _transformed(
    source: SourceFile, flavour: Flavour, only: Collection[str]
) -> tuple[str, tuple[str, ...], tuple[Misfit, ...]]:
    """The text after the rules, those applied, and those that do not know its form."""
    rules = [r for r in RULES if r.file == source.file and (not only or r.id in only)]
    if source.text is None:
        return "", (), tuple(Misfit(rule=rule.id, reason=source.fault) for rule in rules)
    done = engine.transform(source.file, source.text, rules, flavour)
    unknown = {name: v.reason for name, v in done.skipped.items() if v.state == "unknown"}
    return done.text, done.applied, tuple(Misfit(rule=n, reason=r) for n, r in unknown.items())


def _refusal(
    source: SourceFile,
    manifest: Manifest | None,
    fits: tuple[str, ...],
    misfits: tuple[Misfit, ...],
) -> FileRefusal:
    entry = manifest.of(source.file) if manifest else None
    if entry is not None:
        reason = "it was changed, or replaced by another version, after tritonwin patched it"
        released = f"before that, its SHA-256 was {entry.before}"
    else:
        reason = "its content is that of no known release: a newer Triton, or somebody's changes"
        released = "no known release of Triton or triton-windows holds this"
    return FileRefusal(
        file=source.file,
        reason=reason,
        released=released,
        left=entry.after if entry else None,
        found=source.sha256,
        fits=fits,
        misfits=misfits,
    )
