"""Documents for programs: one JSON object each, in ASCII so that every pipe carries it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.output.documents import (
    CheckList,
    CheckName,
    DoctorReport,
    ExplainReport,
    MatrixReport,
    Target,
    Tool,
)
from tritonwin.problems.checks.check import Check
from tritonwin.problems.explain import Explanation
from tritonwin.problems.records import Diagnosis
from tritonwin.support.matrix import Matrix
from tritonwin.system.codec import to_json


def print_document(document: Any) -> None:
    """Print a record of `output.documents`, or a tree of plain JSON values."""
    tree = document if isinstance(document, dict) else to_json(document)
    json.dump(tree, sys.stdout, indent=2)
    sys.stdout.write("\n")


def check_list(checks: Iterable[Check]) -> CheckList:
    return CheckList(checks=tuple(CheckName(id=c.id, title=c.title) for c in checks))


def doctor_report(facts: Facts, diagnosis: Diagnosis, snapshot: Path | None) -> DoctorReport:
    return DoctorReport(
        tool=Tool(),
        target=target_of(facts.target, snapshot),
        problems=diagnosis.problems,
        checks=diagnosis.checks,
    )


def target_of(found: Interpreter | None, snapshot: Path | None = None) -> Target | None:
    if found is None:
        return None
    return Target(
        executable=found.executable,
        version=found.version,
        kind=found.kind,
        reason=found.source,
        snapshot=str(snapshot) if snapshot else None,
    )


def explain_report(
    explanation: Explanation, log: Path | None, snapshot: Path | None
) -> ExplainReport:
    return ExplainReport(
        tool=Tool(),
        log=str(log) if log else None,
        snapshot=str(snapshot) if snapshot else None,
        lines=explanation.lines,
        problems=explanation.problems,
        known=explanation.known,
        suspicious=explanation.suspicious,
    )


def matrix_report(matrix: Matrix) -> MatrixReport:
    return MatrixReport(tool=Tool(), matrix=matrix)
