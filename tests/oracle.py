"""The wheel that a person would pick from a list of names, by brute force: independent of `support`.

Written from docs/install.md and from the packages' own pages; it shares no code with the chooser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.version import Version

NAME = re.compile(
    r"(?P<package>\w+)-(?P<version>[^-]+)(?:-\d\w*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)


@dataclass(frozen=True)
class Pc:
    """A PC with Windows: Python "3.12", torch "2.9.1", its CUDA "12.8", compute capability "8.9"."""

    python: str
    torch: str
    cuda: str
    gpu: str


def number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def torch_and_cuda(local: str) -> tuple[str | None, str | None, bool]:
    """Torch, CUDA and "or later" of `cu128torch2.9.0cxx11abifalse` and its relatives."""
    found = re.search(r"cu(\d\d)(\d?)", local)
    cuda = f"{found[1]}.{found[2]}".rstrip(".") if found else None
    dotted = re.search(r"torch\.?(\d+\.\d+(?:\.\d+)?)", local)
    packed = re.search(r"torch\.?(\d)(\d+)", local)
    torch = None
    if dotted:
        torch = dotted[1]
    elif packed:
        digits = packed[2]
        if (
            len(digits) > 1 and digits != "10"
        ):  # 280: with its patch; 210: 2.10, as no list is so old
            digits = f"{digits[:-1]}.{digits[-1]}"
        torch = f"{packed[1]}.{digits}"
    return torch, cuda, "andhigher" in local


def loads(python: str, tag: str, abi: str) -> int | None:
    """The distance of a wheel to a Python: 0 its own, then stable-ABI ones, newer before older."""
    have = int(python.split(".")[1])
    if tag == abi == f"cp3{have}":
        return 0
    if abi == "abi3" and tag.startswith("cp3") and int(tag[3:]) <= have:
        return 1 + have - int(tag[3:])
    return 100 if tag in {"py3", f"py3{have}", "py39"} and abi == "none" else None


def serves(package: str, version: Version, cuda: str | None, gpu: str, *, compiled: bool) -> bool:
    """The packages' own words on GPUs, and on the CUDA that has code for them."""
    if not compiled:
        return True
    lowest = {"nunchaku": "7.5", "sageattn3": "10.0", "natten": "0.0", "xformers": "0.0"}
    capability = number(gpu)
    if capability < number(lowest.get(package, "8.0")):
        return False
    if package == "flash-attn-3" and capability >= (10, 0):
        return False
    known = number(cuda) if cuda and "." in cuda else (99,)
    new = Version(version.public)
    if package == "flash-attn" and capability >= (10, 0):
        return known >= (12, 8) and new >= Version("2.7.3")
    if package == "sageattention":
        wanted = {8: (12, 4) if capability >= (8, 9) else (0,), 9: (12, 3)}
        return known >= wanted.get(capability[0], (12, 8)) and (
            new >= Version("2") or capability < (8, 9)
        )
    return True


def best(package: str, files: Iterable[str], pc: Pc) -> str | None:
    """The file that this PC gets; None: none of them fits."""
    fitting = []
    for place, file in enumerate(files):
        found = NAME.fullmatch(file)
        if found is None or found["package"].replace("_", "-").lower() != package:
            continue
        version = Version(found["version"])
        torch, cuda, later = torch_and_cuda(version.local or "")
        near = loads(pc.python, found["python"], found["abi"])
        compiled = found["platform"] != "any"
        if near is None or version.is_prerelease or found["platform"] not in {"any", "win_amd64"}:
            continue
        have, built = number(pc.torch)[:2], number(torch)[:2] if torch else None
        if built and (built > have if later else built != have):
            continue
        if cuda and cuda.split(".")[0] != pc.cuda.split(".")[0]:
            continue
        if serves(package, version, cuda, pc.gpu, compiled=compiled):
            public, same = Version(version.public), cuda == pc.cuda
            key = (torch is not None, public, torch == pc.torch, same, -near, version, -place)
            fitting.append((key, file))
    return max(fitting)[1] if fitting else None
