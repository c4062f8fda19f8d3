"""Plans of builds: the choice and its reason, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import machines
import pytest
from cases import cases
from hosts import no_pip
from machines import linux, room, toolkit, windows
from packaging.version import Version
from trees import plant, write
from wheel_files import make_wheel

from tritonwin.build import command, order, recipe, tools
from tritonwin.build.order import BuildMachine, Order, Request, read_checkout, survey
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load, names
from tritonwin.build.records import GIB, BuildPlan, Notes
from tritonwin.build.source import BuildContext, assemble
from tritonwin.errors import UserError
from tritonwin.journal.tree import file_hash
from tritonwin.support.archives import ArchiveError
from tritonwin.support.pip import Pip, PipError
from tritonwin.support.wheel_choice import FileSource, WheelChoice
from tritonwin.system import codec
from tritonwin.system.host import Environment, Host
from tritonwin.system.process import Completed

FLASH = "flash-attn"
COMMIT = "46111560" + "a" * 32
needs_sh = pytest.mark.skipif(os.name == "nt", reason="its stand-ins are scripts of sh")


def refused(made: BuildPlan | Notes) -> list[str]:
    return [f"{r.problem}: {r.message}. {r.help}" for r in made.refusals]


def at(machine: BuildMachine, **others: Any) -> BuildContext:
    return BuildContext(**{"pip": no_pip, "host": machine.host, **others})


def checkout(folder: Path, version: str, *, old: bool = False, below: str = "") -> Path:
    """A source of Triton as far as the planner reads it."""
    write(folder / below, {"setup.py": f'TRITON_VERSION = "{version}" + suffix()\n'})
    write(folder, {"cmake/json-version.txt": "v3.11.3"})
    if old:
        return write(folder, {"cmake/llvm-hash.txt": f"{COMMIT}\n"})
    project = '[build-system]\nrequires = ["nanobind==2.10.2"]\n'
    info = {"llvm_hash": COMMIT, "sha256sum": {"windows-x64": "04089e40" + "0" * 56}}
    return write(folder, {"pyproject.toml": project, "cmake/llvm-info.json": json.dumps(info)})


def decided(made: BuildPlan) -> list[str]:
    return [f"{d.name}: {d.value}; {d.reason}; {d.flag}" for d in made.decisions]


def told(made: BuildPlan) -> str:
    """All that the plan says, and sets: a line each."""
    lines = [
        *decided(made),
        *made.warnings,
        *(edit.replace for edit in made.edits),
        *made.requirements,
    ]
    lines += [part.file for part in (made.cuda.parts if made.cuda else ())]
    return "\n".join([*lines, *(f" {name}={text}" for name, text in made.environment.items())])


class AbsolutePath(type(Path())):  # type: ignore[misc]
    """A path of Windows on Linux, which `absolute` must leave as it is."""

    def absolute(self) -> AbsolutePath:
        return self


def at_name(document: Any, name: str) -> Any:
    for part in name.split("."):
        document = document[int(part) if part.isdigit() else part]
    return "none" if document is None else document


@pytest.mark.parametrize("row", cases("plans.toml", "plans"))
def test_plans_of_orders(tmp_path: Path, row: dict[str, Any]) -> None:
    row = json.loads(json.dumps(row).replace("{tmp}", json.dumps(str(tmp_path))[1:-1]))
    machine = machines.machine(tmp_path, row.get("on", {}))
    order = Order(**{"recipe": FLASH, **machines.fields(row.get("order", {}))})
    order = replace(order, root=AbsolutePath(order.root) if order.root else None)
    if "checkout" in row:
        order = replace(order, source=str(checkout(tmp_path / "t", **row["checkout"])))
        found = read_checkout(tmp_path / "t", load(order.recipe), windows=machine.host.windows)
        machine = replace(machine, checkout=found)
    if "error" in row:
        with pytest.raises(UserError) as caught:
            plan(order, machine)
        assert row["error"] in f"{caught.value}. {caught.value.help}"
        assert caught.value.help
        assert "pa55w0rd" not in str(caught.value)
        return
    made = plan(order, machine)
    refusals = zip(row.get("refused", ()), refused(made), strict=True)
    assert [text for text, refusal in refusals if text not in refusal] == []
    assert all(r.help for r in made.refusals)
    assert decided(made) == row.get("decided", decided(made))
    assert made.possible is not ("refused" in row)
    if "script" in row:
        assert command.script(made, machine.host).split("\r\n") == row["script"].split("\n")
    assert all(d.reason for d in made.decisions)
    assert [text for text in row.get("says", ()) if text not in told(made)] == []
    assert [text for text in row.get("lacks", ()) if text in told(made)] == []
    document = codec.to_json(made)
    wanted = row.get("plan", {})
    assert {name: at_name(document, name) for name in wanted} == wanted
    assert codec.from_json(BuildPlan, document) == made
    if made.cuda and made.cuda.origin == "assembled":
        assert made.cuda.path == str(made.layout.cuda)
    if later := row.get("later"):
        jobs = later.pop("jobs")
        fewer = made.with_jobs(jobs)
        assert {name: fewer.environment[name] for name in later} == later
        assert fewer.memory.bound == made.memory.base + jobs * made.memory.compiler


def test_the_same_inputs_give_the_same_folder(tmp_path: Path) -> None:
    order, machine = Order(recipe="flash-attn"), windows(tmp_path)
    first = plan(order, machine).root
    assert plan(replace(order, jobs=1), replace(machine, resources=room(20))).root == first
    assert plan(replace(order, archs=("9.0",)), machine).root != first
    assert plan(replace(order, version="2.8.2"), machine).root != first


def parts(folder: Path, *members: str) -> list[FileSource]:
    """One wheel with these members, the first of which may be executed."""
    folder.mkdir()
    file = folder / "nvidia_cuda_nvcc-13.0.88-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as made:
        for number, name in enumerate(members):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if number == 0 else 0o644) << 16
            made.writestr(entry, name)
    return [
        FileSource(
            name="nvidia-cuda-nvcc", version="13.0.88", location=file.name, sha256=file_hash(file)
        )
    ]


def test_a_toolkit_is_put_together_once_and_whole(tmp_path: Path) -> None:
    members = (
        "nvidia/cu13/bin/nvcc", "nvidia/cu13/include/cuda.h", "nvidia/cu13/lib/libcudart.so.13",
        "nvidia/cu13/lib/", "nvidia/cublas/lib/other", "../evil",
        "nvidia_cuda_nvcc-13.0.88.dist-info/METADATA",
    )  # fmt: skip
    pinned = parts(tmp_path / "wheels", *members)
    depot = BuildContext(pip=no_pip, folders=[tmp_path / "wheels"], offline=True)
    said: list[object] = []
    depot = replace(depot, on_event=said.append)
    (tmp_path / "b" / "c.part").mkdir(parents=True)
    (tmp_path / "b" / "c.part" / "of an earlier run").touch()
    for _ in range(2):
        assemble(pinned, tmp_path / "b" / "c", depot)
    assert said == ["nvidia-cuda-nvcc 13.0.88"]
    made = {p.relative_to(tmp_path / "b").as_posix() for p in (tmp_path / "b").rglob("*.*")}
    links = {"c/lib/libcudart.so"} if sys.platform != "win32" else set()
    assert made == {"c/include/cuda.h", "c/lib/libcudart.so.13", *links}
    assert os.access(tmp_path / "b" / "c" / "bin" / "nvcc", os.X_OK)
    for folder, evil in (("1", "nvidia/cu13/../../evil"), ("2", "nvidia/cu13/C:/evil")):
        pinned = parts(tmp_path / folder, evil)
        depot = BuildContext(pip=no_pip, folders=[tmp_path / folder], offline=True)
        with pytest.raises(ArchiveError, match="outside its folder"):
            assemble(pinned, tmp_path / "c", depot)
    assert not list(tmp_path.rglob("evil"))


def test_parts_without_a_compiler_are_no_toolkit(tmp_path: Path) -> None:
    pinned = parts(tmp_path / "wheels", "nvidia/cu13/include/cuda.h")
    depot = BuildContext(pip=no_pip, folders=[tmp_path / "wheels"], offline=True)
    with pytest.raises(UserError, match="hold no nvcc"):
        assemble(pinned, tmp_path / "c", depot)
    assert not (tmp_path / "c").exists()


_LINUX = ("bin/ptxas", "bin/nvcc", "nvvm/bin/cicc", "lib64/libcudart.so")
_WINDOWS = (
    "bin/ptxas.exe", "bin/nvcc.exe", "nvvm/bin/cicc.exe", "lib/x64/cudart.lib", "lib/x64/cuda.lib",
)  # fmt: skip


@pytest.fixture(params=[False, True], ids=["Linux", "Windows"])
def on_windows(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def folder(path: Path, *, windows: bool) -> Path:
    """A whole toolkit as NVIDIA installs it on that system."""
    plant(path, *(_WINDOWS if windows else _LINUX), "include/cuda.h", "include/crt/host_config.h")
    (path / "include/cuda.h").write_text("#define CUDA_VERSION 12080\n")
    return path


def asked(tmp: Path, cuda: str | None = None, *, on_windows: bool = True, **facts: Any) -> Request:
    machine = (windows if on_windows else linux)(tmp, **facts)
    order = Order(recipe=FLASH, cuda=cuda)
    return Request(recipe=load(FLASH), order=order, machine=machine)


def versions(request: Request) -> list[str]:
    return [f"{choice.version} {choice.origin}" for choice in tools.toolkits(request)[0]]


def test_a_folder_is_read_as_a_toolkit_of_that_system(tmp_path: Path, *, on_windows: bool) -> None:
    path = folder(tmp_path / "cuda", windows=on_windows)
    here = asked(tmp_path, str(path), on_windows=on_windows, cuda_toolkits=())
    assert versions(here) == ["12.8 system"]
    there = asked(tmp_path, str(path), on_windows=not on_windows, cuda_toolkits=())
    assert versions(there) == []
    assert tools.toolkits(there)[1] == [f"{path} (no cicc, no nvcc)"]


def test_the_nearest_minor_version_comes_first(tmp_path: Path) -> None:
    found = tuple(toolkit(v) for v in ("12.4", "12.10", "12.9", "12.6", "13.0", "12.8", "12"))
    assert versions(asked(tmp_path, cuda_toolkits=found))[:6] == [
        f"{v} system" for v in ("12.8", "12.9", "12.6", "12.10", "12.4", "12")
    ]
    assert versions(asked(tmp_path, "12.1", cuda_toolkits=found)) == []


def test_what_no_table_knows() -> None:
    assert recipe.msvc_for("99.0") == ""
    assert recipe.toolchain("nvcc", "99.0") == ""
    assert recipe.toolchain("stl", "14.0") == recipe.toolchain("cpp", "no version") == ""
    assert "99.0" not in recipe.assembled(windows=True)


# --- architectures


@pytest.mark.parametrize("row", cases("plans.toml", "archs"))
def test_the_words_of_the_source(tmp_path: Path, row: dict[str, Any]) -> None:
    recipe, version, cuda = row["build"]
    notes = Notes()
    order = Order(recipe=recipe, archs=tuple(row["asked"]))
    request = Request(recipe=load(recipe), order=order, machine=windows(tmp_path), notes=notes)
    found = tools.choose_archs(request, version, cuda)
    if "words" in row:
        assert (found, notes.refusals) == (tuple(row["words"]), [])
    else:
        assert row["refused"] in refused(notes)[0]


# --- the environment, the snapshot


@needs_sh
@pytest.mark.parametrize(("code", "venv"), [(0, True), (1, False), (None, None)])
def test_the_target_is_asked_for_its_venv(tmp_path: Path, code: int | None, venv: object) -> None:
    machine = linux(tmp_path)
    python = tmp_path / "python"
    if code is not None:
        python.write_text(f"#!/bin/sh\nexit {code}\n")
        python.chmod(0o755)
    assert machine.facts.target is not None
    facts = replace(machine.facts, target=replace(machine.facts.target, executable=str(python)))
    found = survey(Order(recipe=FLASH, anyway=True), facts, at(machine))
    assert found.venv is venv
    assert found.disk_free
    assert found.resources.cores >= 1


@pytest.mark.parametrize("on", [windows, linux])
@pytest.mark.parametrize("kind", ["embedded", "venv"])
def test_a_snapshot_is_planned_for_its_machine(
    tmp_path: Path, on: Callable[[Path], BuildMachine], kind: Any
) -> None:
    facts = on(tmp_path).facts
    assert facts.target is not None
    target = replace(facts.target, kind=kind, executable=r"C:\app\python.exe", managers=())
    system = replace(facts.system, memory_bytes=32 * GIB, cpu_count=8)
    facts = replace(facts, target=replace(target, base_executable=None), system=system)
    asked = Order(recipe="sageattention", anyway=True)
    machine = survey(asked, facts, BuildContext(pip=no_pip), elsewhere=True)
    made = plan(asked, machine)
    assert made.possible, refused(made)
    assert made.windows is (on is windows)
    unknown = "toolset: not known; a snapshot says nothing of c++; CXX="
    assert (unknown in decided(made)) is (on is linux)
    assert made.jobs == 8
    assert (made.runtime is not None) is (kind == "embedded")
    assert any("planned from a snapshot" in text for text in made.warnings)


def test_the_public_lists_are_asked_before_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def sources_for(*_: object, **options: Any) -> Any:
        asked.append(options)
        raise UserError("no network here", "")

    monkeypatch.setattr(order, "sources_for", sources_for)
    machine = windows(tmp_path)
    for offline in (False, True):
        wanted = Order(recipe=FLASH, offline=offline)
        assert survey(wanted, machine.facts, at(machine)).wheel is None
        assert survey(wanted, machine.facts, at(machine), elsewhere=True).wheel is None
    assert [options["public"] for options in asked] == [True, True, False, False]


# --- target, place, wheel


def test_notes_of_the_wheels_that_do_not_fit_are_told(tmp_path: Path) -> None:
    note = "x.whl fits. With --allow-unhashed it is taken."
    wheel = WheelChoice(package=FLASH, request=FLASH, source="x", notes=(note,))
    made = plan(Order(recipe=FLASH), replace(windows(tmp_path), wheel=wheel))
    assert decided(made)[0] == "wheel: none fits; no source names one; --anyway"
    assert note in made.warnings


@pytest.mark.parametrize("name", ["\udcff\udcfe", "a\nb"])
@pytest.mark.parametrize("asked", [True, False])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str, asked: bool) -> None:
    """The message names the option, and not a variable that the build would have been given."""
    machine = linux(tmp_path)
    home = machines.having(machine, TRITONWIN_HOME=str(tmp_path / name))
    order = Order(recipe="flash-attn", root=tmp_path / name if asked else None)
    with pytest.raises(UserError, match="folder for builds is not text") as caught:
        plan(order, machine if asked else home)
    assert "--root DIR" in caught.value.help


def test_variables_that_programs_would_misread() -> None:
    with pytest.raises(UserError, match="control character"):
        command.checked({"GOOD": "1", "MAX_JOBS": "4\n5"})


def test_the_plans_environment_on_linux(tmp_path: Path) -> None:
    """No Visual Studio is captured; the plan's folders come first on PATH."""
    own = {
        "FLASH_ATTN_LOCAL_VERSION": "own",
        "PYTHONPATH": "x",
        "KEPT": " 1 ",
        "SOURCE_DATE_EPOCH": "7",
    }
    machine = machines.having(linux(tmp_path), MAX_JOBS="64 ", **own)
    made = replace(plan(Order(recipe=FLASH), machine), path=("/first",))
    found = variables(made, machine.host)
    folders = f"{made.layout.python.parent}:{Path(made.target).parent}:/first"
    assert found["PATH"] == f"{folders}:{tmp_path / 'bin'}"
    assert [found[name] for name in ("MAX_JOBS", "KEPT", "SOURCE_DATE_EPOCH")] == ["8", "1", "7"]
    assert not {"FLASH_ATTN_LOCAL_VERSION", "PYTHONPATH"} & found.keys()
    bare = replace(machine.host, env=Environment({}, windows=False))
    assert variables(made, bare)["PATH"] == folders


def variables(made: BuildPlan, host: Host) -> dict[str, str]:
    return command.environment(made, host, command.inherited(made, host))


def test_a_pip_that_fails_makes_no_wheel_and_no_failure(tmp_path: Path) -> None:
    class Broken(Pip):
        def run(self, args: Any, *, timeout: float, heard: Any = None) -> Completed:
            raise PipError("pip is broken", "Repair it.")

    machine = windows(tmp_path)
    found = survey(Order(recipe=FLASH), machine.facts, at(machine, pip=lambda: Broken(("pip",))))
    assert found.wheel is None


@pytest.mark.parametrize("version", ["2.9.0a0+gitabc", "my build/7", "main", "", "x" * 300])
def test_a_torch_of_any_version_gives_a_wheel_a_name(tmp_path: Path, version: str) -> None:
    machine = machines.linux(tmp_path, torch=machines.torch(version, "12.8"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert Version(f"2.8.3+{made.local_version}").local
    assert made.local_version.startswith("cu128torch")


FITS = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
ANOTHER_TORCH = "flash_attn-2.8.3+cu128torch2.8-cp312-cp312-win_amd64.whl"


@pytest.mark.parametrize(("file", "fits"), [(FITS, True), (ANOTHER_TORCH, False)])
def test_a_wheel_that_exists_is_found_first(tmp_path: Path, file: str, fits: bool) -> None:
    wheels = tmp_path / "wheels"
    make_wheel(wheels, file)
    machine = machines.windows(tmp_path)
    order = Order(recipe="flash-attn", offline=True)
    found = survey(order, machine.facts, at(machine, folders=(wheels,)))
    assert (found.wheel.file == file) == fits
    made = plan(order, replace(found, resources=machines.room(64)))
    if fits:
        assert decided(made)[0] == f"wheel: {file}; from {found.wheel.source}; --anyway"
        named = f'tritonwin install flash-attn --python "{made.target}"'
        said = f"a wheel that fits exists: {file}. Install it: {named}"
        assert refused(made) == [f": {said}; or build all the same: --anyway"]
    else:
        assert refused(made) == []
        assert "needs torch 2.8, this is torch 2.9" in str(made.decisions)
    anyway = survey(replace(order, anyway=True), machine.facts, at(machine))
    assert anyway.wheel is None


@pytest.mark.parametrize("ref", [None, "v1"])
@pytest.mark.parametrize("address", cases("source_addresses.toml", "with_secrets"))
def test_an_address_with_a_secret_is_refused(tmp_path: Path, address: str, ref: str | None) -> None:
    with pytest.raises(UserError, match="without a login or token") as refused:
        plan(Order(recipe="cuda-extension", source=address, ref=ref), linux(tmp_path))
    assert "opaque" not in str(refused.value)
    assert "credential helper" in refused.value.help


@pytest.mark.parametrize("address", cases("source_addresses.toml", "plain"))
def test_an_address_without_one_is_taken_as_it_is(tmp_path: Path, address: str) -> None:
    machine = linux(tmp_path)
    made = plan(Order(recipe="cuda-extension", source=address), machine)
    assert (made.source.kind, made.source.location) == ("git", address)


def test_a_folder_is_examined(tmp_path: Path) -> None:
    machine = machines.linux(tmp_path)
    order = Order(recipe="flash-attn", source=str(tmp_path / "p"))
    write(tmp_path / "p", {"flash_attn/__init__.py": '__version__ = "2.8.4"\n'})
    with pytest.raises(UserError, match=r"neither setup\.py nor pyproject\.toml"):
        survey(order, machine.facts, at(machine))
    (tmp_path / "p/setup.py").touch()
    machine = replace(machine, checkout=survey(order, machine.facts, at(machine)).checkout)
    made = plan(order, machine)
    assert made.version == "2.8.4"
    # what earlier builds left, and what only git needs, stays behind
    assert {".git", "build", "csrc/composable_kernel"} <= set(made.source.skip)
    assert all(not edit.required for edit in made.edits)
    named = f'git -C "{tmp_path / "p"}" submodule update --init csrc/cutlass'
    assert refused(made) == [
        f": the submodule csrc/cutlass of {tmp_path / 'p'} is not there. Fetch it: {named}"
    ]


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("setup.py", "setup(name='x', version='1.2')", None),
        ("setup.py", "setup(\n    version='1.2',\n)", "1.2"),
        ("pyproject.toml", '[project]\nversion = "3.4"\n', "3.4"),
        ("PKG-INFO", "Name: x\nVersion: 5.6\n", "5.6"),
    ],
)
def test_the_version_of_any_project(
    tmp_path: Path, file: str, text: str, version: str | None
) -> None:
    with pytest.raises(UserError, match=r"neither setup\.py nor"):
        read_checkout(tmp_path, load("cuda-extension"), windows=True)
    write(tmp_path, {"setup.py": "", file: text})
    found = read_checkout(tmp_path, load("cuda-extension"), windows=True)
    assert found.version == version


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"llvm_hash": 3, "sha256sum": []}', '{"llvm_hash": "v19"}', ""]
)
def test_a_damaged_pin_of_triton_is_no_pin(tmp_path: Path, damage: str) -> None:
    write(checkout(tmp_path / "t", "3.8.0"), {"cmake/llvm-info.json": damage})
    found = read_checkout(tmp_path / "t", load("triton"), windows=True)
    order = Order(recipe="triton", source=str(tmp_path / "t"))
    made = plan(order, replace(windows(tmp_path), checkout=found))
    assert "LLVM" not in told(made)
    # no CMakeCache.txt of the other way is ever seen
    offline = plan(replace(order, offline=True), replace(windows(tmp_path), checkout=found))
    assert offline.root != made.root
    assert "build" in made.source.skip


# --- recipes


@pytest.mark.parametrize("name", names())
def test_every_recipe_is_whole(name: str) -> None:
    recipe = load(name)
    assert recipe.summary
    assert all(row.why for row in (*recipe.variables, *recipe.flags, *recipe.edits))
    assert all((r.file and r.sha256 and len(r.sha256) == 64) or r.ref for r in recipe.releases)
    assert any(row.value == "{jobs}" for row in recipe.variables)


@pytest.mark.parametrize("name", names())
def test_a_program_of_python_imports_nothing_of_the_project(name: str, tmp_path: Path) -> None:
    """Unlike its setup.py, whose folder is that of the project."""
    words = load(name).command
    if "-m" not in words:
        assert words[0] == "setup.py"
        return
    for module in ("pip", "logging", "runpy"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('planted')\n")
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert b"setup.py" in done.stderr, done.stderr  # pip itself asks for it
    assert not list(tmp_path.glob("*.whl"))


def test_a_series_stands_for_its_newest_release() -> None:
    found = load("flash-attn").release("2.8")
    assert found.version == "2.8.3.post2"
    assert load("flash-attn").release("2.5") is None
