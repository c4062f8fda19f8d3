"""GPU architectures: from the GPUs, or what was asked for, to the words that the source knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tritonwin.build.recipe import ArchRule, ArchToken, Circumstances, Recipe, nvcc_archs
from tritonwin.errors import UserError
from tritonwin.support.choice import Choice, Obstacle, Reason
from tritonwin.support.versions import fits

_LONGEST = 40  # characters of a wrong word that are shown
_ASKED = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)([af]?)")


@dataclass(frozen=True, kw_only=True)
class Archs:
    """The architectures of a build.

    Attributes:
        archs: compute capabilities of the code: "8.0", "9.0a".
        tokens: the words for the source's variable.
    """

    archs: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


def parse(text: str) -> str:
    """Read "8.9", "89", "sm_89" or "9.0a" as "8.9" or "9.0a".

    Raises:
        UserError: it is not an architecture.
    """
    found = _ASKED.fullmatch(text.strip().lower())
    if found is None:
        raise UserError(
            f"{text[:_LONGEST]!r} is not a GPU architecture",
            "Write the compute capability: --arch 8.9 (RTX 40), --arch 12.0",
        )
    return f"{found[1]}.{found[2]}{found[3]}"


def choose(
    recipe: Recipe,
    version: str,
    cuda: str | None,
    *,
    gpus: Sequence[str],
    asked: Sequence[str],
    windows: bool,
) -> Choice[Archs]:
    """The architectures of a build; empty where the recipe has none.

    Args:
        gpus: compute capabilities of the machine's NVIDIA GPUs.
        asked: what the user asked for, as `parse` returns it; it takes precedence over the GPUs.
    """
    rule = recipe.arch
    if rule is None:
        return Choice(value=Archs())
    wanted = tuple(dict.fromkeys(asked or gpus))
    if not wanted:
        return _chosen((), "no NVIDIA GPU is here, and none is asked for", (_NO_GPU,))
    known = tuple(_known(rule, version, cuda, windows=windows))
    found = {arch: _token_for(arch, known, rule) for arch in wanted}
    missing = tuple(
        Obstacle(problem=_PROBLEM, message=_why_not(a, recipe, version, cuda), help=_help(known))
        for a, token in found.items()
        if token is None
    )
    tokens = [token.token for token in found.values() if token]
    if rule.reads_variable(version):
        reason = _reason(wanted, map(_capability, tokens), asked=bool(asked))
    else:
        tokens = [token.token for token in known]
        reason = f"{recipe.name} {version} compiles for all of them, whatever is asked for"
    return _chosen(tuple(dict.fromkeys(tokens)), reason, missing)


_PROBLEM = "gpu-generation-unsupported"
_NO_GPU = Obstacle(
    problem="build-arch-unknown",
    message="there is no NVIDIA GPU here whose architecture could be compiled for",
    help="Name the compute capability of the GPU that it is for: --arch 8.9 (RTX 40)",
)


def _chosen(tokens: tuple[str, ...], reason: str, refusals: tuple[Obstacle, ...]) -> Choice[Archs]:
    archs = tuple(map(_capability, tokens))
    value = ", ".join(archs) or "none"
    return Choice(
        value=Archs(archs=archs, tokens=tokens),
        reasons=(Reason(name="archs", value=value, reason=reason, flag="--arch"),),
        refusals=refusals,
    )


def _reason(wanted: Sequence[str], archs: Iterator[str], *, asked: bool) -> str:
    reason = f"{'asked for' if asked else 'the GPUs of this machine'}: {', '.join(wanted)}"
    if {arch.rstrip("af") for arch in archs} == {arch.rstrip("af") for arch in wanted}:
        return reason
    return f"{reason}; code for an architecture runs on the later ones of its generation"


def _known(rule: ArchRule, version: str, cuda: str | None, *, windows: bool) -> Iterator[ArchToken]:
    """The words that this version of the source and this nvcc both know."""
    by_nvcc = nvcc_archs(cuda) if cuda else ()
    if rule.any:
        yield from (ArchToken(token=arch, serves=(arch,)) for arch in by_nvcc)
    for token in rule.tokens:
        if token.holds(Circumstances(version=version, cuda=cuda, windows=windows)):
            yield token


def _token_for(arch: str, known: Sequence[ArchToken], rule: ArchRule) -> ArchToken | None:
    """A word that is this very architecture, or the one whose code it runs."""
    plain = arch.rstrip("af")
    exact = next((t for t in known if t.token in {arch, arch.replace(".", "")}), None)
    serving = next((t for t in reversed(known) if plain in t.serves), None)
    if exact or serving is None or arch == plain or not rule.any:
        return exact or serving
    # nvcc has code for one architecture alone from 9.0a on, for a family from 10.0f on
    exists = float(plain) >= (9.0 if arch.endswith("a") else 10.0)
    return ArchToken(token=arch, serves=(plain,)) if exists else None


def _capability(token: str) -> str:
    return token if "." in token else f"{token[:-1]}.{token[-1]}"


def _why_not(arch: str, recipe: Recipe, version: str, cuda: str | None) -> str:
    plain = arch.rstrip("af")
    tokens = recipe.arch.tokens if recipe.arch else ()
    serving = [t for t in tokens if plain in t.serves]
    start = f"{recipe.name} {version} with CUDA {cuda} does not compile for {arch}"
    reasons = []
    for token in serving:
        if token.version and not fits(version, token.version):
            reasons.append(f"it takes version {token.version}")
        elif token.cuda and not (cuda and fits(cuda, token.cuda)):
            reasons.append(f"it takes CUDA {token.cuda}")
    if not serving and cuda and recipe.arch and recipe.arch.any:
        reasons.append("its nvcc does not know it")
    return f"{start}: {' and '.join(dict.fromkeys(reasons))}" if reasons else start


def _help(known: Sequence[ArchToken]) -> str:
    served = sorted({arch for token in known for arch in token.serves}, key=float)
    return f"It compiles for {', '.join(served)}: --arch, --version, --cuda" if served else ""
