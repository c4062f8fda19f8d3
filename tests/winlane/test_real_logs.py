"""`explain` on what real programs print when they really fail: see provoked*.py for how."""

from __future__ import annotations

import pytest
from faults import one_an_id, prepare
from provoked import TRITON, Provocation
from provoked_flash import FLASH
from provoked_pip import PIP
from provoked_torch import SESSIONS, Session, logs
from winlane import Machine

from tritonwin.problems.explain import explain_lines


@pytest.mark.parametrize("provocation", one_an_id([*TRITON, *PIP, *FLASH]))
def test_names_the_cause(machine: Machine, provocation: Provocation) -> None:
    seed = prepare(machine, provocation)
    provocation.seed(seed)
    check(provocation.problem, provocation.names, provocation.run(seed))


@pytest.mark.full
@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.name)
def test_names_the_cause_in_real_torch(machine: Machine, session: Session) -> None:
    said = logs(machine, session)
    assert list(said) == list(session.programs)
    for name, program in session.programs.items():
        check(program.problem, program.names, said[name])


def check(problem: str, names: str, log: str) -> None:
    assert names in log, log
    found = explain_lines(log.splitlines()).problems
    assert found, log
    assert found[0].id == problem, log
    assert any(names in each.text for each in found[0].evidence), found[0].evidence
    certain = {each.id for each in found if each.certainty == "certain"}
    assert certain <= {problem}
