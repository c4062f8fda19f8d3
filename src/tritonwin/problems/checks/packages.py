"""Other installed packages: made for this Python, and free of known defects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.history import proven_state
from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Facts
from tritonwin.problems.check import (
    Seen,
    check,
    need,
    need_target,
    python_series,
    seen,
)
from tritonwin.support.packages import FORK


@check("wheel-tag-unsupported")
def wheel_tags(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    need(target.platform_tag, "the interpreter's platform is not known")
    # beside the fork, that it is there at all is the problem, and one that can be solved
    beside_fork = knowledge().other_tritons if facts.distribution(FORK) else ()
    for dist in facts.distributions:
        if dist.name in beside_fork:
            continue
        if dist.tags and not any(_tag_fits(t, facts) for t in dist.tags):
            yield seen(
                f"{dist.name} {dist.version} is made for {dist.tags[0]}, this is Python "
                f"{target.version} on {target.platform_tag}",
                dist,
            )


def _tag_fits(tag: str, facts: Facts) -> bool:
    """Compare a tag with this Python; a malformed or unusual one excludes nothing.

    pip goes by the tags in the name of a file, before it installs it. Those in WHEEL nothing reads
    when the package is imported: a `cp312-cp312-win-amd64` there does no harm.
    """
    target = need_target(facts)
    major, minor = (int(n) for n in python_series(target).split("."))
    parts = tag.split("-")
    if len(parts) != 3 or not all(parts):
        return True
    python, abi, platforms = parts
    if not any(_platform_fits(p, target.platform_tag or "") for p in platforms.split(".")):
        return False
    found = re.fullmatch(r"(?:cp|py)(\d)(\d{0,3})", python)
    if found is None:
        return True
    tag_minor = int(found[2]) if found[2] else 0
    if abi in {"none", "abi3"}:
        return int(found[1]) == major and tag_minor <= minor
    threads = "t" if target.free_threaded else ""
    return abi == f"cp{major}{minor}{threads}" and python == f"cp{major}{minor}"


def _platform_fits(platform: str, target: str) -> bool:
    if platform == "any":
        return True
    if target.startswith("win"):
        return platform == target
    return not platform.startswith(("win", "macosx"))


@check("bnb-without-windows-binaries")
def bnb_binaries(facts: Facts) -> Iterator[Seen]:
    fork = facts.distribution("bitsandbytes-windows")
    if fork is not None:
        yield seen(
            f"bitsandbytes-windows {fork.version} is an abandoned fork with a CUDA 11.6 library",
            fork,
        )
    bnb = facts.distribution("bitsandbytes")
    if bnb is None:
        need(fork, "bitsandbytes is not installed")
        return
    if not facts.extensions_of("bitsandbytes"):
        yield seen(f"bitsandbytes {bnb.version} holds no library for Windows", bnb)


@check("environment-drifted")
def drifted(facts: Facts) -> Iterator[Seen]:
    before = need(facts.proven, "it was not proven yet: tritonwin verify")
    now = proven_state(facts)
    if now is None:
        return
    pairs = [("Python", before.python, now.python), ("the driver", before.driver, now.driver)]
    names = sorted({*before.versions, *now.versions})
    pairs += [(n, before.versions.get(n), now.versions.get(n)) for n in names]
    for name, old, new in pairs:
        if old != new:
            yield seen(
                f"{name} was {old or 'not there'} when it was proven to work, "
                f"and is {new or 'not there'}",
                f"proof of {before.when}",
            )
