"""A choice that a plan makes: the value, why it was taken, and what is against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a value was taken.

    Attributes:
        name: what was decided: "archs", "cuda", "toolset", "jobs" ...
        value: as it is shown to a person.
        reason: why, in a sentence.
        flag: the option that decides otherwise; empty where there is none.
    """

    name: str
    value: str
    reason: str
    flag: str = ""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Why a plan cannot be carried out, by the id of the problem, and what to do about it."""

    problem: str
    message: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Choice(Generic[T_co]):
    """A value with its reasons.

    Attributes:
        warnings: what may go wrong with it.
        refusals: why no plan with it can be carried out.
    """

    value: T_co
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[str, ...] = ()
    refusals: tuple[Obstacle, ...] = ()
