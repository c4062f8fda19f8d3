"""The proof ladder, climbed with Triton packages of our own making."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import healthy
import pytest

from tritonwin.facts.model import Driver, Gpu
from tritonwin.verify import ladder
from tritonwin.verify.ladder import Setting
from tritonwin.verify.model import Proof, RungResult, RungState

TRITON = {
    "__init__.py": "__version__ = '3.5.1'\nfrom triton import compiler\n"
    "def jit(f): return f\ndef compile(source, target): return compiler.Compiled()\n",
    "language.py": "",
    "_C/__init__.py": "",
    "_C/libtriton.py": "",
    "compiler.py": "class ASTSource:\n    def __init__(self, fn, signature): pass\n"
    "class Compiled:\n    asm = {'cubin': b'\\x7fELF..', 'ptx': 'a\\nb\\n'}\n",
    "backends/__init__.py": "",
    "backends/compiler.py": "def GPUTarget(*args): return args\n",
    "backends/nvidia/__init__.py": "",
    "backends/nvidia/driver.py": "import os\nclass CudaUtils:\n    def __init__(self):\n"
    "        folder = os.path.join(os.environ['TRITON_CACHE_DIR'], 'ab')\n"
    "        os.makedirs(folder)\n        open(os.path.join(folder, 'cuda_utils.so'), 'w')\n",
}
HEADERS = Path(sysconfig.get_paths()["include"], "Python.h")


def setting(tmp_path: Path, changes: dict[str, str] | None = None) -> Setting:
    for name, text in {**TRITON, **(changes or {})}.items():
        file = tmp_path / "packages" / "triton" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "packages")}
    compiler = shutil.which("gcc") or shutil.which("cc")
    return Setting(
        python=sys.executable,
        environment=environment,
        compiler=compiler if HEADERS.is_file() else None,
        arch=89,
        driver=True,
        timeout=60,
    )


def states(results: Proof) -> dict[str, RungState]:
    return {r.id: r.state for r in results.results}


def test_every_rung_passes_where_everything_works(tmp_path: Path) -> None:
    proof = ladder.prove(setting(tmp_path))
    skipped = {"headers-and-library", "helper-module"} if not HEADERS.is_file() else set()
    assert states(proof) == {
        r.id: "skipped" if r.id in skipped else "passed" for r in ladder.RUNGS
    }, proof
    assert proof.holds
    cubin = next(r for r in proof.results if r.id == "compile-cubin")
    assert cubin.detail == "sm_89: a cubin of 6 bytes, 2 lines of PTX"


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("__init__.py", "raise ImportError('DLL load failed')", "ImportError: DLL load failed"),
        ("__init__.py", "import os; os._exit(7)", "the process ended with exit 7"),
        ("__init__.py", "print('noise'); raise SystemExit(0)", "SystemExit"),
        ("_C/libtriton.py", "import ctypes; ctypes.string_at(0)", "the process ended with"),
    ],
)
def test_a_package_that_cannot_be_imported(tmp_path: Path, file: str, text: str, says: str) -> None:
    proof = ladder.prove(setting(tmp_path, {file: text}))
    result = next(r for r in proof.results if r.id == "import-triton")
    assert result.state == "failed"
    assert says in result.detail
    assert {states(proof)[i] for i in ("compile-cubin", "helper-module")} == {"skipped"}
    assert not proof.holds


def test_noise_on_stdout_is_not_taken_for_the_answer(tmp_path: Path) -> None:
    noisy = TRITON["__init__.py"] + 'print(\'{"state": "failed"}\')\n'
    result = next(iter(ladder.climb(setting(tmp_path, {"__init__.py": noisy}), "import-triton")))
    assert result.id == "headers-and-library"
    shown = ladder.prove(setting(tmp_path, {"__init__.py": noisy}), "import-triton")
    assert shown.results[-1].state == "passed"


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
            "class CudaUtils:\n    pass\n",
            "helper-module",
            "no helper module appeared",
        ),
    ],
)
def test_results_are_looked_at(tmp_path: Path, file: str, text: str, rung: str, says: str) -> None:
    if rung == "helper-module" and not HEADERS.is_file():
        pytest.skip("no headers of this Python")
    proof = ladder.prove(setting(tmp_path, {file: text}))
    result = next(r for r in proof.results if r.id == rung)
    assert (result.state, says in result.detail) == ("failed", True), result


def test_a_rung_that_hangs_is_ended(tmp_path: Path) -> None:
    slow = replace(setting(tmp_path, {"__init__.py": "import time; time.sleep(60)"}), timeout=1)
    proof = ladder.prove(slow, "import-triton")
    assert proof.results[-1].detail == "no end within 1 s"


def test_headers_of_another_python_are_noticed(tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no Python.h')\n")
    fake.chmod(0o755)
    proof = ladder.prove(replace(setting(tmp_path), compiler=str(fake)))
    first = proof.results[0]
    assert (first.state, "no Python.h" in first.detail) == ("failed", True)
    assert states(proof)["helper-module"] == "skipped"
    assert states(proof)["compile-cubin"] == "passed"


def test_what_is_not_here_is_skipped_with_a_reason(tmp_path: Path) -> None:
    bare = replace(setting(tmp_path), compiler=None, driver=False)
    proof = ladder.prove(bare)
    reasons = {r.id: r.detail for r in proof.results if r.state == "skipped"}
    assert set(reasons) == {"headers-and-library", "helper-module"}
    assert all(reasons.values())


def test_the_setting_follows_the_facts() -> None:
    facts = healthy.changed(
        gpus=(Gpu(index=0, vendor="nvidia", name="G", source="s", compute_capability="12.0"),),
        drivers=(Driver(vendor="nvidia", source="s", version="581.57", error=None),),
    )
    found = ladder.setting(facts, {})
    assert (found.arch, found.driver) == (120, True)
    assert facts.triton
    assert found.compiler == facts.triton.tinycc
    assert ladder.setting(facts, {}, arch=75).arch == 75
    assert ladder.setting(replace(facts, gpus=(), drivers=()), {}).arch == ladder.DEFAULT_ARCH
    with pytest.raises(ValueError, match="no target"):
        ladder.setting(replace(facts, target=None), {})


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
    assert _proof(a="passed", b="passed", c="passed").worse_than(before) == ()
    assert not _proof(a="skipped").holds
