"""The import hook: its place, the Pythons that it is not for, the search for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import installed
import pytest
from trees import plant, tree_hash

from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter, PthFile
from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.journal import Journal, Store, undo
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook import install
from tritonwin.patch.records import Hook

ALL = RuleChoice(only=(), allow_unknown=False)


def target(site: Path, **fields: Any) -> Interpreter:
    """A Python of this system that imports from there."""
    return installed.target(site, executable=str(site.parent / "python"), **fields)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


def write(tmp_path: Path, of: Interpreter, choice: RuleChoice = ALL) -> str:
    with Journal.begin(Store(tmp_path / "store"), target=of.executable, title="test") as journal:
        install.write(journal, of, choice, driver=False)
    return journal.header.id


def found_in(of: Interpreter) -> Hook:
    found = install.find(of)
    assert found is not None
    return found


def test_it_is_written_found_and_taken_out(tmp_path: Path, site: Path) -> None:
    python = target(site)
    before = tree_hash(site)
    assert install.find(python) is None
    written = write(tmp_path, python, RuleChoice(only=("temp-files",), allow_unknown=True))
    assert sorted(p.name for p in site.iterdir()) == sorted([HOOK, HOOK_START])
    found = found_in(python)
    assert (found.folder, found.starts, found.current) == (str(site), True, True)
    assert found.choice == RuleChoice(only=("temp-files",), allow_unknown=True)
    undo(Store(tmp_path / "store"), written)
    assert tree_hash(site) == before


def test_one_of_another_tritonwin_is_not_current(tmp_path: Path, site: Path) -> None:
    python = target(site)
    write(tmp_path, python)
    text = (site / HOOK).read_text("utf-8")
    (site / HOOK).write_text(text.replace("'digest': '", "'digest': '0"), encoding="utf-8")
    assert not found_in(python).current


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-2000],
        lambda data: data[:-2000] + bytes(2000),
        lambda data: data.replace(b"SETTINGS: dict[str, Any] = {", b"SETTINGS: dict[str, Any] = ["),
        lambda data: data.replace(b"'choice'", b"'Choice'"),
    ],
    ids=["empty", "half", "end", "NULs", "no settings", "other settings"],
)
def test_a_damaged_one_is_found(
    tmp_path: Path, site: Path, damage: Callable[[bytes], bytes]
) -> None:
    python = target(site)
    write(tmp_path, python)
    (site / HOOK).write_bytes(damage((site / HOOK).read_bytes()))
    found = found_in(python)
    assert (found.damaged, found.choice, found.driver, found.current) == (True, None, False, False)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"pth": PthFile(path="C:\\py\\python312._pth", entries=(".",), import_site=False)},
            "reads no .pth files",
        ),
        ({"site_loaded": False}, "reads no .pth files"),
        ({"version": "3.8.10"}, "needs Python 3.9"),
    ],
)
def test_a_python_that_cannot_start_one_is_told_what_to_do(
    site: Path, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        install.place(target(site, **fields))
    assert "tritonwin patch apply --python" in caught.value.help


def test_an_embedded_python_that_runs_site_can(site: Path) -> None:
    pth = PthFile(path="C:\\py\\python312._pth", entries=(".",), import_site=True)
    assert install.place(target(site, pth=pth)) == site


def test_where_nothing_can_be_written_every_place_is_named(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "can_write", lambda folder: False)
    own, gone = tmp_path / "own", tmp_path / "gone"
    # each once; what is not there only where it is the user's own, which is made when needed
    named = installed.target(site, gone, site, user_site=str(own))
    nameless = installed.target()
    for python, places in ((named, f"{site} or {own}"), (nameless, "this Python")):
        with pytest.raises(UserError) as refused:
            install.place(python)
        assert str(refused.value) == f"nothing can be written into {places}"
        assert "as administrator" in refused.value.help


def test_the_users_own_folder_serves_where_site_packages_cannot_be_written(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "user" / "site-packages"
    python = target(site, user_site=str(own))
    # root may write everywhere
    monkeypatch.setattr(install, "can_write", lambda folder: folder != site)
    assert install.place(python) == own
    write(tmp_path, python)
    assert (own / HOOK_START).is_file()
    monkeypatch.setattr(install, "can_write", lambda folder: False)
    with pytest.raises(UserError, match="nothing can be written"):
        install.place(python)


def test_what_a_hook_kept_is_dropped_and_nothing_else(site: Path) -> None:
    kept = ("_tritonwin_hook.cpython-312.pyc", "_tritonwin_hook.knobs.cpython-312.bin")
    plant(site, *(f"__pycache__/{name}" for name in (*kept, "six.cpython-312.pyc")))
    install.drop_kept(site)
    assert [path.name for path in (site / "__pycache__").iterdir()] == ["six.cpython-312.pyc"]
    install.drop_kept(site / "absent")
