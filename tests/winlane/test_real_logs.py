"""`explain` on what real programs print when they really fail: see provoked.toml for how."""

from __future__ import annotations

import pytest
from faults import one_an_id
from provoked import FAILURES, SESSIONS, Failure, Session, log_of, logs
from winlane import Machine

from tritonwin.problems.explain import explain_lines


@pytest.mark.parametrize("failure", one_an_id(FAILURES))
def test_names_the_cause(machine: Machine, failure: Failure) -> None:
    check(failure.problem, failure.names, log_of(machine, failure))


@pytest.mark.full
@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.packages[0])
def test_names_the_cause_in_real_torch(machine: Machine, session: Session) -> None:
    said = logs(machine, session)
    assert list(said) == list(session.named)
    for name, program in session.named.items():
        check(program.problem, program.names, said[name])


def check(problem: str, names: str, log: str) -> None:
    assert names in log, log
    found = explain_lines(log.splitlines()).problems
    assert found, log
    assert found[0].id == problem, log
    assert any(names in each.text for each in found[0].evidence), found[0].evidence
    certain = {each.id for each in found if each.certainty == "certain"}
    assert certain <= {problem}
