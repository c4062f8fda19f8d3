"""How every rule stands in a Triton, from the structure of its sources alone."""

from __future__ import annotations

from collections.abc import Mapping

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.model import FileReport, Report, Rule, RuleReport
from tritonwin.patch.rules import RULES
from tritonwin.patch.sources import SourceFile, Tree


def examine(tree: Tree, ours: Mapping[str, str] | None = None) -> Report:
    """The report on a tree.

    Args:
        ours: the hash of each file as tritonwin wrote it, from the manifest.
    """
    sources = {file: Source(f.text) for file, f in tree.files.items() if f.text is not None}
    return Report(
        package=str(tree.package),
        flavour=tree.flavour,
        version=tree.version,
        rules=tuple(_rule(rule, tree, sources) for rule in RULES),
        files=tuple(_file(file, ours or {}) for file in tree.files.values()),
    )


def _rule(rule: Rule, tree: Tree, sources: Mapping[str, Source]) -> RuleReport:
    verdict = engine.Verdict("not-applicable", "this Triton has no such file")
    if rule.file in sources:
        verdict = engine.judge(rule, sources[rule.file], tree.flavour)
    elif rule.file in tree.files:
        verdict = engine.Verdict("unknown", "not UTF-8, or with mixed line ends")
    return RuleReport(
        id=rule.id,
        defect=rule.defect,
        need=rule.need,
        file=rule.file,
        state=verdict.state,
        reason=verdict.reason,
    )


def _file(file: SourceFile, ours: Mapping[str, str]) -> FileReport:
    return FileReport(
        file=file.file,
        sha256=file.sha256,
        known=file.releases,
        ours=ours.get(file.file) == file.sha256,
    )
