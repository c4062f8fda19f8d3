"""What checks say of several things at once, at the borders of versions, and of odd spellings."""

from __future__ import annotations

from dataclasses import replace

import healthy
import pytest
from healthy import SDK, TOOLSET, changed, dist, gpu, part, toolkit, variable, without

from tritonwin.facts.records import Driver, Facts, Gpu, Proven, Rocm
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose, findings_of

H = healthy.HEALTHY
HOME = healthy.HOME
AMD = Gpu(index=0, vendor="amd", name="Radeon", source="registry")


def texts(check: str, facts: Facts) -> list[str]:
    """What that check finds, each in its own words."""
    wanted = [c for c in CHECKS if c.id == check]
    assert wanted, check
    assert diagnose(facts, wanted).checks[0].state != "crashed"
    return [found.evidence[0].text for found in findings_of(facts, wanted)]


def dev(**changes: object) -> Facts:
    return part("python_dev", **changes)


def threaded(**changes: object) -> Facts:
    """A free-threaded Python with headers of its kind."""
    return replace(part("target", free_threaded=True), python_dev=replace(H.python_dev, **changes))


def variables(**values: str) -> Facts:
    return changed(variables=tuple(variable(*each) for each in values.items()))


def builders(cuda: tuple[str, ...], msvc: tuple[str, ...]) -> Facts:
    """Toolkits and toolsets of these versions."""
    return changed(
        cuda_toolkits=tuple(toolkit(version, "Program Files") for version in cuda),
        msvc=tuple(replace(TOOLSET, version=version) for version in msvc),
        windows_sdks=(SDK,),
    )


def driver(**fields: object) -> Facts:
    return changed(drivers=(Driver(vendor="nvidia", source="NVML", **fields),))  # type: ignore[arg-type]


def proven(**fields: object) -> Facts:
    """A proof of what is there, but for these."""
    versions = {d.name: d.version for d in H.distributions if d.name != "setuptools"}
    record = Proven(when="then", python="3.12.9", driver="581.57", versions=versions)
    return changed(proven=replace(record, **fields))


HALF = ": half of Visual Studio's environment"
SIX = ("a.h", "b.h", "c.h", "d.h", "e.h", "f.h")

# check, facts, all that it says
SAID = [
    (
        "cuda-path-wrong",
        changed(
            cuda_toolkits=(
                toolkit("12.8", "CUDA_PATH", header=None, library=None),
                toolkit("11.8", "CUDA_HOME"),
                toolkit("11.7", "PATH"),
            )
        ),
        [
            r"CUDA_PATH is C:\CUDA\v12.8: incomplete: cuda.h, cuda.lib not there",
            r"CUDA_HOME is C:\CUDA\v11.8: CUDA 11.8; Triton needs 12 or later",
        ],
    ),
    ("cuda-path-wrong", changed(cuda_toolkits=(toolkit("12.0", "CUDA_PATH"),)), []),
    (
        "cuda-path-wrong",
        changed(cuda_toolkits=(toolkit("12.8", "CUDA_PATH", ptxas=None),)),
        [r"CUDA_PATH is C:\CUDA\v12.8: incomplete: ptxas not there"],
    ),
    (
        "nvcc-host-compiler-mismatch",
        builders(("12.8",), ("14.50.35717", "14.60.1")),
        [("nvcc 12.8 accepts Visual C++ >=14.10,<14.50, installed is 14.50.35717, 14.60.1")],
    ),
    ("nvcc-host-compiler-mismatch", builders(("12.8",), ("14.50.35717", "14.44.35207")), []),
    (
        "cuda-toolkit-for-build",
        builders(("11.8", "13.0"), ()),
        ["only CUDA 11.8 was found; building an extension for this torch needs CUDA 12.8"],
    ),
    ("cuda-toolkit-for-build", builders(("13.0", "12.4"), ()), []),
    (
        "embedded-python-no-headers",
        dev(headers=None, import_library=None, passed_over=(r"C:\a", r"C:\b")),
        [
            (
                "Python.h and the import library pythonXY.lib not found for Python 3.12.9; "
                r"looked in C:\a, C:\b"
            )
        ],
    ),
    (
        "python-headers-wrong-set",
        dev(headers_missing=SIX, headers_damaged=SIX[::-1]),
        [
            "a.h, b.h, c.h, d.h, e.h missing from the headers",
            "f.h, e.h, d.h, c.h, b.h damaged",
        ],
    ),
    (
        "python-headers-wrong-set",
        threaded(headers_free_threaded=True),
        ["the import library is for python312.dll, not for python312t.dll"],
    ),
    (
        "python-headers-wrong-set",
        threaded(headers_free_threaded=True, import_library_dll="PYTHON312T.dll"),
        [],
    ),
    ("python-headers-wrong-set", dev(import_library_machine="x64"), []),
    (
        "vs-components-missing",
        changed(msvc=(replace(TOOLSET, missing=SIX),), windows_sdks=(SDK,)),
        ["Visual Studio Build Tools 2022: a.h, b.h, c.h, d.h not installed"],
    ),
    (
        "vs-components-missing",
        changed(msvc=(TOOLSET,), windows_sdks=(replace(SDK, missing=SIX),)),
        ["Windows SDK 10.0.22621.0 lacks a.h, b.h, c.h, d.h"],
    ),
    (
        "vs-components-missing",
        changed(
            msvc=(replace(TOOLSET, missing=SIX), TOOLSET),
            windows_sdks=(replace(SDK, missing=SIX), SDK),
        ),
        [],
    ),
    # only a backslash is what is left where no SDK was found
    *(
        (
            "msvc-env-not-initialised",
            variables(WindowsSdkDir=r"C:\Kits\10", WindowsSDKVersion=version),
            said,
        )
        for version, said in (
            ("\\", [f"WindowsSdkDir is set and WindowsSDKVersion is not{HALF}"]),
            (" \\ ", [f"WindowsSdkDir is set and WindowsSDKVersion is not{HALF}"]),
            ("10.0.22621.0\\", []),
        )
    ),
    (
        "msvc-env-not-initialised",
        variables(VCINSTALLDIR=r"C:\VC"),
        [f"VCINSTALLDIR is set and VCToolsVersion is not{HALF}"],
    ),
    (
        "msvc-env-not-initialised",
        variables(VCINSTALLDIR=r"C:\VC", VCToolsVersion="14.44"),
        [f"VCINSTALLDIR is set and WindowsSdkDir is not{HALF}"],
    ),
    (
        "x86-toolchain",
        variables(VSCMD_ARG_TGT_ARCH=" X86 "),
        ["this is the environment of the x86 prompt"],
    ),
    ("x86-toolchain", variables(VSCMD_ARG_TGT_ARCH="x64"), []),
    (
        "path-with-spaces-unquoted",
        variables(CL=r"/Id:/My Files\x", _LINK_=r"/LIBPATH:C:\a b\c", LINK=r'/O "C:\a b\c" /x\y'),
        [
            r"CL holds a path that is cut at its blank: /Id:/My Files\x",
            r"_LINK_ holds a path that is cut at its blank: /LIBPATH:C:\a b\c",
        ],
    ),
    ("path-with-spaces-unquoted", variables(CL=r"/IC:\a -DX=\y @C:\z C:\b c:\d"), []),
    (
        "mixed-environments",
        part("target", managers=("conda", "venv", "uv")),
        ["this environment carries marks of conda and venv and uv"],
    ),
    # the same folder, as other programs write it
    ("mixed-environments", variables(VIRTUAL_ENV="c:/comfyui/PYTHON_EMBEDED/"), []),
    ("mixed-environments", variables(CONDA_PREFIX=HOME + "\\"), []),
    (
        "environment-drifted",
        proven(python="3.11.9"),
        ["Python was 3.11.9 when it was proven to work, and is 3.12.9"],
    ),
    (
        "environment-drifted",
        proven(driver=None),
        ["the driver was not there when it was proven to work, and is 581.57"],
    ),
    ("environment-drifted", proven(), []),
    (
        "amd-rocm-paths",
        changed(
            gpus=(AMD,),
            drivers=(),
            rocm=(Rocm(path=r"C:\R", source="x", kind="hip-sdk", missing=SIX),),
        ),
        [r"ROCm in C:\R lacks a.h, b.h, c.h, d.h"],
    ),
    (
        "update-replaced-torch",
        changed(distributions=(*H.distributions, dist("torch", "2.8.0"), dist("torch", "2.7.0"))),
        [
            (
                "the records of torch 2.9.1+cu128 and 2.8.0 and 2.7.0 lie side by side: one was put "
                "over the other"
            )
        ],
    ),
    (
        "distribution-name-or-url",
        changed(
            distributions=(
                *without("triton-windows"),
                dist("triton", "3.5.1"),
                dist("somenode", "1", requires=("triton-windows>=3", "triton>=3")),
            )
        ),
        ["somenode 1 requires triton-windows>=3, installed is triton"],
    ),
    # borders of versions
    *(
        (
            "old-setuptools",
            replace(
                part("target", version=python),
                distributions=(*without("setuptools"), dist("setuptools", version)),
            ),
            [f"setuptools {version} uses pkgutil.ImpImporter, which Python 3.12 no longer has"]
            if found
            else [],
        )
        for python, version, found in (
            ("3.11.9", "65.5.0", False),
            ("3.12.0", "66.0.0", True),
            ("3.12.0", "66.1.0", False),
        )
    ),
    *(
        (
            "stale-package-needs-triton-ops",
            replace(
                part("triton", version=triton),
                distributions=(*H.distributions, dist("bitsandbytes", version)),
            ),
            [f"bitsandbytes {version} imports triton.ops, which Triton {triton} no longer has"]
            if found
            else [],
        )
        for triton, version, found in (
            ("3.0.0", "0.44.1", False),
            ("3.1.0", "0.44.1", True),
            ("3.1.0", "0.45.0", False),
        )
    ),
    *(
        (
            "torch-too-old-for-triton",
            replace(part("torch", version=torch), triton=replace(H.triton, version=triton)),
            [
                (
                    f"torch {torch} is installed beside Triton {triton}; "
                    "2.4 is the first torch that works with a triton-windows"
                )
            ]
            if found
            else [],
        )
        for torch, triton, found in (
            ("2.3.1", "3.0.0", True),
            ("2.3.1", "2.1.0", False),
            ("2.4.0", "3.0.0", False),
        )
    ),
    ("driver-too-old", driver(version="525.60", cuda="12.0"), []),
    (
        "driver-too-old",
        driver(version="472.12", cuda="11.4"),
        ["driver 472.12 runs CUDA up to 11.4, torch needs CUDA 12.8"],
    ),
    ("driver-too-old", driver(error="it does not answer"), ["it does not answer"]),
    ("driver-too-old", driver(version="581.57"), []),
    # the second GPU is the first whose capability is known
    (
        "bf16-needs-sm80",
        changed(gpus=(replace(gpu("8.9"), compute_capability=None), gpu("7.5"), gpu("8.9"))),
        ["compute capability 7.5 has no bf16 instructions (8.0 and later have)"],
    ),
]


@pytest.mark.parametrize(("check", "facts", "said"), SAID, ids=lambda v: str(v)[:30])
def test_everything_that_a_check_says(check: str, facts: Facts, said: list[str]) -> None:
    assert texts(check, facts) == said


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        (("py3-none-any",), True),
        (("py2-none-any",), False),
        (("py2-none-any", "py3-none-any"), True),
        (("py3-none-win_amd64",), True),
        (("cp312-none-any",), True),
        (("cp313-none-any",), False),
        (("cp312-cp312-win_amd64",), True),
        (("cp312-cp312t-win_amd64",), False),
        (("cp311-cp311-win_amd64",), False),
        (("cp311-cp312-win_amd64",), False),
        (("cp39-abi3-win_amd64",), True),
        (("cp312-abi3-win_amd64",), True),
        (("cp313-abi3-win_amd64",), False),
        (("cp312-cp312-win_arm64",), False),
        (("cp312-cp312-win32",), False),
        (("cp312-cp312-manylinux_2_28_x86_64",), False),
        (("cp312-cp312-win32.win_amd64",), True),
        (("cp312-cp312-win32.linux_x86_64",), False),
        (("pp310-pypy310_pp73-win_amd64",), True),  # an unusual one proves nothing
        ((f"cp3{'1' * 5000}-cp312-win_amd64",), True),
        (("cp312",), True),  # and neither does a malformed one
        (("cp311-win_amd64",), True),
        (("cp311-cp311-win-amd64",), True),
        (("cp311-cp311-",), True),
        (("",), True),
        (("unknown", "cp311-cp311-win_amd64"), True),
        ((), True),
    ],
)
def test_which_wheels_are_made_for_this_python(tags: tuple[str, ...], fits: bool) -> None:
    facts = changed(distributions=(*H.distributions, dist("numpy", "2.0", tags=tags)))
    said = f"numpy 2.0 is made for {tags[0]}, this is Python 3.12.9 on win_amd64" if tags else ""
    assert texts("wheel-tag-unsupported", facts) == ([] if fits else [said])


@pytest.mark.parametrize(
    ("target", "tag", "fits"),
    [
        ({"free_threaded": True}, "cp312-cp312t-win_amd64", True),
        ({"free_threaded": True}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "win_arm64"}, "cp312-cp312-win_arm64", True),
        ({"platform_tag": "win_arm64"}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-manylinux_2_28_x86_64", True),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-linux_x86_64", True),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-win_amd64", False),
        ({"platform_tag": "linux_x86_64"}, "cp312-cp312-macosx_11_0_arm64", False),
        ({"version": "3.9.1"}, "cp39-cp39-win_amd64", True),
        ({"version": "3.9.1"}, "cp310-abi3-win_amd64", False),
    ],
)
def test_wheels_for_other_pythons(target: dict[str, object], tag: str, fits: bool) -> None:
    facts = replace(part("target", **target), distributions=(dist("numpy", "2.0", tags=(tag,)),))
    assert (texts("wheel-tag-unsupported", facts) == []) is fits


NO_NUMBER = "the interpreter's version is not known"


@pytest.mark.parametrize(
    ("check", "facts", "reason"),
    [
        ("embedded-python-no-headers", part("target", kind="venv"), "this is no embedded Python"),
        (
            "python-headers-wrong-set",
            dev(headers=None, import_library=None),
            "there are no headers to look at",
        ),
        (
            "wheel-tag-unsupported",
            part("target", platform_tag=None),
            "the interpreter's platform is not known",
        ),
        *(
            (check, part("target", version=None), NO_NUMBER)
            for check in ("wheel-tag-unsupported", "python-headers-wrong-set", "old-setuptools")
        ),
        (
            "cpu-only-torch",
            changed(torch=replace(H.torch, version="2.9.1+cpu", cuda=None), gpus=(AMD,)),
            "no NVIDIA GPU was seen",
        ),
        *(
            (
                check,
                part("triton", version=None),
                "the pairing of this torch and Triton is not known",
            )
            for check in ("triton-too-old", "triton-too-new-for-torch")
        ),
        (
            "no-triton-for-torch-yet",
            part("torch", version="9.9.9", wants_triton=None),
            "what torch 9.9.9 wants is not known",
        ),
        *(
            (check, part("triton", libtriton=library), "there is no Windows binary of Triton")
            for check in (
                "triton-sources-not-for-windows", "triton-patch-incomplete", "c-long-32bit",
                "triton-patch-overwritten", "fork-launcher-stale-error",
            )
            for library in (None, r"C:\triton\_C\libtriton.so")
        ),
        (
            "triton-variable-not-ascii",
            part("triton", version="3.4.0"),
            "only Triton 3.5 and later ask C for their variables",
        ),
        (
            "triton-variable-not-ascii",
            part("system", ansi_code_page=65001),
            "the code page of Windows is UTF-8",
        ),
        *(
            (
                check,
                changed(gpus=(gpu("99.0"),)),
                "compute capability 99.0 is newer than this table",
            )
            for check in ("gpu-generation-unsupported", "bf16-needs-sm80", "fp8-needs-sm89")
        ),
        (
            "nvcc-host-compiler-mismatch",
            builders((), ("14.44.35207",)),
            "no pair of CUDA toolkit and Visual C++ to compare",
        ),
        (
            "nvcc-host-compiler-mismatch",
            builders(("12.8",), ()),
            "no pair of CUDA toolkit and Visual C++ to compare",
        ),
        ("driver-too-old", changed(gpus=(AMD,), drivers=()), "the GPU is not NVIDIA's"),
    ],
)  # fmt: skip
def test_why_a_check_has_nothing_to_look_at(check: str, facts: Facts, reason: str) -> None:
    (result,) = diagnose(facts, [c for c in CHECKS if c.id == check]).checks
    assert (result.state, result.detail) == ("not-applicable", reason)
