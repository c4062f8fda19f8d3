"""Each remedy: what it plans, what it changes, and that the journal gives it back."""

from __future__ import annotations

import contextlib
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from hosts import fake_host, no_pip
from killing import FileRegistry
from list_server import ListServer
from packaging.requirements import Requirement
from pe_files import pe_file
from pe_version import versioned
from trees import tree_hash, write
from wheel_files import sha256

from tritonwin.facts.records import Cache, Facts, Interpreter, PthFile, RuntimeDll, System, Variable
from tritonwin.journal import Journal, RegistryValue, Store, undo
from tritonwin.remedies import (
    build_wheel,
    caches,
    distributions,
    install,
    installed,
    python_files,
    variables,
)
from tritonwin.remedies.apply import KINDS, clear_caches
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import (
    BuildWheel,
    CannotRemedyError,
    Change,
    ChangedSincePlanError,
    CopyRuntime,
    FileSource,
    InstallWheels,
    Plan,
    RenameShadow,
    SetVariable,
)
from tritonwin.remedies.planner import PLAN
from tritonwin.support import archives
from tritonwin.support.addresses import DownloadError
from tritonwin.support.sources import Sources
from tritonwin.system.host import Environment
from tritonwin.system.toml import read_resource

USER = r"HKCU\Environment"


def means(facts: Facts, tmp_path: Path, lists: tuple[str, ...] = (), **more: Any) -> PlanContext:
    return PlanContext(
        facts=facts,
        host=fake_host(tmp_path),
        pip=no_pip,
        sources=lambda: Sources(lists=lists, offline=True),
        offline=True,
        **more,
    )


def plan(action: str, arguments: dict[str, str], context: PlanContext) -> Any:
    return PLAN[action](context, **arguments)


def values_in(tmp_path: Path) -> dict[str, dict[str, RegistryValue]]:
    """Those of the registry that changes are applied to."""
    return FileRegistry(tmp_path / "registry.json")._read()


def apply(change: Change, tmp_path: Path) -> tuple[Store, str]:
    """Apply one change through a journal of its own."""
    store = Store(tmp_path / "journals")
    target = replace(healthy.TARGET, executable=str(tmp_path / "env" / "python.exe"))
    (tmp_path / "env").mkdir(exist_ok=True)
    target = replace(target, prefix=str(tmp_path / "env"))
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    registry = FileRegistry(tmp_path / "registry.json")
    with Journal.begin(
        store, target=target.executable, title=change.what, registry=registry
    ) as journal:
        context = ApplyContext(journal=journal, target=target, scratch=scratch, pip=no_pip)
        KINDS[type(change)].apply(change, context)
    return store, journal.header.id


@contextlib.contextmanager
def applied(change: Change, tmp_path: Path, root: Path | None = None) -> Iterator[None]:
    """The change is applied meanwhile; its undo leaves `root` and the registry as before."""
    (tmp_path / "env").mkdir(exist_ok=True)
    root = root or tmp_path / "env"
    before = tree_hash(root), values_in(tmp_path)
    store, journal = apply(change, tmp_path)
    yield
    undo(store, journal, registry=FileRegistry(tmp_path / "registry.json"))
    assert (tree_hash(root), values_in(tmp_path)) == before


@contextlib.contextmanager
def refused(tmp_path: Path, says: str, error: type[Exception] = CannotRemedyError) -> Iterator[Any]:
    """Refused with these words, and nothing in the environment is changed."""
    before = tree_hash(tmp_path / "env")
    with pytest.raises(error, match=says) as caught:
        yield caught
    assert tree_hash(tmp_path / "env") == before


def zipped(file: Path, contents: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as made:
        for name, text in contents.items():
            made.writestr(name, text)
    return file


def stored(name: str, value: str, scope: Any) -> Variable:
    return Variable(name=name, value=value, scope=scope)


# -- variables


def test_a_variable_is_unset_where_it_is_stored(tmp_path: Path) -> None:
    facts = healthy.changed(
        variables=(stored("CC", "C:\\gone", "process"), stored("Cc", "C:\\gone", "user"))
    )
    change = plan("set-variable", {"variable": "CC"}, means(facts, tmp_path))
    assert (change.scopes, change.admin) == (("user",), False)
    assert "open a new one" in (change.note or "")
    registry = FileRegistry(tmp_path / "registry.json")
    registry._write({USER: {"CC": RegistryValue(data="C:\\gone")}})
    with applied(change, tmp_path):
        assert values_in(tmp_path) == {}


def test_a_variable_of_all_users_needs_consent(tmp_path: Path) -> None:
    facts = healthy.changed(variables=(stored("CUDA_PATH", "C:\\old", "machine"),))
    asking = means(facts, tmp_path)
    with pytest.raises(CannotRemedyError, match="all users") as refusal:
        plan("set-variable", {"variable": "CUDA_PATH"}, asking)
    assert "--machine-wide" in refusal.value.help
    agreed = plan("set-variable", {"variable": "CUDA_PATH"}, replace(asking, machine_wide=True))
    assert (agreed.admin, agreed.scopes) == (True, ("machine",))


def test_a_variable_of_this_console_alone_is_said_to_be_so(tmp_path: Path) -> None:
    facts = healthy.changed(variables=(stored("CC", "x;", "process"),))
    change = plan("set-variable", {"variable": "CC"}, means(facts, tmp_path))
    assert change.scopes == ()
    assert "tritonwin run" in (change.note or "")
    apply(change, tmp_path)
    assert values_in(tmp_path) == {}


# -- files


@pytest.mark.parametrize(("name", "new"), [("triton.py", "triton-renamed.py"), ("triton", None)])
def test_what_shadows_is_renamed(tmp_path: Path, name: str, new: str | None) -> None:
    path = tmp_path / "work" / name
    write(path if new is None else path.parent, {"__init__.py" if new is None else name: "x = 1"})
    taken = path.with_name("triton-renamed")
    if new is None:
        taken.mkdir()
    change = plan("rename-shadow", {"path": str(path)}, means(healthy.HEALTHY, tmp_path))
    with applied(change, tmp_path, path.parent):
        assert not path.exists()
        assert (path.parent / (new or "triton-renamed2")).exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            b"python312.zip\r\n.\r\n\r\n#import site\r\n",
            b"python312.zip\r\n.\r\n\r\n#import site\r\nimport site\r\n",
        ),
        (b".", b".\r\nimport site\r\n"),
        (b"", b"import site\r\n"),
        (b".\n", b".\nimport site\n"),
    ],
)
def test_import_site_is_written(text: bytes, expected: bytes) -> None:
    assert python_files.with_site(text) == expected


def test_site_is_needed_where_site_packages_is_not_on_the_path() -> None:
    def pth(*entries: str, on: bool = False) -> bool:
        file = PthFile(path="x._pth", entries=entries, import_site=on)
        return python_files.site_is_hidden(replace(healthy.TARGET, pth=file))

    assert pth("python312.zip", ".")
    assert not pth("python312.zip", ".", on=True)
    assert not pth(".", "Lib\\site-packages")
    assert not python_files.site_is_hidden(replace(healthy.TARGET, pth=None))


HASH = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST"
OTHER, THIRD = HASH[::-1], HASH[1:] + "A"


def cache_facts(root: Path, kind: Any = "triton") -> Facts:
    return healthy.changed(
        caches=(Cache(kind=kind, path=str(root), source="default", exists=True, writable=True),)
    )


def test_exactly_the_stale_entries_of_a_cache_go(tmp_path: Path) -> None:
    root = write(
        tmp_path / "cache",
        {
            f"{HASH}/cuda_utils.cp312-win_amd64.pyd": "damaged",
            f"{HASH}/a.json": "{}",
            f"{OTHER}/cuda_utils.cp310-win_amd64.pyd": "of another Python",
            f"{THIRD}/kernel.cubin": "x",
            "documents/cuda_utils.cp312-win_amd64.pyd": "damaged, and in no entry",
        },
    )
    change = plan("clear-cache", {"path": str(root)}, means(cache_facts(root), tmp_path))
    with applied(change, tmp_path, root):
        assert {p.name for p in root.iterdir()} == {OTHER, THIRD, "documents"}
    with pytest.raises(CannotRemedyError, match="no stale entry"):
        plan("clear-cache", {"path": str(tmp_path)}, means(cache_facts(root), tmp_path))


KEY = "ckyzabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnop"


@pytest.mark.parametrize(
    ("kind", "entries", "others"),
    [
        (
            "triton",
            (f"{HASH}/kernel.cubin", f"{OTHER}/__grp__kernel.json", f"{THIRD}/tmp.pid_1/x"),
            ("thesis.docx", "photos/1.jpg", f"{HASH[:-1]}/kernel.cubin", "AB/kernel.cubin"),
        ),
        (
            "triton",
            (f"{'ab' * 32}/kernel.ptx",),
            (f"{HASH}/thesis.docx", f"{OTHER}/notes/kernel.json"),
        ),
        (
            "inductor",
            (f"triton/0/{HASH}/k.cubin", f"ky/{KEY}.py", f"fxgraph/ky/{KEY}/x"),
            ("triton/README.md", "ky/notes.py", f"zz/{KEY}.py", "fxgraph/mine/a.txt", "1.jpg"),
        ),
    ],
)
def test_a_cache_is_cleared_of_what_has_the_form_of_an_entry(
    tmp_path: Path, kind: Any, entries: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """A variable may name a folder with documents in it."""
    root = write(tmp_path / "cache", dict.fromkeys((*entries, *others), "content"))
    before = tree_hash(root)
    facts = cache_facts(root, kind)
    facts = replace(facts, target=replace(healthy.TARGET, executable=str(tmp_path / "python")))
    clearing = caches.plan_clearing(facts, (), everything=True)
    assert len(clearing.removes) == len(entries)
    store = Store(tmp_path / "journals")
    assert clear_caches(clearing, facts, store, lambda _: False).journal is None
    assert tree_hash(root) == before
    done = clear_caches(clearing, facts, store, lambda _: True)
    assert {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()} == set(others)
    assert all(
        any(Path(left) in (root / o, *(root / o).parents) for left in done.left) for o in others
    )
    assert done.journal
    undo(store, done.journal)
    assert tree_hash(root) == before


def test_an_entry_that_others_put_files_into_meanwhile_stays(tmp_path: Path) -> None:
    root = write(tmp_path / "cache", {f"{HASH}/kernel.cubin": "x", f"{OTHER}/kernel.cubin": "x"})
    facts = cache_facts(root, "triton")
    facts = replace(facts, target=replace(healthy.TARGET, executable=str(tmp_path / "python")))
    clearing = caches.plan_clearing(facts, (), everything=True)
    write(root, {f"{OTHER}/thesis.docx": "mine"})
    before = tree_hash(root)
    with pytest.raises(ChangedSincePlanError):
        clear_caches(clearing, facts, Store(tmp_path / "journals"), lambda _: True)
    assert tree_hash(root) == before


# -- long paths


@pytest.mark.parametrize("admin", [True, None, False])
def test_long_paths_or_short_caches(tmp_path: Path, admin: bool | None) -> None:
    system: System = replace(healthy.SYSTEM, admin=admin)
    planned = plan("enable-long-paths", {}, means(healthy.changed(system=system), tmp_path))
    changes = planned if isinstance(planned, tuple) else (planned,)
    for change in changes:
        apply(change, tmp_path)
        assert change.admin is (admin is not False)
    written = {n: v.data for values in values_in(tmp_path).values() for n, v in values.items()}
    if admin is False:
        assert written == {
            "TRITON_CACHE_DIR": r"C:\Users\ada\AppData\Local\tw\t",
            "TORCHINDUCTOR_CACHE_DIR": r"C:\Users\ada\AppData\Local\tw\i",
        }
    else:
        assert written == {"LongPathsEnabled": 1}


def test_the_next_program_sees_what_the_plan_has_set(tmp_path: Path) -> None:
    made = Plan(
        target="python.exe",
        changes=(
            SetVariable(variable="CC", value=None, scopes=(), what=""),
            RenameShadow(path="triton.py", new="old.py", what=""),
            SetVariable(variable="MAX_JOBS", value="4", what=""),
        ),
    )
    before = Environment({"cc": "x", "max_jobs": "64", "KEEP": "1"}, windows=True)
    after = variables.environment_after(made, before)
    assert dict(after.data) == {"KEEP": "1", "MAX_JOBS": "4"}


# -- what cannot be planned


HEADERS = {"version": "3.12.9", "folder": "env"}
ALONE = healthy.changed(interpreters=())
LINUX = {"host": fake_host(Path("/nowhere"), windows=False)}
PLANNED_BY_OTHERS = {
    "enable-site": python_files.plan_site,
    "build-wheel": build_wheel.plan_build,
}
# by action: arguments, facts, other means; the reason, and a part of the help
REFUSED: list[tuple[str, dict[str, str], Facts, dict[str, Any], str, str]] = [
    ("patch", {}, healthy.changed(triton=None), {}, "no Triton to patch", ""),
    ("patch", {}, healthy.part("triton", namespace=True), {}, "no Triton to patch", ""),
    ("patch", {}, healthy.part("triton", import_hook="hook.py"), {}, "hook.py patches this", ""),
    ("patch", {}, healthy.changed(triton=None, target=None), {}, "no Triton to patch", ""),
    ("enable-site", {}, healthy.part("target", pth=None), {}, r"has no \._pth file", ""),
    ("enable-site", {}, healthy.changed(target=None), {}, "no target interpreter", ""),
    ("build-wheel", {"distribution": "xformers"}, healthy.HEALTHY, {},
     "no recipe that builds xformers", ""),
    ("rename-shadow", {"path": "gone"}, healthy.HEALTHY, {}, "not there", ""),
    # without a place caches cannot be made short
    *(
        ("enable-long-paths", {}, healthy.part("system", admin=False, temp=temp), {}, says,
         "TRITON_CACHE_DIR")
        for temp, says in ((None, "temporary files"), ("Z:\\J\u00f6rg\\Temp", "in ASCII"))
    ),
    ("vc-runtime", {"folder": "env"}, healthy.changed(runtime_dlls=()), {}, "no newer VC", ""),
    ("vc-runtime", {"folder": "env"}, healthy.part("target", kind="conda"), {}, "", "conda install"),
    ("python-headers", HEADERS, ALONE, {}, "--offline", "python.3.12.10.nupkg"),
    ("python-headers", HEADERS, ALONE, LINUX, "", "python3-dev"),
    *(
        ("python-headers", {**HEADERS, "version": version}, replace(ALONE, target=target),
         {"offline": False}, "none are known to fetch", "--headers PATH")
        for version, target in (
            ("3.9.13", healthy.TARGET),
            ("3.99.0", healthy.TARGET),
            ("3.13.1", replace(healthy.TARGET, free_threaded=True)),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("action", "arguments", "facts", "more", "says", "helps"), REFUSED)
def test_what_cannot_be_planned_says_why_and_what_to_do(
    tmp_path: Path,
    action: str,
    arguments: dict[str, str],
    facts: Facts,
    more: dict[str, Any],
    says: str,
    helps: str,
) -> None:
    planned: dict[str, Any] = {**PLAN, **PLANNED_BY_OTHERS}
    with pytest.raises(CannotRemedyError, match=says or None) as refusal:
        planned[action](replace(means(facts, tmp_path), **more), **arguments)
    assert helps in refusal.value.help


def test_a_build_that_another_process_planned_is_not_made_here(tmp_path: Path) -> None:
    change = BuildWheel(distribution="flash-attn", version="2", plan="0" * 64, what="")
    with pytest.raises(ChangedSincePlanError, match="planned elsewhere"):
        apply(change, tmp_path)


def test_nothing_is_installed_without_a_target(tmp_path: Path) -> None:
    options = install.InstallOptions(requests=(Requirement("triton-windows"),))
    with pytest.raises(CannotRemedyError, match="no target interpreter"):
        install.install(
            options, healthy.changed(target=None), Store(tmp_path), agree=lambda _: True
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("admin", "allowed"), [(False, False), (True, True), (None, True)])
def test_nothing_is_fetched_that_could_not_be_put_into_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, admin: bool | None, allowed: bool
) -> None:
    facts = replace(
        healthy.part("system", admin=admin), target=replace(healthy.TARGET, writable=False)
    )
    change = InstallWheels(what="install it", admin=True)
    planned = install.Installation(
        status="planned", choices=(), plan=Plan(target="", changes=(change,))
    )
    monkeypatch.setattr(install, "_planned", lambda *_: planned)
    options = install.InstallOptions(requests=(Requirement("triton-windows"),))
    refusal = pytest.raises(CannotRemedyError, match="administrator rights: install it")
    with contextlib.nullcontext() if allowed else refusal:
        done = install.install(options, facts, Store(tmp_path), agree=lambda _: False)
        assert done.status == "declined"


# -- headers

PYTHON_H = {
    "Include/Python.h": '#include "patchlevel.h"\n#include "pyconfig.h"\n',
    "Include/patchlevel.h": '#define PY_VERSION "3.12.9"\n',
    "Include/pyconfig.h": "/* pyconfig */\n",
    "libs/python312.lib": "!<arch>\n",
    "libs/python3.lib": "!<arch>\n",
}


def wanting(tmp_path: Path, headers_from: Path | None = None, **changes: Any) -> PlanContext:
    return means(healthy.changed(interpreters=(), **changes), tmp_path, headers=headers_from)


def asked(tmp_path: Path) -> dict[str, str]:
    return {"version": "3.12.9", "folder": str(tmp_path / "env")}


def test_headers_come_from_another_python_of_that_minor(tmp_path: Path) -> None:
    full = write(tmp_path / "full", PYTHON_H)
    older = write(
        tmp_path / "old", {**PYTHON_H, "Include/patchlevel.h": '#define PY_VERSION "3.11.4"'}
    )

    def python(root: Path, version: str) -> Any:
        return replace(
            healthy.TARGET,
            executable=str(root / "python.exe"),
            prefix=str(root),
            base_prefix=str(root),
            version=version,
        )

    facts = healthy.changed(interpreters=(python(older, "3.12.1"), python(full, "3.12.4")))
    change = plan("python-headers", asked(tmp_path), means(facts, tmp_path))
    assert change.sources[0].location == str(full)
    assert not change.network
    env = write(tmp_path / "env", {"Include/greenlet.h": "theirs", "Include/Python.h": "wrong"})
    with applied(change, tmp_path):
        assert (env / "Include/Python.h").read_text() == PYTHON_H["Include/Python.h"]
        assert (env / "Include/greenlet.h").read_text() == "theirs"
        assert (env / "libs/python312.lib").is_file()


def test_headers_come_from_the_folder_that_was_named(tmp_path: Path) -> None:
    given = write(tmp_path / "given", {**PYTHON_H, "Include/cpython/object.h": "/* deep */\n"})
    change = plan("python-headers", asked(tmp_path), wanting(tmp_path, given))
    assert change.sources[0].version == "3.12.9"
    apply(change, tmp_path)
    assert (tmp_path / "env/Include/cpython/object.h").read_text() == "/* deep */\n"


def test_headers_that_are_fetched_are_held_to_their_hash(
    tmp_path: Path, server: ListServer
) -> None:
    named = {f"tools/{n.replace('Include', 'include')}": text for n, text in PYTHON_H.items()}
    file = zipped(tmp_path / "python.nupkg", named)
    change = plan("python-headers", asked(tmp_path), replace(wanting(tmp_path), offline=False))
    source = replace(change.sources[0], location=server.wheel(file))
    with pytest.raises(DownloadError, match="has the hash"):
        apply(replace(change, sources=(source,)), tmp_path)
    assert not (tmp_path / "env/Include").exists()
    apply(replace(change, sources=(replace(source, sha256=sha256(file)),)), tmp_path)
    assert (tmp_path / "env/Include/Python.h").read_text() == PYTHON_H["Include/Python.h"]


@pytest.mark.parametrize("top", ["", "tools/", "python-3.12/"])
def test_headers_come_from_a_zip(tmp_path: Path, top: str) -> None:
    named = {top + name.replace("Include", "include"): text for name, text in PYTHON_H.items()}
    file = zipped(tmp_path / "python.nupkg", {**named, "tools/Lib/os.py": "not wanted"})
    change = plan("python-headers", asked(tmp_path), wanting(tmp_path, file))
    apply(change, tmp_path)
    env = tmp_path / "env"
    assert sorted(p.name for p in env.iterdir()) == ["Include", "libs"]
    assert (env / "Include" / "Python.h").is_file()


OLDER = {"Include/Python.h": "x", "Include/patchlevel.h": '#define PY_VERSION "3.11.9"'}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("h", OLDER, "3.12"),
        ("h", {"readme.txt": "x"}, "no headers"),
        ("gone.zip", {}, "no headers"),
    ],
)
def test_other_headers_are_refused(
    tmp_path: Path, name: str, content: dict[str, str], says: str
) -> None:
    write(tmp_path / name, content)
    with pytest.raises(CannotRemedyError, match=says):
        plan("python-headers", asked(tmp_path), wanting(tmp_path, tmp_path / name))


@pytest.mark.parametrize("content", [{**OLDER, "libs/python311.lib": "x"}, {"readme.txt": "x"}])
def test_a_zip_of_other_headers_is_refused_before_anything_changes(
    tmp_path: Path, content: dict[str, str]
) -> None:
    file = zipped(tmp_path / "h.zip", content)
    change = plan("python-headers", asked(tmp_path), wanting(tmp_path, file))
    write(tmp_path / "env", {"a": "1"})
    with refused(tmp_path, "whole headers") as caught:
        apply(change, tmp_path)
    assert "--headers PATH" in caught.value.help


def test_headers_that_are_fetched_are_pinned(tmp_path: Path) -> None:
    online = replace(wanting(tmp_path), offline=False)
    change = plan("python-headers", asked(tmp_path), online)
    assert change.network
    assert len(change.sources[0].sha256 or "") == 64


def test_every_pinned_package_serves_one_minor_version() -> None:
    rows = read_resource(
        "tritonwin.remedies", "python_packages.toml", python_files.PythonPackages
    ).package
    minors = [row.version.rpartition(".")[0] for row in rows]
    assert minors == ["3.10", "3.11", "3.12", "3.13"]


# -- zips


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("../evil", False),  # outside of what is taken
        ("/Include/evil", False),
        ("Include/../../evil", True),
        ("Include/C:/evil", True),
        ("Include\\..\\..\\evil", True),
    ],
)
def test_members_that_leave_their_folder_are_not_unpacked(
    tmp_path: Path, name: str, refused: bool
) -> None:
    file = zipped(tmp_path / "bad.zip", {"Include/Python.h": "x", name: "evil"})
    out = tmp_path / "in" / "out"
    with pytest.raises(archives.ArchiveError) if refused else contextlib.nullcontext():
        archives.unpack_folder(file, "Include", out)
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["Python.h", "bad.zip"]


# -- VC runtime


def runtime_dll(tmp_path: Path, place: Any, version: str) -> RuntimeDll:
    path = str(tmp_path / ("env" if place == "beside-python" else place) / "msvcp140.dll")
    return RuntimeDll(
        name="msvcp140.dll", path=path, place=place, version=version, loaded=place != "system32"
    )


def dll(version: str) -> bytes:
    return versioned(pe_file("kernel32.dll"), version)


def test_the_runtime_comes_from_system32_where_that_is_new(tmp_path: Path) -> None:
    write(
        tmp_path, {"system32/msvcp140.dll": "new", "env/msvcp140.dll": "old", "env/python.exe": ""}
    )
    dlls = (
        runtime_dll(tmp_path, "beside-python", "14.29.30133.0"),
        runtime_dll(tmp_path, "system32", "14.51.36231.0"),
    )
    facts = healthy.changed(runtime_dlls=dlls)
    folder = str(tmp_path / "env")
    change = plan("vc-runtime", {"folder": folder}, means(facts, tmp_path))
    assert change.sources[0].version == "14.51.36231.0"
    with applied(change, tmp_path):
        assert (tmp_path / "env/msvcp140.dll").read_text() == "new"


def test_the_runtime_comes_from_a_wheel(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version in ("14.40.33807", "14.51.36231"):
        inside = f"msvc_runtime-{version}.data/data/Scripts"
        zipped(
            wheels / f"msvc_runtime-{version}-cp312-cp312-win_amd64.whl",
            {f"{inside}/msvcp140.dll": version, f"{inside}/other.dll": version},
        )
    facts = healthy.changed(runtime_dlls=(runtime_dll(tmp_path, "beside-python", "14.29.1.0"),))
    folder = str(write(tmp_path / "env", {"msvcp140.dll": "old"}))
    change = plan("vc-runtime", {"folder": folder}, means(facts, tmp_path, (str(wheels),)))
    apply(change, tmp_path)
    assert (tmp_path / "env/msvcp140.dll").read_text() == "14.51.36231"
    assert not (tmp_path / "env/other.dll").exists()
    assert python_files.WHEEL == "msvc-runtime"


def test_the_runtime_that_is_fetched_replaces_older_dlls_alone(
    tmp_path: Path, server: ListServer
) -> None:
    """Every DLL is held against its like: one that is as new, or no DLL, stays as it is."""
    new = dll("14.40.33807.0")
    names = ("msvcp140.dll", "vcruntime140.dll", "vcruntime140_1.dll")
    brought = {f"r.data/data/{name}": new for name in names}
    file = zipped(tmp_path / "r.whl", {**brought, "r.data/data/vcomp140.dll": "no DLL"})
    there = {
        "env/vcruntime140.dll": dll("14.29.30133.0"),
        "env/vcruntime140_1.dll": dll("14.51.36231.0"),
        "env/vcomp140.dll": dll("14.0.0.0"),
    }
    write(tmp_path, there)
    source = FileSource(
        name="msvc-runtime",
        version="14.40.33807",
        location=server.wheel(file),
        sha256=sha256(file),
    )
    apply(CopyRuntime(folder=str(tmp_path / "env"), what="", sources=(source,)), tmp_path)
    assert {p.name: p.read_bytes() for p in (tmp_path / "env").iterdir()} == {
        "msvcp140.dll": new,
        "vcruntime140.dll": new,
        "vcruntime140_1.dll": there["env/vcruntime140_1.dll"],
        "vcomp140.dll": there["env/vcomp140.dll"],
    }


def test_no_wheel_for_windows_is_no_runtime(tmp_path: Path) -> None:
    """Wheels with other tags, or with none that can be read, are passed over."""
    names = ("msvc_runtime-14.51-cp312-cp312-linux_x86_64.whl", "msvc_runtime-14.51-cp312.whl")
    wheels = write(tmp_path / "wheels", dict.fromkeys(names, ""))
    with pytest.raises(CannotRemedyError, match="no newer VC runtime than 0"):
        plan(
            "vc-runtime",
            {"folder": str(tmp_path / "env")},
            means(healthy.changed(runtime_dlls=()), tmp_path, (str(wheels),)),
        )


# -- installed files


def in_env(tmp_path: Path) -> Interpreter:
    return replace(healthy.TARGET, prefix=str(tmp_path / "env"))


def two_distributions(tmp_path: Path) -> Path:
    """Two distributions that share a folder, one of them with a launcher and a wild RECORD."""
    site_packages = tmp_path / "env" / "Lib" / "site-packages"
    write(
        site_packages,
        {
            "triton/__init__.py": "",
            "triton/__pycache__/__init__.cpython-312.pyc": "",
            "triton/left.txt": "",
            "own/__init__.py": "",
            "own/__pycache__/__init__.cpython-312.pyc": "",
            "own/never_recorded.txt": "",
            "own/sub/deep.py": "",
            "single.py": "",
            "__pycache__/single.cpython-312.pyc": "",
            "a-1.0.dist-info/RECORD": "triton/__init__.py,,\nown/__init__.py,,\nown/sub/deep.py,,\nsingle.py,,\n"
            "../../Scripts/a.exe,,\n../../../not-there.txt,,\na-1.0.dist-info/RECORD,,\n",
            "b-1.0.dist-info/RECORD": "triton/other.py,,\nb-1.0.dist-info/RECORD,,\n",
            "c-1.0.dist-info/METADATA": "",
            "c/__init__.py": "",
        },
    )
    write(tmp_path, {"env/Scripts/a.exe": "", "outside.txt": ""})
    return site_packages


@pytest.mark.parametrize(
    "entry",
    [
        "../../../outside.txt",
        "../../Scripts/python.exe",
        "../../pyvenv.cfg",
        "../os.py",
        pytest.param(
            "linked/theirs.txt",
            marks=pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows"),
        ),
    ],
)
def test_a_record_that_leads_elsewhere_is_refused_in_the_plan(tmp_path: Path, entry: str) -> None:
    site_packages = two_distributions(tmp_path)
    env = {"Scripts/python.exe": "", "pyvenv.cfg": "", "Lib/os.py": ""}
    write(tmp_path / "env", env)
    write(tmp_path / "elsewhere", {"theirs.txt": ""})
    (site_packages / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    info = site_packages / "a-1.0.dist-info"
    with (info / "RECORD").open("a") as record:
        record.write(f"{entry},,\n")
    a = replace(healthy.dist("a", "1.0"), location=str(info))
    with pytest.raises(CannotRemedyError, match="no file of a package") as refusal:
        distributions.removable([a], in_env(tmp_path))
    assert Path(entry).name in str(refusal.value)
    assert "by hand" in refusal.value.help


def test_a_record_that_names_a_folder_takes_no_folder_along(tmp_path: Path) -> None:
    site_packages = two_distributions(tmp_path)
    info = site_packages / "a-1.0.dist-info"
    before = installed.removal([str(info)], in_env(tmp_path))
    write(site_packages / "theirs", {"notes.txt": ""})
    with (info / "RECORD").open("a") as record:
        record.write("theirs,,\n")
    assert installed.removal([str(info)], in_env(tmp_path)) == before


def test_what_is_gone_since_the_plan_is_named(tmp_path: Path) -> None:
    info = two_distributions(tmp_path) / "a-1.0.dist-info"
    info.rename(info.with_name("a-2.0.dist-info"))
    with refused(tmp_path, r"a-1\.0\.dist-info is not there any more", ChangedSincePlanError):
        put_in_place(staged(tmp_path), tmp_path, info)


@pytest.mark.parametrize(
    "record", [None, b"c/__init__.py,,\n" + b"x" * 200_000, b"c/caf\xe9.py,,\n"]
)
def test_without_a_record_the_metadata_goes(tmp_path: Path, record: bytes | None) -> None:
    info = two_distributions(tmp_path) / "c-1.0.dist-info"
    if record:
        (info / "RECORD").write_bytes(record)
    found = installed.removal([str(info)], in_env(tmp_path))
    assert {p.name for p in found.paths} == {"c-1.0.dist-info"}


def test_a_distribution_that_is_replaced_comes_back(tmp_path: Path) -> None:
    info = two_distributions(tmp_path) / "a-1.0.dist-info"
    before = tree_hash(tmp_path / "env")
    (tmp_path / "none").mkdir()
    store, journal = put_in_place(tmp_path / "none", tmp_path, info)
    left = {p.relative_to(tmp_path / "env").as_posix() for p in (tmp_path / "env").rglob("*.*")}
    site = "Lib/site-packages"
    assert {name for name in left if not name.startswith((f"{site}/b", f"{site}/c"))} == {
        f"{site}/own/never_recorded.txt",
        f"{site}/triton/left.txt",
    }
    assert (tmp_path / "outside.txt").exists()
    undo(store, journal)
    assert tree_hash(tmp_path / "env") == before


def test_a_folder_without_a_record_belongs_to_whom_its_top_level_names(tmp_path: Path) -> None:
    site_packages = write(
        tmp_path,
        {
            "old-1.0.egg-info/top_level.txt": "shared\n_shared\n",
            "none-1.0.dist-info/METADATA": "",
            "recorded-1.0.dist-info/RECORD": "other/__init__.py,,\n",
            "recorded-1.0.dist-info/top_level.txt": "gone\n",
        },
    )
    owners = installed.listed_by(site_packages)
    # a RECORD knows better
    assert owners == {"shared": "old", "_shared": "old", "other/__init__.py": "recorded"}
    old = site_packages / "old-1.0.egg-info"
    assert list(installed.listed_by(site_packages, besides=[old])) == ["other/__init__.py"]


def staged(tmp_path: Path) -> Path:
    """The files that pip lays out for a package `own`."""
    where = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    if sys.platform == "win32":
        where = "Lib/site-packages"
    return write(
        tmp_path / "staged",
        {f"{where}/own/__init__.py": "new", f"{where}/own-2.0.dist-info/METADATA": "new"},
    )


def put_in_place(root: Path, tmp_path: Path, *infos: Path) -> tuple[Store, str]:
    store = Store(tmp_path / "journals")
    with Journal.begin(store, target="python", title="t") as journal:
        target = in_env(tmp_path)
        context = ApplyContext(
            journal=journal, target=target, scratch=tmp_path, pip=no_pip, staged=root
        )
        change = InstallWheels(what="", removes=tuple(map(str, infos)))
        distributions.put_in_place(change, context)
    return store, journal.header.id


@pytest.mark.parametrize("claimed", [True, False])
def test_what_belongs_to_nobody_is_not_mixed_with_what_comes(tmp_path: Path, claimed: bool) -> None:
    root = staged(tmp_path)
    (new,) = root.rglob("own")
    there = tmp_path / "env" / new.parent.relative_to(root)
    old = {"own/stale.py": "", "own-2.0.dist-info/INSTALLER": "other"}
    if claimed:
        old["b-1.0.dist-info/RECORD"] = "own/stale.py,,\n"
    write(there, old)
    before = tree_hash(tmp_path / "env")
    store, journal = put_in_place(root, tmp_path)
    assert (there / "own/__init__.py").read_text() == "new"
    assert (there / "own/stale.py").exists() is claimed
    assert (there / "own-2.0.dist-info/INSTALLER").exists()
    undo(store, journal)
    assert tree_hash(tmp_path / "env") == before


def test_a_file_of_another_package_is_not_replaced_unsaid(tmp_path: Path) -> None:
    root = staged(tmp_path)
    there = tmp_path / "env" / next(root.rglob("own")).parent.relative_to(root)
    write(there, {"b-1.0.dist-info/RECORD": "own/__init__.py,,\n", "own/__init__.py": "theirs"})
    with refused(tmp_path, r"__init__\.py of b would be replaced"):
        put_in_place(root, tmp_path)


def test_an_installation_without_what_pip_laid_out_is_refused(tmp_path: Path) -> None:
    change = InstallWheels(what="")
    with pytest.raises(CannotRemedyError, match="nothing was staged"):
        apply(change, tmp_path)
