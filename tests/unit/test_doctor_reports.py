"""doctor as a page and as the text of an issue: whole, safe, and with nothing private in it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import healthy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.cli.app import run
from tritonwin.facts.records import CudaToolkit, Driver, Facts, Gpu, System
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output import html, markdown
from tritonwin.output.machine import described
from tritonwin.output.markdown import issue
from tritonwin.output.proof import of_report, verify_report
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.explain import decode
from tritonwin.problems.records import CheckResult, Diagnosis, Evidence, Problem, Remedy
from tritonwin.verify.records import Proof

HOSTILE = 'a"<script>alert(1)</script>&\x1b[2J```@everyone|[x](y)'
PROBLEM = Problem(
    id="triton-missing",
    severity="error",
    certainty="likely",
    title=f"no Triton {HOSTILE}",
    cause=HOSTILE,
    evidence=(Evidence(text=HOSTILE, where=HOSTILE),),
    remedy=Remedy(summary=HOSTILE, commands=(f'"C:\\a b\\python.exe" {HOSTILE}',)),
)
FACTS = Facts(
    tool_version="0",
    system=System(os="windows", version="10.0.22631", machine="AMD64"),
    gpus=(Gpu(index=0, vendor="nvidia", name=HOSTILE, source="NVML", compute_capability="8.9"),),
)
DIAGNOSIS = Diagnosis(
    problems=(PROBLEM,),
    checks=(CheckResult(id="triton-missing", title="Triton", state="problem", detail=HOSTILE),),
)
VIEW = of_diagnosis(FACTS, DIAGNOSIS)
# elements without an end
VOID = {"meta", "br", "hr", "img", "input", "link", "line"}


class Reader(HTMLParser):
    """Reads a page strictly: every element is ended, in its order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_loads_and_runs_nothing() -> None:
    text = html.report(VIEW)
    assert "<script>alert" not in text
    assert "\x1b" not in text
    page = Reader(text)
    assert "alert(1)" in page.text
    assert page.open == []
    assert page.tags[0] == ("html", {"lang": "en"})
    names = [tag for tag, _ in page.tags]
    assert names.count("h1") == names.count("main") == names.count("title") == 1
    assert names.count("script") == 1
    assert not {"src", "href", "onclick"} & {name for _, attrs in page.tags for name in attrs}
    commands = [attrs for tag, attrs in page.tags if tag == "pre"]
    assert commands == [{"class": "command"}]
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_the_page_begins_with_what_to_do_and_folds_what_breaks_nothing() -> None:
    note = replace(PROBLEM, id="long-paths-off", severity="info", title="a note")
    diagnosis = replace(DIAGNOSIS, problems=(PROBLEM, note))
    page = html.report(of_diagnosis(FACTS, diagnosis))
    answer, todo, why, notes = (
        page.index(text) for text in ("<h1", "<h3>Do this", "<h3>Why", "<summary>1 note")
    )
    assert answer < todo < why < notes < page.index("a note")
    assert re.search(r"<footer.*tritonwin [\d.]+, 20\d\d-", page)


def test_the_issue_has_the_fields_of_the_form() -> None:
    text = issue(VIEW, log="line 1\n```\nline 2")
    assert re.findall(r"^### (.*)$", text, re.MULTILINE)[:2] == [
        "Describe the bug",
        "Environment details",
    ]
    for name in ("GPU", "Python", "PyTorch", "Triton", "CUDA", "Compiler"):
        assert re.search(rf"^{name}: \S", text, re.MULTILINE), name
    assert "````text\nline 1\n```\nline 2\n````" in text
    assert text.index("<details>") < text.index("line 1") < text.index("</details>")


def outside_code(text: str) -> str:
    """The text without its code: blocks by their fences, then spans by CommonMark's rule."""
    lines: list[str] = []
    fence = None
    for line in text.splitlines():
        if fence is None and (opened := re.fullmatch(r"(`{3,})text", line)):
            fence = opened[1]
        elif fence is None:
            lines.append(line)
        elif line == fence:
            fence = None
    assert fence is None
    span = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
    by_line = "\n".join(span.sub("CODE", line) for line in lines)
    assert span.sub("CODE", "\n".join(lines)) == by_line  # no span reaches over a line
    return by_line


def issue_about(foreign: str, log: str | None = None) -> str:
    problem = replace(PROBLEM, title=foreign, evidence=(Evidence(text=foreign, where=foreign),))
    check = replace(DIAGNOSIS.checks[0], state="crashed", title=foreign, detail=foreign)
    facts = replace(FACTS, gpus=(replace(FACTS.gpus[0], name=foreign),))
    return issue(of_diagnosis(facts, Diagnosis(problems=(problem,), checks=(check,))), log)


REPORT = verify_report(healthy.changed(), Proof(results=()), 89)
LIVE = [
    "@octocat", "\\@octocat", "&commat;octocat", "&#64;octocat", "#1", "\\#1", "&num;1", "GH-2",
    "owner/repo#1", "owner/repo@0123456789abcdef0123456789abcdef01234567", "0123456", "deadbeef",
    "https://example.org", "www.example.org", "a@example.org", "<https://example.org>", "<b>", "<!--",
    "[x](https://example.org)", "![x](https://example.org/x.png)", "[x]: /u", "`", "``", "```", "\\`",
    "\\", "|", "~~~", "$x$", ":smile:", "\n", "\n\n", "# x", "\x1b[2J", " ", "$`x`$", "\\|",
]  # fmt: skip


@given(st.lists(st.sampled_from(LIVE), min_size=1, max_size=9), st.text("`a\n", max_size=30))
def test_nothing_of_the_machine_is_live_in_an_issue(parts: list[str], log: str) -> None:
    """Outside of code, an issue says the same whatever the machine says."""
    foreign = "".join(parts) + "@"
    assert outside_code(issue_about(foreign, log)) == outside_code(issue_about("1.0", ""))
    report = replace(REPORT, machine={"GPU": foreign})
    benign = replace(REPORT, machine={"GPU": "1.0"})
    shown, plain = (markdown.report(of_report(each)) for each in (report, benign))
    assert outside_code(shown) == outside_code(plain)


def test_words_of_letters_stand_as_they_are() -> None:
    assert "NVIDIA GeForce" in outside_code(issue_about("NVIDIA GeForce"))
    assert "deadbeef" not in outside_code(issue_about("deadbeef"))  # GitHub links commits


@pytest.mark.parametrize(
    "log", ["x\n" * 100_000, "\x1b" * 100_000, "`" * 100_000, "a`" * 50_000, "*" * 65_000]
)
def test_an_issue_is_never_too_long_and_keeps_the_end_of_its_log(log: str) -> None:
    """Escapes and fences make it longer: the cut comes after them."""
    text = issue_about("\x1b`" * 400, f"{log}the end")
    assert len(text) < 65_536
    assert "the end\n`" in text
    outside_code(text)
    evidence = (Evidence(text="x" * 300, where="y"),) * 1000
    diagnosis = replace(DIAGNOSIS, problems=(replace(PROBLEM, evidence=evidence),))
    assert len(issue(of_diagnosis(FACTS, diagnosis), log)) < 65_536


def test_every_line_about_the_machine_says_something() -> None:
    bare = Facts(tool_version="0", system=FACTS.system)
    assert all(value for _, value in described(bare))


@pytest.mark.parametrize(
    ("gpus", "drivers", "says"),
    [
        ((), (), "no GPU was found"),
        ((), ({"version": "581.57"},), "driver 581.57"),  # a log's: the card is not known
        ((), ({"error": "not there"},), "no GPU was found; driver: not there"),
        ((healthy.gpu("8.9"),), ({},), "NVIDIA GeForce RTX 4090 (8.9)"),
        (
            (healthy.gpu("8.9"),),
            ({"version": "581.57"}, {"error": "hangs"}),
            "NVIDIA GeForce RTX 4090 (8.9); driver 581.57, driver: hangs",
        ),
    ],
)
def test_gpus_and_drivers(
    gpus: tuple[Gpu, ...], drivers: tuple[dict[str, str], ...], says: str
) -> None:
    made = tuple(Driver(vendor="nvidia", source="NVML", **each) for each in drivers)
    assert dict(described(replace(FACTS, gpus=gpus, drivers=made)))["GPU"] == says


def test_toolkits_that_look_alike_are_said_once() -> None:
    system = CudaToolkit(path="/usr/local/cuda-13.0", source="/usr/local", layout="system")
    known = replace(system, version="13.0")
    facts = replace(FACTS, cuda_toolkits=(known, replace(known, path="/usr/local/cuda"), system))
    assert dict(described(facts))["CUDA"] == "13.0 (system), unknown version (system)"


def test_the_size_of_a_log_does_not_fill_the_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"a line of a log\n" * 10_000 + b"the end\n")
    monkeypatch.setattr(decode, "BLOCK", 16_384)
    lengths = []
    redact = Redactor.text

    def measured(self: Redactor, text: str) -> str:
        lengths.append(len(text))
        return redact(self, text)

    monkeypatch.setattr(Redactor, "text", measured)
    run(["doctor", "--markdown", "--log", str(log)])
    assert "the end" in capsys.readouterr().out
    assert max(lengths) <= 3 * decode.BLOCK


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(
        "C:\\Users\\Jörg Müller\\x.py failed: No module named 'triton'".encode("cp1252")
    )
    page = tmp_path / "ü p.html"
    assert run(["doctor", "--html", str(page), "--markdown", "--log", str(log)]) == 1
    text = capsys.readouterr().out
    assert "failed: No module named" in text
    assert "Müller" not in text
    assert Reader(page.read_text("utf-8")).open == []


def test_a_page_replaces_a_page_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, thesis = tmp_path / "a.html", tmp_path / "thesis.docx"
    thesis.write_text("precious")
    assert all(run(["doctor", "--html", str(page)]) in (0, 1) for _ in range(2))
    assert run(["doctor", "--html", str(thesis)]) == 2
    assert "was not written by this command" in capsys.readouterr().err
    assert thesis.read_text() == "precious"
