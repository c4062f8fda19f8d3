"""Every TOML file of the package fits its record."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tritonwin
from tritonwin.build.recipe import CudaWheelTable, Recipe, Toolchain
from tritonwin.facts.amd import ChipTable
from tritonwin.facts.dlls.tree import DllTable
from tritonwin.facts.packages import Knowledge
from tritonwin.facts.redaction.rules import RedactionTable
from tritonwin.facts.system import VariableTable
from tritonwin.facts.toolchain.parts import PartTable
from tritonwin.patch.engine import Rule
from tritonwin.problems.catalogue import CatalogueFile
from tritonwin.problems.explain.lines import ReadingTable
from tritonwin.problems.explain.log_facts import FactTable
from tritonwin.problems.explain.pair import NameTable
from tritonwin.remedies.python_files import PythonPackages
from tritonwin.support.lists import KnownWheels, ListTable
from tritonwin.support.matrix import HardwareTable, PairTable
from tritonwin.support.packages import PackageTable
from tritonwin.system.codec import DecodeError, from_json, from_valid
from tritonwin.verify.records import LadderTable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class RuleTable:
    rule: tuple[Rule, ...]


PACKAGE = Path(tritonwin.__file__).parent
# a file of the package, or a folder whose files are alike -> the record of its content
RECORDS: dict[str, type] = {
    "build/cuda_wheels.toml": CudaWheelTable,
    "build/recipes": Recipe,
    "build/toolchain.toml": Toolchain,
    "facts/amd.toml": ChipTable,
    "facts/dlls/dlls.toml": DllTable,
    "facts/packages.toml": Knowledge,
    "facts/redaction/rules.toml": RedactionTable,
    "facts/toolchain/parts.toml": PartTable,
    "facts/variables.toml": VariableTable,
    "patch/rules/rules.toml": RuleTable,
    "problems/catalogue": CatalogueFile,
    "problems/explain/facts.toml": FactTable,
    "problems/explain/reading.toml": ReadingTable,
    "problems/explain/triton_names.toml": NameTable,
    "remedies/python_packages.toml": PythonPackages,
    "support/hardware.toml": HardwareTable,
    "support/known_wheels.toml": KnownWheels,
    "support/lists.toml": ListTable,
    "support/matrix.toml": PairTable,
    "support/packages.toml": PackageTable,
    "verify/rungs/ladder.toml": LadderTable,
}
TABLES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.toml"))


def record_of(file: Path) -> type:
    return RECORDS.get(file.as_posix()) or RECORDS[file.parent.as_posix()]


def data_of(file: Path) -> Any:
    return tomllib.loads((PACKAGE / file).read_text("utf-8"))


@pytest.mark.parametrize("file", TABLES, ids=Path.as_posix)
def test_a_file_fits_its_record(file: Path) -> None:
    cls = record_of(file)
    checked = from_json(cls, data_of(file), file.as_posix(), strict=True)
    assert from_valid(cls, data_of(file)) == checked


def leaves(tree: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from leaves(value, name)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, key)
    else:
        yield key, tree


@pytest.mark.parametrize("file", TABLES, ids=Path.as_posix)
def test_hashes_are_whole_and_addresses_are_encrypted(file: Path) -> None:
    found = [(k, v) for k, v in leaves(data_of(file)) if isinstance(v, str)]
    assert [v for k, v in found if k == "sha256" and not re.fullmatch("[0-9a-f]{64}", v)] == []
    assert [v for _, v in found if v.startswith("http://")] == []


def test_every_record_has_a_file() -> None:
    places = {file.as_posix() for file in TABLES} | {file.parent.as_posix() for file in TABLES}
    assert set(RECORDS) <= places


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("facts/variables.toml", {"variabel": []}, "variabel: unknown"),
        ("facts/packages.toml", {"prefixes": "nvidia"}, "prefixes: expected a list"),
        ("support/matrix.toml", {"data_date": 20261128}, "data_date"),
    ],
)
def test_a_record_sees_a_slip(file: str, change: dict[str, Any], says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        from_json(RECORDS[file], {**data_of(Path(file)), **change}, file, strict=True)
