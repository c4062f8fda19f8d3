"""The output of `verify`: the terminal, its reports, its refusals."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import healthy
import pytest

from tritonwin.cli.app import run
from tritonwin.cli.options import TargetOptions
from tritonwin.errors import Exit, UserError
from tritonwin.facts import history
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output import html, markdown, proof
from tritonwin.output.documents import VerifyReport
from tritonwin.output.proof import (
    of_report,
    proof_verdict,
    refuse_place,
    verify_report,
    write_report,
)
from tritonwin.system.codec import from_json
from tritonwin.verify import ladder, records
from tritonwin.verify.records import Proof, RungResult, RungState, Verdict

REDACTOR = Redactor(Identity(users=("ada",), homes=(r"C:\Users\ada",), hosts=("ENGINE",)))


def result(state: RungState, **more: object) -> RungResult:
    plain = RungResult(
        id=state, title=f"what is {state}", state=state, detail="seen", seconds=1.25, proves="all"
    )
    return replace(plain, **more)  # type: ignore[arg-type]


HOSTILE = "</pre><script>alert(1)</script> | `````` @someone \x1b[31m\u202e"
RESULTS = (
    result("passed", figures={"error": 0.5, "numbers": "right"}),
    result(
        "failed",
        detail=HOSTILE,
        traceback=f"Traceback\n  {HOSTILE}\n  File C:\\Users\\ada\\x.py",
        problems=("ptxas-not-found",),
    ),
    result("crashed", detail="0xC0000005 (access violation)"),
    result("timed-out"),
    result("not-applicable"),
    result("not-installed"),
    result("skipped"),
)
REPORT = verify_report(healthy.changed(), Proof(results=RESULTS), 89)


def test_the_page_shows_what_broke_and_passed_and_folds_the_rest() -> None:
    page = html.report(of_report(REPORT))
    opened, folded = page.split("<details><summary>3 that were not tried", 1)
    for words in ("what is failed", "what is passed", "TIMEOUT", "alert(1)", "Triton does"):
        assert words in opened
    for words in ("what is not-applicable", "what is not-installed", "what is skipped"):
        assert words in folded
        assert words not in opened
    assert opened.index("what is crashed") < opened.index("what is passed")
    assert not set(page) & {"\x1b", "\u202e"}
    assert "<script>alert" not in page


def test_markdown_shows_foreign_text_as_it_is() -> None:
    text = markdown.report(of_report(REPORT))
    assert text.startswith("<!-- tritonwin.verify/1 -->")
    assert "- **FAILED** `failed`: what is failed" in text
    assert "ptxas-not-found" in text
    assert "- `ok what is passed (seen)`\n" in text
    assert "n/a what is not-applicable (seen)" in text
    # a fence longer than any run of backticks inside of it
    assert "```````text" in text
    assert "<script>" in text


@pytest.mark.parametrize("ending", ["md", "html", "json"])
def test_reports_are_written_whole_without_names(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"proof.{ending}"
    for _ in range(2):  # a report of its own is replaced
        refuse_place(file)
        write_report(REDACTOR.record(REPORT), file)
    text = file.read_text("utf-8")
    assert "ada" not in text
    assert "x.py" in text
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_the_json_report_can_be_read_back(tmp_path: Path) -> None:
    write_report(REDACTOR.record(REPORT), tmp_path / "proof.json")
    read = from_json(VerifyReport, json.loads((tmp_path / "proof.json").read_text("utf-8")))
    assert [r.state for r in read.rungs] == [r.state for r in RESULTS]
    assert read.machine["GPU"] == REPORT.machine["GPU"]
    assert read.rungs[0].figures == {"error": 0.5, "numbers": "right"}


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "page.html"
    own.write_text("<p>mine</p>", "utf-8")
    folder = tmp_path / "folder.md"
    folder.mkdir()
    for path in (own, folder, tmp_path / "a.txt", tmp_path / "nowhere" / "a.md"):
        with pytest.raises(UserError) as caught:
            refuse_place(path)
        assert caught.value.help
    assert own.read_text("utf-8") == "<p>mine</p>"


def test_the_terminal_shows_states_and_problems(capsys: pytest.CaptureFixture[str]) -> None:
    shown = proof.print_climb(
        healthy.changed(),
        iter(RESULTS),
        records.load().rung[: len(RESULTS)],
        ladder=len(records.load().rung),
    )
    out = capsys.readouterr().out
    assert shown.results == RESULTS
    for words in ("ok ", "FAILED", "CRASHED", "TIMEOUT", "n/a", "absent", "skipped"):
        assert words in out
    assert "[ptxas-not-found]" in out
    assert "tritonwin doctor --only ptxas-not-found" in out
    assert "\x1b" not in out
    assert out.isascii()
    assert "1 passed, 1 failed, 1 crashed, 1 timed out" in out
    assert out.rstrip().endswith("Not proven.")


def test_proof_says_how_many_rungs_were_tried() -> None:
    rungs = records.load().rung
    every = tuple(result("passed", id=rung.id) for rung in rungs)
    for results, said in (
        (every[:1], f"Proven, as far as it could be tried; {len(rungs) - 1} of {len(rungs)} rungs"),
        (every, f"{len(rungs)} passed. Proven, as far as it could be tried."),
        ((), "nothing was tried"),
    ):
        assert said in proof_verdict(Proof(results=results), rungs=len(rungs))


VERDICTS: list[tuple[dict[str, RungState], Verdict, str]] = [
    ({"ptxas": "passed", "vector-add": "passed", "flash-attn": "not-installed"}, "proven", "Proven, as"),
    ({"ptxas": "passed"}, "proven", "Proven, as"),
    ({"ptxas": "passed", "driver": "not-applicable", "vector-add": "not-applicable"}, "gpu-untried", "nothing failed, and nothing that needs a GPU was tried"),
    ({"ptxas": "passed", "vector-add": "skipped", "flash-attn": "not-installed"}, "gpu-untried", "nothing that needs a GPU was tried"),
    ({"ptxas": "failed", "vector-add": "not-applicable"}, "not-proven", "Not proven."),
    ({"ptxas": "passed", "vector-add": "timed-out"}, "not-proven", "Not proven."),
    ({"ptxas": "not-applicable"}, "not-proven", "Not proven."),
    ({}, "not-proven", "Not proven."),
]  # fmt: skip


@pytest.mark.parametrize(("states", "verdict", "said"), VERDICTS)
def test_without_a_gpu_nothing_is_proven_and_nothing_failed(
    states: dict[str, RungState], verdict: Verdict, said: str
) -> None:
    found = Proof(results=tuple(result(state, id=rung) for rung, state in states.items()))
    assert found.verdict == verdict
    report = proof.verify_report(healthy.changed(), found, 80)
    assert (report.verdict, report.proven) == (verdict, verdict == "proven")
    for text in (markdown.report(of_report(report)), html.report(of_report(report))):
        assert said in text


def test_a_machine_without_a_gpu_has_an_exit_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = healthy.changed(
        gpus=(), drivers=(), target=replace(healthy.TARGET, executable=sys.executable)
    )
    monkeypatch.setattr(TargetOptions, "collect", lambda *_, **__: facts)
    kept: list[Facts] = []
    monkeypatch.setattr(history, "write_proven", lambda facts, _: kept.append(facts))
    said = {rung.id: result("passed", id=rung.id) for rung in records.load().rung}
    monkeypatch.setattr(ladder, "_try", lambda rung, *_: said[rung.id])
    assert run(["verify", "--through", "compile-cubin", "--json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out)["verdict"] == "proven"
    assert run(["verify", "--json"]) == Exit.GPU_UNTRIED == 4
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["proven"], kept) == ("gpu-untried", False, [])
    rungs = {rung["id"]: rung for rung in document["rungs"]}
    assert rungs["vector-add"]["detail"] == "no NVIDIA driver is here"
    assert not [r["detail"] for r in rungs.values() if "this is 8.0" in r["detail"]]
    said["ptxas"] = result("failed", id="ptxas")
    assert run(["verify", "--json"]) == Exit.PROBLEMS


def test_the_rungs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--list"]) == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rung.id for rung in records.load().rung]
    assert run(["verify", "--list", "--json", "--through", "import-triton"]) == Exit.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tritonwin.rungs/1"
    assert [rung["id"] for rung in document["rungs"]] == ["headers-and-library", "import-triton"]
