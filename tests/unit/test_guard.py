"""The guard: what it writes into others' files, and that they come back with others' edits."""

from __future__ import annotations

import json
from configparser import RawConfigParser
from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from trees import tree_hash

from tritonwin.errors import UserError
from tritonwin.facts.history import proven_state
from tritonwin.facts.records import Facts
from tritonwin.journal import Store, undo
from tritonwin.remedies import guard
from tritonwin.remedies.keep_set import CONSTRAINTS
from tritonwin.system import toml

SETTINGS = {
    "none": None,
    "empty": b"",
    "other section": b"[global]\nindex-url = https://example.org/simple\n",
    "no newline": b"[global]\ntimeout = 5",
    "install": b"[global]\nproxy = x\n[install]\r\nno-cache-dir = true\r\n\r\n[list]\r\nformat=json\r\n",
    "foreign": "# Größe 用户\n[install]\nfind-links = C:\\r%20x\n".encode(),
    "other constraints": b"# no constraint here\n[install]\nbuild-constraint = a.txt\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home" / "journal")


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    """A proven embedded Python of ComfyUI portable, with ComfyUI-Manager of both ages."""
    prefix = tmp_path / "portable app" / "python_embeded"
    prefix.mkdir(parents=True)
    target = replace(healthy.TARGET, prefix=str(prefix), executable=str(prefix / "python.exe"))
    for folder in ("__manager", "default/ComfyUI-Manager"):
        (prefix.parent / "ComfyUI" / "user" / folder).mkdir(parents=True)
    facts = healthy.changed(target=target)
    return replace(facts, proven=proven_state(facts))


def settings(facts: Facts) -> Path:
    assert facts.target
    return Path(facts.target.prefix or "", "pip.ini")


def effective(file: Path) -> list[str]:
    """The constraints as pip reads them: the section of the command replaces the global one."""
    parser = RawConfigParser()
    parser.read_string(file.read_text("utf-8"))
    return parser.get("install", "constraint", fallback="").split()


@pytest.mark.parametrize("name", list(SETTINGS))
def test_it_joins_the_settings_and_leaves_them_as_they_were(
    facts: Facts, store: Store, name: str
) -> None:
    file, content = settings(facts), SETTINGS[name]
    if content is not None:
        file.write_bytes(content)
    before = tree_hash(file.parent.parent)
    done = guard.switch_on(facts, store)
    url = (file.parent / CONSTRAINTS).as_uri()
    assert (done.status, " " in url, done.uv) == ("switched-on", False, url)
    assert effective(file) == [url]
    assert guard.switch_on(facts, store).status == "unchanged"
    assert guard.switch_off(facts, store).status == "switched-off"
    assert tree_hash(file.parent.parent) == before
    again = guard.switch_off(facts, store)
    assert (again.status, again.uv) == ("unchanged", None)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_edits_of_others_stay(facts: Facts, store: Store, name: str) -> None:
    file, content = settings(facts), SETTINGS[name]
    if content is not None:
        file.write_bytes(content)
    guard.switch_on(facts, store)
    file.write_bytes(file.read_bytes() + b"\n[freeze]\nall = true\n")
    guard.switch_off(facts, store)
    text = file.read_bytes()
    assert b"all = true" in text
    assert b"tritonwin" not in text
    assert {*(content or b"").split()} <= {*text.split()}
    assert effective(file) == []
    assert not (file.parent / CONSTRAINTS).exists()


def test_undo_takes_it_away_as_well(facts: Facts, store: Store) -> None:
    root = settings(facts).parent.parent
    before = tree_hash(root)
    guard.switch_on(facts, store)
    (journal,) = store.journals()
    assert undo(store, journal.id).state == "undone"
    assert tree_hash(root) == before
    assert guard.status(facts).status == "off"


def test_the_manager_is_told_both_spellings(facts: Facts, store: Store) -> None:
    list_ = settings(facts).parent.parent / "ComfyUI/user/__manager/pip_blacklist.list"
    list_.write_text("numpy\n")
    guard.switch_on(facts, store)
    lines = list_.read_text().splitlines()
    assert {"numpy", "torch", "triton-windows", "triton_windows", "triton"} <= {*lines}
    list_.write_text(list_.read_text() + "scipy\n")
    guard.switch_off(facts, store)
    assert list_.read_text() == "numpy\nscipy\n"
    assert not list_.parent.with_name("default").joinpath(f"ComfyUI-Manager/{list_.name}").exists()


@pytest.mark.parametrize("lost", [0, -1], ids=["first line", "last line"])
def test_a_block_without_its_ends_is_left_and_named(facts: Facts, store: Store, lost: int) -> None:
    base = settings(facts).parent.parent
    list_ = base / "ComfyUI/user/__manager/pip_blacklist.list"
    guard.switch_on(facts, store)
    lines = list_.read_text().splitlines(keepends=True)
    del lines[lost]
    list_.write_text("".join(lines))
    before = tree_hash(base)
    with pytest.raises(UserError, match=r"guard's lines in .*pip_blacklist\.list"):
        guard.switch_off(facts, store)
    assert tree_hash(base) == before


def test_a_new_set_takes_the_place_of_the_old(facts: Facts, store: Store) -> None:
    root = settings(facts).parent.parent
    before = tree_hash(root)
    guard.switch_on(facts, store)
    newer = replace(
        facts,
        distributions=tuple(
            replace(d, version="2.10.0+cu130") if d.name == "torch" else d
            for d in facts.distributions
        ),
    )
    assert guard.status(newer).drifted == {"torch": "2.10.0+cu130"}
    with pytest.raises(UserError, match="no longer as it was proven"):
        guard.switch_on(newer, store)
    newer = replace(newer, proven=proven_state(newer))
    assert guard.switch_on(newer, store).kept["torch"] == "2.10.0+cu130"
    guard.switch_off(newer, store)
    assert tree_hash(root) == before


def test_a_part_that_is_gone_is_named(facts: Facts, store: Store) -> None:
    guard.switch_on(facts, store)
    settings(facts).unlink()
    stands = guard.status(facts)
    assert (stands.status, stands.missing) == ("on", (str(settings(facts)),))
    assert guard.switch_on(facts, store).changed == (str(settings(facts)),)
    assert guard.status(facts).missing == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proven": None}, "was not proven yet"),
        ({"target": replace(healthy.TARGET, prefix=None)}, "settings is not known"),
    ],
)
def test_it_refuses(facts: Facts, store: Store, change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        guard.switch_on(replace(facts, **change), store)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["  [install]\nno-index = true\n", "no-index = x\n"],
)
def test_settings_are_left_where_pip_would_read_something_else(
    facts: Facts, store: Store, text: str
) -> None:
    file = settings(facts)
    file.write_bytes(text.encode())
    with pytest.raises(UserError, match="cannot edit"):
        guard.switch_on(facts, store)
    assert (file.read_bytes(), store.journals()) == (text.encode(), ())


@pytest.mark.parametrize(
    "text",
    [
        "[install]\nno-deps = false\n  Constraint: a.txt\n    b.txt\n",
        "[DEFAULT]\nconstraint = a.txt\n[install]\nno-index = true\n",
        "[install]\rconstraint = a.txt\r",
        "\ufeff[install]\nno-index = true\n",
    ],
)
def test_settings_of_pip_with_constraints_are_left_and_named(
    facts: Facts, store: Store, text: str
) -> None:
    file = settings(facts)
    file.write_bytes(text.encode())
    assert guard.switch_on(facts, store).left == (str(file),)
    assert (file.read_bytes(), guard.status(facts).missing) == (text.encode(), ())


UV = 'constraint-dependencies = ["numpy<2"]\n'
# the file uv.toml of ComfyUI's folder, another file there; whether the guard writes into uv.toml
SETTINGS_OF_UV: dict[str, tuple[bytes | None, str, str, bool]] = {
    "none": (None, "pyproject.toml", "[project]\nname = 'ComfyUI'\n", True),
    "others": (b"no-cache = true\r\n[pip]\r\nno-deps = false", "", "", True),
    "a constraint": (UV.encode(), "", "", False),
    "a mark": (b"\xef\xbb\xbfno-cache = true\n", "", "", False),
    "a project": (None, "pyproject.toml", "[tool.uv.sources]\n", False),
    "a lock": (None, "uv.lock", "version = 1\n", False),
}


@pytest.mark.parametrize("name", SETTINGS_OF_UV)
def test_uv_is_told_in_the_folder_of_comfyui(facts: Facts, store: Store, name: str) -> None:
    own, other, text, written = SETTINGS_OF_UV[name]
    base = settings(facts).parent.parent / "ComfyUI"
    (base / "custom_nodes").mkdir()
    file = base / "uv.toml"
    if own is not None:
        file.write_bytes(own)
    if other:
        (base / other).write_text(text)
    before = tree_hash(base)
    guard.switch_on(facts, store)
    if written:
        told = toml.loads(file.read_text("utf-8"))
        found = {each.partition("!")[0]: each for each in told.pop("constraint-dependencies")}
        assert found["torch"].endswith(",==2.9.1+cu128")
        assert told == toml.loads((own or b"").decode())
    else:
        assert (file.read_bytes() if file.exists() else None) == own
        assert guard.status(facts).left == ((str(file),) if own else ())
    guard.switch_off(facts, store)
    assert tree_hash(base) == before


def test_conda_keeps_its_own_and_brings_nothing_in_the_place_of_pips(
    facts: Facts, store: Store
) -> None:
    """torch was installed by conda, whose package is pytorch; Triton by pip."""
    meta = settings(facts).parent / "conda-meta"
    meta.mkdir()
    files = ["Lib/site-packages/torch-2.9.1.dist-info/RECORD"]
    record = {"name": "pytorch", "version": "2.9.1", "files": files}
    (meta / "pytorch-2.9.1-0.json").write_text(json.dumps(record))
    pinned = meta / "pinned"
    pinned.write_text("numpy <2")
    place = str(meta.parent.joinpath(*files[0].split("/")).parent)
    by_conda = tuple(
        replace(d, installer="conda", location=place) if d.name == "torch" else d
        for d in facts.distributions
    )
    facts = replace(facts, distributions=by_conda)
    guard.switch_on(facts, store)
    lines = [line for line in pinned.read_text().splitlines() if line[:1] != "#"]
    assert lines[0] == "pytorch ==2.9.1"
    assert lines[1].startswith("triton-windows ==0+")
    assert lines[-1] == "numpy <2"
    guard.switch_off(facts, store)
    assert pinned.read_text() == "numpy <2"
