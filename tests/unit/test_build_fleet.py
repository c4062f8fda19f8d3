"""Matrices of builds, and the index of what they made."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from dataclasses import fields
from pathlib import Path
from urllib.parse import unquote

import pytest
from machines import torch, windows
from packaging.requirements import Requirement
from wheel_files import make_wheel

from tritonwin.build import fleet
from tritonwin.build.order import Order
from tritonwin.build.outcome import BuildInfo, WheelProof
from tritonwin.build.planner import plan
from tritonwin.build.wheel import INFO_SUFFIX, write_info
from tritonwin.cli import app
from tritonwin.errors import UserError
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.journal.tree import file_hash
from tritonwin.support.chooser import choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.sources import Sources, find

MATRIX = """
python = ["3.11", "3.12"]
torch = ["2.8.0", "2.9.1"]
cuda = ["12.6", "12.8", "13.2"]
archs = ["8.9", "9.0 12.0"]
"""


def test_a_matrix_becomes_jobs() -> None:
    found = fleet.read("flash-attn", MATRIX)
    assert len({job.id for job in found.include}) == len(found.include)
    # 12.0 takes CUDA 12.8
    dropped = {d.id: d.reason for d in found.dropped}
    assert all("cu126" in key for key in dropped)
    assert all("it takes CUDA >=12.8" in reason for reason in dropped.values())
    assert len(found.include) == 2 * 2 * 3 * 2 - len(dropped)
    job = next(j for j in found.include if j.cuda == "12.8" and "12.0" in j.archs)
    assert job.id == "flash-attn-2.8.3.post2-cp311-torch2.8.0-cu128-sm90-120"
    assert job.torch_tag == "cu128"
    assert job.os == "windows-2022"


def test_the_words_of_a_job_are_a_command(tmp_path: Path) -> None:
    job = fleet.read("flash-attn", MATRIX).include[0]
    words = shlex.split(job.arguments)
    assert words[0] == "flash-attn"
    order = Order(
        recipe=words[0], version=job.version, archs=tuple(job.archs.split()), cuda=job.cuda
    )
    machine = windows(tmp_path, torch=torch(job.torch, "12.8"), gpus=())
    assert plan(order, machine).version == job.version


def test_a_toolset_that_the_runner_has_not_is_left_out() -> None:
    text = 'python=["3.12"]\ntorch=["2.1.0"]\ncuda=["11.8"]\narchs=["8.9"]\n'
    with pytest.raises(UserError, match=r"no job is left.*MSVC 14\.44 of windows-2022"):
        fleet.read("flash-attn", text)


ONE = 'python = ["3.12"]\ntorch = ["2.9.1"]\ncuda = ["12.8"]\narchs = ["8.9"]\n'


def test_what_has_no_releases_is_named_without_a_version() -> None:
    (job,) = fleet.read("cuda-extension", ONE.replace('"8.9"', '"8.9 120"')).include
    assert job.arguments == "cuda-extension --yes --anyway --cuda 12.8 --arch 8.9 --arch 12.0"
    assert job.id == "cuda-extension-cp312-torch2.9.1-cu128-sm89-120"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ONE.replace('"3.12"', '"3.12; rm -rf"'), "python: '3.12; rm -rf' cannot be used"),
        (ONE.replace('"2.9.1"', '"$(x)"'), r"torch: '\$\(x\)' cannot be used"),
        (ONE.replace('"12.8"', '"12"'), "cuda: '12' cannot be used"),
        (ONE.replace('"12.8"', f'"{"9" * 5000}"'), f"cuda: '{'9' * 60}' cannot be used"),
        (ONE.replace('"8.9"', f'"{"9" * 5000}"'), f"archs: '{'9' * 60}' cannot be used"),
        (ONE.replace('"8.9"', '"99999"'), "'99999' is not a GPU architecture"),
        ("pyhton = []\n" + ONE, "matrix.pyhton: unknown"),
        ("x = [", "the matrix cannot be used"),
        ('python = ["3.12"]', "matrix.torch: missing"),
        (MATRIX.replace("python", "pyton", 1), "matrix.python: missing"),
        (MATRIX.replace('"3.11"', "3.11"), r"matrix\.python\[0\]: expected text"),
        (MATRIX.replace('"8.9"', '"ampere"'), "archs: 'ampere' cannot be used"),
        (MATRIX.replace('["3.11", "3.12"]', str([f"3.{n}" for n in range(99)])), "256"),
        (MATRIX.replace('python = ["3.11", "3.12"]', "python = []"), "the matrix has 0 cells"),
    ],
)
def test_what_is_no_matrix(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        fleet.read("flash-attn", text)
    assert caught.value.help
    assert len(str(caught.value)) < 200


def test_the_command_prints_what_a_workflow_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(MATRIX)
    assert app.run(["build", "flash-attn", "--fleet", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    printed = json.loads(out)
    assert set(printed) == {"include"}
    assert {"id", "os", "python", "torch", "torch_tag", "arguments"} <= set(printed["include"][0])
    assert "left out" in err


# --- the index


def made(tmp_path: Path, folder: Path) -> Path:
    wheel = make_wheel(folder, "flash_attn-2.8.3.post2+cu128torch2.9-cp312-cp312-win_amd64.whl")
    record = BuildInfo(
        wheel=wheel.name,
        sha256=file_hash(wheel),
        size=wheel.stat().st_size,
        plan=plan(Order(recipe="flash-attn"), windows(tmp_path)),
        proof=WheelProof(steps=(), archs=("8.0",)),
    )
    write_info(record, folder, Redactor(Identity()))
    return wheel


@pytest.mark.parametrize("flat", [True, False])
def test_the_chooser_takes_what_the_fleet_made(
    tmp_path: Path, flat: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    folder = results if flat else results / "job-1"
    folder.mkdir(parents=True)
    wheel = made(tmp_path, folder)
    assert app.run(["build", "flash-attn", "--index-of", str(results)]) == 0
    links = find("flash-attn", Sources(lists=(str(results / "wheels.json"),))).links
    assert [link.sha256 for link in links] == [file_hash(wheel)]
    needs = needs_of(windows(tmp_path).facts)
    chosen = choose(Requirement("flash-attn"), links, needs)
    assert chosen.link is not None, chosen.choice
    assert Path(unquote(chosen.link.location.removeprefix("file://"))) == wheel
    for_another = needs_of(windows(tmp_path, torch=torch("2.8.0", "12.8")).facts)
    assert choose(Requirement("flash-attn"), links, for_another).link is None
    capsys.readouterr()


@pytest.mark.parametrize("content", ['{"packages": []}', "not JSON"])
def test_an_index_of_others_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    made(tmp_path, tmp_path)
    file = tmp_path / fleet.INDEX
    file.write_text(content)
    with pytest.raises(UserError, match="left as it is") as refused:
        fleet.write_index(tmp_path)
    assert refused.value.help
    assert file.read_text() == content
    file.unlink()
    assert fleet.write_index(tmp_path) == fleet.write_index(tmp_path)  # its own is replaced


@pytest.mark.parametrize("damage", ["wheel", "info", "gone"])
def test_an_index_holds_to_what_was_built(tmp_path: Path, damage: str) -> None:
    wheel = made(tmp_path, tmp_path)
    if damage == "wheel":
        wheel.write_bytes(b"other")
    elif damage == "gone":
        wheel.unlink()
    else:
        Path(f"{wheel}{INFO_SUFFIX}").write_text("{")
    with pytest.raises(UserError):
        fleet.write_index(tmp_path)


def test_the_workflow_asks_for_what_a_job_has() -> None:
    text = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    asked = set(re.findall(r"matrix\.(\w+)", text)) - {"outputs"}
    assert {"id", "arguments", "torch_tag"} <= asked
    assert asked <= {field.name for field in fields(fleet.Job)}


def test_the_matrix_of_the_documentation_is_one() -> None:
    text = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    matrix = text.partition("    # fleet.toml\n")[2].partition("\nEach job")[0]
    found = fleet.read("flash-attn", textwrap.dedent(matrix))
    assert len(found.include) == 12
    assert found.dropped == ()


def test_a_matrix_beyond_all_bounds_is_not_walked() -> None:
    names = ", ".join(f'"3.{n % 100}"' for n in range(1000))
    text = f'python = [{names}]\ntorch = [{names}]\ncuda = [{names}]\narchs = ["8.9"]\n'
    with pytest.raises(UserError, match="may have 1 to 100000"):
        fleet.read("flash-attn", text)
