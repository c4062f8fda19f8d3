#!/usr/bin/env python3
"""Make the single file `tritonwin.pyz`: tritonwin and what it needs, started by any Python >= 3.10.

    python tools/build_pyz.py -o tritonwin.pyz

`tritonwin.bat` beside it is the same for a double click: a batch file that finds the Python of the
application that it lies in, with the same zip behind its last line. `tritonwin-comfyui.zip` holds
the folder for ComfyUI's `custom_nodes`: the node, with that batch file in it. Each has its SHA-256
beside it. The same sources and the same zlib give the same bytes. The wheels are those of
`pyz/requirements.txt`, by hash, fetched by pip from the index that it is configured for.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tritonwin"
PYZ = Path(__file__).resolve().parent / "pyz"
NODE = ROOT / "integrations" / "comfyui"
SHEBANG = b"#!/usr/bin/env python3\n"
# Where the end of the file is missing, Python takes it for source text, and shows of all of it this
# name of an encoding alone.
CUT_OFF = b"# coding: this_file_is_not_whole--fetch_it_again\n"
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
# of a distribution only its licence has to travel along
_LEFT_OUT = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "WHEEL", "top_level.txt"}


def wheels(folder: Path) -> list[Path]:
    """The wheels of what tritonwin needs, downloaded into `folder`.

    Raises:
        CalledProcessError: pip cannot get one, or it has another hash.
        SystemExit: pip says that it did, and has not; PIP_DRY_RUN is one way to that.
    """
    requirements = PYZ / "requirements.txt"
    subprocess.run(
        [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
            "--only-binary=:all:", "--implementation=py", "--abi=none", "--platform=any",
            "--python-version=3.10", "--dest", str(folder), "-r", str(requirements),
        ],
        check=True,
        timeout=600,
    )  # fmt: skip
    found = sorted(folder.glob("*.whl"))
    wanted = requirements.read_text(encoding="utf-8").count("==")
    if len(found) != wanted:
        sys.exit(f"pip brought {len(found)} of the {wanted} wheels of {requirements}")
    return found


def of_wheel(path: Path) -> Iterator[tuple[str, bytes]]:
    """The members of a wheel that the file needs: modules, their data, licences."""
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            parts = PurePosixPath(name).parts
            packed = parts[0].endswith(".data") or parts[-1] in _LEFT_OUT
            if not (name.endswith("/") or packed):
                yield name, wheel.read(name)


def of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the package, or of the node, in a folder `tritonwin`."""
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"tritonwin/{path.relative_to(folder).as_posix()}", path.read_bytes()
    yield "tritonwin/LICENSE", (ROOT / "LICENSE").read_bytes()


def identity(contents: Mapping[str, bytes]) -> str:
    """A name for exactly these contents."""
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:20]


def write(contents: Mapping[str, bytes], target: Path) -> None:
    """Write the file: no clock, no permissions, no order of this machine is in it.

    One that is called `.bat` begins as a batch file, which names the size of the whole.
    """
    packed = io.BytesIO()
    _zip(dict(sorted(contents.items())), packed, zipfile.ZIP_DEFLATED)
    starters = {file.name: file.read_bytes() for file in sorted(PYZ.glob("*.py"))}
    members = {**starters, "BUILD": identity(contents).encode(), "app.zip": packed.getvalue()}
    if target.suffix != ".bat":
        target.write_bytes(_behind(SHEBANG + CUT_OFF, members))
    else:
        text = (PYZ / "tritonwin.bat").read_text(encoding="ascii").replace("\n", "\r\n")
        size, whole = -1, b""
        while size != len(whole):
            size = len(whole)
            whole = _behind(text.replace("@SIZE@", str(size)).encode(), members)
        target.write_bytes(whole)
    target.chmod(0o755)


def _behind(head: bytes, members: Mapping[str, bytes]) -> bytes:
    """A zip with a text before it. Its members are stored: no start has to unpack them."""
    stream = io.BytesIO()
    stream.write(head)
    _zip(members, stream, zipfile.ZIP_STORED)
    return stream.getvalue()


def _zip(members: Mapping[str, bytes], stream: BinaryIO, method: int) -> None:
    with zipfile.ZipFile(stream, "w", method, compresslevel=9) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _ZIP_EPOCH)
            info.compress_type = method
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)


def write_hash(target: Path) -> Path:
    """Write the file's SHA-256 beside it, in the form that `sha256sum -c` reads."""
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    beside = target.with_name(f"{target.name}.sha256")
    beside.write_text(f"{digest}  {target.name}\n", encoding="utf-8", newline="\n")
    return beside


def build(target: Path) -> list[Path]:
    """Make the files, and say which."""
    with tempfile.TemporaryDirectory() as folder:
        contents = dict(of_folder(PACKAGE))
        for wheel in wheels(Path(folder)):
            contents.update(of_wheel(wheel))
    target.parent.mkdir(parents=True, exist_ok=True)
    batch, node = target.with_suffix(".bat"), target.with_name(f"{target.stem}-comfyui.zip")
    write(contents, target)
    write(contents, batch)
    packed = {**dict(of_folder(NODE)), "tritonwin/tritonwin.bat": batch.read_bytes()}
    with node.open("wb") as stream:
        _zip(dict(sorted(packed.items())), stream, zipfile.ZIP_DEFLATED)
    files = [target, batch, node]
    for file in files:
        write_hash(file)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "tritonwin.pyz")
    for file in build(parser.parse_args().output):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
