"""Every TOML file of the package fits its record; those without one yet, a schema of
`tests/toml_schemas`, laid out alike.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tritonwin
from tritonwin.build.recipe import CudaWheelTable, Recipe, Toolchain
from tritonwin.facts.dlls.tree import DllOriginTable
from tritonwin.facts.packages import Knowledge
from tritonwin.facts.torch_triton import TraitTable
from tritonwin.facts.variables import VariableTable
from tritonwin.patch.engine import RuleTable
from tritonwin.problems.catalogue import CatalogueFile
from tritonwin.problems.explain.log_facts import FactTable
from tritonwin.support.matrix import HardwareTable, IndexTable, PairTable
from tritonwin.support.packages import PackageTable
from tritonwin.support.triton_names import NameTable
from tritonwin.system.codec import DecodeError, from_json, from_valid
from tritonwin.verify.records import LadderTable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(tritonwin.__file__).parent
SCHEMAS = Path(__file__).parents[1] / "toml_schemas"
# a file of the package, or a folder whose files are alike -> the record of its content
RECORDS: dict[str, type] = {
    "build/cuda_wheels.toml": CudaWheelTable,
    "build/recipes": Recipe,
    "build/toolchain.toml": Toolchain,
    "facts/dlls/dlls.toml": DllOriginTable,
    "facts/packages.toml": Knowledge,
    "facts/triton_traits.toml": TraitTable,
    "facts/variables.toml": VariableTable,
    "patch/rules/rules.toml": RuleTable,
    "problems/catalogue": CatalogueFile,
    "problems/explain/facts.toml": FactTable,
    "support/hardware.toml": HardwareTable,
    "support/indexes.toml": IndexTable,
    "support/matrix.toml": PairTable,
    "support/packages.toml": PackageTable,
    "support/triton_names.toml": NameTable,
    "verify/rungs/ladder.toml": LadderTable,
}
TABLES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.toml"))


def record_of(file: Path) -> type | None:
    return RECORDS.get(file.as_posix()) or RECORDS.get(file.parent.as_posix())


FILES = [file for file in TABLES if record_of(file) is None]


@pytest.mark.parametrize("file", [f for f in TABLES if record_of(f)], ids=Path.as_posix)
def test_a_file_fits_its_record(file: Path) -> None:
    cls = record_of(file)
    assert cls is not None
    checked = from_json(cls, data_of(file), file.as_posix(), strict=True)
    assert from_valid(cls, data_of(file)) == checked


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


def schema_of(file: Path) -> Path:
    """Of the file itself, otherwise of its folder, whose files are alike."""
    own = SCHEMAS / file.with_suffix(".json")
    return own if own.is_file() else SCHEMAS / file.parent.with_suffix(".json")


def data_of(file: Path) -> Any:
    return tomllib.loads((PACKAGE / file).read_text("utf-8"))


@pytest.mark.parametrize("file", FILES, ids=Path.as_posix)
def test_a_file_follows_its_schema(file: Path) -> None:
    assert schema_of(file).is_file(), f"write {SCHEMAS / file.with_suffix('.json')}"
    schema = json.loads(schema_of(file).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = jsonschema.Draft202012Validator(schema).iter_errors(data_of(file))
    assert [f"{error.json_path}: {error.message}" for error in errors] == [], (
        f"{file} is as {schema_of(file).relative_to(SCHEMAS.parent)} says; one of them is to change"
    )


def test_every_schema_has_a_file() -> None:
    assert {schema_of(file) for file in FILES} == set(SCHEMAS.rglob("*.json"))


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("remedies/python_packages.toml", {"address": "http://example.org/{version}"}, "address"),
    ],
)
def test_a_schema_sees_a_slip(file: str, change: dict[str, Any], says: str) -> None:
    schema = json.loads(schema_of(Path(file)).read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    errors = validator.iter_errors({**data_of(Path(file)), **change})
    assert any(says in f"{error.json_path}: {error.message}" for error in errors)
