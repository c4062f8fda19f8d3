"""The rules applied to the files on disk: planned, shown, written through a journal, given back."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin import __version__
from tritonwin.facts.patch_record import Manifest, PatchedFile, manifest_path
from tritonwin.journal import Journal, JournalError
from tritonwin.patch import engine
from tritonwin.patch.refusal import Misfit, Refusal
from tritonwin.patch.rules import RULES
from tritonwin.patch.sources import SourceFile, Tree


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One file and what it becomes."""

    source: SourceFile
    text: str
    rules: tuple[str, ...]
    known: bool  # the content that is edited is that of a release, or ours

    @property
    def data(self) -> bytes:
        return self.source.encode(self.text)

    def diff(self) -> str:
        old, new = self.source.text or "", self.text
        lines = difflib.unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            f"a/{self.source.file}",
            f"b/{self.source.file}",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True, kw_only=True)
class PatchPlan:
    """What an apply would write, or why it writes nothing."""

    tree: Tree
    edits: tuple[Edit, ...]
    refused: tuple[Refusal, ...]
    skipped: tuple[Misfit, ...] = ()  # left out of files that are edited all the same


def make_plan(
    tree: Tree,
    only: Collection[str] = (),
    *,
    allow_unknown: bool = False,
    manifest: Manifest | None = None,
) -> PatchPlan:
    """What the rules make of a tree; nothing is written.

    Args:
        only: ids of rules; empty: all of them.
        allow_unknown: also edit files that no known release holds, where the rules fit.
        manifest: what was patched before.
    """
    rules = [rule for rule in RULES if not only or rule.id in only]
    edits: list[Edit] = []
    refused: list[Refusal] = []
    skipped: list[Misfit] = []
    for source in tree.files.values():
        if source.text is None:
            misfits = tuple(
                Misfit(rule=rule.id, reason="not UTF-8, or with mixed line ends")
                for rule in rules
                if rule.file == source.file
            )
            refused += [_refusal(source, manifest, (), misfits)] if misfits else []
            continue
        outcome = engine.transform(source.file, source.text, rules, tree.flavour)
        misfits = tuple(
            Misfit(rule=name, reason=verdict.reason)
            for name, verdict in outcome.skipped.items()
            if verdict.state == "unknown"
        )
        known = bool(source.releases) or _is_ours(source, manifest)
        if not known and not allow_unknown and (outcome.applied or misfits):
            refused.append(_refusal(source, manifest, outcome.applied, misfits))
            continue
        skipped += misfits
        if outcome.applied:
            edits.append(Edit(source=source, text=outcome.text, rules=outcome.applied, known=known))
    return PatchPlan(tree=tree, edits=tuple(edits), refused=tuple(refused), skipped=tuple(skipped))


def _is_ours(source: SourceFile, manifest: Manifest | None) -> bool:
    entry = manifest.of(source.file) if manifest else None
    return entry is not None and entry.after == source.sha256


def _refusal(
    source: SourceFile,
    manifest: Manifest | None,
    fits: tuple[str, ...],
    misfits: tuple[Misfit, ...],
) -> Refusal:
    entry = manifest.of(source.file) if manifest else None
    if entry is not None:
        reason = "it was changed, or replaced by another version, after tritonwin patched it"
        released = f"before that, its SHA-256 was {entry.before}"
    else:
        reason = "its content is that of no known release: a newer Triton, or somebody's changes"
        released = "no known release of Triton or triton-windows holds this"
    return Refusal(
        file=source.file,
        reason=reason,
        released=released,
        left=entry.after if entry else None,
        found=source.sha256,
        fits=fits,
        misfits=misfits,
    )


def write_edits(journal: Journal, plan: PatchPlan, data: Path, manifest: Manifest | None) -> None:
    """Write what was planned, and the manifest. The caller holds the locks.

    Raises:
        JournalError: a file cannot be changed, or is not any more what the plan was made from.
    """
    for edit in plan.edits:
        path = edit.source.path
        try:
            unchanged = path.read_bytes() == edit.source.data
        except OSError:
            unchanged = False
        if not unchanged:
            raise JournalError(
                f"{path} was changed while it was being patched",
                "Try again when nothing else is at work on this Triton.",
            )
        journal.write(path, edit.data)
    new = _manifest(plan, manifest, journal.header.id)
    journal.write(manifest_path(data, plan.tree.package), new.encode())


def _manifest(plan: PatchPlan, old: Manifest | None, journal: str) -> Manifest:
    entries = {each.file: each for each in old.files} if old else {}
    for edit in plan.edits:
        there = entries.get(edit.source.file)
        entries[edit.source.file] = PatchedFile(
            file=edit.source.file,
            before=there.before if there else edit.source.sha256,
            after=hashlib.sha256(edit.data).hexdigest(),
            rules=(*(there.rules if there else ()), *edit.rules),
        )
    return Manifest(
        package=str(plan.tree.package),
        tool_version=__version__,
        journals=(*(old.journals if old else ()), journal),
        files=tuple(entries.values()),
    )


def drop_bytecode(package: Path, files: Collection[str]) -> None:
    """Delete what Python compiled from these files: not all of it is checked against the source.

    It is made again when it is needed, so that no journal has to remember it.
    """
    for path in _bytecode(package, files):
        with contextlib.suppress(OSError):
            path.unlink()


def _bytecode(package: Path, files: Collection[str]) -> Iterator[Path]:
    for file in files:
        if file.endswith(".py"):
            path = (package / file).resolve()
            with contextlib.suppress(OSError):
                yield from path.parent.joinpath("__pycache__").glob(f"{path.stem}.*.pyc")
