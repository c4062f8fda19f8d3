"""The torch that the target imports, read from its files. torch itself is never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.model import Distribution, Interpreter, Torch
from tritonwin.facts.packages import find_package, knowledge
from tritonwin.facts.requirement import read_requirement
from tritonwin.system.files import names_in, read_text

# The DLLs by which a CUDA build is known, and those that other packages borrow from torch.
_CUDA_DLL = re.compile(
    r"(?:(?:cudart|cublas|cublasLt|cudnn|nvrtc|cusparse|cufft|curand|cusolver|cupti|nvJitLink)"
    r"[\w.-]*|c10_(?:cuda|hip|xpu)|torch_(?:cuda|hip|xpu)[\w]*|caffe2_nvrtc)\.dll",
    re.IGNORECASE,
)


def read_torch(target: Interpreter, distributions: Iterable[Distribution]) -> Torch | None:
    """Version, CUDA build and wanted Triton of the target's torch; None when it has none.

    The Triton that belongs to it stands in torch's own metadata, on Windows too, under a marker
    that excludes Windows: the marker is ignored here, the version is what counts.
    """
    folder = find_package(target, "torch")
    if folder is None or folder.namespace:
        return None
    site_packages = str(folder.path.parent)
    distribution = next(
        (d for d in distributions if d.name == "torch" and d.site_packages == site_packages), None
    )
    version_file = folder.path / "version.py"
    names = _constants(version_file)
    version = names.get("__version__") or (distribution.version if distribution else None)
    if version is None:
        return None
    wants = _triton_requirement(distribution.requires) if distribution else None
    return Torch(
        version=version,
        location=str(folder.path),
        source=str(version_file if "__version__" in names else folder.path),
        cuda=names.get("cuda"),
        hip=names.get("hip"),
        xpu=names.get("xpu"),
        wants_triton=wants,
        wants_triton_source=f"{distribution.location}: METADATA"
        if distribution and wants
        else None,
        libraries=tuple(n for n in names_in(folder.path / "lib") if _CUDA_DLL.fullmatch(n)),
    )


def _constants(path: Path) -> dict[str, str]:
    """The names that a module of assignments gives a string."""
    try:
        tree = ast.parse(read_text(path) or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for node in tree.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        goal = node.targets[0] if isinstance(node, ast.Assign) else node.target
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        if isinstance(goal, ast.Name) and isinstance(value, str):
            found[goal.id] = value
    return found


def _triton_requirement(requires: Iterable[str]) -> str | None:
    """The version specifier of the Triton requirement, whatever its marker: "==3.5.1"."""
    found: dict[str, str] = {}
    for line in requires:
        requirement = read_requirement(line)
        if requirement is None:
            continue
        found.setdefault(canonicalize_name(requirement.name), str(requirement.specifier))
    return next((found[name] for name in knowledge().triton if found.get(name)), None)
