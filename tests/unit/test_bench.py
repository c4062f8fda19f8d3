from __future__ import annotations

import healthy
import pytest

from tritonwin.cli import app
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.proof import bench_report
from tritonwin.verify.records import RungResult


def test_figures_are_kept_with_their_machine() -> None:
    part = RungResult(id="bench-launch", title="", state="passed", detail="", seconds=1.0,
                      figures={"launch_us": 10.0})  # fmt: skip
    document = bench_report(healthy.part("system", wine="8.0"), [part], Redactor(Identity()))
    assert document.machine["GPU"].startswith("NVIDIA GeForce RTX 4090 (8.9)")
    assert document.parts == (part,)


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["bench", "--only", "speed"]) == 2
    assert "bench-matmul" in capsys.readouterr().err
