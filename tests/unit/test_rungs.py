"""The programs of the rungs, as far as they can be judged without a GPU."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import json
import math
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from driver_outcomes import need_gcc, stand_in
from hypothesis import given
from hypothesis import strategies as st
from installed import install
from trees import write

from tritonwin.problems import catalogue

FOLDER = Path(str(files("tritonwin.verify.rungs")))
PROGRAMS = sorted(FOLDER.glob("*.py"))
OLDEST = (3, 8)


@pytest.fixture(autouse=True)
def _beside_each_other(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder that a rung is started in; imported modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (FOLDER / f"{name}.py").is_file():
            del sys.modules[name]


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_old_python_can_run_it(path: Path) -> None:
    text = path.read_text("utf-8")
    ast.parse(text, feature_version=OLDEST)
    newer = r"strict=|removeprefix|removesuffix|functools\.cache\b|itertools\.pairwise|match .*:\n"
    assert re.findall(newer, text) == []
    assert "from __future__ import annotations" in text or not text


def test_files_of_a_rung_find_each_other_in_an_embedded_python(tmp_path: Path) -> None:
    runner, rung = tmp_path / "probe_runner.py", tmp_path / "rung.py"
    runner.write_bytes((FOLDER / runner.name).read_bytes())
    (tmp_path / "beside.py").write_text("from probe_runner import KnownError\n")
    rung.write_text(
        "from beside import KnownError\n"
        "def found(arguments):\n    raise KnownError(arguments['text'], 'an-id')\n"
    )
    # -I leaves out the script's folder, as an embedded Python's ._pth file does
    command = [sys.executable, "-I", "-B", runner, "ab", rung, "found", '{"text": "a\\n b"}']
    out = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    answer = json.loads(out.decode().removeprefix("ab").removesuffix("ba"))
    assert answer == {"state": "failed", "detail": "a b", "problem": "an-id"}


def test_problems_that_rungs_name_are_in_the_catalogue() -> None:
    named = {
        name
        for path in PROGRAMS
        for name in re.findall(r'KnownError\((?:text|"[^"]*"), "([a-z0-9-]+)"\)', path.read_text())
    }
    assert len(named) >= 5
    assert named <= set(catalogue.load().entries)


@pytest.fixture
def no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of Triton that a file with kernels can be read: none of them is compiled."""
    language = SimpleNamespace(constexpr=int, extra=None)
    for name, module in (
        ("triton", SimpleNamespace(jit=lambda f: f, language=language)),
        ("triton.language", language),
        ("triton.language.extra", SimpleNamespace(libdevice=None)),
    ):
        monkeypatch.setitem(sys.modules, name, module)


# exponent bits, mantissa bits, bias: IEEE 754, and OCP 8-bit floating point, revision 1.0
FORMATS = {"fp16": (5, 10, 15), "bf16": (8, 7, 127), "fp8e4nv": (4, 3, 7), "fp8e5": (5, 2, 15)}


@pytest.mark.usefixtures("no_triton")
@pytest.mark.parametrize("dtype", FORMATS)
def test_bits_stand_for_their_numbers(dtype: str) -> None:
    exponents, mantissa, bias = FORMATS[dtype]
    numbers = list(range(-4, 5))
    for number, bits in zip(numbers, program("kernels").encoded(dtype, numbers), strict=True):
        sign, exponent = bits >> (exponents + mantissa), (bits >> mantissa) % (1 << exponents)
        fraction = 1 + (bits % (1 << mantissa)) / (1 << mantissa)
        assert (-1) ** sign * fraction * 2.0 ** (exponent - bias) * bool(exponent) == number


PRINTED = "pid (0, 0, 0) idx () tritonwin says: 1000\n"
ALL_PRINTED = PRINTED + PRINTED.replace("1000", "1001") + PRINTED.replace("1000", "1002")


@pytest.mark.usefixtures("no_triton")
@pytest.mark.parametrize(
    ("said", "ended"),
    [(ALL_PRINTED, "3 programs printed"), (PRINTED, "AssertionError"), ("\r\n", "AssertionError")],
)
def test_every_number_must_be_printed(said: str, ended: str) -> None:
    try:
        seen = program("kernels").heard(said)
    except AssertionError as error:
        seen = type(error).__name__
    assert seen.startswith(ended)


@pytest.mark.usefixtures("no_triton")
def test_inputs_of_the_dot_product_are_exact_in_every_format() -> None:
    dot = program("kernels")
    numbers = dot.pattern(1000, 1)
    assert set(numbers) == set(range(-4, 5))
    for dtype in dot.MEMORY:
        assert len(dot.encoded(dtype, numbers)) == 1000
    one = [int(m == k) for m in range(dot.M) for k in range(dot.K)]
    right = dot.pattern(dot.K * dot.N, 2)
    assert dot.reference(one, right) == right[: dot.M * dot.N]


@pytest.mark.usefixtures("no_triton")
def test_a_unit_is_the_distance_to_the_next_float() -> None:
    unit = program("kernels").unit
    for x in (1.0, 1.5, 0.37, 3.07, 1000.0):
        (bits,) = struct.unpack("<I", struct.pack("<f", x))
        (after,) = struct.unpack("<f", struct.pack("<I", bits + 1))
        assert unit(x) == after - struct.unpack("<f", struct.pack("<f", x))[0]
    assert unit(0.0) == unit(1e-9) == math.ldexp(1, -33)


@pytest.mark.parametrize(
    ("found", "allowed", "passes", "shown"),
    [
        (0.001, 0.002, True, 0.001),
        (0.002, 0.001, False, 0.002),
        (math.inf, 0.001, False, "not a number"),
        (math.inf, math.inf, False, "not a number"),
        (0.001, math.inf, False, 0.001),
        (0.001, math.nan, False, 0.001),
    ],
)
def test_what_is_no_number_passes_nothing(
    found: float, allowed: float, passes: bool, shown: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))  # the numbers need none
    judge = program("compare").Judge()
    judge.hold("one", found, allowed)
    assert judge.figures == {"error, one": shown}
    if passes:
        assert judge.verdict("right")[0] == "right"
    else:
        with pytest.raises(AssertionError, match="one: error"):
            judge.verdict("right")


@pytest.mark.parametrize(
    ("variables", "compiler", "arch", "problem"),
    [
        ({}, sys.executable, 89, None),
        ({"TRITON_PTXAS_PATH": "/nowhere/ptxas"}, sys.executable, 89, "ptxas-path"),
        ({"TRITON_PTXAS_PATH": sys.executable}, sys.executable, 89, "ptxas-path"),
        ({"TRITON_PTXAS_BLACKWELL_PATH": "/nowhere"}, sys.executable, 120, "ptxas-path"),
        ({"TRITON_PTXAS_BLACKWELL_PATH": "/nowhere"}, sys.executable, 89, None),
        ({}, None, 89, "no-c-compiler"),
        ({}, "/nowhere/gcc", 89, "cc-variable-wrong"),
    ],
)
def test_what_the_toolchain_is_refused_for(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    compiler: str | None,
    arch: int,
    problem: str | None,
) -> None:
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = program("toolchain").trouble_with(compiler, __file__, arch)
    assert [trouble.problem.startswith(problem or "-") for trouble in found] == [True] * len(found)
    assert bool(found) == bool(problem)


def test_cc_is_blamed_only_where_another_compiler_works(monkeypatch: pytest.MonkeyPatch) -> None:
    helper = program("toolchain")
    monkeypatch.delenv("CC", raising=False)
    assert not helper.is_of_cc("/usr/bin/gcc")
    monkeypatch.setenv("CC", "false")
    assert helper.is_of_cc("/usr/bin/gcc")
    assert not helper.is_of_cc(None)
    monkeypatch.setenv("CC", sys.executable)
    assert not helper.is_of_cc(sys.executable)


def test_libraries_of_this_process_are_listed() -> None:
    loaded = program("import_triton").loaded()
    assert any("libc" in os.path.basename(p) or "python" in p.lower() for p in loaded), loaded


def cubin(code: bytes = b"CODE", name: bytes = b".text.add") -> bytes:
    """A 64-bit ELF file with a section of code and one of names, as far as the rung reads it."""
    names = name + b"\0"
    table = 64 + len(code) + len(names)
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 40, table)
    struct.pack_into("<HHH", head, 58, 64, 3, 1)
    rows = [
        (0, 1, 0, 0, 64, len(code)),
        (len(name), 3, 0, 0, 64 + len(code), len(names)),
        (len(name), 8, 0, 0, 64, 10**9),
    ]
    entries = b"".join(struct.pack("<IIQQQQ", *row) + bytes(24) for row in rows)
    return bytes(head) + code + names + entries


ELF = cubin()


@pytest.mark.parametrize(
    ("image", "flaw"),
    [
        (ELF, None),
        (b"", "no cubin"),
        (b"text", "no cubin"),
        (ELF[:30], "makes no sense"),
        (ELF[:-1], "ends before its tables"),
        (ELF[:70], "ends before its tables"),
        (cubin(name=b".nv.info"), "no code"),
        (cubin(code=bytes(4)), "code is empty"),
        (ELF[:64] + bytes(len(ELF) - 64), "no code"),
        (ELF[:62] + b"\x09\x00" + ELF[64:], "makes no sense"),
        (ELF[:40] + b"\xff" * 8 + ELF[48:], "ends before its tables"),
        (ELF.replace(struct.pack("<Q", 4), struct.pack("<Q", 4000)), "shorter"),
    ],
)
def test_a_cubin_is_seen_to_be_whole_or_not(image: bytes, flaw: str | None) -> None:
    found = program("user_cache").flaw_of(image)
    assert (flaw is None) == (found is None)
    assert flaw is None or flaw in found


@given(st.binary(max_size=300), st.integers(0, 300))
def test_no_file_breaks_the_look_at_it(data: bytes, place: int) -> None:
    flaw_of = program("user_cache").flaw_of
    image = ELF[:place] + data
    assert flaw_of(image) is None or flaw_of(image)


def prove_cache(folder: Path) -> str:
    detail, _ = program("user_cache").prove({"user_cache": str(folder)})
    return str(detail)


def test_a_whole_cache_is_left_as_it_was(tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "cache"
    assert "0 kernels" in prove_cache(cache)
    assert not cache.parent.exists()
    write(cache, {"A/add.cubin": ELF, "B/add.cubin": ELF})
    assert "2 kernels are whole" in prove_cache(cache)
    assert sorted(p.name for p in cache.iterdir()) == ["A", "B"]
    assert program("user_cache").prove({"user_cache": None}) == ("the user has no cache yet", {})


@pytest.mark.parametrize(
    ("content", "says", "problem"),
    [
        (
            {"deep/cache/A/add.cubin": ELF, "deep/cache/B/add.cubin": b""},
            r"1 of 2 .*B.add\.cubin: no cubin",
            "damaged-cache-entry",
        ),
        pytest.param(
            {"deep": b""},
            "cannot be written",
            "triton-home-not-writable",
            marks=pytest.mark.skipif(os.name == "nt", reason="Wine makes folders of files"),
        ),
    ],
    ids=["damaged kernel", "file in its place"],
)
def test_a_flaw_of_the_cache_is_named(
    tmp_path: Path, content: dict[str, bytes], says: str, problem: str
) -> None:
    write(tmp_path, content)
    with pytest.raises(Exception, match=says) as caught:
        prove_cache(tmp_path / "deep" / "cache")
    assert getattr(caught.value, "problem", None) == problem


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lane's stand-in driver, which keeps memory and computes nothing, for Linux."""
    need_gcc()
    return stand_in(tmp_path_factory.mktemp("driver"), "nvidia")


@pytest.fixture
def device_module(
    no_triton: None, fake_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    load = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda name: load(str(fake_driver)))
    monkeypatch.setitem(sys.modules, "torch", None)
    return program("device")


def test_memory_through_the_driver(device_module: ModuleType) -> None:
    module = device_module
    device = module.Device()
    assert not device.computes
    numbers = device.upload_new("fp32", [0.5, 1.5, -2.0])
    assert list(numbers.read()) == [0.5, 1.5, -2.0]
    numbers.write(module.values("fp32", [9.0]), start=1)
    assert list(numbers.read(1, 2)) == [9.0, -2.0]
    assert (numbers.size, numbers.count) == (12, 3)
    assert device.free_memory() > 2**30
    with pytest.raises(RuntimeError, match=r"cuDeviceGet: CUDA error 101 \(CUDA_ERROR_INVALID_D"):
        device.call("cuDeviceGet", ctypes.byref(ctypes.c_int()), 7)
    assert module.report(device, "all", 3)[1] == {"numbers": "not checked"}
    device.computes = True
    assert module.report(device, "all", 0)[1]["numbers"] == "right"
    with pytest.raises(AssertionError, match="3 numbers are wrong"):
        module.report(device, "all", 3)


def test_a_kernel_that_died_is_named(
    device_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = device_module.Device()

    def die(function: str, *arguments: object) -> None:
        raise RuntimeError(f"{function}: CUDA error 700")

    monkeypatch.setattr(device, "call", die)
    with pytest.raises(Exception, match="a kernel that was launched died") as caught:
        device.synchronize()
    assert getattr(caught.value, "problem", None) == "async-cuda-error-blames-triton"


def test_the_encoder_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectral = program("spectral")
    kernels = SimpleNamespace(cubins=lambda scratch: int(scratch))
    monkeypatch.setitem(sys.modules, "compare", kernels)  # the real one imports torch
    with pytest.raises(spectral.NotApplicableError, match="byte-spectral is not installed"):
        spectral.prove({"scratch": "3"})
    rungs = "[tritonwin.rungs]\nother = absent:prove\nspectral = proof_of_it:prove\n"
    proof = "def prove(arguments):\n    return 'all right', {'error': 0.0}\n"
    info = install(tmp_path, "byte-spectral", "1.0", {"proof_of_it.py": proof})
    write(info, {"entry_points.txt": rungs})
    monkeypatch.syspath_prepend(str(tmp_path))
    found = spectral.prove({"scratch": "3"})
    assert found == ("all right", {"error": 0.0, "Triton kernels": 3})
    with pytest.raises(AssertionError, match="compiled no Triton kernel"):
        spectral.prove({"scratch": "0"})
