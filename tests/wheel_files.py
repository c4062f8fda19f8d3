"""Tiny wheels for tests: a module that says its version, and correct metadata."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType


def make_wheel(
    folder: Path,
    file: str,
    requires: Iterable[str] = (),
    code: str = "",
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> Path:
    """Write the wheel `file` (a wheel's file name) into `folder`, with `more` members."""
    distribution, version, *_ = file.removesuffix(".whl").split("-")
    tags = ["-".join(file.removesuffix(".whl").split("-")[-3:])]
    info = f"{distribution}-{version}.dist-info"
    members: dict[str, str | bytes] = {
        **more,
        f"{distribution}/__init__.py": code or f"__version__ = {version!r}\n",
        f"{info}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {distribution}",
                f"Version: {version}",
                *(f"Requires-Dist: {line}" for line in requires),
                "",
            ]
        ),
        f"{info}/WHEEL": "\n".join(
            ["Wheel-Version: 1.0", "Generator: test", "Root-Is-Purelib: true"]
            + [f"Tag: {tag}" for tag in tags]
            + [""]
        ),
    }
    record = "".join(f"{name},sha256={_hash(text)},{len(text)}\n" for name, text in members.items())
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / file, "w") as wheel:
        for name, text in members.items():
            wheel.writestr(name, text)
    return folder / file


def add_to_index(index: Path, file: str, requires: Iterable[str] = ()) -> Path:
    """Put a tiny wheel into an index on the disk, laid out as PEP 503 says."""
    folder = index / file.split("-")[0].replace("_", "-")
    wheel = make_wheel(folder, file, requires)
    links = (f'<a href="{p.name}#sha256={sha256(p)}">{p.name}</a>' for p in folder.glob("*.whl"))
    (folder / "index.html").write_text("<!DOCTYPE html>" + "<br>".join(links))
    return wheel


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _hash(content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    digest = hashlib.sha256(data).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
