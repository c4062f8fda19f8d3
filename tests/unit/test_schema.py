from __future__ import annotations

from pathlib import Path
from typing import Any

import machines
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry

from tritonwin.build import fleet
from tritonwin.build.order import Order
from tritonwin.build.planner import plan
from tritonwin.driver.records import BackendDriver
from tritonwin.facts.caches import CacheEntry
from tritonwin.facts.dlls.loading import Loading
from tritonwin.facts.dlls.tree import DllTree, Fault, Module, Need
from tritonwin.facts.records import Facts, Gpu, ImportResult, System
from tritonwin.facts.snapshot import Snapshot
from tritonwin.journal import Conflict, Header, UndoReport
from tritonwin.output import schema
from tritonwin.output.bench import BenchComparison, BenchReport
from tritonwin.output.build_documents import BuildReport, FleetReport, WheelIndex
from tritonwin.output.caches import CacheReport
from tritonwin.output.changes import EventLine, FixReport, InstallReport
from tritonwin.output.dlls import DllsReport
from tritonwin.output.documents import (
    CheckList,
    CheckName,
    DoctorReport,
    ExplainReport,
    RungList,
    Target,
    ToolInfo,
    VerifyReport,
)
from tritonwin.output.driver import DriverReport
from tritonwin.output.journals import JournalList, UndoDocument
from tritonwin.output.matrix import MatrixReport
from tritonwin.output.patching import PatchReport
from tritonwin.patch.records import FileRefusal, FileReport, HookReport, Misfit, RuleReport
from tritonwin.problems.cache_state import JudgedEntry
from tritonwin.problems.records import CheckResult, Evidence, Problem, Remedy
from tritonwin.remedies.plan import CopyHeaders, FileSource, Plan, Unsolved
from tritonwin.support import matrix
from tritonwin.support.wheel_choice import Kept, Rejection, WheelChoice
from tritonwin.system.codec import DecodeError, from_json, to_json
from tritonwin.verify.bench import BenchMachine, Benchmark, Comparison
from tritonwin.verify.records import Rung, RungResult

FACTS = Facts(
    tool_version="0",
    system=System(os="windows", version="10.0.22631", machine="AMD64", sources={"os": "kernel"}),
    gpus=(Gpu(index=0, vendor="nvidia", name="RTX", source="NVML"),),
)
PROBLEM = Problem(
    id="triton-missing",
    severity="error",
    certainty="certain",
    title="no Triton",
    cause="There is none.",
    evidence=(Evidence(text="no folder named triton", where="site-packages"),),
    remedy=Remedy(summary="Install it.", commands=("pip install triton-windows",)),
)
MACHINE = BenchMachine(
    os="windows", gpu=None, capability=None, driver=None, python=None, triton=None, torch=None
)
HEADER = Header(
    id="261128-003015-041526",
    sequence=1,
    tool_version="0",
    target="python.exe",
    place="C:\\py",
    title="install triton-windows 3.5.1",
    started="2026-11-28T00:30:15+00:00",
    state="applied",
)
CHANGE = CopyHeaders(
    folder="C:\\py",
    problems=("embedded-python-no-headers",),
    what="put headers there",
    why="there are none",
    sources=(FileSource(name="headers", version="3.12.9", location="C:\\full"),),
)
UNSOLVED = Unsolved(problem="driver-too-old", reason="this has to be done by hand")
DOCUMENTS = {
    "tritonwin.facts/1": FACTS,
    "tritonwin.snapshot/1": Snapshot(facts=FACTS),
    "tritonwin.checks/1": CheckList(checks=(CheckName(id="a", title="A"),)),
    "tritonwin.doctor/1": DoctorReport(
        tool=ToolInfo(),
        target=Target(executable="python.exe", kind="embedded"),
        problems=(PROBLEM,),
        checks=(CheckResult(id="triton-missing", title="Triton", state="problem"),),
    ),
    "tritonwin.explain/1": ExplainReport(
        tool=ToolInfo(), log="a.log", lines=3, problems=(PROBLEM,)
    ),
    "tritonwin.bench/1": BenchReport(
        tool=ToolInfo(), benchmark=Benchmark(machine=MACHINE, when="2026-11-28", parts=())
    ),
    "tritonwin.bench-comparison/1": BenchComparison(
        tool=ToolInfo(),
        first=MACHINE,
        second=MACHINE,
        figures=(Comparison(part="a", figure="b_us", first=1.5, second=3, ratio=2.0),),
    ),
    "tritonwin.build/2": BuildReport(
        tool=ToolInfo(),
        status="failed",
        plan=plan(Order(recipe="flash-attn"), machines.windows(Path("C:/"))),
        log="build.log",
        problems=(PROBLEM,),
    ),
    "tritonwin.fleet/1": FleetReport(
        tool=ToolInfo(),
        include=fleet.read(
            "flash-attn",
            'python = ["3.12"]\ntorch = ["2.9.1"]\ncuda = ["12.8"]\narchs = ["8.9"]\n',
        ).jobs,
        dropped=(fleet.Dropped(id="x", reason="CUDA 9 is not known"),),
    ),
    "tritonwin.wheels/1": WheelIndex(
        wheels=(
            fleet.IndexedWheel(
                url="x-1-py3-none-any.whl",
                sha256="0" * 64,
                size=1,
                torch_version="2.9",
                cuda_version="12.8",
                archs=("8.0",),
                build_info="x-1-py3-none-any.whl.build-info.json",
            ),
        ),
    ),
    "tritonwin.dlls/2": DllsReport(
        tool=ToolInfo(),
        loads=False,
        faults=(
            Fault(
                dll="b.dll",
                path=None,
                version=None,
                needed_by=("a.pyd",),
                lacking=("f",),
                text="missing",
                help="install it",
            ),
        ),
        loading=Loading(
            file="a.pyd",
            loader="python",
            python="python.exe",
            tree=DllTree(
                modules=(Module(name="a.pyd", state="found", needs=(Need(dll="b.dll"),)),),
                searched=("C:\\py",),
                system_known=True,
            ),
        ),
    ),
    "tritonwin.verify/1": VerifyReport(
        tool=ToolInfo(),
        target=None,
        arch=89,
        proven=True,
        rungs=(RungResult(id="a", title="A", state="passed", detail="seen", seconds=0.5),),
    ),
    "tritonwin.event/2": EventLine(
        event="plan",
        seconds=1.5,
        plan=Plan(target="python.exe", changes=(CHANGE,), unsolved=(UNSOLVED,)),
    ),
    "tritonwin.rungs/1": RungList(
        rungs=(Rung(id="a", title="A", proves="that it works", options={"dtype": "fp16"}),)
    ),
    "tritonwin.cache/1": CacheReport(
        tool=ToolInfo(),
        target=None,
        caches=(),
        entries=(
            JudgedEntry(
                entry=CacheEntry(path="c/AB", cache="triton", kind="kernel", name="add"),
                state="usable",
                built_for="cuda:89, Triton 3.5.1",
            ),
        ),
    ),
    "tritonwin.journals/1": JournalList(tool=ToolInfo(), journals=(HEADER,)),
    "tritonwin.undo/1": UndoDocument(
        tool=ToolInfo(),
        undo=UndoReport(
            id=HEADER.id,
            title=HEADER.title,
            target=HEADER.target,
            state="undone",
            actions=("move a to b",),
            conflicts=(Conflict(place="a", left="written", found="gone", before="there"),),
        ),
    ),
    "tritonwin.install/2": InstallReport(
        tool=ToolInfo(),
        target=None,
        status="nothing-fits",
        choices=(
            WheelChoice(
                package="flash-attn",
                request="flash-attn",
                rejected=(Rejection(file="a", location="b", source="c", reasons=("d",)),),
                notes=("e",),
            ),
        ),
        kept=(Kept(name="torch", version="2.9.1"),),
        notes=(),
        plan=Plan(target="python.exe", changes=(CHANGE,)),
        imports=(ImportResult(module="torch", outcome="imported", seconds=1.0),),
    ),
    "tritonwin.patch/1": PatchReport(
        tool=ToolInfo(),
        target=None,
        package="triton",
        flavour="upstream",
        version="3.6.0",
        status="refused",
        rules=(
            RuleReport(
                id="dlfcn",
                defect="5a",
                need="jit",
                file="backends/nvidia/driver.c",
                state="needed",
                reason="dlfcn.h not found",
            ),
        ),
        files=(FileReport(file="knobs.py", sha256="0" * 64, known=("3.6.0",)),),
        refused=(
            FileRefusal(
                file="knobs.py",
                reason="changed",
                released="a",
                left=None,
                found="b",
                fits=("c",),
                misfits=(Misfit(rule="d", reason="e"),),
            ),
        ),
        hook=HookReport(folder="site", only=(), starts=True, current=True),
    ),
    "tritonwin.driver/1": DriverReport(
        tool=ToolInfo(),
        target=None,
        package="triton",
        version="3.6.0",
        status="refused",
        backends=(BackendDriver(name="amd", known=False, reason="launch parses 'i'"),),
    ),
    "tritonwin.matrix/1": MatrixReport(tool=ToolInfo(), matrix=matrix.load()),
    "tritonwin.fix/2": FixReport(
        tool=ToolInfo(),
        target=None,
        status="stuck",
        plans=(Plan(target="python.exe", changes=(CHANGE,), unsolved=(UNSOLVED,)),),
        journals=("20261128-003015-000000-4f2a91",),
        before=(),
        proof=(RungResult(id="a", title="A", state="failed", detail="seen", seconds=0.5),),
        problems=(PROBLEM,),
    ),
}


def test_every_document_has_an_example_here() -> None:
    assert set(DOCUMENTS) == set(schema.DOCUMENTS)


def validator(name: str) -> Draft202012Validator:
    every: list[Any] = [schema.load(kind) for kind in schema.DOCUMENTS]
    registry: Any = Registry().with_contents((one["$id"], one) for one in every)
    loaded: Any = schema.load(name)
    return Draft202012Validator(loaded, registry=registry)


@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_schema_accepts_the_document_and_names_it(name: str) -> None:
    loaded: dict[str, Any] = schema.load(name)
    Draft202012Validator.check_schema(loaded)
    tree: Any = to_json(DOCUMENTS[name])
    assert tree["schema"] == name
    validator(name).validate(tree)
    validator(name).validate({**tree, "later": 1})


def test_the_schema_of_a_snapshot_refers_to_that_of_the_facts() -> None:
    facts: Any = schema.load("tritonwin.facts/1")
    snapshot: Any = schema.load("tritonwin.snapshot/1")
    assert snapshot["properties"]["facts"] == {"$ref": facts["$id"]}
    assert "System" not in snapshot["$defs"]


def _change(tree: Any, path: str, value: object) -> Any:
    head, _, rest = path.partition(".")
    if not rest:
        return {**tree, head: value}
    return {**tree, head: _change(tree[head], rest, value)}


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("tritonwin.facts/1", "schema", "tritonwin.facts/2"),
        ("tritonwin.facts/1", "system.os", "beos"),
        ("tritonwin.facts/1", "system.long_paths", 1),
        ("tritonwin.facts/1", "system.sources", {"os": 1}),
        ("tritonwin.facts/1", "gpus", {}),
        ("tritonwin.facts/1", "gpus", [{"index": "0"}]),
        ("tritonwin.snapshot/1", "facts.system", None),
        ("tritonwin.doctor/1", "problems", [{"id": "x"}]),
        ("tritonwin.doctor/1", "target.kind", "homemade"),
        ("tritonwin.checks/1", "checks", [{"id": "x"}]),
    ],
)
def test_schema_and_reader_refuse_the_same(name: str, path: str, value: object) -> None:
    tree = _change(to_json(DOCUMENTS[name]), path, value)
    assert not validator(name).is_valid(tree)
    with pytest.raises(DecodeError):
        from_json(schema.DOCUMENTS[name], tree)


def test_unknown_kind_is_told_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"tritonwin\.doctor/1"):
        schema.load("tritonwin.nothing/1")
