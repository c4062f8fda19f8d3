"""Other installed packages: made for this Python, and free of known defects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tritonwin.facts.history import proven_state
from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Facts
from tritonwin.problems.check import (
    Seen,
    check,
    need,
    need_target,
    seen,
)
from tritonwin.support.packages import FORK
from tritonwin.support.wheels import TargetTags, supported_tags


@check("wheel-tag-unsupported")
def wheel_tags(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    need(target.platform_tag, "the interpreter's platform is not known")
    loaded = need(supported_tags(target), "the interpreter's version is not known")
    # beside the fork, that it is there at all is the problem, and one that can be solved
    beside_fork = knowledge().other_tritons if facts.distribution(FORK) else ()
    for dist in facts.distributions:
        if dist.tags and dist.name not in beside_fork and not _any_fits(dist.tags, loaded):
            yield seen(
                f"{dist.name} {dist.version} is made for {dist.tags[0]}, this is Python "
                f"{target.version} on {target.platform_tag}",
                dist,
            )


def _any_fits(tags: Iterable[str], loaded: TargetTags) -> bool:
    """Compare tags with those that a Python loads; a malformed one excludes nothing.

    pip goes by the tags in the name of a file, before it installs it. Those in WHEEL nothing reads
    when the package is imported: a `cp312-cp312-win-amd64` there does no harm.
    """
    from packaging.tags import parse_tag

    try:
        return any(tag in loaded for text in tags for tag in parse_tag(text))
    except ValueError:
        return True


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
