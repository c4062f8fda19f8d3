"""Readers of foreign files, as functions of bytes that raise on a real defect only.

Each target takes any bytes, lets the reader refuse them in the one way that it documents, and holds
what it made of them to what its callers rely on. `test_fuzz.py` and `tools/fuzz.py` run them.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from source_edits import edited_facts, edited_source

from tritonwin.build import runner
from tritonwin.facts import snapshot
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.dlls.tree import Walk, faults
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import TOKEN, Redactor
from tritonwin.output import documents
from tritonwin.output.text import printable
from tritonwin.patch import engine
from tritonwin.patch.rules import FILES, RULES
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_stream
from tritonwin.problems.explain.log_facts import MAX_QUOTE, SOURCE
from tritonwin.support import addresses, archives, links, wheel_files, wheels
from tritonwin.system.codec import DecodeError, from_json, to_json

SEEDS = Path(__file__).with_name("seeds")
Target = Callable[[bytes], None]
_FILES = (
    *("python312.dll", "fuzzed.dll", "facts.json", "a-1-py3-none-any.whl"),
    *("fuzzed.zip", "fuzzed.tar.gz", ".ninja_log"),
)


def log(data: bytes) -> None:
    """`explain` on bytes of any encoding."""
    explanation = explain_stream(io.BytesIO(data))
    for problem in explanation.problems:
        for evidence in problem.evidence:
            assert len(evidence.text) <= MAX_QUOTE + 5
            line = evidence.where.removeprefix("line ")  # or what several lines say
            others = {SOURCE, "table of pairs", "table of releases"}
            assert evidence.where in others or 1 <= int(line) <= explanation.lines
    json.dumps(to_json(documents.explain_report(explanation, None, None)))


def pe(data: bytes) -> None:
    """DLLs: headers, tables, the tree of what would load; no file takes long."""
    path = _file("fuzzed.dll", data)
    start = time.process_time()
    read_pe(path, version=True, functions=True)
    tree = Walk({path.parent: "file"}).tree(path, "dll")
    assert tree.modules[0].state == "found" or faults(tree)
    assert time.process_time() - start < 5


def snapshots(data: bytes) -> None:
    """Snapshot files, and doctor on what they say."""
    try:
        facts = snapshot.read(_file("facts.json", data))
    except snapshot.SnapshotError:
        return
    _examined(facts)


def facts(data: bytes) -> None:
    """Doctor on facts in which anything stands anywhere."""
    try:
        read = from_json(Facts, edited_facts(data))
    except DecodeError:
        return
    _examined(read)


def _examined(read: Facts) -> None:
    diagnosis = diagnose(read, CHECKS)
    assert [c for c in diagnosis.checks if c.state == "crashed"] == []
    json.dumps(to_json(diagnosis))


def wheel_name(data: bytes) -> None:
    """File names and addresses of wheels."""
    text = _text(data)
    try:
        name = wheels.read(text)
    except wheels.WheelNameError:
        return
    assert name.file.endswith(".whl")
    assert name.tags


def index(data: bytes) -> None:
    """Index pages, JSON lists, lists of addresses."""
    for base in ("https://index.example/simple/x/", ""):
        for link in links.read_list(_text(data), base, "list"):
            addresses.is_trusted(link.location)
            with contextlib.suppress(ValueError):
                shown = addresses.without_secrets(link.location)
                host = urlsplit(shown).netloc.replace(f"{TOKEN}@", "").lstrip("@")
                assert "@" not in host
            if not link.local:
                try:
                    _ = link.built_for
                except wheels.WheelNameError:
                    continue


def wheel(data: bytes) -> None:
    """The metadata of a wheel on disk."""
    path = _file("a-1-py3-none-any.whl", data)
    wheel_files.content_of(path)


def unpacked(data: bytes) -> None:
    """Zip and tar files, unpacked into a folder that nothing may leave."""
    place = _folder() / "inside" / "to"
    place.mkdir(parents=True, exist_ok=True)
    packed = _file("fuzzed.zip", data)
    with contextlib.suppress(archives.ArchiveError):
        archives.unpack_folder(packed, "a", place)
    tar = _file("fuzzed.tar.gz", data)
    with contextlib.suppress(archives.ArchiveError):
        archives.unpack(tar, lambda parts: place.joinpath(*parts[1:]) if parts[1:] else None)
    assert os.listdir(place.parent) == ["to"]
    assert {"app", "inside", *_FILES}.issuperset(os.listdir(_folder()))
    if os.listdir(place):
        shutil.rmtree(place)


def patch_text(data: bytes) -> None:
    """The patch on any text."""
    file = FILES[data[0] % len(FILES)] if data else FILES[0]
    _patched(file, data[1:].decode("utf-8", "replace").replace("\r", "\n"))


def patch_edits(data: bytes) -> None:
    """The patch on edited modules of released Tritons, without what no rule looks at."""
    _patched(*edited_source(data))


def _patched(file: str, text: str) -> None:
    outcome = engine.transform(file, text, RULES, "upstream")
    if not outcome.applied:
        assert outcome.text == text
        return
    again = engine.transform(file, outcome.text, RULES, "upstream")
    assert again.text == outcome.text


def ninja_log(data: bytes) -> None:
    """The output and the log of ninja, and object files."""
    text = data.decode("utf-8", "replace")
    outputs = runner.finished(_file(".ninja_log", data).parent)
    assert len({*outputs}) == len(outputs)
    counter = runner.Counter()
    for line in text.splitlines():
        counter.feed(line)
    assert counter.done >= 0


def terminal(data: bytes) -> None:
    """Foreign text made safe to print: it stays on its line and moves nothing."""
    shown = printable(_text(data))
    assert shown.isprintable() or all(c == " " or c.isprintable() or ord(c) > 0x9F for c in shown)
    assert printable(shown) == shown
    shown.encode("utf-8")


def redaction(data: bytes) -> None:
    """Text that is made to be shown: no token is left, JSON stays JSON, once is enough."""
    token = "hf_" + "Zz9Qq7Xx5Ww3" * 3
    start = (
        data[0] * len(data) // 256 if data else 0
    )  # a few lines; most of the time goes into these
    text = f"{token} {_text(data[start : start + 160])}"
    once = _REDACTOR.text(text)
    assert token not in once
    assert _REDACTOR.text(once) == once
    assert isinstance(json.loads(_REDACTOR.text(json.dumps(text))), str)


_REDACTOR = Redactor(
    Identity(users=("jdoe",), homes=(r"C:\Users\jdoe",), hosts=("gpu-rig",), domains=("CORPNET",))
)
TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(log, pe, snapshots, facts, wheel_name, index, wheel, patch_text, patch_edits, ninja_log),
        *(terminal, unpacked, redaction),
    )
}


def seeds(name: str) -> list[bytes]:
    """The seeds of a target."""
    return [path.read_bytes() for path in sorted((SEEDS / name).iterdir())]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@functools.cache
def _folder() -> Path:
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # each try writes a file
    folder = Path(tempfile.mkdtemp(prefix="tritonwin-fuzz-", dir=memory))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copyfile(SEEDS / "pe" / "python312.dll", folder / "python312.dll")
    (folder / "app").mkdir()
    return folder


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path
