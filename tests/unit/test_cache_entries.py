"""Cache entries: what each was built for, whether it is stale and why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import healthy
import pytest
from hosts import fake_host
from installed import target
from pe_files import pe_file
from trees import plant, write

from tritonwin.facts.caches import CacheEntry, read_caches, read_entries
from tritonwin.facts.dlls.loading import DllSearch
from tritonwin.facts.records import Gpu
from tritonwin.problems.cache_state import JudgedEntry, judge

SEARCH = DllSearch(frozenset({"python312.dll", "python311.dll", "nvcuda.dll"}))
FACTS = healthy.changed()
TRITON = FACTS.triton.version if FACTS.triton else ""


def metadata(version: str = TRITON or "", arch: Any = 89, **more: Any) -> str:
    kernel_target = {"backend": "cuda", "arch": arch, "warp_size": 32}
    return json.dumps({"target": kernel_target, "triton_version": version, "name": "add", **more})


@pytest.mark.parametrize(("arch", "state"), [("gfx1100", "usable"), ("gfx1030", "foreign")])
def test_a_kernel_for_another_chip_of_amd(tmp_path: Path, arch: str, state: str) -> None:
    target = {"backend": "hip", "arch": arch, "warp_size": 32}
    told = json.dumps({"target": target, "triton_version": "3.7.1", "name": "add"})
    write(tmp_path / "c" / "HASH", {"add.json": told, "add.hsaco": b"\x7fELF"})
    (entry,) = entries(tmp_path)
    found = judge(entry, healthy.radeon("gfx1100"))
    assert (found.state, found.reason) == (state, "the card here is gfx1100" * (state == "foreign"))


def entries(tmp_path: Path) -> tuple[CacheEntry, ...]:
    variables = {
        "TRITON_CACHE_DIR": str(tmp_path / "c"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "i")
    }  # fmt: skip
    python = target()
    caches = read_caches(python, fake_host(tmp_path, variables), SEARCH)
    return read_entries(caches, python, SEARCH)


def judged(tmp_path: Path, files: dict[str, str | bytes]) -> JudgedEntry:
    write(tmp_path / "c" / "HASH", files)
    (entry,) = entries(tmp_path)
    return judge(entry, FACTS)


CUBIN = {"add.cubin": b"\x7fELF", "__grp__add.json": "{}"}


@pytest.mark.parametrize(
    ("files", "kind", "state", "built_for", "reason"),
    [
        ({"add.json": metadata(), **CUBIN}, "kernel", "usable", f"cuda:89, Triton {TRITON}", ""),
        (
            {"add.json": metadata("2.1.0"), **CUBIN},
            "kernel", "foreign", "cuda:89, Triton 2.1.0",
            f"this Python has Triton {TRITON}, which compiles again",
        ),
        (
            {"add.json": metadata(arch=75), **CUBIN},
            "kernel", "foreign", f"cuda:75, Triton {TRITON}", "the GPU here is of 89",
        ),
        ({"add.json": "{", **CUBIN}, "kernel", "stale", "not known", "add.json cannot be read"),
        (
            {"add.json": metadata(), "add.cubin": b""},
            "kernel", "stale", f"cuda:89, Triton {TRITON}", "add.cubin is empty",
        ),
        (
            {"cuda_utils.cp312-win_amd64.pyd": pe_file("python312.dll")},
            "helper", "usable", "python312.dll", "",
        ),
        (
            {"cuda_utils.cp311-win_amd64.pyd": pe_file("python311.dll")},
            "helper", "foreign", "python311.dll",
            "this Python does not load modules of that name",
        ),
        (
            {"cuda_utils.pyd": pe_file("python311.dll")},
            "helper", "stale", "python311.dll",
            "it was built for python311.dll, this Python has python312.dll",
        ),
        ({"cuda_utils.pyd": b"MZ"}, "helper", "stale", "any Python", "it is damaged"),
        (
            {"cuda_utils.pyd": pe_file("gone.dll")},
            "helper", "stale", "any Python", "it needs gone.dll, which was found nowhere",
        ),
        ({"notes.txt": "mine"}, "other", "usable", "not known", ""),
        ({"add.source": ""}, "other", "usable", "not known", ""),
    ],
)  # fmt: skip
def test_an_entry(
    tmp_path: Path,
    files: dict[str, str | bytes],
    kind: str,
    state: str,
    built_for: str,
    reason: str,
) -> None:
    found = judged(tmp_path, files)
    assert (found.entry.kind, found.state) == (kind, state)
    assert (found.built_for, found.reason) == (built_for, reason)
    assert found.entry.size_bytes == sum(len(content) for content in files.values())


@pytest.mark.parametrize(("age", "state"), [(60, "usable"), (7200, "stale")])
def test_an_unfinished_entry_is_stale_when_nobody_can_be_writing_it(
    tmp_path: Path, age: int, state: str
) -> None:
    file = write(tmp_path / "c", {"HASH/tmp.pid_1_ab/add.cubin": b"1"}) / "HASH"
    for path in (file, *file.rglob("*")):
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    (entry,) = entries(tmp_path)
    assert (entry.kind, judge(entry, FACTS).state) == ("unfinished", state)


def test_gpus_that_are_not_known_condemn_nothing(tmp_path: Path) -> None:
    write(tmp_path / "c/HASH", {"add.json": metadata(arch=75), **CUBIN})
    (entry,) = entries(tmp_path)
    unknown = Gpu(index=0, vendor="nvidia", name="?", source="registry")
    assert judge(entry, healthy.changed(gpus=(unknown,))).state == "usable"
    assert judge(entry, healthy.changed(gpus=())).state == "usable"


def test_kernels_of_torch_compile_are_found(tmp_path: Path) -> None:
    write(tmp_path / "i", {"triton/0/HASH/k.json": metadata(), "triton/0/HASH/k.cubin": b"1"})
    plant(tmp_path / "i", "ab/code.py", "fxgraph/x/y")
    (entry,) = entries(tmp_path)
    assert (entry.cache, entry.kind, entry.name) == ("inductor", "kernel", "k")


def test_files_and_links_in_the_cache_are_no_entries(tmp_path: Path) -> None:
    plant(tmp_path / "c", "a-file")
    assert entries(tmp_path) == ()
