"""Patch by way of a Python: hook or files, never both, and the caches that go with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from installed import target
from triton_trees import make_tree

from tritonwin.errors import UserError
from tritonwin.facts.host import fake_host
from tritonwin.journal import Store, undo
from tritonwin.journal.tree import describe_tree
from tritonwin.patch.of_python import helper_entries
from tritonwin.patch.operations import Place
from tritonwin.patch.session import Session

SUFFIX = ".cpython-312-x86_64-linux-gnu.so"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A Python with upstream's 3.7 and compiled helper modules, one of them another Python's."""
    package = make_tree("3.7.1", tmp_path / "site")
    cache = tmp_path / "cache"
    for entry, name in (
        ("AAA", f"cuda_utils{SUFFIX}"),
        ("BBB", "cuda_utils.cpython-310-x86_64-linux-gnu.so"),
        ("CCC", "add.cubin"),
    ):
        (cache / entry).mkdir(parents=True)
        (cache / entry / name).write_bytes(b"\x7fELF")
    python = target(tmp_path / "site", ext_suffix=SUFFIX, executable=str(tmp_path / "python"))
    host = fake_host(tmp_path, {"TRITON_CACHE_DIR": str(cache)}, windows=False)
    data = tmp_path / "data"
    return Session(
        place=Place(
            package=package, target=python.executable, store=Store(data / "journal"), data=data
        ),
        target=python,
        helpers=lambda: helper_entries(python, host),
    )


def entries(session: Session) -> list[str]:
    return sorted(path.name for path in cache_of(session).iterdir())


def cache_of(session: Session) -> Path:
    return session.place.package.parents[1] / "cache"


def test_helper_modules_of_the_unpatched_triton_go_and_come_back(session: Session) -> None:
    session.apply()
    assert entries(session) == ["BBB", "CCC"]
    clear = session.place.store.journals()[0]
    assert clear.title == "clear 1 compiled helper modules of Triton"
    session.revert()
    undo(session.place.store, clear.id)
    assert entries(session) == ["AAA", "BBB", "CCC"]


def test_helper_modules_of_the_patched_triton_go_with_the_patch(session: Session) -> None:
    session.apply()
    folder = cache_of(session)
    (folder / "DDD").mkdir()
    (folder / "DDD" / f"cuda_utils{SUFFIX}").write_bytes(b"\x7fELF")
    session.revert()
    assert entries(session) == ["BBB", "CCC"]


def test_files_or_a_hook_but_never_both(session: Session) -> None:
    before = describe_tree(session.place.package.parent)
    applied = session.apply(import_time=True)
    assert applied.hook is not None
    assert not applied.blocked
    assert len(applied.changed) == 2
    with pytest.raises(UserError, match="an import hook patches this Triton already"):
        session.apply()
    assert session.revert().hook is None
    assert describe_tree(session.place.package.parent) == before

    session.apply()
    with pytest.raises(UserError, match="are patched already") as refused:
        session.apply(import_time=True)
    assert refused.value.help.endswith("tritonwin patch revert")
    session.revert()
    assert describe_tree(session.place.package.parent) == before


def test_a_hook_that_somebody_else_wrote_is_left_to_him(session: Session) -> None:
    session.apply(import_time=True)
    elsewhere = replace(session, place=replace(session.place, store=Store(Path("/nowhere"))))
    with pytest.raises(UserError, match="was not written from here"):
        elsewhere.revert()


def test_a_python_that_looks_for_no_pth_is_told_so(session: Session) -> None:
    assert session.target
    isolated = replace(session, target=replace(session.target, site_loaded=False))
    with pytest.raises(UserError, match="does not load `site`"):
        isolated.apply(import_time=True)


def test_edits_from_elsewhere_are_named(session: Session, tmp_path: Path) -> None:
    """A portable installation that was patched on another machine."""
    session.apply()
    data = tmp_path / "other machine"
    place = replace(session.place, store=Store(data / "journal"), data=data)
    moved = replace(session, place=place)
    done = moved.revert()
    assert done.status == "nothing"
    assert "install this Triton anew" in done.notes[0]
