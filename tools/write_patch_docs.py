#!/usr/bin/env python3
"""Write docs/patch/: one page a rule, from the rules and the sources of every release.

Needs the sources, which stay in the cache of the Windows lane. A test fails when a page is stale.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from pathlib import Path

from winlane.cache import Cache
from winlane.upstream import UPSTREAM, Upstream

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.model import Flavour, Rule, RuleState
from tritonwin.patch.rules import RULES

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "patch"
FORKS = (
    "3.1.0.post17", "3.2.0.post21", "3.3.1.post21", "3.4.0.post21", "3.5.1.post24", "3.6.0.post26",
    "3.7.1.post27", "3.8.0.post29",
)  # fmt: skip
LONGEST = 60  # lines of a diff
_GENERATED = "This page is written by `tools/write_patch_docs.py`; do not edit it.\n"
_NEEDS = {
    "jit": "no kernel compiles or launches",
    "robust": "Triton fails in some situations, or misleads",
    "tools": "a tool of Triton's fails, apart from kernels",
}
_STATES: dict[RuleState, str] = {
    "needed": "needed",
    "fixed-upstream": "works already",
    "fixed-by-fork": "fixed by triton-windows",
    "not-applicable": "-",
    "unknown": "unknown form",
}
_INDEX = """\
# The rules of `tritonwin patch`

{generated}
Upstream publishes Triton for Linux alone. Its sources look for `ldconfig`, include `dlfcn.h`,
delete files that are open, start a `ptxas-blackwell` that no Windows wheel has, and never link
Python's library. `tritonwin patch` edits them rule by rule, from Triton 3.0 to 3.9, NVIDIA and,
as far as it is known, AMD:

    tritonwin patch status --triton C:\\venv\\Lib\\site-packages\\triton
    tritonwin patch diff --triton C:\\venv\\Lib\\site-packages\\triton
    tritonwin patch apply --triton C:\\venv\\Lib\\site-packages\\triton
    tritonwin patch revert --triton C:\\venv\\Lib\\site-packages\\triton

Each rule looks for one defect by its structure, never by a version number, edits as little as it
can, and leaves its name in a comment: `tritonwin:RULE`. On `triton-windows` only what it still
lacks is offered. On Linux the edited sources behave as before. Why the widely known list of seven
fixes is not enough, and wrong in places: [known-recipe.md](../known-recipe.md).

All rules that are needed are applied, or none. A file of no known release is refused, and shown
from three sides; `--allow-unknown` edits it where the rules fit. What was there before is kept
outside of Triton, byte for byte; `revert` is the undo of the journal's entry, and destroys
nobody's later edits. What is written needs nothing of tritonwin. A patched Triton prints the
command line of the C compiler and what it said where it fails, and with `TRITON_VERBOSE=1`, which
upstream's reads nowhere, always.

The letters in the second column are the defects' names in `patch status --json`.

| rule | defect | file | without it |
| --- | --- | --- | --- |
{rows}

## What was seen

Upstream's sources of 3.1.0 to 3.8.0 on the binaries of triton-windows, in Windows Python under
Wine, fail as the pages say; patched on disk, and with the hook, they import, compile to a cubin
(sm_86 and sm_120), build `cuda_utils` and launchers with TinyCC, and launch through a stand-in for
nvcuda.dll that checks each argument (`tests/winlane/test_patch.py`). The PTX of the same kernels is
that of triton-windows of the same version, text for text, but for one thing: triton-windows from
3.2 on compiles fp8e4nv for GPUs below sm_89 too, which upstream refuses on every system
(`tests/winlane/test_patch_ptx.py`). A rule left out brings its error back
(`tests/winlane/test_patch_mutations.py`). MSVC, clang and zig, 3.0, 3.9 and AMD GPUs were not run.

## In the files, or while they are imported

`patch apply` edits the files. `patch apply --import-time` leaves them alone and writes two files
into site-packages: `_tritonwin_hook.py`, which carries the same rules and needs nothing of
tritonwin, and `tritonwin-hook.pth`, by which every start of that Python runs it. Never both:
each refuses where the other is, and the hook leaves a file alone that bears a rule's name.

| | files | hook |
| --- | --- | --- |
| Triton is installed anew | the edits are gone: apply again | goes on |
| site-packages cannot be written | not possible | goes into the user's own folder |
| embedded Python whose `._pth` has no `import site` | works | refused: nothing would start it |
| what it costs | nothing | nothing measurable (`benchmarks/patch.py`): results are kept |
| lines in tracebacks | those of the edited file | those of the file on disk |
| content of no known release | refused | left as it is, and said once a process |
| another import hook (typeguard) loads a module | no matter | it is not patched, and said |
| Python before 3.9 | works | refused |

`python -m _tritonwin_hook` says what the hook did to Triton in that Python, as JSON. `"late": true`
means that Triton had been imported before it was started (by a `sitecustomize`, say, or another
.pth file), so that it did nothing.
"""
_PAGE = """\
# Rule `{rule.id}`

{generated}
In `triton/{rule.file}`{backend}. Without it {need}.

## The error

    {rule.removes}

## Why

{rule.why}
{covers}
## The edit

As it is made in {release}:

```diff
{diff}```

## Versions

| Triton | upstream | triton-windows |
| --- | --- | --- |
{versions}
"""


@functools.cache
def _upstream() -> Upstream:
    return Upstream(Cache.open())


@functools.cache
def source(flavour: Flavour, version: str, file: str) -> Source | None:
    """A file of a release; None where that has none."""
    site = _upstream().fork(version) if flavour == "fork" else _upstream().sources(version)
    path = site / "triton" / file
    return Source(path.read_text("utf-8")) if path.exists() else None


def verdict(rule: Rule, flavour: Flavour, version: str) -> engine.Verdict:
    text = source(flavour, version, rule.file)
    if text is None:
        return engine.Verdict("not-applicable", "there is no such file")
    return engine.judge(rule, text, flavour)


def releases() -> Iterator[tuple[Flavour, str]]:
    """Newest first, upstream's before the fork's."""
    yield from (("upstream", version) for version in UPSTREAM[::-1])
    yield from (("fork", version) for version in FORKS[::-1])


def diff(rule: Rule) -> tuple[str, str]:
    """The newest release that needs the rule, and what the rule alone does to it."""
    for flavour, version in releases():
        found = verdict(rule, flavour, version)
        old = source(flavour, version, rule.file)
        if found.text is not None and old is not None:
            lines = difflib.unified_diff(
                old.text.split("\n"), found.text.split("\n"), lineterm="", n=2
            )
            return _name(flavour, version), _shortened([*lines][2:])
    raise LookupError(f"no release needs {rule.id}")


def _name(flavour: Flavour, version: str) -> str:
    return f"Triton {version}" if flavour == "upstream" else f"triton-windows {version}"


def _shortened(lines: list[str]) -> str:
    if len(lines) > LONGEST:
        more = len(lines) - LONGEST
        lines = [*lines[:LONGEST], f"... and {more} more lines: `tritonwin patch diff` shows them"]
    return "".join(f"{line}\n" for line in lines)


def versions(rule: Rule) -> Iterator[str]:
    forks = {fork.rpartition(".post")[0]: fork for fork in FORKS}
    for version in UPSTREAM:
        upstream = _STATES[verdict(rule, "upstream", version).state]
        fork = forks.get(version)
        state = _STATES[verdict(rule, "fork", fork).state] if fork else "no such release"
        yield f"| {version} | {upstream} | {state} |"


def page(rule: Rule) -> str:
    release, edit = diff(rule)
    covers = ", ".join(rule.covers)
    return _PAGE.format(
        rule=rule,
        generated=_GENERATED,
        backend={"nvidia": ", for NVIDIA", "amd": ", for AMD"}.get(rule.backend or "", ""),
        need=_NEEDS[rule.need],
        covers=f"\nThe same edit removes the defects {covers}.\n" if covers else "",
        release=release,
        diff=edit,
        versions="\n".join(versions(rule)),
    )


def index() -> str:
    rows = "\n".join(
        f"| [{rule.id}]({rule.id}.md) | {rule.defect} | `{rule.file}` | {_NEEDS[rule.need]} |"
        for rule in RULES
    )
    return _INDEX.format(generated=_GENERATED, rows=rows)


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"README.md": index(), **{f"{rule.id}.md": page(rule) for rule in RULES}}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(written)} pages in {FOLDER.name}/")


if __name__ == "__main__":
    main()
