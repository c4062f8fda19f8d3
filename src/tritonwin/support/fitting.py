"""Reasons against a wheel for a target: one small rule a reason, each in words.

A rule gets a wheel and the needs of the target, and returns None or the reason. Rules use the
wheel's name and its list; `requirements` judges the wheel's own metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tritonwin.facts.amd import Chip, chip
from tritonwin.facts.distributions import read_requirement
from tritonwin.facts.records import Facts, Torch
from tritonwin.support import matrix, packages, versions, wheels
from tritonwin.support.links import WheelLink
from tritonwin.support.matrix import Generation, released, served_series, wanted_series
from tritonwin.support.packages import FORK
from tritonwin.support.versions import fits, older, series
from tritonwin.support.wheel_files import MACHINES, WheelContent, module_misfit


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The properties of a target that decide between wheels.

    Attributes:
        tags: of wheels that this Python loads, with their places, the best first.
        torch: the torch that will be there, which may be one that is still to be installed.
        triton: the version of the triton-windows that is installed.
        gpus: compute capabilities of the NVIDIA GPUs.
        driver_cuda: the highest CUDA that the NVIDIA driver runs.
        other_gpu: the vendor of the GPU if there is no NVIDIA GPU.
        backend: what torch has to be built for there, "rocm" or "xpu"; None: nothing else.
        chip: of AMD's card, where AMD publishes torch for it on Windows.
        rocm: the version of the rocm packages that are installed.
        machine: that modules for Windows have to be made for, "AMD64".
        emulated: a Python for x64 on an ARM64 PC.
        offline: nothing can be fetched.
    """

    python: str | None
    windows: bool
    tags: wheels.TargetTags
    torch: Torch | None = None
    triton: str | None = None
    gpus: tuple[str, ...] = ()
    driver_cuda: str | None = None
    other_gpu: str | None = None
    backend: str | None = None
    chip: Chip | None = None
    rocm: str | None = None
    machine: str | None = None
    emulated: bool = False
    offline: bool = False

    @cached_property
    def triton_series(self) -> tuple[str, ...]:
        """The series of triton-windows that serve the torch, the one to install last.

        Empty if the torch needs no Triton.
        """
        wanted = wanted_series(self.torch) if self.torch else None
        return served_series(self.torch, wanted) if self.torch and wanted else ()

    @cached_property
    def torch_tags(self) -> tuple[str, ...]:
        """Tags of torch's indexes for driver and GPU, the preferred one first."""
        return matrix.torch_tags(self.driver_cuda, self.gpus[0] if self.gpus else None)

    def takes(self, triton: str) -> bool:
        """True if this Triton may be beside the torch."""
        return series(triton) in self.triton_series or self.stays(triton)

    def stays(self, triton: str | None) -> bool:
        """True if this Triton may stay beside a torch that wants another.

        All of it works on the GPU, not all of what the torch wants, and such a one is installed.
        """
        if not self.triton_series:
            return False
        table, wanted = matrix.load(), self.triton_series[-1]
        return all(table.whole_pair(each, wanted, self.gpus) for each in (triton, self.triton))

    def with_torch(self, link: WheelLink) -> Needs:
        """The same target with the torch of this wheel in it."""
        torch = Torch(
            version=str(link.name.version),
            location=link.location,
            source=link.source,
            cuda=link.built_for.cuda,
            hip=link.built_for.rocm,
        )
        return replace(self, torch=torch)


def needs_of(facts: Facts) -> Needs:
    """The needs of the target in the facts; without a target interpreter no wheel fits."""
    target = facts.target
    nvidia = facts.nvidia_gpus
    others = [g.vendor for g in facts.gpus if g.vendor in {"amd", "intel"}]
    driver = facts.nvidia_driver
    fork = facts.distribution(FORK)
    tag = target.platform_tag if target else None
    card, rocm = facts.amd_card, facts.distribution("rocm")
    known = chip(card.architecture) if card and facts.windows else None
    served = known if known and known.family else None
    # AMD's wheels for Linux, which are elsewhere, are for what the driver says
    rocm_builds = served or (card and (known is None or not facts.windows))
    return Needs(
        python=target.version if target else None,
        windows=facts.windows,
        tags=wheels.supported_tags(target) if target else {},
        torch=facts.torch,
        triton=fork.version if fork else None,
        gpus=tuple(g.compute_capability for g in nvidia if g.compute_capability),
        driver_cuda=driver.cuda if driver and not driver.error else None,
        other_gpu=others[0] if others and not nvidia else None,
        backend="rocm" if rocm_builds else "xpu" if facts.intel_arc else None,
        chip=served,
        rocm=rocm.version if rocm else None,
        machine=MACHINES.get(tag or ""),
        emulated=facts.system.machine == "ARM64" and tag == "win_amd64",
    )


def reasons(link: WheelLink, needs: Needs) -> tuple[str, ...]:
    """All reasons against the wheel; empty if it fits."""
    package = link.name.distribution
    found = [wheels.tag_misfit(link.name.tags, needs.tags), _python(link, needs)]
    if link.yanked is not None:
        found.append(f"withdrawn by its makers {link.yanked}".rstrip())
    rules = [_emulated]
    if package == "torch":
        rules += [_torch_build, _torch_generation, _torch_has_triton]
    else:
        rules += [_torch_abi, _same_index, _package_gpus]
    if package == FORK:
        rules += [_triton_pair, _triton_gpu, _triton_amd]
    found += (rule(link, needs) for rule in rules)
    return tuple(filter(None, found))


def _python(link: WheelLink, needs: Needs) -> str | None:
    if not link.requires_python or not needs.python:
        return None
    try:
        wanted = SpecifierSet(link.requires_python)
    except InvalidSpecifier:
        return None  # pip ignores it as well
    if wanted.contains(needs.python, prereleases=True):
        return None
    return f"needs Python {link.requires_python}, this is {needs.python}"


def _emulated(link: WheelLink, needs: Needs) -> str | None:
    package = link.name.distribution
    on_gpu = package in {"torch", FORK} or package in packages.load()
    if not needs.emulated or not on_gpu or link.name.pure:
        return None
    return "this Python is one for x64, emulated on an ARM64 PC: no CUDA kernel runs in it"


def _same_index(link: WheelLink, needs: Needs) -> str | None:
    package = packages.load().get(link.name.distribution)
    cuda, of_torch = link.built_for.cuda, needs.torch.cuda if needs.torch else None
    if package is None or not package.follows_torch or needs.torch is None:
        return None
    rocm = wheels.read_local(needs.torch.version.partition("+")[2]).rocm
    if link.built_for.rocm != rocm:
        said = f"ROCm {link.built_for.rocm}" if link.built_for.rocm else "no ROCm"
        return f"built for {said}, this torch for {f'ROCm {rocm}' if rocm else 'none'}"
    if not cuda or not of_torch:
        return None
    return None if cuda == of_torch else f"built for CUDA {cuda}, this torch for {of_torch}"


def _torch_abi(link: WheelLink, needs: Needs) -> str | None:
    built_for = link.built_for
    if needs.torch is None:
        if built_for.torch:
            return f"built for torch {built_for.torch}, and no torch is installed"
        return None
    # on Linux the builds for CUDA of the default index have no +cu in their version
    without_cuda = needs.torch.cuda is None and (needs.windows or "+" in needs.torch.version)
    if without_cuda and built_for.cuda:
        return f"needs torch for CUDA, torch {needs.torch.version} is built without"
    return wheels.torch_misfit(built_for, needs.torch.version, needs.torch.cuda)


def _package_gpus(link: WheelLink, needs: Needs) -> str | None:
    package = packages.load().get(link.name.distribution)
    if package is None or package.capability is None or not needs.gpus or link.name.pure:
        return None
    served = [gpu for gpu in needs.gpus if fits(gpu, package.capability)]
    if not served:
        return f"works on compute capability {package.capability}, this GPU has {needs.gpus[0]}"
    version, cuda = link.name.version, link.built_for.cuda
    if any(package.has_kernels(version, cuda, gpu) for gpu in served):
        return None
    return f"no kernels for sm_{served[0].replace('.', '')}"


def _torch_build(link: WheelLink, needs: Needs) -> str | None:
    built_for = link.built_for
    if needs.backend:
        wrong = built_for.backend != needs.backend
    elif needs.gpus:
        wrong = built_for.backend is not None
    else:  # builds for the processor are left
        wrong = bool(needs.other_gpu and (built_for.cuda or built_for.backend in {"rocm", "xpu"}))
    if wrong:
        return f"not a build for this machine's GPU ({(needs.other_gpu or 'NVIDIA').upper()})"
    if not needs.gpus:
        return None
    if built_for.cuda is None:
        # the default index has CPU builds for Windows, and names them like any other
        return "the CPU build: builds for CUDA have +cu in their version" if needs.windows else None
    if needs.driver_cuda and older(needs.driver_cuda, built_for.cuda.split(".")[0]):
        return f"needs a driver for CUDA {built_for.cuda}, this one runs up to {needs.driver_cuda}"
    tags = matrix.load().torch_tags
    kernels = next((row.capability for row in tags if row.cuda == built_for.cuda), None)
    if kernels and not any(fits(gpu, kernels) for gpu in needs.gpus):
        return f"no kernels for sm_{needs.gpus[0].replace('.', '')}: built for {kernels}"
    return None


def _torch_generation(link: WheelLink, needs: Needs) -> str | None:
    for generation in _generations(needs):
        version, cuda = link.name.version.public, link.built_for.cuda
        torch_fits = not generation.torch or fits(version, generation.torch)
        cuda_fits = not (generation.cuda and cuda) or fits(cuda or "", generation.cuda or "")
        if torch_fits and cuda_fits:
            return None
        return (
            f"{generation.name} (compute capability {needs.gpus[0]}) needs torch "
            f"{generation.torch} built for CUDA {generation.cuda}"
        )
    return None


def _torch_has_triton(link: WheelLink, needs: Needs) -> str | None:
    version = str(link.name.version)
    pair = matrix.load().pair(version)
    if not needs.windows or (pair and pair.windows):
        return None
    wanted = f", which wants Triton {pair.triton}" if pair else ""
    return f"no triton-windows is known to serve torch {version}{wanted}"


def _triton_pair(link: WheelLink, needs: Needs) -> str | None:
    if needs.torch is None:
        return None
    if not needs.triton_series:
        return f"no triton-windows is known to serve torch {needs.torch.version}"
    if needs.takes(str(link.name.version)):
        return None
    return f"torch {needs.torch.version} wants Triton {needs.triton_series[-1]}"


def _triton_gpu(link: WheelLink, needs: Needs) -> str | None:
    generations = tuple(_generations(needs))
    if not generations:
        return None
    version = link.name.version.public
    if any(g.works(version) != "not" for g in generations):
        return None
    best = generations[0]
    ranges = " or ".join(r for r in (best.triton, best.triton_partly) if r)
    wanted = f"needs Triton {ranges}" if ranges else "has no Triton"
    return f"{best.name} (compute capability {needs.gpus[0]}) {wanted}"


def _triton_amd(link: WheelLink, needs: Needs) -> str | None:
    first = matrix.load().amd.triton
    if needs.chip is None or not older(str(link.name.version), first):
        return None
    return f"works on AMD's cards from {first} on"


def _generations(needs: Needs) -> Iterator[Generation]:
    table = matrix.load()
    return (g for gpu in needs.gpus if (g := table.generation(gpu)) is not None)


def advice(package: str, needs: Needs) -> Iterator[str]:
    """Advice for when no wheel of the package fits."""
    known = packages.load().get(package)
    on_gpu = known is not None or package in {"torch", FORK}
    if on_gpu and needs.other_gpu:
        vendor = needs.other_gpu.lower()
        yield from (n.text for n in matrix.load().notes if n.subject.lower().startswith(vendor))
    if on_gpu:
        yield from (g.advice for g in _generations(needs) if g.advice)
    wanted = wanted_series(needs.torch) if needs.torch else None
    if package == FORK and needs.torch and wanted and not released(wanted):
        yield (
            f"torch {needs.torch.version} wants Triton {wanted}, and no triton-windows {wanted} "
            f"exists yet: wait for it, or take an older torch (tritonwin install torch {FORK})"
        )
    if package == "torch" and needs.gpus and needs.driver_cuda and not needs.torch_tags:
        yield (
            f"no build of torch fits a driver for CUDA {needs.driver_cuda} and compute capability "
            f"{needs.gpus[0]}: install the newest driver"
        )
    if (on_gpu and needs.emulated) or needs.machine == "ARM64":
        yield matrix.load().arm64
    if known and known.instead:
        yield known.instead


def costs(link: WheelLink, needs: Needs) -> Iterator[str]:
    """The price of this torch or triton-windows on this GPU; nothing if all of Triton works."""
    package, version = link.name.distribution, str(link.name.version)
    generations = tuple(_generations(needs))
    if package not in {"torch", FORK} or not generations or not needs.windows:
        return
    after, triton = needs, version
    if package == "torch":
        after = needs.with_torch(link)
        triton = after.triton_series[-1] if after.triton_series else ""
    card = f"{generations[0].name} (compute capability {needs.gpus[0]})"
    stays = version if package == FORK else needs.triton
    if after.stays(stays):
        yield f"triton-windows {stays} stays: all of it works on {card}; torch.compile may fail"
    works = {generation.works(triton) for generation in generations}
    if not triton or "whole" in works:
        return
    if package == "torch":
        share = "only a part" if generations[0].works(triton) == "partly" else "nothing"
        yield f"torch {version} wants Triton {triton}, of which {share} works on {card}"
    yield from filter(None, (generations[0].advice,))
    if whole := generations[0].triton and matrix.load().last_pair(generations[0].triton):
        yield (
            "for all of Triton: tritonwin install "
            f'"torch=={whole.torch}.*" "triton-windows=={whole.windows}.*"'
        )


def content_misfit(link: WheelLink, content: WheelContent, needs: Needs) -> str | None:
    """The reason in the wheel itself; None where there is none, or too little was read."""
    if content.wrong is not None:
        return content.wrong
    torch = needs.torch
    have = versions.parse(torch.version) if torch else None
    for line in content.requires or ():
        wanted = read_requirement(line)
        if torch is None or have is None or wanted is None or "extra" in str(wanted.marker):
            continue
        # AMD's torchvision asks for its torch by the whole version: ==2.12.0+rocm7.13.0
        of_torch = wanted.name.lower() == "torch"
        as_asked = (have.base_version, str(have))
        if of_torch and not any(wanted.specifier.contains(v, prereleases=True) for v in as_asked):
            return f"needs torch {wanted.specifier}, this is torch {torch.version}"
    parts = [line for line in content.requires or () if "device-gfx" in line]
    if needs.chip and parts and not any(for_chip(line, needs.chip) for line in parts):
        return f"it has no part for {needs.chip.name}"
    if link.name.distribution not in packages.load():
        return None  # it may bring a library for each CUDA
    cuda = needs.torch.cuda if needs.torch else None
    return module_misfit(
        content.modules, machine=needs.machine, python=needs.python, cuda=cuda, gpus=needs.gpus
    )


def for_chip(line: str, chip: Chip) -> str | None:
    """The requirement of the part for a chip, without its marker; None for any other line.

    AMD's wheels name it behind an extra: `amd-torch-device-gfx1100==2.12.0; extra ==
    "device-gfx1100"`.
    """
    wanted = read_requirement(line)
    if wanted is None or f'"device-{chip.name}"' not in str(wanted.marker):
        return None
    return f"{wanted.name}{wanted.specifier}"
