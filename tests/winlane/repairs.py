"""A Python with a seeded fault, repaired, and compared with how it was before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import Fault, Seed, Steps, prepare
from trees import describe_tree
from winlane import Environment, Lane, Machine

USER = r"HKCU\Environment"
FILE_SYSTEM = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
REAL = ("triton-3.8", "triton-3.5", "setuptools", "msvc-runtime-new", "pip")


@dataclass
class Repair:
    """A seeded fault, and everything that a repair may change of its machine."""

    seed: Seed
    wheels: tuple[str, ...]
    before: dict[str, Any]

    @classmethod
    def prepared(
        cls,
        lane: Lane,
        machine: Machine,
        fault: Fault,
        *more: Path,
        seeds: Sequence[Steps] = (),
        real: Sequence[str] = REAL,
    ) -> Repair:
        """Seed the fault; `more` are folders of wheels beside the `real` ones of the lane."""
        machine.registry.protect(USER)
        machine.registry.protect(FILE_SYSTEM)
        seed = prepare(machine, fault)
        if fault.driver:
            machine.tool("driver", "on", "--python", seed.env.python, timeout=240).check()
        healthy = dict(machine.variables)
        for steps in seeds or (fault.seed,):
            seed.sow(steps)
        for name, value in machine.variables.items():
            if healthy.get(name) != value and not name.startswith("FAKE"):
                # as on a real PC: what a console has comes from the registry
                machine.registry.set(USER, name, value)
        # another Python of that version, from which headers can be taken
        machine.register_python(machine.environment(fault.version, "full"))
        folders = (lane.wheels("3.12", real), *map(lane.drives.windows, more))
        return cls(seed, folders, state(machine, seed.env))

    def fix(self, *options: str) -> dict[str, Any]:
        links = [word for folder in self.wheels for word in ("--find-links", folder)]
        done = self.seed.machine.tool(
            "fix", "--offline", "--json", *links, "--python", self.seed.env.python, *options,
            cwd=self.seed.cwd, timeout=600,
        )  # fmt: skip
        assert done.stderr == ""
        report: dict[str, Any] = json.loads(done.stdout)
        assert "error" not in report, report
        return report

    def undo(self, journals: Sequence[str]) -> None:
        for journal in reversed(journals):
            undone = self.seed.machine.tool("undo", journal, "--yes", timeout=300)
            assert undone.returncode == 0, undone.stdout + undone.stderr
        now = state(self.seed.machine, self.seed.env)
        for part, content in self.before.items():
            assert now[part] == content, part


def state(machine: Machine, env: Environment) -> dict[str, Any]:
    """Every file of the environment and of the folders that faults use, and the registry."""
    folders = {"env": env.root, **{f: env.path(f) for f in (r"C:\work", r"C:\cache")}}
    return {
        **{name: describe_tree(folder) for name, folder in folders.items()},
        **{key: machine.registry.read(key) for key in (USER, FILE_SYSTEM)},
    }
