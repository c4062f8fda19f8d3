"""Wheels by their file names: version, tags, and the torch and CUDA they were built for.

Extensions of torch are built for one torch and one CUDA. Their makers write that into the local
version, in several spellings: `cu128torch2.8.0cxx11abiTRUE`, `torch2.10cu130`,
`20260318.cu128torch280cxx11abitrue.8afc61`, `cu130torch2.9.0andhigher.post4`. The grammar is that
of the public Windows wheels (mjun0812, woct0rdho, kingbri1, windreamer, Wildminder, mengqin).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from packaging.version import Version

from tritonwin.facts.records import Interpreter
from tritonwin.support.versions import older, series

if TYPE_CHECKING:
    from packaging.tags import Tag  # takes long to import, and a torch's CUDA is read without it

# not part of a longer word, but after a date or another number: d20260328cu130
_CUDA = re.compile(r"(?<![a-z])cu(\d{2,3})(?!\d)")
# "pt24cu124" as gsplat writes it
_TORCH = re.compile(r"(?:torch[._]?|(?<![a-z])pt)(\d{1,6}(?:\.\d{1,4}){0,2})")
_MOST_TAGS = 1000
_ROCM = re.compile(r"rocm(\d[\w.]*)")
_OTHER_BUILDS = re.compile(r"(?<![a-z])(cpu|xpu|rocm)")
# torch 2.1 was never built for a CUDA of this age or younger, so "210" cannot mean 2.1.0 there
_CUDA_AFTER_TORCH_2_1 = (12, 2)


class WheelNameError(ValueError):
    """The file name is not that of a wheel."""


@dataclass(frozen=True, kw_only=True)
class BuiltFor:
    """The torch and CUDA that a compiled wheel was built for; None: its name does not say."""

    torch: str | None = None  # "2.9.1" or "2.9"
    cuda: str | None = None  # "12.8", or "12" where only the major version is named
    newer_torch: bool = False  # built with libtorch's stable ABI: that torch or a newer one
    backend: str | None = None  # "cpu", "xpu", "rocm": a build for something else than CUDA
    rocm: str | None = None  # "7.13.0"


@dataclass(frozen=True, kw_only=True)
class WheelName:
    """A wheel's file name in its parts."""

    file: str
    distribution: str  # normalised: "flash-attn"
    version: Version
    tags: frozenset[Tag]
    built_for: BuiltFor

    @property
    def pure(self) -> bool:
        """True for a wheel without compiled modules."""
        return all(tag.platform == "any" for tag in self.tags)


def read_local(local: str | None) -> BuiltFor:
    """Read a local version such as `cu128torch2.8.0`; what is not in it stays None."""
    text = (local or "").lower()
    cuda = _CUDA.search(text)
    digits = cuda[1] if cuda else ""  # "128" is 12.8; "12" names a major version alone
    cuda_version = f"{digits[:2]}.{digits[2:]}" if len(digits) > 2 else digits or None
    torch = _TORCH.search(text)
    other = _OTHER_BUILDS.search(text)
    return BuiltFor(
        torch=_torch_version(torch[1], cuda_version) if torch else None,
        cuda=cuda_version,
        newer_torch="andhigher" in text,
        backend=other[1] if other and not cuda else None,
        rocm=rocm[1] if (rocm := _ROCM.search(text)) else None,
    )


def read(name_or_url: str) -> WheelName:
    """Take a file name, path or URL apart.

    Raises:
        WheelNameError: it does not end in a wheel's file name (PEP 427).
    """
    from packaging.utils import parse_wheel_filename

    try:
        path = urlsplit(name_or_url).path if "://" in name_or_url else name_or_url
        file = unquote(re.split(r"[/\\]", path)[-1])
        if any(character in file for character in "/\\:\0"):  # behind a percent sign
            raise WheelNameError("a name with a folder in it")
        # "py2.py3-none-any" stands for two
        tags = file.removesuffix(".whl").split("-")[-3:]
        if (count := math.prod(part.count(".") + 1 for part in tags)) > _MOST_TAGS:
            raise WheelNameError(f"a name with {count} tags")
        distribution, version, _, expanded = parse_wheel_filename(file)
    except ValueError as error:  # InvalidWheelFilename, or an address with half a bracket
        raise WheelNameError(str(error)) from None
    return WheelName(
        file=file,
        distribution=str(distribution),
        version=version,
        tags=expanded,
        built_for=read_local(version.local),
    )


def _torch_version(text: str, cuda: str | None) -> str:
    """Take "2.9.1" as it is; without dots the first digit is the major, the last the patch."""
    if "." in text or len(text) == 1:
        return text
    numbers = tuple(int(n) for n in (cuda or "0").split("."))
    after_torch_2_1 = numbers >= _CUDA_AFTER_TORCH_2_1
    if len(text) == 2 or (len(text) == 3 and text[1] == "1" and after_torch_2_1):
        return f"{text[0]}.{text[1:]}"
    return f"{text[0]}.{text[1:-1]}.{text[-1]}"


# The tags of wheels that a Python loads, with their places: the best first, which has 0.
TargetTags: TypeAlias = "dict[Tag, int]"


def supported_tags(target: Interpreter) -> TargetTags:
    """The tags of wheels that this CPython loads; empty when it is not known.

    The platforms of Linux are those of the running system: glibc's version is no fact of a target.
    """
    from packaging import tags

    found = re.match(r"(\d+)\.(\d+)", target.version or "")
    if found is None or not target.platform_tag:
        return {}
    python = (int(found[1]), int(found[2]))
    platforms = [target.platform_tag]
    if sys.platform == "linux" and target.platform_tag.startswith("linux"):
        platforms = list(tags.platform_tags())
    interpreter = f"cp{python[0]}{python[1]}"
    abi = interpreter + ("t" if target.free_threaded else "")
    loaded = (
        *tags.cpython_tags(python, abis=[abi], platforms=platforms),
        *tags.compatible_tags(python, interpreter, platforms),
    )
    return {tag: place for place, tag in enumerate(dict.fromkeys(loaded))}


def tag_rank(wheel: Iterable[Tag], target: TargetTags) -> int | None:
    """The place of the wheel's best tag among the target's (0 is best); None: it does not fit."""
    return min((target[tag] for tag in wheel if tag in target), default=None)


def tag_misfit(wheel: Iterable[Tag], target: TargetTags) -> str | None:
    """The reason why the wheel cannot be loaded, such as "made for cp311, ..."; None if it fits."""
    wheel = frozenset(wheel)
    if tag_rank(wheel, target) is not None:
        return None
    if not target:
        return "the tags that this Python loads are not known"
    best, platforms = next(iter(target)), {t.platform for t in wheel}
    if platforms.isdisjoint(tag.platform for tag in target):
        return f"made for {', '.join(sorted(platforms))}, this Python is {best.platform}"
    # abi3 and none: of that Python, with any ABI
    own = {t: t.interpreter if t.abi in {"abi3", "none"} else t.abi for t in wheel}
    pythons = {name + " or later" * (t.abi == "abi3") for t, name in own.items()}
    return f"made for {', '.join(sorted(pythons))}, this Python is {best.abi}"


def torch_misfit(built_for: BuiltFor, torch: str, cuda: str | None) -> str | None:
    """The reason why an extension for one torch does not load into another; None: not known.

    It loads into the same series of torch, or a newer one if it uses libtorch's stable ABI, with
    the same CUDA major version; `cxx11abi` means nothing on Windows. A wheel that keeps this rule
    can still fail, so an import in the target is the proof.

    Args:
        built_for: from the extension's own name.
        torch: version of the torch it has to load into, "2.9.1+cu128".
        cuda: the CUDA that this torch was built for, "12.8"; None where it was built for none.
    """
    have, wants = series(torch), series(built_for.torch or "")
    if have and wants:
        if built_for.newer_torch and older(have, wants):
            return f"needs torch {wants} or later, this is torch {have}"
        if not built_for.newer_torch and have != wants:
            return f"needs torch {wants}, this is torch {have}"
    if built_for.cuda and cuda:
        major, has_major = built_for.cuda.split(".")[0], cuda.split(".")[0]
        if major != has_major:
            return f"needs CUDA {major}, this torch is built for CUDA {has_major}"
    return None
