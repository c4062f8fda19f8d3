"""The speed of `explain`: rare anchors, and a scan that loses nothing on the way.

The speed itself is measured by `benchmarks/all.py`; a test of it would measure the machine.
"""

from __future__ import annotations

import io

import pytest
from explain_logs import PLANTED, failures, successes

from tritonwin.problems import catalogue
from tritonwin.problems.explain import explain_stream
from tritonwin.problems.explain.log_facts import knowledge
from tritonwin.problems.explain.matches import Query

SIZE = 3_000_000


@pytest.mark.parametrize("log", [successes, failures])
def test_problems_far_apart_are_all_found(log) -> None:
    data = "".join(log(SIZE))
    found = explain_stream(io.BytesIO(data.encode()))
    assert {i for p in found.problems for i in (p.id, *p.explains)} == PLANTED.keys()
    assert {p.certainty for p in found.problems} == {"certain"}
    lines = data.split("\n")
    for problem in found.problems:
        number = int(problem.evidence[0].where.removeprefix("line "))
        assert lines[number - 1] == PLANTED[problem.id]


def test_no_anchor_stands_in_many_lines_of_a_build_that_succeeds() -> None:
    """Such an anchor costs every such log its speed; facts are given up after a while."""
    lines = [line for line in successes(SIZE) if line.strip() not in PLANTED.values()]
    patterns = set(Query(catalogue.load()).patterns) - set(knowledge().fact)
    often = {
        anchor: count
        for anchor in {anchor for pattern in patterns for anchor in pattern.anchors}
        if (count := sum(anchor in line for line in lines)) > len(lines) // 100
    }
    assert often == {}
