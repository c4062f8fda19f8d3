"""A Triton's sources, the state of every rule in them, and the plan of their edits."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.history import Manifest, PatchedFile
from tritonwin.facts.torch_triton import is_fork, version_of
from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Flavour, RuleChoice, Transformed, Verdict
from tritonwin.patch.records import FileEdit, FileRefusal, PatchPlan, Report, RuleReport
from tritonwin.patch.rules import FILES, RULES
from tritonwin.system.files import is_file

SIZE_LIMIT = 4 * 2**20  # bytes; the largest source that a rule is about has 60,000
_NO_TEXT = "not UTF-8, or with mixed line ends"
_TOO_LARGE = f"larger than {SIZE_LIMIT >> 20} MiB, which no source of Triton is"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file.

    Attributes:
        file: relative to the package folder, with slashes.
        data: empty for one larger than `SIZE_LIMIT`.
        text: with `\\n` line ends and without a byte order mark; None: such a file is left alone.
        fault: the reason that there is no text.
    """

    file: str
    path: Path
    data: bytes
    text: str | None
    fault: str = ""

    def encode(self, text: str) -> bytes:
        """The bytes of a text in the style of this file: its line ends, its byte order mark."""
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        ends = b"\r\n" if b"\r\n" in self.data else b"\n"
        return mark + text.encode("utf-8").replace(b"\n", ends)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


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
        large = path.stat().st_size > SIZE_LIMIT
        data = b"" if large else path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}",
            "Give yourself the right to read it, or see what holds it.",
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\r"
    if data.count(b"\r\n") == data.count(b"\n"):  # every line ends as on Windows
        text = text.replace("\r\n", "\n")
    fault = _TOO_LARGE if large else _NO_TEXT if "\r" in text else ""
    return SourceFile(file=file, path=path, data=data, text=None if fault else text, fault=fault)


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
    skipped: dict[str, str] = {}
    for source in sources.files.values():
        rules = [r for r in RULES if r.file == source.file and choice.takes(r.id)]
        if source.text is None:
            done = Transformed("", (), {rule.id: source.fault for rule in rules})
        else:
            done = engine.transform(source.file, source.text, rules, sources.flavour)
        before = manifest.of(source.file) if manifest else None
        known = bool(before and before.after == source.sha256)
        known = known or bool(engine.releases(source.file, source.text or ""))
        if source.text is not None and (known or choice.allow_unknown):
            skipped |= done.unknown
            if done.applied:
                edits.append(
                    FileEdit(
                        file=source.file,
                        path=source.path,
                        before=source.data,
                        after=source.encode(done.text),
                        rules=done.applied,
                        known=known,
                    )
                )
        elif done.applied or done.unknown:
            refused.append(_refusal(source, before, done))
    return PatchPlan(
        package=sources.package,
        version=sources.version,
        edits=tuple(edits),
        refused=tuple(refused),
        skipped=skipped,
    )


def _refusal(source: SourceFile, before: PatchedFile | None, done: Transformed) -> FileRefusal:
    reason = "its content is that of no known release: a newer Triton, or somebody's changes"
    released = "no known release of Triton or triton-windows holds this"
    if before is not None:
        reason = "it was changed, or replaced by another version, after tritonwin patched it"
        released = f"before that, its SHA-256 was {before.before}"
    return FileRefusal(
        file=source.file,
        reason=reason,
        released=released,
        left=before.after if before else None,
        found=None if source.fault == _TOO_LARGE else source.sha256,
        fits=done.applied,
        misfits=done.unknown,
    )
