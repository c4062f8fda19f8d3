#!/usr/bin/env python3
"""Lay the package out for Hugging Face `kernels`: `python tools/hub.py FOLDER`.

FOLDER/build/torch-universal is the package as one variant for every device: Python and Triton
alone, and metadata.json, without which `kernels` refuses it. `kernels` loads it from a path under a
name of its own, so its imports are made relative.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "byte_spectral"
VARIANT = Path("build") / "torch-universal" / SOURCE.name
LEFT_OUT = {"proof.py"}  # for tritonwin's ladder
# a backend has to be named; in a universal variant it does not limit where the kernel is loaded
METADATA = {"id": "_byte_spectral_universal", "name": "byte-spectral", "version": 1,
            "license": "MIT", "python-depends": [], "backend": {"type": "cuda"}}  # fmt: skip


def relative(text: str) -> str:
    """Imports of the package's own modules, whatever its name is."""
    text = re.sub(r"\bfrom byte_spectral\.(\w+) import", r"from .\1 import", text)
    text = re.sub(r"\bfrom byte_spectral import", "from . import", text)
    return text.replace('import_module("byte_spectral.', 'import_module(f"{__package__}.')


def lay_out(folder: Path) -> Path:
    """Write the layout; returns the folder of the variant."""
    variant = folder / VARIANT
    variant.mkdir(parents=True, exist_ok=True)
    for file in sorted(SOURCE.iterdir()):
        if file.is_file() and file.name not in LEFT_OUT:
            text = file.read_text(encoding="utf-8")
            (variant / file.name).write_text(
                relative(text) if file.suffix == ".py" else text, encoding="utf-8"
            )
    metadata = variant.parent / "metadata.json"
    metadata.write_text(json.dumps(METADATA, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(
        "---\nlicense: mit\ntags: [kernel]\n---\n\n"
        + (ROOT / "README.md").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    return variant


if __name__ == "__main__":
    print(lay_out(Path(sys.argv[1])))
