"""A made-up target with installed packages, for tests of what reads site-packages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trees import write

from tritonwin.facts.records import Interpreter


def target(*site_packages: Path, **fields: Any) -> Interpreter:
    """A Windows CPython 3.12 that imports from these folders."""
    known: dict[str, Any] = {
        "executable": "C:\\Python312\\python.exe",
        "source": "test",
        "kind": "user",
        "version": "3.12.9",
        "ext_suffix": ".cp312-win_amd64.pyd",
        "site_packages": tuple(str(folder) for folder in site_packages),
    }
    return Interpreter(**{**known, **fields})


def rooted(root: Path, **fields: Any) -> Interpreter:
    """A target whose own folder is `root`."""
    own = {"executable": str(root / "python.exe"), "kind": "system"}
    prefixes = dict.fromkeys(("prefix", "base_prefix"), str(root))
    return target(root / "Lib" / "site-packages", **{**own, **prefixes, **fields})


def install(
    site: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes] = {},
    requires: Sequence[str] = (),
    tag: str = "cp312-cp312-win_amd64",
) -> Path:
    """Write a package and its dist-info as pip does; the path of the dist-info folder."""
    write(site, files)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    headers = [f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}"]
    headers += [f"Requires-Dist: {line}" for line in requires]
    record = [
        f"{path},sha256={_hash(site / path)},{(site / path).stat().st_size}" for path in files
    ]
    write(
        site / info,
        {
            "METADATA": "\n".join(headers) + "\n\nRequires-Dist: triton (of the description)\n",
            "WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n",
            "INSTALLER": "pip\n",
            "RECORD": "\n".join([*record, f"{info}/RECORD,,"]),
        },
    )
    return site / info


def _hash(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
