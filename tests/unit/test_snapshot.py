from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from healthy import HEALTHY

from tritonwin.errors import UserError
from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts, Gpu, Variable
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.facts.snapshot import Snapshot, SnapshotError
from tritonwin.system.codec import to_json

# what redaction leaves as it is
PLAIN = snapshot.redacted(HEALTHY, Redactor(Identity()))
JOERG = Identity(
    users=("Jörg W",), homes=(r"C:\Users\Jörg W",), hosts=("windows", "BOX-1"), domains=("CORP",)
)
PRIVATE: Facts = replace(
    PLAIN,
    system=replace(PLAIN.system, temp=r"C:\Users\JRGW~1\AppData\Local\Temp"),
    gpus=(Gpu(index=0, vendor="nvidia", name="RTX", source="NVML"),),
    variables=(
        Variable(name="CC", value=r" C:\Users\Jörg W\cl.exe ", scope="process"),
        Variable(name="HF_TOKEN", value="it is 'secret'", scope="user"),
        Variable(name="CUDA_PATH", value=r"\\BOX-1\CUDA", scope="machine"),
        Variable(
            name="CUDA_VISIBLE_DEVICES",
            value="GPU-12345678-9abc-def0-1234-56789abcdef0",
            scope="process",
        ),
    ),
)


def test_what_is_private_is_gone_and_the_rest_is_there(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    snapshot.write(PRIVATE, file, JOERG)
    text = file.read_bytes().decode()
    tree = json.loads(text)
    assert text == json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert tree["schema"] == "tritonwin.snapshot/1"
    assert [f.name for f in tmp_path.iterdir()] == ["s.json"]
    for leak in ("Jörg", "JRG", "12345678", "secret", "BOX"):
        assert leak not in text
    found = snapshot.read(file)
    assert [v.value for v in found.variables] == [
        r" C:\Users\<üser 1>\cl.exe ",
        "<token>",
        r"\\<host-2>\CUDA",
        "GPU-<uuid>",
    ]
    assert found.system.os == "windows"  # though the computer is called so
    assert found.target == PLAIN.target


@pytest.mark.parametrize(
    ("before", "replaced"),
    [
        (None, True),
        ("", True),
        ('{"schema": "tritonwin.snapshot/1", "facts": "of no use"}', True),
        ('{"schema": "tritonwin.snapshot/7"}', True),
        ('{"schema": "tritonwin.doctor/1"}', False),
        ("my thesis", False),
        ('{"schema": "tritonwin.snapshot/1"', True),
    ],
)
def test_only_a_snapshot_is_overwritten(tmp_path: Path, before: str | None, replaced: bool) -> None:
    file = tmp_path / "s.json"
    if before is not None:
        file.write_text(before)
    if replaced:
        snapshot.write(PLAIN, file, Identity())
        assert snapshot.read(file) == PLAIN
    else:
        with pytest.raises(UserError, match="was not written by this command") as caught:
            snapshot.write(PLAIN, file, Identity())
        assert "another name" in caught.value.help
        assert file.read_text() == before


@pytest.mark.parametrize(
    ("place", "message"), [(".", "is one itself"), ("absent/s.json", "no such folder")]
)
def test_places_that_cannot_be_written(tmp_path: Path, place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        snapshot.write(PLAIN, tmp_path / place, Identity())


def _text(change: Callable[[dict[str, Any]], object] = lambda tree: None) -> str:
    tree: Any = to_json(Snapshot(facts=PLAIN))
    change(tree)
    return json.dumps(tree)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_windows_writes(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(_text().replace("\n", "\r\n").encode(encoding))
    assert snapshot.read(file) == PLAIN


def test_fields_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(
        _text(
            lambda tree: tree["facts"].update(later=[1], system=tree["facts"]["system"] | {"x": {}})
        )
    )
    assert snapshot.read(file) == PLAIN


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "Expecting value"),
    "cut short": (_text().encode()[:-50], "column"),
    "prose": (b"hello", "line 1 column 1"),
    "zeros": (bytes(1000), "Expecting value"),
    "a list": (b"[]", "snapshot: expected"),
    "schema of another kind": (b'{"schema": 1}', "snapshot.schema: expected"),
    "a report": (b'{"schema": "tritonwin.doctor/1"}', "snapshot.schema: expected"),
    "newer file": (b'{"schema": "tritonwin.snapshot/2"}', "snapshot.schema: expected"),
    "newer facts": (
        _text(lambda tree: tree["facts"].update(schema="tritonwin.facts/2")).encode(),
        "facts.schema: expected",
    ),
    "no facts": (b'{"schema": "tritonwin.snapshot/1"}', "snapshot.facts: missing"),
    "wrong type": (
        _text(lambda tree: tree["facts"]["system"].update(os=3)).encode(),
        "snapshot.facts.system.os: expected one of",
    ),
    "not a number": (b"9" * 5000, "is no snapshot"),
    "latin-1": ('{"schema": "ü"}'.encode("latin-1"), "can't decode"),
    "half of utf-16": (b"\xff\xfea", "can't decode"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    file = tmp_path / "s.json"
    data, message = BAD[name]
    file.write_bytes(data)
    with pytest.raises(SnapshotError, match=message) as caught:
        snapshot.read(file)
    assert str(file) in str(caught.value)
    assert caught.value.help
    assert isinstance(caught.value, UserError)


def test_a_gigabyte_of_zeros_is_refused_without_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.json"
    with file.open("wb") as handle:
        handle.truncate(2**30)

    def read(self: Path, mode: str = "r") -> None:
        pytest.fail("it was opened")

    monkeypatch.setattr(Path, "open", read)
    with pytest.raises(SnapshotError, match="of at most 32 MiB"):
        snapshot.read(file)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "no ordinary file"),
        ("pipe", "no ordinary file" if hasattr(os, "mkfifo") else "does not exist"),
        ("a\0b", "does not exist"),
        ("absent.json", "does not exist"),
    ],
)
def test_places_that_cannot_be_read(tmp_path: Path, place: str, message: str) -> None:
    if hasattr(os, "mkfifo"):  # which is not waited for
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SnapshotError, match=message):
        snapshot.read(tmp_path / place)
