"""Real pip in a Windows Python, offline: what it says when it cannot do what is asked."""

from __future__ import annotations

import contextlib
import http.server
import threading
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO

from faults import FORK, Seed
from provoked import WORK, Provocation, kernel, nothing, printed, python
from winlane.packages import Packages

WHEELS_FOLDER = r"C:\wheels"


def pip(seed: Seed, *args: str) -> str:
    return printed(python(seed, "-m", "pip", "--disable-pip-version-check", *args))


def install(*requirements: str) -> Callable[[Seed], str]:
    """`pip install` with no index but the folder of wheels."""

    def run(seed: Seed) -> str:
        seed.machine.place(WORK, None)
        seed.machine.place(WHEELS_FOLDER, None)
        return pip(seed, "install", "--no-index", "--find-links", WHEELS_FOLDER, *requirements)

    return run


def wheel(file: str, *requires: str) -> Callable[[Seed], None]:
    """An empty wheel of that name in the folder of wheels."""

    def place(seed: Seed) -> None:
        name, version, *_ = file.split("-")
        info = f"{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        content = BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr(f"{name}.py", "")
            needed = "".join(f"Requires-Dist: {each}\n" for each in requires)
            archive.writestr(f"{info}/METADATA", metadata + needed)
            tag = file.removesuffix(".whl").split("-", 2)[2]
            archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
            archive.writestr(f"{info}/RECORD", "")
        seed.machine.place(rf"{WHEELS_FOLDER}\{file}", content.getvalue())

    return place


def given(*steps: Callable[[Seed], object]) -> Callable[[Seed], None]:
    def take(seed: Seed) -> None:
        for step in steps:
            step(seed)

    return take


def _local(file: str) -> tuple[Callable[[Seed], None], Callable[[Seed], str]]:
    return wheel(file), install(rf"{WHEELS_FOLDER}\{file}")


def _setuptools_wheel(seed: Seed) -> None:
    """The wheel that build isolation installs, packed again from what the lane has unpacked."""
    unpacked = Packages(seed.machine.lane.cache).unpacked("3.12", ["setuptools"])
    (info,) = unpacked.glob("setuptools-*.dist-info")
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for part in (unpacked / "setuptools", unpacked / "_distutils_hack", info):
            for file in sorted(part.rglob("*")):
                if file.suffix != ".pyc":
                    archive.write(file, file.relative_to(unpacked))
    name = info.name.removesuffix(".dist-info")
    seed.machine.place(rf"{WHEELS_FOLDER}\{name}-py3-none-any.whl", content.getvalue())


def _dlls_folder(seed: Seed) -> None:
    """Extension modules where python.org's installer puts them: isolation takes the home away."""
    place = seed.env.home / "DLLs"
    place.mkdir()
    for file in seed.env.home.iterdir():
        ours = not file.name.startswith(("python", "vcruntime"))
        if ours and file.suffix in (".pyd", ".dll"):
            file.rename(place / file.name)


def _needs_torch_to_build(seed: Seed) -> None:
    seed.machine.place(
        rf"{WORK}\flash-attention\setup.py",
        "import torch\nfrom setuptools import setup\n\nsetup(name='flash_attn', version='2.8.3')\n",
    )


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_request(self, *args: object) -> None:
        pass

    def log_error(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def _server() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _stale_link(seed: Seed) -> str:
    with _server() as host:
        file = "triton-3.1.0-cp312-cp312-win_amd64.whl"
        return install(f"{host}/releases/download/v3.1.0-windows.post5/{file}")(seed)


def _two_pythons(seed: Seed) -> str:
    other = seed.machine.environment("3.12", "full", [FORK])
    seed.machine.place(WORK, None)
    arguments = ("-m", "pip", "--disable-pip-version-check", "install", "triton-windows")
    installed = printed(other.run(*arguments, cwd=WORK))
    prompt = r"C:\ComfyUI_windows_portable>"
    program = r"python_embeded\python.exe train.py"
    return f"{prompt}pip install triton-windows\n{installed}\n{prompt}{program}\n{kernel()(seed)}"


def _update(seed: Seed) -> str:
    install(rf"{WHEELS_FOLDER}\torch-2.14.1+cu130-py3-none-any.whl")(seed)
    return install("some_app")(seed)


def provocation(
    problem: str,
    names: str,
    seed: Callable[[Seed], object],
    run: Callable[[Seed], str],
    triton: str | None = None,
    kind: str = "full",
) -> Provocation:
    return Provocation(problem, names, seed, kind, triton=triton, run=run)


PIP = (
    provocation(
        "upstream-triton-no-windows-wheel", "(from versions: none)", nothing, install("triton")
    ),
    provocation(
        "upstream-triton-no-windows-wheel",
        "triton>=3.2 (from some-app)",
        wheel("some_app-1.0-py3-none-any.whl", "triton>=3.2"),
        install("some_app"),
        triton=FORK,
    ),
    provocation(
        "wheel-tag-unsupported",
        "linux_x86_64",
        *_local("flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl"),
    ),
    provocation(
        "wheel-tag-unsupported", "cp311", *_local("sageattention-2.2.0-cp311-cp311-win_amd64.whl")
    ),
    provocation(
        "python-unsupported",
        "(from versions: none)",
        wheel("triton_windows-3.8.0.post29-cp313-cp313-win_amd64.whl"),
        install("triton-windows"),
    ),
    provocation(
        "distribution-name-or-url",
        "triton-windows>=3.2 (from some-app)",
        given(
            wheel("some_app-1.0-py3-none-any.whl", "triton-windows>=3.2"),
            lambda s: s.dist("triton", "3.2.0"),
        ),
        install("some_app"),
    ),
    provocation("distribution-name-or-url", "404", nothing, _stale_link),
    provocation(
        "distribution-name-or-url",
        "requires triton, which is not installed",
        lambda s: s.dist("torchao", "0.14.0", requires=("triton>=3.0",)),
        lambda s: (s.machine.place(WORK, None), pip(s, "check"))[1],
        triton=FORK,
    ),
    provocation("wrong-interpreter", "already satisfied", nothing, _two_pythons, kind="comfyui"),
    provocation(
        "build-isolation-hides-torch",
        "No module named 'torch'",
        given(_setuptools_wheel, _dlls_folder, _needs_torch_to_build),
        install(rf"{WORK}\flash-attention"),
    ),
    provocation(
        "update-replaced-torch",
        "torch-2.14.1+cu130",
        given(
            wheel("torch-2.14.1+cu130-py3-none-any.whl"),
            wheel("torch-2.15.0-py3-none-any.whl"),
            wheel("some_app-2.0-py3-none-any.whl", "torch>=2.15"),
        ),
        _update,
    ),
    provocation(
        "triton-and-fork-both-installed",
        "triton-windows",
        lambda s: s.dist("triton", "3.8.0"),
        lambda s: (s.machine.place(WORK, None), pip(s, "list"))[1],
        triton=FORK,
    ),
)
