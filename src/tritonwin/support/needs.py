"""What a wheel has to fit: the target's tags, its torch, its GPU and driver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from packaging.tags import Tag

from tritonwin.facts.model import Facts, Torch
from tritonwin.support import indexes, wheel_tags
from tritonwin.support.links import WheelLink
from tritonwin.support.pairing import served_series, wanted_series


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The target, as far as it decides between wheels.

    Attributes:
        tags: of wheels that this Python loads, the best first.
        torch: the torch that will be there, which may be one that is still to be installed.
        gpus: compute capabilities of the NVIDIA GPUs.
        driver_cuda: the highest CUDA that the NVIDIA driver runs.
        other_gpu: the vendor of the GPU where there is none of NVIDIA's.
    """

    python: str | None
    windows: bool
    tags: tuple[Tag, ...]
    torch: Torch | None = None
    gpus: tuple[str, ...] = ()
    driver_cuda: str | None = None
    other_gpu: str | None = None

    @cached_property
    def triton_series(self) -> tuple[str, ...]:
        """The series of triton-windows that serve the torch; empty where it asks for none."""
        wanted = wanted_series(self.torch) if self.torch else None
        return served_series(self.torch, wanted) if self.torch and wanted else ()

    @cached_property
    def torch_tags(self) -> tuple[str, ...]:
        """Tags of torch's indexes for driver and GPU, the preferred one first."""
        return indexes.torch_tags(self.driver_cuda, self.gpus[0] if self.gpus else None)

    def with_torch(self, link: WheelLink) -> Needs:
        """The same target with the torch of this wheel in it."""
        torch = Torch(
            version=str(link.name.version),
            location=link.location,
            source=link.source,
            cuda=link.built_for.cuda,
        )
        return replace(self, torch=torch)


def needs_of(facts: Facts) -> Needs:
    """What the facts say; without a target interpreter no wheel fits."""
    target = facts.target
    nvidia = facts.nvidia_gpus
    others = [g.vendor for g in facts.gpus if g.vendor in {"amd", "intel"}]
    driver = facts.nvidia_driver
    return Needs(
        python=target.version if target else None,
        windows=facts.windows,
        tags=wheel_tags.supported(target) if target else (),
        torch=facts.torch,
        gpus=tuple(g.compute_capability for g in nvidia if g.compute_capability),
        driver_cuda=driver.cuda if driver and not driver.error else None,
        other_gpu=others[0] if others and not nvidia else None,
    )
