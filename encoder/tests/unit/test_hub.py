"""The layout for Hugging Face `kernels` is loaded from a path, under another name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import hub

PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("byte_spectral_1a2b", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
x, lengths = module.as_bytes([b"To be, or not to be", b"that is"])
assert module.byte_spectral(x, lengths=lengths).shape == (2, 19, 256)
found = module.byte_spectral(x, W=40, K=8, backend="triton")
assert abs(found - module.reference(x, W=40, K=8)).max() < 1e-6
assert module.ByteSpectral(K=8, project=5)(x).shape == (2, 19, 5)
assert "byte_spectral" not in sys.modules
"""


def test_the_layout_loads_under_any_name(tmp_path: Path) -> None:
    variant = hub.lay_out(tmp_path)
    assert variant == tmp_path / "build" / "torch-universal" / "byte_spectral"
    # what `kernels` asks for; tools/installed.py tries it with that package
    metadata = json.loads((variant.parent / "metadata.json").read_text(encoding="utf-8"))
    assert {"id", "name", "backend"} <= metadata.keys()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(variant / "__init__.py")],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
