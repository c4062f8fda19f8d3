from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pe_files import pe_file
from pe_version import versioned
from trees import write

from tritonwin.facts.dlls import pe
from tritonwin.facts.dlls.pe import Import, read_tables
from tritonwin.facts.dlls.tree import Walk


def tables(tmp_path: Path, data: bytes):
    path = tmp_path / "a.dll"
    path.write_bytes(data)
    return read_tables(path)


def test_names_numbers_and_delayed_imports(tmp_path: Path) -> None:
    data = pe_file(
        functions={"KERNEL32.dll": ["CreateFileW", 7], "c10.dll": ["??0Error@c10@@QEAA@XZ"]},
        delayed={"ole32.dll": ["CoInitialize"]},
        exports=["PyInit_a", "DllMain"],
        first=5,
    )
    found = tables(tmp_path, data)
    assert found.imports == (
        Import(dll="KERNEL32.dll", functions=("CreateFileW", 7)),
        Import(dll="c10.dll", functions=("??0Error@c10@@QEAA@XZ",)),
        Import(dll="ole32.dll", functions=("CoInitialize",), delayed=True),
    )
    assert found.exports == {"PyInit_a", "DllMain", 5, 6}


def test_more_functions_than_pefile_reads(tmp_path: Path) -> None:
    names = [f"f{n}" for n in range(20_000)]
    found = tables(tmp_path, pe_file(functions={"big.dll": names}, exports=names))
    assert found.imports[0].functions == tuple(names)
    assert {n for n in found.exports if isinstance(n, str)} == set(names)


def test_dlls_that_share_one_long_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4,096 DLLs with one list of a million functions, in a file of 8 MB, would never be read."""
    monkeypatch.setattr(pe, "_MAX_FUNCTIONS", 100)
    assert tables(tmp_path, pe_file(functions={"a.dll": [1] * 60, "b.dll": [1] * 30})) is not None
    assert tables(tmp_path, pe_file(functions={"a.dll": [1] * 60, "b.dll": [1] * 60})) is None


def test_a_file_without_tables(tmp_path: Path) -> None:
    found = tables(tmp_path, pe_file())
    assert found.imports == ()
    assert found.exports == frozenset()


@pytest.mark.parametrize("content", [b"", b"MZ", b"text", bytes(4096)])
def test_bad_files_are_none(tmp_path: Path, content: bytes) -> None:
    assert tables(tmp_path, content) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert read_tables(tmp_path) is None
    assert read_tables(tmp_path / "absent.dll") is None


SEED = versioned(
    pe_file(
        "python312.dll",
        functions={"msvcp140.dll": ["??0_Lockit@std@@QEAA@H@Z", 3]},
        delayed={"ole32.dll": ["CoInitialize"]},
        exports=["PyInit_a", "b"],
    ),
    "14.40.33807.0",
)


@settings(deadline=None)
@given(at=st.integers(0, len(SEED)), junk=st.binary(min_size=1, max_size=64))
def test_damaged_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    data = bytearray(SEED)
    data[at : at + len(junk)] = junk
    path = tmp_path_factory.getbasetemp() / "fuzzed.dll"
    path.write_bytes(bytes(data))
    read_tables(path)


def mutated(rng: random.Random) -> bytes:
    """The seed with bytes changed, mostly in headers and tables, or cut short, or repeated."""
    data = bytearray(SEED)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) or 1)
        at = at if rng.random() < 0.3 else rng.randrange(64, 1000) % (len(data) or 1)
        kind = rng.randrange(4)
        if kind == 0:
            data[at : at + 1] = rng.randbytes(1)
        elif kind == 1:
            value = rng.choice(
                (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(data), 0x1000, 0xFFFF)
            )
            data[at : at + 4] = value.to_bytes(4, "little")
        elif kind == 2:
            data[at : at + rng.randrange(1, 64)] = rng.randbytes(rng.randrange(1, 64))
        else:
            del data[rng.randrange(min(64, len(data)), len(data) + 1) :]
            data += bytes(rng.randrange(64))
    return bytes(data)


def walk_mutations(folder: Path, count: int, seed: int) -> float:
    """The longest walk of one mutated file, in seconds of the processor; what is raised ends it."""
    rng = random.Random(seed)
    longest = 0.0
    path = folder / "mutated.pyd"
    for _ in range(count):
        path.write_bytes(mutated(rng))
        start = time.process_time()
        walk = Walk((), None)
        if walk.tree(path).modules:
            longest = max(longest, time.process_time() - start)
    return longest


def test_mutated_files_neither_crash_nor_hang(tmp_path: Path) -> None:
    write(tmp_path, {"msvcp140.dll": SEED})
    assert walk_mutations(tmp_path, 60, seed=1) < 5


@pytest.mark.full
def test_a_hundred_thousand_mutated_files(tmp_path: Path) -> None:
    write(tmp_path, {"msvcp140.dll": SEED})
    assert walk_mutations(tmp_path, 100_000, seed=int(os.environ.get("FUZZ_SEED", "2"))) < 5
