"""The proof ladder, climbed with Triton packages of our own making."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from pace import PATIENCE
from trees import write

from tritonwin.facts.records import Driver
from tritonwin.system import process, waiting
from tritonwin.system.process import Completed
from tritonwin.verify import ladder, records
from tritonwin.verify.records import Proof, Rung, RungResult, RungState
from tritonwin.verify.setting import DEFAULT_ARCH, ProofSetting, setting_for

TRITON = {
    "__init__.py": "__version__ = '3.5.1'\nfrom triton import compiler\n"
    "def jit(f): return f\ndef compile(source, target): return compiler.Compiled()\n",
    "language.py": "",
    "_C/__init__.py": "",
    "_C/libtriton.py": "",
    "compiler.py": "class ASTSource:\n    def __init__(self, fn, signature, constants): pass\n"
    "class Compiled:\n    asm = {'cubin': b'\\x7fELF..', 'ptx': 'a\\nb\\n'}\n",
    "backends/__init__.py": "",
    "backends/compiler.py": "def GPUTarget(*args): return args\n",
    "backends/nvidia/__init__.py": "",
    "backends/nvidia/driver.py": "import os\nclass CudaUtils:\n    def __init__(self):\n"
    "        folder = os.path.join(os.environ['TRITON_CACHE_DIR'], 'ab')\n"
    "        os.makedirs(folder)\n        open(os.path.join(folder, 'cuda_utils.so'), 'w')\n",
}
HEADERS = Path(sysconfig.get_paths()["include"], "Python.h")


def setting(tmp_path: Path, changes: dict[str, str] | None = None) -> ProofSetting:
    write(tmp_path / "packages" / "triton", {**TRITON, **(changes or {})})
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "packages")}
    compiler = shutil.which("gcc") or shutil.which("cc")
    return ProofSetting(
        facts=healthy.changed(),
        python=sys.executable,
        environment=environment,
        compiler=compiler if HEADERS.is_file() else None,
        arch=89,
        driver=True,
        timeout=PATIENCE,
    )


def tried(here: ProofSetting, rung: str = "import-triton") -> RungResult:
    """The result of one rung, tried with nothing but it."""
    (result,) = ladder.prove(here, records.select(only=[rung])).results
    return result


def states(results: Proof) -> dict[str, RungState]:
    return {r.id: r.state for r in results.results}


def test_every_basic_rung_passes_where_everything_works(tmp_path: Path) -> None:
    proof = ladder.prove(setting(tmp_path))
    absent = {"headers-and-library", "helper-module"} if not HEADERS.is_file() else set()
    assert states(proof) == {
        r.id: "not-applicable" if r.id in absent else "passed" for r in ladder.BASIC
    }, proof
    assert proof.holds
    cubin = next(r for r in proof.results if r.id == "compile-cubin")
    assert cubin.detail == "sm_89: a cubin of 6 bytes, 2 lines of PTX"
    assert cubin.figures == {"cubin, bytes": 6, "ptx, bytes": 4}


@pytest.mark.parametrize("state", ["passed", "failed"])
def test_what_is_known_is_not_tried_again_and_counts_for_what_needs_it(
    tmp_path: Path, state: RungState
) -> None:
    broken = setting(tmp_path, {"__init__.py": "raise ImportError"})
    known = RungResult(id="import-triton", title="", state=state, detail="known", seconds=1.0)
    proof = ladder.prove(replace(broken, known=(known,)))
    assert known in proof.results
    assert states(proof)["compile-cubin"] == ("failed" if state == "passed" else "skipped")


def killed_by(number: int) -> str:
    return f"import os; os.kill(os.getpid(), {number})"


signals = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")


@pytest.mark.parametrize(
    ("file", "text", "state", "says"),
    [
        ("__init__.py", "raise ImportError('no DLL')", "failed", "ImportError: no DLL"),
        ("__init__.py", "import os; os._exit(7)", "crashed", "the process ended with exit 7"),
        ("__init__.py", "print('noise'); raise SystemExit(0)", "failed", "SystemExit"),
        ("_C/libtriton.py", "import ctypes; ctypes.string_at(0)", "crashed", "ended with"),
        ("__init__.py", "raise ImportError('two\\nlines')", "failed", "ImportError: two lines"),
        ("__init__.py", TRITON["__init__.py"] + 'print(\'{"state": "failed"}\')', "passed", ""),
        pytest.param("__init__.py", killed_by(9), "crashed", "signal 9 (Killed)", marks=signals),
        pytest.param(
            "__init__.py", killed_by(11), "crashed", "signal 11 (Segmentation fault)", marks=signals
        ),
    ],
)
def test_how_the_import_ended_is_seen(
    tmp_path: Path, file: str, text: str, state: RungState, says: str
) -> None:
    result = tried(setting(tmp_path, {file: text}))
    assert (result.state, says in result.detail) == (state, True), result


def test_what_needs_a_broken_import_is_skipped(tmp_path: Path) -> None:
    proof = ladder.prove(setting(tmp_path, {"__init__.py": "raise ImportError"}))
    reasons = {r.id: (r.state, r.detail) for r in proof.results}
    assert reasons["compile-cubin"] == ("skipped", "needs import-triton")
    assert not proof.holds


@pytest.mark.parametrize(
    ("file", "text", "rung", "says"),
    [
        (
            "compiler.py",
            TRITON["compiler.py"].replace("\\x7fELF", "text"),
            "compile-cubin",
            "no cubin",
        ),
        (
            "backends/nvidia/driver.py",
            "class CudaUtils: pass\n",
            "helper-module",
            "no helper module",
        ),
    ],
)
def test_results_are_looked_at(tmp_path: Path, file: str, text: str, rung: str, says: str) -> None:
    if rung == "helper-module" and not HEADERS.is_file():
        pytest.skip("no headers of this Python")
    proof = ladder.prove(setting(tmp_path, {file: text}))
    result = next(r for r in proof.results if r.id == rung)
    assert (result.state, says in result.detail) == ("failed", True), result


def test_the_users_caches_neither_help_nor_change(tmp_path: Path) -> None:
    users = {
        name: str(tmp_path / name)
        for name in ("TRITON_CACHE_DIR", "TRITON_HOME", "TORCHINDUCTOR_CACHE_DIR")
    }
    plain = setting(tmp_path)
    mine = replace(plain, environment={**plain.environment, **users})
    if HEADERS.is_file():
        assert ladder.prove(mine).holds
    ladder.prove(mine, records.select(only=["compile-cubin"]))
    assert not [name for name in users if (tmp_path / name).exists()]
    assert plain.user_cache == next(c.path for c in plain.facts.caches if c.kind == "triton")


def test_closing_the_climb_ends_what_runs_and_what_is_just_being_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Completed] = []
    begun, closing = threading.Event(), threading.Event()

    def run(*words: Any, **more: Any) -> Completed:
        begun.set()
        assert closing.wait(PATIENCE)
        ran.append(process.run(*words, **more))
        return ran[-1]

    def end_running() -> None:
        process.end_running()
        closing.set()

    monkeypatch.setattr(ladder, "run", run)
    monkeypatch.setattr(waiting, "end_running", end_running)
    hang = {"_C/libtriton.py": "import time; time.sleep(600)"}
    here = replace(setting(tmp_path, hang), compiler=None)
    climb = ladder.climb(here, records.select(through="import-triton"))
    assert next(climb).state == "not-applicable"
    assert begun.wait(PATIENCE)
    climb.close()
    assert [(done.timed_out, done.code == 0) for done in ran] == [(False, False)]


def test_headers_of_another_python_are_noticed(tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho no Python.h >&2\nexit 1\n")
    fake.chmod(0o755)
    proof = ladder.prove(replace(setting(tmp_path), compiler=str(fake)))
    first = proof.results[0]
    assert (first.state, "no Python.h" in first.detail) == ("failed", True)
    assert states(proof)["helper-module"] == "skipped"
    assert states(proof)["compile-cubin"] == "passed"


@pytest.mark.skipif(os.name == "nt", reason="links; tests/winlane/test_verify.py has real names")
def test_no_variable_of_triton_names_a_folder_that_is_not_in_ascii(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link stands in for the short name that Windows gives a folder."""
    long, short = tmp_path / "J\u00f6rg", tmp_path / "JRG~1"
    long.mkdir()
    short.symlink_to(long)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setattr(
        "tritonwin.system.winapi.short_path", lambda path: short / path.relative_to(long)
    )
    seen: list[str] = []

    def run(*words: Any, env: dict[str, str], cwd: Path, **more: Any) -> Completed:
        seen.extend([env["TRITON_CACHE_DIR"], env["TRITON_HOME"], str(cwd)])
        return process.run(*words, env=env, cwd=cwd, **more)

    monkeypatch.setattr(ladder, "run", run)
    assert tried(setting(tmp_path)).detail
    assert len(seen) == 3
    assert all(text.startswith(str(short)) for text in seen)
    assert list(long.iterdir()) == []


def test_no_place_for_temporary_files_fails_its_rungs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    result = tried(setting(tmp_path))
    assert result.state == "failed"
    assert result.detail.startswith("the folder for temporary files cannot be written: ")


def test_what_needs_an_absent_rung_is_absent_and_what_needs_a_broken_one_is_skipped(
    tmp_path: Path,
) -> None:
    def rung(name: str, *needs: str, **more: Any) -> Rung:
        program = "import_triton.py"
        return Rung(id=name, title=name, proves="", program=program, needs=needs, **more)

    rungs = [
        rung("a", packages=("not-there",)),
        rung("b", "a"),
        rung("c"),
        rung("d", "a", "c"),
        rung("e", "d"),
    ]
    broken = setting(tmp_path, {"__init__.py": "raise ImportError"})
    assert states(ladder.prove(broken, rungs)) == {
        "a": "not-installed",
        "b": "not-applicable",
        "c": "failed",
        "d": "skipped",
        "e": "skipped",
    }


def test_a_known_failure_is_named(tmp_path: Path) -> None:
    stale = "raise ModuleNotFoundError(\"No module named 'triton.ops'\")"
    result = tried(setting(tmp_path, {"__init__.py": stale}))
    assert result.problems[:1] == ("stale-package-needs-triton-ops",)


def test_a_silent_death_is_named_by_what_doctor_finds(tmp_path: Path) -> None:
    old = replace(healthy.HEALTHY.runtime_dlls[0], version="14.0.24215.1", loaded=True)
    died = setting(tmp_path, {"_C/libtriton.py": "import os; os._exit(1)"})
    result = tried(replace(died, facts=healthy.changed(runtime_dlls=(old,))))
    assert result.state == "crashed"
    assert "vcredist-too-old-beside-python" in result.problems, result


def test_the_setting_follows_the_facts() -> None:
    facts = healthy.changed(
        gpus=(healthy.gpu("12.0"),),
        drivers=(Driver(vendor="nvidia", source="s", version="581.57", error=None),),
    )
    found = setting_for(facts, {})
    assert (found.arch, found.driver) == (120, True)
    assert facts.triton
    assert found.compiler == facts.triton.tinycc
    assert setting_for(facts, {}, arch=75).arch == 75
    assert setting_for(replace(facts, gpus=(), drivers=()), {}).arch == DEFAULT_ARCH
    with pytest.raises(ValueError, match="no target"):
        setting_for(replace(facts, target=None), {})


def test_rungs_share_a_large_gpu_only() -> None:
    def workers(memory: int | None, processors: int) -> int:
        card = replace(healthy.gpu("9.0"), memory_bytes=memory)
        system = replace(healthy.SYSTEM, cpu_count=processors)
        facts = healthy.changed(gpus=(card,), system=system)
        return setting_for(facts, {}).workers

    assert (workers(80 * 2**30, 16), workers(80 * 2**30, 8)) == (8, 4)
    assert workers(24_564 * 2**20, 16) == 8  # a GeForce RTX 4090
    assert (workers(8 * 2**30, 16), workers(None, 16), workers(80 * 2**30, 2)) == (2, 2, 2)


def _proof(**states: RungState) -> Proof:
    return Proof(
        results=tuple(
            RungResult(id=name, title=name, state=state, detail="", seconds=0)
            for name, state in states.items()
        )
    )


def test_worse_means_failing_what_passed_before() -> None:
    before = _proof(a="passed", b="failed", c="passed")
    assert _proof(a="failed", b="failed", c="skipped").worse_than(before) == ("a",)
    assert _proof(a="crashed", b="passed", c="timed-out").worse_than(before) == ("a", "c")
    assert _proof(a="passed", b="passed", c="not-applicable").worse_than(before) == ()
    assert not _proof(a="skipped").holds
