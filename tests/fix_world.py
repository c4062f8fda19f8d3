"""A machine for the loop of fix, whose facts, plans and proofs are of our own making."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
from hosts import fake_host

from tritonwin.facts.history import read_proven
from tritonwin.facts.records import Facts, Interpreter, Shadow
from tritonwin.journal import Store
from tritonwin.remedies import fix as fixing
from tritonwin.remedies.fix import FixOptions, fix
from tritonwin.remedies.records import FixResult
from tritonwin.verify import ladder
from tritonwin.verify.records import Proof, Rung, RungResult, RungState
from tritonwin.verify.setting import ProofSetting


def proof(state: RungState) -> Proof:
    result = RungResult(id="import-triton", title="", state=state, detail="", seconds=0)
    return Proof(results=(result,))


class World:
    """A machine whose state is one file: whether `triton.py` lies in the current folder.

    `changes` are other facts that are not healthy; `hidden` shadows show when those before are gone;
    `ahead` is how Triton's import ends while the facts are read, `known` what the proofs were told.
    """

    def __init__(self, tmp_path: Path, proofs: Iterator[Proof]) -> None:
        self.root = tmp_path / "work"
        self.root.mkdir()
        self.env = tmp_path / "env"
        self.env.mkdir()
        self.python = self.env / "python.exe"
        self.python.write_bytes(b"")
        self.shadow = self.root / "triton.py"
        self.shadow.write_text("x")
        self.store = Store(tmp_path / "journals")
        self.proofs = proofs
        self.host = fake_host(self.root, {"TRITONWIN_HOME": str(tmp_path / "home")})
        self.tmp_path = tmp_path
        self.changes: dict[str, Any] = {}
        self.hidden: list[Path] = []
        self.ahead: RungState = "passed"
        self.known: list[tuple[RungState, ...]] = []

    def prove(self, setting: ProofSetting, rungs: Sequence[Rung] = ladder.BASIC) -> Proof:
        if rungs == ladder.AHEAD:
            assert setting.timeout == fixing.AHEAD_LIMIT
            return proof(self.ahead)
        self.known.append(tuple(result.state for result in setting.known))
        return next(self.proofs)

    def collect(self, **options: Any) -> Facts:
        seen = next((p for p in (self.shadow, *self.hidden) if p.exists()), None)
        shadows = (
            (Shadow(module=seen.stem, path=str(seen), reason="current folder"),) if seen else ()
        )
        return healthy.changed(
            **self.changes,
            target=self.target,
            interpreters=(self.target,),
            shadows=shadows,
            proven=read_proven(self.target, self.host.env),
        )

    @property
    def target(self) -> Interpreter:
        return replace(healthy.TARGET, executable=str(self.python), prefix=str(self.env))

    def fix(self, watcher: Any, facts: Facts | None = None, **options: Any) -> FixResult:
        return fix(
            FixOptions(**options),
            facts or self.collect(),
            self.store,
            agree=watcher.agree,
            on_event=watcher,
            host=self.host,
        )
