"""From sightings to problems: order, conditions, certainty, evidence, questions."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import healthy
import pytest

from tritonwin.facts.packages import knowledge
from tritonwin.problems import catalogue
from tritonwin.problems.advice import advise, context
from tritonwin.problems.doctor import by_certainty, fold
from tritonwin.problems.explain import (
    HEAD,
    Explanation,
    explain_file,
    explain_lines,
    explain_stream,
    quote,
)
from tritonwin.problems.records import Finding
from tritonwin.system import toml
from tritonwin.system.codec import from_json

ENTRY = """
[[problem]]
id = "{id}"
title = "the {id}"
severity = "{severity}"
layer = "packages"
cause = "It is {{path}}."
explains = [{explains}]
{log_only}
[problem.remedy]
summary = "Help."
commands = ['{{python}} -m pip install "x"']
"""


def entry(
    name: str, *signatures: str, severity: str = "error", explains: str = "", log_only: bool = True
) -> str:
    reason = 'log_only = "No fact shows it."' if log_only else ""
    head = ENTRY.format(id=name, severity=severity, explains=explains, log_only=reason)
    return head + "".join(f"[[problem.signatures]]\n{text}\n" for text in signatures)


@pytest.fixture
def using(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def use(*entries: str) -> None:
        file = from_json(catalogue.CatalogueFile, toml.loads("\n".join(entries)), strict=True)
        entries = {e.id: e for e in file.problem}
        made = replace(KNOWN, entries=entries, words=file.words, marks=file.marks)
        monkeypatch.setattr(catalogue, "load", lambda: made)
        # the real ids are not there
        monkeypatch.setattr("tritonwin.problems.checks.of_versions", lambda: ())

    return use


def ids(explanation: Explanation) -> list[str]:
    return [f"{p.id} {p.certainty}" for p in explanation.problems]


KNOWN = catalogue.load()
SURE = 'anchors = ["NEEDLE"]\ncertainty = "certain"'


def test_lines_in_order(using) -> None:
    using(entry("it", SURE + '\nbefore = [{anchors = ["FIRST"]}]\nafter = [{anchors = ["THIRD"]}]'))
    assert ids(explain_lines(["FIRST", "NEEDLE", "THIRD"])) == ["it certain"]
    for order in (
        ["NEEDLE", "FIRST", "THIRD"],
        ["FIRST", "THIRD", "NEEDLE"],
        ["FIRST NEEDLE THIRD"],
        ["FIRST", "NEEDLE"],
    ):
        assert ids(explain_lines(order)) == []
    # earlier sightings that came too soon do not hide those that count
    lines = ["THIRD", "NEEDLE", "FIRST", "NEEDLE", "x", "THIRD"]
    (problem,) = explain_lines(lines).problems
    assert [e.where for e in problem.evidence] == ["line 4", "line 3", "line 6"]


def test_lines_may_have_their_ends_or_not() -> None:
    plain = [
        "torch==2.5.1",
        "",
        "Traceback (most recent call last):",
        '  File "a.py", line 1',
        "E: x",
    ]
    ended = [f"{line}\n" for line in plain]
    assert explain_lines(ended) == explain_lines(plain) == explain_lines([*ended[:2], *plain[2:]])
    assert explain_lines(plain).lines == 5


def test_what_is_to_be_near(using) -> None:
    using(entry("it", SURE + '\nbefore = [{anchors = ["FIRST"]}]\nnear = true'))
    assert ids(explain_lines(["FIRST", "x" * 1000, "NEEDLE"])) == ["it certain"]
    far = ["FIRST", *["x" * 150] * 400, "NEEDLE"]
    assert ids(explain_lines(far)) == []
    # a line that is far hides none that is near
    assert ids(explain_lines([*far, "FIRST", "NEEDLE"])) == ["it certain"]


def test_what_must_not_be_there(using) -> None:
    using(entry("it", SURE + '\nwithout = [{anchors = ["UNLESS"]}]'))
    assert ids(explain_lines(["NEEDLE"])) == ["it certain"]
    assert ids(explain_lines(["NEEDLE", "UNLESS"])) == []
    assert ids(explain_lines(["UNLESS", "NEEDLE"])) == []


def test_conditions_and_what_is_not_known(using) -> None:
    using(
        entry("old", SURE + '\nwhen = { torch = ["<2.6"] }\nunknown = "possible"'),
        entry("new", SURE + '\nwhen = { torch = [">=2.6"] }'),
    )
    assert ids(explain_lines(["NEEDLE"])) == ["old possible"]
    assert ids(explain_lines(["torch==2.5.1", "NEEDLE"])) == ["old certain"]
    assert ids(explain_lines(["NEEDLE", "torch==2.7.0"])) == ["new certain"]
    (problem,) = explain_lines(["torch==2.5.1", "NEEDLE"]).problems
    assert [e.text for e in problem.evidence] == ["NEEDLE", "torch==2.5.1"]


def test_the_snapshot_answers_conditions(using, monkeypatch: pytest.MonkeyPatch) -> None:
    using(entry("old", SURE + '\nwhen = { torch = [">=2"] }\nunknown = "possible"'))
    monkeypatch.setattr("tritonwin.problems.checks.CHECKS", ())  # the real ids are not there
    assert ids(explain_lines(["NEEDLE"], healthy.changed())) == ["old certain"]


def test_the_snapshot_confirms_what_the_log_suspects() -> None:
    line = ["RuntimeError: Cannot find a working triton installation."]
    alone = {p.id: p.certainty for p in explain_lines(line).problems}
    assert alone["triton-missing"] == "possible"
    known = {p.id: p.certainty for p in explain_lines(line, healthy.changed(triton=None)).problems}
    assert known["triton-missing"] == "certain"


def test_certain_comes_first_and_folds_its_consequences(using) -> None:
    possible = SURE.replace('"certain"', '"possible"')
    using(
        entry("maybe", possible, explains='"symptom"'),
        entry("root", SURE, explains='"symptom"'),
        entry("symptom", SURE),
    )
    (root, maybe) = explain_lines(["NEEDLE"]).problems
    assert (root.id, root.explains) == ("root", ("symptom",))
    assert (maybe.id, maybe.explains) == ("maybe", ())


def test_what_is_less_certain_or_merely_possible_folds_nothing(using) -> None:
    using(entry("cause", explains='"effect"'), entry("effect"))

    def found(cause: str, effect: str) -> list[str]:
        problems = [
            healthy.problem(name, certainty=certainty)
            for name, certainty in (("cause", cause), ("effect", effect))
        ]
        return [p.id for p in fold(problems, by_certainty)]

    assert found("certain", "certain") == ["cause"]
    assert found("likely", "possible") == ["cause"]
    assert found("likely", "certain") == ["effect", "cause"]
    assert found("possible", "possible") == ["cause", "effect"]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("Python 3.12.4 (main)", ""),  # which one is not known
        (r"C:\py\python.exe main.py", r" --python C:\py\python.exe"),
    ],
)
def test_a_question_names_the_python_that_was_read(using, line: str, target: str) -> None:
    possible = SURE.replace('"certain"', '"possible"')
    using(entry("it", possible, log_only=False))
    (problem,) = explain_lines([line, "NEEDLE"]).problems
    assert problem.question
    assert problem.question.command == f"tritonwin doctor{target} --only it"


def test_groups_and_the_interpreter_fit_the_help(using) -> None:
    using(entry("it", SURE + "\nline = '''NEEDLE in (?P<path>\\S{1,99})'''"))
    place = r'File "D:\My Apps\python_embeded\Lib\site-packages\triton\a.py", line 1'
    (problem,) = explain_lines([place, "NEEDLE in C:\\x"]).problems
    assert problem.cause == r"It is C:\x."
    assert problem.remedy.commands == (r'"D:\My Apps\python_embeded\python.exe" -m pip install x',)
    venv = r'File "D:\w\venv\Lib\site-packages\triton\a.py", line 1'
    (problem,) = explain_lines([venv, "NEEDLE in C:\\x"]).problems
    assert problem.remedy.commands[0].startswith(r"D:\w\venv\Scripts\python.exe -m pip")


def test_where_it_is_not_certain_a_question_decides(using) -> None:
    possible = SURE.replace('"certain"', '"possible"')
    asked = '[problem.question]\ntext = "Is it?"\ncommand = "{python} -c 1"\n'
    head, mark, signatures = entry("asked", possible).partition("[[problem.signatures]]")
    using(
        head + asked + mark + signatures,
        entry("checked", possible, log_only=False),
        entry("unasked", possible),
    )
    found = {p.id: p.question for p in explain_lines(["NEEDLE"]).problems}
    assert found["asked"] is not None
    assert (found["asked"].text, found["asked"].command) == ("Is it?", "python -c 1")
    assert found["checked"] is not None
    assert found["checked"].command == "tritonwin doctor --only checked"
    assert found["unasked"] is None


def test_the_certain_have_no_question(using) -> None:
    using(entry("it", SURE, log_only=False))
    assert explain_lines(["NEEDLE"]).problems[0].question is None


def test_an_unknown_log_shows_where_to_look() -> None:
    lines = [
        "all is well",
        "npm ERR! code 1",
        "main.c(3): error: something else",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "    first()",
        "KeyError: 'first'",
        "Traceback (most recent call last):",
        '  File "b.py", line 1, in <module>',
        '  File "c.py", line 9, in last',
        "    last()",
        "    ^^^^^^",
        "ValueError: \x1b[31mnobody knows\x1b[0m",
        "bye",
    ]
    explanation = explain_lines(lines)
    assert explanation.problems == ()
    assert explanation.healthy
    assert explanation.lines == len(lines)
    assert [(e.where, e.text) for e in explanation.suspicious] == [
        ("line 3", "main.c(3): error: something else"),
        ("line 10", 'File "c.py", line 9, in last'),
        ("line 13", "ValueError: nobody knows"),
    ]


@pytest.mark.parametrize(
    "line", ["cl.exe /c error.cpp -Werror", "0 errors, 0 warnings", "loading error_codes.json"]
)
def test_a_healthy_log_has_nothing_suspicious(line: str) -> None:
    assert explain_lines([line] * 3).suspicious == ()


def test_known_problems_leave_nothing_suspicious(using) -> None:
    using(entry("it", SURE))
    assert explain_lines(["error: NEEDLE"]).suspicious == ()


def test_information_is_no_problem(using) -> None:
    using(entry("it", SURE, severity="info"))
    explanation = explain_lines(["NEEDLE", "error: other"])
    assert explanation.healthy
    assert ids(explanation) == ["it certain"]
    assert explanation.suspicious


def test_a_long_line_is_quoted_in_part() -> None:
    found = quote("\x1b[1m" + "a" * 900 + "\x07" + "z" * 900, 7)
    assert found.where == "line 7"
    assert found.text == "a" * 250 + " ... " + "z" * 250


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3)])
def test_lines_are_counted(text: str, lines: int) -> None:
    assert explain_stream(io.BytesIO(text.encode())).lines == lines


@pytest.mark.parametrize("first", ["", "x"])
def test_numbers_are_right_after_the_beginning_of_a_long_log(using, first: str) -> None:
    using(entry("it", SURE))
    lines = [first, *["y" * 99] * (HEAD // 100 + 50), "NEEDLE"]
    (problem,) = explain_lines(lines).problems
    assert [e.where for e in problem.evidence] == [f"line {len(lines)}"]


def test_numbers_are_right_across_blocks(using, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tritonwin.problems.explain.decode.BLOCK", 64)
    using(entry("it", SURE))
    lines = [f"line {n}" for n in range(1, 500)]
    lines[332] += " NEEDLE"
    (problem,) = explain_lines(lines).problems
    assert problem.evidence[0].where == "line 333"


def test_a_file_is_explained(using, tmp_path) -> None:
    using(entry("it", SURE))
    file = tmp_path / "a.log"
    file.write_bytes("\r\nNEEDLE\r\n".encode("utf-16"))
    assert ids(explain_file(file)) == ["it certain"]
    with pytest.raises(FileNotFoundError):
        explain_file(tmp_path / "none.log")


def test_a_last_line_without_an_end_is_put_together_with_the_one_before_it() -> None:
    line = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
    assert [p.id for p in explain_stream(io.BytesIO(f"{line[:45]}\n{line[45:]}".encode())).problems]


def test_advice_about_an_error_is_no_error() -> None:
    advice = "If you see RuntimeError: Failed to find C compiler, install a newer one."
    assert explain_lines([advice]).problems == ()


def test_help_names_no_python_where_none_is_known() -> None:
    (problem,) = explain_lines(["Precompiled wheel not found, D:\\x\\python.exe"]).problems
    assert "--python" in problem.remedy.commands[0]
    (problem,) = explain_lines(["Guessing wheel URL: x-win_amd64.whl"]).problems
    assert problem.remedy.commands == ("tritonwin install flash-attn",)


USERS = r"C:\Users\u\AppData\Roaming\Python\Python312\site-packages\bitsandbytes\a.py"
REFUSED = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."


@pytest.mark.parametrize(
    "torch",
    [
        "pytorch version: 2.7.1+xpu",
        "Successfully installed pytorch-triton-xpu-3.3.1 torch-2.7.1+xpu",
        r'  File "D:\e\lib\site-packages\triton\backends\intel\driver.py", line 7, in __init__',
    ],
)
def test_intels_triton_is_not_replaced(torch: str) -> None:
    (problem,) = explain_lines([torch, REFUSED]).problems
    assert "triton-windows" not in " ".join((problem.remedy.summary, *problem.remedy.commands))
    assert not problem.remedy.automatic


def test_a_users_site_packages_are_reached_through_the_launcher() -> None:
    lines = [f'  File "{USERS}", line 6', "[WinError 193]", "CUDA SETUP: libbitsandbytes_cpu.so"]
    target = explain_lines(lines).facts.target
    assert target.executable == "py -3.12"
    found = Finding(id="bnb-without-windows-binaries", evidence=(), certainty="certain")
    problem = advise(found, explain_lines(lines).facts)
    assert {command[:15] for command in problem.remedy.commands} == {"py -3.12 -m pip"}


@pytest.mark.parametrize(("beside", "found"), [("", False), ("pytorch version: 2.6.0", True)])
def test_a_log_of_another_program_has_no_problem(beside: str, found: bool) -> None:
    lines = [
        beside,
        "ggml_cuda_compute_forward: SCALE failed",
        "CUDA error: no kernel image is available for execution on the device",
    ]
    assert bool(explain_lines(lines).problems) is found


def test_an_arm64_python_is_kept() -> None:
    lines = [
        "sys.version: 3.12.5 (tags/v3.12.5:ff3bc82) [MSC v.1940 64 bit (ARM64)]",
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)",
    ]
    (problem,) = explain_lines(lines).problems
    assert "winget" not in " ".join(problem.remedy.commands)


def test_every_compiled_module_has_an_owner() -> None:
    known = catalogue.load()
    words = {
        "flash-attn": "flash_module",
        "flash-attn-3": "flash_module",
        "sageattention": "sage_module",
        "sageattn3": "sage_module",
        "spas-sage-attn": "sage_module",
    }
    for package, word in words.items():
        for file in knowledge().extensions[package]:
            name = file.rpartition("/")[2].rstrip("*")
            if name != "_C":  # of many packages
                assert re.fullmatch(known.expression(f"(?P>{word})"), name), name


def test_the_folder_of_a_virtual_environment_is_not_the_base() -> None:
    lines = [r"d:\src\.env\Scripts\python.exe main.py"]
    assert "python_folder" not in context(explain_lines(lines).facts)
    lines = [r"d:\src\python_embeded\python.exe main.py"]
    assert context(explain_lines(lines).facts)["python_folder"] == r"d:\src\python_embeded"
