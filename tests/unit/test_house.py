"""The rules of the house: which way imports point, and who asks the disk."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tritonwin

PACKAGE = Path(tritonwin.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each part may import besides itself and the modules at the top (`errors`): DESIGN's arrow
# "cli -> remedies -> {build, patch} -> verify -> problems -> support -> {journal, facts}", and
# below them all what asks the system.
_FACTS = {"facts", "journal", "system"}
_SUPPORT = _FACTS | {"support"}
_PROBLEMS = _SUPPORT | {"problems"}
_VERIFY = _PROBLEMS | {"verify"}
_MAKERS = _VERIFY | {"build", "patch", "driver"}
_REMEDIES = _MAKERS | {"remedies"}
MAY_IMPORT = {
    "system": set[str](),
    "facts": {"system"},
    "journal": {"system"},
    "support": _FACTS,
    "problems": _SUPPORT,
    "verify": _PROBLEMS,
    "build": _VERIFY,
    "patch": _VERIFY,
    # the import hook carries it, in a package of its own
    "driver": _VERIFY | {"patch"},
    "remedies": _MAKERS,
    "output": _REMEDIES,
    "demo": _PROBLEMS,
    "front": _REMEDIES | {"output"},
    "cli": _REMEDIES | {"output", "demo", "front"},
}
# Rules and their tools are pure text, which the import hook carries: what `doctor` calls a defect
# is what `patch` edits, so every room may ask them.
PURE = {"patch.edits", "patch.engine", "patch.rules"}
# Output prints records. These modules hold them, or data alone; a module with logic says why.
RECORDS = {
    "build.records",
    "driver.records",
    "errors",
    "facts.records",
    "facts.snapshot",  # the document of a snapshot
    "journal",
    "journal.model",
    "journal.records",
    "patch.records",
    "patch.engine",  # the states of a rule
    "problems.catalogue",  # the titles of problems
    "problems.records",
    "problems.cache_state",  # an entry that was judged
    "remedies.plan",
    "remedies.records",
    "support.matrix",
    "support.wheel_choice",
    "verify.records",
    "verify.ladder",  # the rungs that are being tried, read while they are
    "facts.dlls.loading",
    "facts.dlls.tree",  # a tree, and the faults in it
    "facts.redaction.redactor",  # reports are redacted as they are written
    "facts.python_layout",  # paths as Windows writes them
    "journal.undo",  # the report of an undo
}
# `Path` raises where access is denied; `system.files` answers instead.
ASKING = {"is_file", "is_dir", "exists", "glob", "rglob", "iterdir"}
ASKERS = {
    "system/files.py": "the answers themselves",
    "facts/snapshot.py": "an error of the file that the user named is the user's to know",
    "facts/caches.py": "entries of a folder being read, errors counted",
    "facts/toolchain/python_dev.py": "entries of a folder being read, in one try",
    "facts/dlls/pe.py": "names of a folder, in one try",
}


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def part(path: Path) -> str:
    return name(path).split("/")[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Every tritonwin module that the file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_part(word: str) -> bool:
    return (PACKAGE / word).is_dir()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_one_way(path: Path) -> None:
    own = part(path)
    if not is_part(own):
        return
    told = (word for word in imports(path) if word.startswith("tritonwin."))
    words = [word.split(".") for word in told if module_of(word) not in PURE]
    used = {word[1] for word in words if is_part(word[1])} - {own}
    assert used <= MAY_IMPORT[own]


@pytest.mark.parametrize("module", sorted(PURE))
def test_rules_ask_nothing_of_other_rooms(module: str) -> None:
    place = PACKAGE.joinpath(*module.split("."))
    for path in [*place.glob("*.py")] or [place.with_suffix(".py")]:
        used = {word.split(".")[1] for word in imports(path) if word.startswith("tritonwin.")}
        assert used <= {"patch", "system"}


@pytest.mark.parametrize("path", [p for p in MODULES if part(p) == "output"], ids=name)
def test_output_imports_records_alone(path: Path) -> None:
    used = {module_of(word) for word in imports(path) if word.startswith("tritonwin.")}
    rooms = {"output", "system", ""}
    assert {module for module in used if module.split(".")[0] not in rooms} <= RECORDS


def module_of(word: str) -> str:
    """The module that an imported name lies in: "problems.records"."""
    names = word.split(".")[1:]
    while names and not PACKAGE.joinpath(*names).is_dir():
        if PACKAGE.joinpath(*names).with_suffix(".py").is_file():
            break
        names.pop()
    return ".".join(names)


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if part(p) in ("facts", "system") and name(p) not in ASKERS],
    ids=name,
)
def test_the_disk_is_asked_where_nothing_raises(path: Path) -> None:
    calls = [
        f"line {node.lineno}: .{node.func.attr}()"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ASKING
        and not ast.unparse(node.func).startswith(("os.path.", "fnmatch."))
    ]
    assert calls == []


def test_no_exception_has_lost_its_reason() -> None:
    known = {name(path) for path in MODULES}
    assert set(ASKERS) <= known


def runs(path: Path) -> Iterator[str]:
    """The imports of the file when it runs, not for the type checker alone."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "root", [PACKAGE.parent, PACKAGE.parents[1] / "tools"], ids=["src", "tools"]
)
def test_no_modules_import_each_other(root: Path) -> None:
    files = (p for p in root.rglob("*.py") if p.name != "__init__.py")
    modules = {".".join(p.relative_to(root).with_suffix("").parts): p for p in files}
    imported = {name: {m for m in runs(p) if m in modules} for name, p in modules.items()}
    while free := {name for name, needs in imported.items() if not needs}:
        imported = {n: needs - free for n, needs in imported.items() if n not in free}
    assert imported == {}, "these import each other, or what does"
