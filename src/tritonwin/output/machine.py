"""Documents for programs: one JSON object each, in ASCII so that every pipe carries it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from tritonwin import __version__
from tritonwin.facts.codec import to_json
from tritonwin.facts.model import Facts
from tritonwin.problems.check import Check
from tritonwin.problems.doctor import Diagnosis
from tritonwin.problems.model import Problem

Document = dict[str, Any]


def print_json(document: Document) -> None:
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")


def error_document(message: str, help_text: str) -> Document:
    return {"schema": "tritonwin.error/1", "error": {"message": message, "help": help_text}}


def checks_document(checks: Iterable[Check]) -> Document:
    return {
        "schema": "tritonwin.checks/1",
        "checks": [{"id": c.id, "title": c.title} for c in checks],
    }


def doctor_document(facts: Facts, diagnosis: Diagnosis) -> Document:
    return {
        "schema": "tritonwin.doctor/1",
        "tool": __version__,
        "target": facts.target.executable if facts.target else None,
        "problems": [problem(p) for p in diagnosis.problems],
        "checks": [to_json(c) for c in diagnosis.checks],
    }


def problem(item: Problem) -> Any:
    """A problem as the contract has it; `actions` belong to `fix` and are not part of it."""
    tree: Any = to_json(item)
    tree.pop("actions")
    return tree
