"""Wheels that are not what their names or lists say: refused after less than a megabyte."""

from __future__ import annotations

import random
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fat_binaries import container, entry
from healthy import HEALTHY
from list_server import ListServer, Reply
from packaging.requirements import Requirement
from pe_files import pe_file
from wheel_files import make_wheel, sha256

from tritonwin.remedies.target_pip import check_modules
from tritonwin.support import wheel_files
from tritonwin.support.addresses import DownloadError
from tritonwin.support.chooser import SetChooser
from tritonwin.support.lists import ListTable, Place
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.support.wheel_files import WheelRefusedError, obtain

# The healthy machine: Python 3.12, torch 2.9.1 for CUDA 12.8, compute capability 8.9.
FA = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
INFO = "flash_attn-2.8.3+cu128torch2.9.dist-info"
SM_89, SM_75 = entry(2, 89, 0x11), entry(2, 75, 0x11)
NOISE = random.Random(1).randbytes(1_200_000)


def module(*dlls: str, machine: int = 0x8664, code: bytes = SM_89) -> bytes:
    needed = dlls or ("python312.dll", "cudart64_12.dll", "c10.dll")
    return pe_file(*needed, machine=machine) + container(code)


def wheel(folder: Path, **changes: Any) -> Path:
    """A wheel for this machine, but for these changes."""
    pyd = changes.pop("pyd", "flash_attn_2_cuda.cp312-win_amd64.pyd")
    more = {pyd: changes.pop("content", module()), "flash_attn/noise.bin": NOISE}
    return make_wheel(folder, FA, changes.pop("requires", ["torch==2.9.1", "einops"]), more=more)


def members(path: Path, change: Callable[[dict[str, bytes]], None], way: int = 8) -> None:
    """Write a wheel's file again, its members changed."""
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()}
    change(content)
    with zipfile.ZipFile(path, "w", way) as new:
        for name, data in content.items():
            new.writestr(name, data)


def metadata(text: bytes) -> Callable[[Path], None]:
    return lambda path: members(path, lambda files: files.update({f"{INFO}/METADATA": text}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 2**20])


NAME = b"Metadata-Version: 2.1\nName: flash_attn\nVersion: 2.8.3\n"
# What is wrong inside, how it is made, and the reason.
INSIDE: list[tuple[str, dict[str, Any], Callable[[Path], None] | None, str]] = [
    ("another torch", {"requires": ["torch==2.8.0"]}, None, "needs torch ==2.8.0"),
    ("CUDA 13's runtime", {"content": module("cudart64_13.dll")}, None, "needs cudart64_13.dll"),
    ("CUDA 11's cuBLAS", {"content": module("cublas64_11.dll")}, None, "needs cublas64_11.dll"),
    ("no code for this GPU", {"content": module(code=SM_75)}, None, "no code for sm_89: it holds 7.5"),
    ("another Python's DLL", {"content": module("python311.dll")}, None, "needs python311.dll"),
    ("another Python's module", {"pyd": "flash_attn_2_cuda.cp311-win_amd64.pyd"}, None, "made for Python 3.11"),
    ("another machine", {"content": module(machine=0xAA64)}, None, "is made for ARM64"),
    ("another package", {}, metadata(NAME.replace(b"flash_attn", b"evil")), "calls it evil"),
    ("another version", {}, metadata(NAME.replace(b"2.8.3", b"2.7.0")), "says version 2.7.0"),
    ("no metadata", {}, lambda p: members(p, lambda f: [f.pop(n) for n in list(f) if INFO in n] and None), "0 folders of metadata"),
    ("two packages", {}, lambda p: members(p, lambda f: f.update({"b-1.dist-info/METADATA": b""})), "2 folders"),
    ("endless metadata", {}, metadata(NAME + bytes(5_000_000)), "METADATA is too large"),
    ("a bomb", {}, lambda p: members(p, lambda f: f.update({"z": bytes(300_000_000)})), "would unpack to more"),
    ("half a package", {}, lambda p: members(p, lambda f: f.pop("flash_attn_2_cuda.cp312-win_amd64.pyd") and None), "RECORD lists flash_attn_2_cuda"),
    ("packed in a way that has no bounds", {}, lambda p: members(p, lambda _: None, zipfile.ZIP_BZIP2), "no package uses"),
    ("cut off", {}, cut, "damaged"),
    *((f"a name like {n}", {}, lambda p, n=n: members(p, lambda f: f.update({n: b""})), "no name for a file on Windows")
      for n in ("x.data/data/python.exe.", "x.data/data/python.exe ", "a/b.py::$DATA", "x.data/data/PYTHON~1.DLL", "a\\b.py", "a/b?.py", "a./b.py", "a/\x01", "//host/share/x.py")),
    *((f"a launcher called {n}", {}, lambda p, n=n: members(p, lambda f: f.update({f"{INFO}/entry_points.txt": f"[console_scripts]\n{n} = a:b\n".encode()})), "no name for a file on Windows")
      for n in ("../../x", "\\\\host\\share\\x", "python.", "a?b")),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_fetched_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_files, "_fetched", {})


def choice(address: str) -> WheelChoice:
    place = Place(name="me", form="github-releases", address=address, packages=("flash-attn",))
    sources = Sources(public=ListTable(places=(place,)))
    (found,) = SetChooser(facts=HEALTHY, sources=sources).choose([Requirement("flash-attn")]).chosen
    return found.choice


@pytest.mark.parametrize(("changes", "then", "says"), [r[1:] for r in INSIDE], ids=[r[0] for r in INSIDE])  # fmt: skip
def test_a_lie_inside(
    server: ListServer,
    tmp_path: Path,
    changes: dict[str, Any],
    then: Callable[[Path], None] | None,
    says: str,
) -> None:
    file = wheel(tmp_path, **changes)
    if then:
        then(file)
    found = choice(server.releases("me/flash", [server.asset(file)]))
    sent = server.sent[f"/files/{FA}"]
    print(f"{sent:,} of {file.stat().st_size:,} bytes were read")
    assert found.file is None
    assert says in " ".join(found.in_short())
    assert sent < 1_000_000


def test_an_honest_wheel_is_taken(server: ListServer, tmp_path: Path) -> None:
    file = wheel(tmp_path)
    assert choice(server.releases("me/flash", [server.asset(file)])).file == FA
    assert 0 < server.sent[f"/files/{FA}"] < 1_000_000
    assert obtain(f"{server.address}/files/{FA}", sha256(file)).name == FA


OUTSIDE = [
    ("a dead address", Reply(status=404), {}, "nothing is at"),
    ("a page", Reply(b"<html>Log in</html>" * 9000), {}, "damaged"),
    ("on to http", Reply(status=302, headers={"Location": "http://example.org/x.whl"}), {}, "not https"),
    ("on to a file", Reply(status=302, headers={"Location": "file:///etc/passwd"}), {}, "HTTP 302"),
    ("another size", None, {"size": 7}, "its list says 7"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "said", "says"), [r[1:] for r in OUTSIDE], ids=[r[0] for r in OUTSIDE])  # fmt: skip
def test_a_lie_of_the_place(
    server: ListServer, tmp_path: Path, reply: Reply | None, said: dict[str, Any], says: str
) -> None:
    asset = {**server.asset(wheel(tmp_path)), "size": None, **said}
    if reply:
        server.replies[f"/files/{FA}"] = reply
    found = choice(server.releases("me/flash", [asset]))
    assert (found.file, says in " ".join(found.in_short())) == (None, True)
    assert server.sent[f"/files/{FA}"] < 1_000_000


def test_a_lie_that_shows_when_it_is_fetched(server: ListServer, tmp_path: Path) -> None:
    """Another hash; and where the server sends whole files alone, everything else."""
    address = server.wheel(wheel(tmp_path))
    with pytest.raises(DownloadError, match="has the hash"):
        obtain(address, "0" * 64)
    file = wheel(tmp_path, requires=["torch==2.8.0"])
    metadata(NAME.replace(b"flash_attn", b"evil"))(file)
    server.ranges = False
    found = choice(server.releases("me/flash", [server.asset(file)]))
    assert found.file == FA
    with pytest.raises(WheelRefusedError, match="calls it evil"):
        obtain(address, sha256(file))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (module(), None),
        (module("cudart64_13.dll"), "needs cudart64_13.dll"),
        (module(code=SM_75), "no code for sm_89"),
        (module(machine=0xAA64), "made for ARM64"),
    ],
)
def test_modules_that_were_laid_out(tmp_path: Path, content: bytes, says: str | None) -> None:
    """The last look, at whole modules, before anything of the target is moved."""
    (tmp_path / "Lib" / INFO).mkdir(parents=True)
    (tmp_path / "Lib" / INFO / "RECORD").write_text("flash_attn_2_cuda.pyd,,\n")
    (tmp_path / "Lib" / "flash_attn_2_cuda.pyd").write_bytes(content)
    target = replace(HEALTHY.target, writable=True) if HEALTHY.target else None
    assert target is not None
    if says is None:
        check_modules(tmp_path, target, cuda="12.8", gpus=("8.9",))
        return
    with pytest.raises(WheelRefusedError, match=says):
        check_modules(tmp_path, target, cuda="12.8", gpus=("8.9",))


def test_a_broken_download_is_taken_up(server: ListServer, tmp_path: Path) -> None:
    file = wheel(tmp_path)
    address = server.wheel(file)
    server.replies[f"/files/{FA}"].cut = 2**20
    seen: list[int] = []
    assert obtain(address, sha256(file), seen.append).read_bytes() == file.read_bytes()
    assert [status for _, status in server.asked] == [200, 206]
    assert seen == sorted(seen)
    assert server.sent[f"/files/{FA}"] == file.stat().st_size


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_a_disk_that_takes_no_more(server: ListServer, tmp_path: Path) -> None:
    """In the middle of a download: nothing stays, and the next attempt works."""
    import resource

    file = wheel(tmp_path)
    address = server.wheel(file)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            obtain(address, sha256(file))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    path = obtain(address, sha256(file))
    assert [p.name for p in path.parent.iterdir()] == [FA]
    assert wheel_files._fetched == {(address, sha256(file)): path}
