"""A built wheel: its local version, and its record."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest
from build_plans import plan
from fat_binaries import container, entry

from tritonwin.build import recipe as recipes
from tritonwin.build import runner, wheel
from tritonwin.build.records import (
    BuildInfo,
    BuildRun,
    BuildSource,
    ProofStep,
    WheelProof,
)
from tritonwin.errors import UserError
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.system.codec import from_json, parse

METADATA = "Metadata-Version: 2.1\nName: my_kernels\nVersion: 1.0\n\nVersion: of the description\n"
FILES = {
    "my_kernels.py": b"x = 1\n",
    "my_kernels_cuda.so": b"\x7fELF" * 100,
    "my_kernels-1.0.data/scripts/run": b"#!python\n",
    "my_kernels-1.0.dist-info/METADATA": METADATA.encode(),
    "my_kernels-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n",
    "my_kernels-1.0.dist-info/RECORD": b"my_kernels.py,sha256=x,6\n",
}
NAME = "my_kernels-1.0-cp312-cp312-linux_x86_64.whl"


def a_wheel(folder: Path, name: str = NAME) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as files:
        for member, content in FILES.items():
            entry = zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100755 << 16
            files.writestr(entry, content)
    return path


def test_a_local_version_is_put_into_a_wheel(tmp_path: Path) -> None:
    made = wheel.tagged(a_wheel(tmp_path), "cu130torch2.11")
    assert made.name == "my_kernels-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl"
    assert sorted(tmp_path.iterdir()) == [made]
    with zipfile.ZipFile(made) as files:
        content = {n: files.read(n) for n in files.namelist()}
        assert {i.date_time[0] for i in files.infolist()} == {2020}
        assert {i.external_attr >> 16 for i in files.infolist()} == {0o100755}
    folder = "my_kernels-1.0+cu130torch2.11.dist-info"
    assert set(content) == {
        n.replace("my_kernels-1.0.", "my_kernels-1.0+cu130torch2.11.") for n in FILES
    }
    assert content[f"{folder}/METADATA"].decode() == METADATA.replace(
        "Version: 1.0\n", "Version: 1.0+cu130torch2.11\n"
    )
    rows = list(csv.reader(io.StringIO(content[f"{folder}/RECORD"].decode())))
    assert {row[0] for row in rows} == set(content)
    for name, digest, size in rows:
        if name != f"{folder}/RECORD":
            expected = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest())
            assert digest == f"sha256={expected.decode().rstrip('=')}"
            assert int(size) == len(content[name])


@pytest.mark.parametrize(
    ("name", "local"), [(NAME, ""), ("my_kernels-1.0+mine-cp312-cp312-linux_x86_64.whl", "cu130")]
)
def test_a_wheel_that_stays_as_it_is(tmp_path: Path, name: str, local: str) -> None:
    path = a_wheel(tmp_path, name)
    before = path.read_bytes()
    assert wheel.tagged(path, local) == path
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["x.zip", "x.whl", NAME])
@pytest.mark.parametrize("content", [b"PK", b"PK\5\6" + bytes(18), None])
def test_no_wheel(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be used: .") as refused:
        wheel.tagged(tmp_path / name, "cu130")
    assert refused.value.help


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders here")
@pytest.mark.parametrize("pipe", [False, True])
def test_a_file_of_a_build_is_replaced_where_the_source_put_something_else(
    tmp_path: Path, pipe: bool
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    made, path = plan(tmp_path / "root"), a_wheel(tmp_path)
    made.layout.root.mkdir()
    record = wheel.describe(made, path, (), {})
    places = (
        *(made.layout.plan, made.layout.state),
        tmp_path / (path.name + wheel.INFO_SUFFIX),
    )
    for place in places:
        os.mkfifo(place) if pipe else place.symlink_to(mine)
    assert runner.read_runs(made) == ()
    runner.store(made.layout.plan, made)
    runner.store(made.layout.state, ())
    wheel.write_info(record, tmp_path, Redactor(Identity()))
    assert mine.read_text() == "mine"
    assert [place.is_file() and not place.is_symlink() for place in places] == [True] * 3


def test_the_record_of_a_wheel(tmp_path: Path) -> None:
    path = a_wheel(tmp_path)
    made = plan(
        tmp_path / "root", source=BuildSource(kind="sdist", location="x-1.tar.gz", sha256="ab")
    )
    runs = (BuildRun(jobs=8, ending="out-of-memory"), BuildRun(jobs=4, ending="finished"))
    proof = WheelProof(
        steps=(ProofStep(name="import x", state="passed", detail="0.1 s"),), archs=("9.0",)
    )
    record = wheel.describe(made, path, runs, {"torch": "2.11.0", "idna": "1"}, proof)
    assert record.inputs == {"x-1.tar.gz": "ab"}
    assert record.versions["torch"] == "2.11.0"
    assert "idna" not in record.versions
    assert record.runs == runs
    assert record.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record.proof == proof
    redactor = Redactor(Identity())
    file = wheel.write_info(record, tmp_path, redactor)
    assert file.name == f"{NAME}.build-info.json"
    assert from_json(BuildInfo, parse(file.read_text())) == redactor.record(record)


@pytest.mark.parametrize(
    ("recipe", "module"),
    [
        ("flash-attn", "flash_attn_2_cuda.cp312-win_amd64.pyd"),
        ("sageattention", "sageattention/_fused.cp312-win_amd64.pyd"),
        ("triton", "triton/_C/libtriton.pyd"),
        ("cuda-extension", "any/where/at.so"),
    ],
)
def test_the_gpu_code_of_the_modules_that_a_recipe_names(
    tmp_path: Path, recipe: str, module: str
) -> None:
    """Also of modules inside of a package, and of no other."""
    binary = container(entry(2, 90, 0))
    for place in (module, "other/module.pyd.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(binary)
    made = plan(tmp_path, extension=recipes.load(recipe).extension)
    assert [str(code) for code in wheel._code(made, tmp_path)] == ["9.0"]
