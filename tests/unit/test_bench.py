from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import healthy
import pytest

from tritonwin.cli import app
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.bench import report
from tritonwin.system.codec import to_json
from tritonwin.verify.bench import Comparison, compare
from tritonwin.verify.records import RungResult

FACTS = healthy.part("system", wine="8.0")


def part(name: str, **figures: str | float) -> RungResult:
    return RungResult(
        id=name, title=name, state="passed", detail="seen", seconds=1.0, figures=figures
    )


FIRST = [part("bench-launch", launch_us=10.0, code="a"), part("bench-matmul", us=4)]
SECOND = [part("bench-launch", launch_us=12.5, code="b", more=1.0)]


def test_figures_of_both_are_compared() -> None:
    assert compare(FIRST, SECOND) == (
        Comparison(part="bench-launch", figure="launch_us", first=10.0, second=12.5, ratio=1.25),
        Comparison(part="bench-launch", figure="code", first="a", second="b", ratio=None),
    )


def test_nothing_is_divided_by_zero() -> None:
    assert [row.ratio for row in compare([part("bench-launch", launch_us=0.0)], SECOND)] == [None]


def save(path: Path, parts: list[RungResult], encoding: str = "utf-8") -> Path:
    document = report(FACTS, parts, Redactor(Identity()))
    assert document.machine["GPU"].startswith("NVIDIA GeForce RTX 4090 (8.9)")
    path.write_text(json.dumps(to_json(document)), encoding)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_two_files_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    first = save(tmp_path / "a.json", FIRST, encoding)
    second = save(tmp_path / "b.json", SECOND, encoding)
    assert app.run(["bench", "--compare", str(first), str(second)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["bench-launch", "launch_us", "10.0", "12.5", "1.250"] in rows
    assert ["bench-launch", "code", "a", "b", "differs"] in rows


def test_what_could_not_be_compared_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(part("bench-matmul"), state="failed", detail="no\x1b memory", figures={})
    first = save(tmp_path / "a.json", FIRST)
    second = save(tmp_path / "b.json", [broken])
    assert app.run(["bench", "--compare", str(first), str(second)]) == 0
    out = capsys.readouterr().out
    assert "bench-matmul of the second: failed (no\\x1b memory)" in out
    assert "There is no figure that both hold." in out


def test_a_comparison_takes_no_options_of_a_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = save(tmp_path / "a.json", FIRST)
    for words in (["--arch", "80"], ["--only", "bench-launch"], ["--python", "x"]):
        assert app.run(["bench", "--compare", str(file), str(file), *words]) == 2
        assert "--compare measures nothing" in capsys.readouterr().err


def test_a_comparison_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = save(tmp_path / "a.json", FIRST)
    assert app.run(["bench", "--json", "--compare", str(file), str(file)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tritonwin.bench-comparison/2"
    assert [row["ratio"] for row in document["figures"]] == [1.0, None, 1.0]


@pytest.mark.parametrize("content", [None, "", "{}", '{"schema": "tritonwin.doctor/1"}', "[1"])
def test_what_is_no_benchmark_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content)
    assert app.run(["bench", "--compare", str(path), str(path)]) == 2
    assert "tritonwin bench --json > FILE" in capsys.readouterr().err


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["bench", "--only", "speed"]) == 2
    assert "bench-matmul" in capsys.readouterr().err
