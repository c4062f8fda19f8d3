"""What is left as it is, and why: records alone, for whoever tells of them without the rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A rule that does not know the form of the place that it is about."""

    rule: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A file that is not touched, from three sides.

    Attributes:
        released: what is known of its content as released.
        left: as tritonwin left it, where it did; a SHA-256.
        found: as it is; a SHA-256.
        fits: the rules that could be applied all the same, with --allow-unknown.
    """

    file: str
    reason: str
    released: str
    left: str | None
    found: str
    fits: tuple[str, ...]
    misfits: tuple[Misfit, ...]
