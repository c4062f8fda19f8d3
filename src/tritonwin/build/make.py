"""From a plan to a wheel that is proven and described."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tritonwin.build import info, proof, runner, tag, venv
from tritonwin.build.model import BuildPlan
from tritonwin.build.outcome import BuildInfo
from tritonwin.build.proof import WheelProof
from tritonwin.build.runner import Setting
from tritonwin.build.state import State
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.problems.records import Evidence, Explanation


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it ended.

    Attributes:
        wheel: None: the build failed, and `explanation` says why.
        info: what was written beside the wheel, into the file `info_path`.
        failed_step: what the first step that failed printed.
        log: everything that the build printed, of all its runs.
    """

    state: State
    log: Path
    wheel: Path | None = None
    proof: WheelProof | None = None
    info: BuildInfo | None = None
    info_path: Path | None = None
    explanation: Explanation | None = None
    failed_step: tuple[Evidence, ...] = ()

    @property
    def proven(self) -> bool:
        """There is a wheel, and nothing that was tried with it failed."""
        return self.proof is not None and self.proof.holds


def make(plan: BuildPlan, setting: Setting, *, resume: bool = False) -> Outcome:
    """Build the wheel, give it its local version, prove it, and describe it in a file beside it.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    built = runner.build(plan, setting, resume=resume)
    log = plan.layout.log
    if built.wheel is None:
        return Outcome(
            state=built.state,
            log=log,
            explanation=built.explanation,
            failed_step=built.failed_step,
        )
    wheel = tag.tagged(built.wheel, plan.local_version)
    shown = proof.prove(plan, wheel, setting.depot.pip, tell=setting.tell)
    record = info.describe(plan, wheel, built.state, venv.installed(built.python.python), shown)
    return Outcome(
        state=built.state,
        log=log,
        wheel=wheel,
        proof=shown,
        info=record,
        info_path=info.write(record, wheel.parent, Redactor.this_machine(setting.host)),
    )
