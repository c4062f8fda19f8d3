"""tritonwin as it is called, in the process of the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_env import TargetEnvironment

from tritonwin.output import schema

try:
    import jsonschema
except ImportError:  # the lane's Windows Python has none
    jsonschema = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Said:
    """The exit status of a command and its output."""

    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """All of it, however the lines are broken."""
        return " ".join((self.out + self.err).split())

    @property
    def document(self) -> Any:
        """The JSON on standard output, held to its schema."""
        found = json.loads(self.out)
        if jsonschema:
            jsonschema.validate(found, schema.load(found["schema"]))
        return found


Call = Callable[..., Said]


@dataclass(frozen=True)
class Shop:
    """An environment, a folder of wheels for it, and the command that installs them."""

    target: TargetEnvironment
    wheels: Path
    call: Call

    def install(self, *args: str, status: int | None = None) -> Said:
        place = ("--find-links", self.wheels, "--offline")
        done = self.call("install", *args, "--python", self.target.python, *place)
        assert status in {None, done.status}, done
        return done
