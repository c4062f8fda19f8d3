"""GPU architectures: from the GPUs, or what was asked for, to the words that the source knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tritonwin.build.plan import Notes
from tritonwin.build.recipe import ArchRule, ArchToken, Circumstances, Recipe, toolchain
from tritonwin.errors import UserError
from tritonwin.support.versions import fits

_LONGEST = 40  # characters of a wrong word that are shown
_ASKED = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)([af]?)")


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


def capability(token: str) -> str:
    """The compute capability of a word of the source: "8.9" for "89" and "8.9"."""
    return token if "." in token else f"{token[:-1]}.{token[-1]}"


def choose(
    recipe: Recipe,
    version: str,
    cuda: str | None,
    notes: Notes,
    *,
    gpus: Sequence[str],
    asked: Sequence[str],
    windows: bool,
) -> tuple[str, ...]:
    """The architectures of a build as words of the source; empty where the recipe has none.

    Args:
        gpus: compute capabilities of the machine's NVIDIA GPUs.
        asked: what the user asked for, as `parse` returns it; it takes precedence over the GPUs.
    """
    rule = recipe.arch
    if rule is None:
        return ()
    wanted = tuple(dict.fromkeys(asked or gpus))
    known = tuple(_known(rule, version, cuda, windows=windows))
    found = {arch: _token_for(arch, known, rule) for arch in wanted}
    tokens = [token.token for token in found.values() if token]
    if not wanted:
        reason = "no NVIDIA GPU is here, and none is asked for"
        notes.refuse(
            "there is no NVIDIA GPU here whose architecture could be compiled for",
            "Name the compute capability of the GPU that it is for: --arch 8.9 (RTX 40)",
            "build-arch-unknown",
        )
    elif rule.reads_variable(version):
        reason = f"{'asked for' if asked else 'the GPUs of this machine'}: {', '.join(wanted)}"
        if {a.rstrip("af") for a in wanted} != {capability(t).rstrip("af") for t in tokens}:
            reason += "; code for an architecture runs on the later ones of its generation"
    else:
        tokens = [token.token for token in known]
        reason = f"{recipe.name} {version} compiles for all of them, whatever is asked for"
    served = sorted({arch for token in known for arch in token.serves}, key=float)
    help_text = f"It compiles for {', '.join(served)}: --arch, --version, --cuda" if served else ""
    for arch, token in found.items():
        if token is None:
            why = _why_not(arch, recipe, version, cuda)
            notes.refuse(why, help_text, "gpu-generation-unsupported")
    tokens = list(dict.fromkeys(tokens))
    notes.because("archs", ", ".join(map(capability, tokens)) or "none", reason, "--arch")
    return tuple(tokens)


def _known(rule: ArchRule, version: str, cuda: str | None, *, windows: bool) -> Iterator[ArchToken]:
    """The words that this version of the source and this nvcc both know."""
    if rule.any and cuda:
        yield from (
            ArchToken(token=arch, serves=(arch,)) for arch in toolchain("nvcc", cuda).split()
        )
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


def _why_not(arch: str, recipe: Recipe, version: str, cuda: str | None) -> str:
    reasons = dict[str, None]()
    serving = (
        [t for t in recipe.arch.tokens if arch.rstrip("af") in t.serves] if recipe.arch else []
    )
    for token in serving:
        if token.version and not fits(version, token.version):
            reasons[f"it takes version {token.version}"] = None
        elif token.cuda and not (cuda and fits(cuda, token.cuda)):
            reasons[f"it takes CUDA {token.cuda}"] = None
    if not serving and cuda and recipe.arch and recipe.arch.any:
        reasons["its nvcc does not know it"] = None
    why = f": {' and '.join(reasons)}" if reasons else ""
    return f"{recipe.name} {version} with CUDA {cuda} does not compile for {arch}{why}"
