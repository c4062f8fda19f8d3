"""From lines to problems: the rows of answers.toml, and logs that are made rather than written."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from cases import CORPUS
from pc import pc

from tritonwin.facts.packages import knowledge
from tritonwin.problems import catalogue, checks
from tritonwin.problems.advice import advise, context
from tritonwin.problems.doctor import by_certainty, fold
from tritonwin.problems.explain import (
    HEAD,
    Explanation,
    explain_file,
    explain_lines,
    explain_stream,
)
from tritonwin.problems.explain.log_facts import Match
from tritonwin.problems.records import Finding
from tritonwin.system import toml
from tritonwin.system.codec import from_json

ROWS = toml.loads((CORPUS / "answers.toml").read_text("utf-8"))
KNOWN = catalogue.load()
ENTRY = {
    "title": "it",
    "severity": "error",
    "layer": "packages",
    "cause": "It is {path}.",
    "log_only": "No fact shows it.",
    "remedy": {"summary": "Help.", "commands": ['{python} -m pip install "x"']},
}


def ids(explanation: Explanation) -> list[str]:
    return [f"{p.id} {p.certainty}" for p in explanation.problems]


def advice(explanation: Explanation) -> str:
    first = explanation.problems[0]
    asked = (first.question.text, first.question.command) if first.question else ()
    return " ".join((first.cause, first.remedy.summary, *first.remedy.commands, *asked))


def of_first(name: str) -> Callable[[Explanation], list[str]]:
    return lambda found: [getattr(each, name) for each in found.problems[0].evidence]


def of_facts(record: str, name: str) -> Callable[[Explanation], str]:
    return lambda found: getattr(getattr(found.facts, record), name, None) or ""


TOLD: dict[str, Callable[[Explanation], object]] = {
    "finds": ids,
    "first": lambda found: ids(found)[0],
    "healthy": lambda found: found.healthy,
    "suspicious": lambda found: [f"{e.where}: {e.text}" for e in found.suspicious],
    "explains": lambda found: [" ".join(p.explains) for p in found.problems],
    "commands": lambda found: list(found.problems[0].remedy.commands),
    "automatic": lambda found: found.problems[0].remedy.automatic,
    "question": lambda found: getattr(found.problems[0].question, "command", ""),
    "where": of_first("where"),
    "evidence": of_first("text"),
    "torch": of_facts("torch", "version"),
    "triton": of_facts("triton", "version"),
    "python": of_facts("target", "version"),
    "executable": of_facts("target", "executable"),
    "prefix": of_facts("target", "prefix"),
    "kind": of_facts("target", "kind"),
    "gpu": lambda found: next((g.compute_capability for g in found.facts.gpus), ""),
}


def hold(row: dict[str, Any]) -> None:
    snapshot = pc(row["snapshot"]) if "snapshot" in row else None
    found = explain_lines(row["lines"], snapshot)
    expected = {
        k: v for k, v in row.items() if k not in {"about", "lines", "says", "never", "snapshot"}
    }
    assert {name: TOLD[name](found) for name in expected} == expected
    assert [text for text in row.get("says", ()) if text not in advice(found)] == []
    assert [text for text in row.get("never", ()) if text in advice(found)] == []


@pytest.mark.parametrize("row", ROWS["known"], ids=lambda row: row["about"])
def test_answers(row: dict[str, Any]) -> None:
    hold(row)


Using = Callable[..., None]


@pytest.fixture
def using(monkeypatch: pytest.MonkeyPatch) -> Using:
    """Puts problems in place of the catalogue's; no check knows them."""

    def use(*problems: dict[str, Any]) -> None:
        made = [{**ENTRY, **{k: v for k, v in p.items() if k != "checked"}} for p in problems]
        for entry, problem in zip(made, problems, strict=True):
            if "checked" in problem:
                del entry["log_only"]
        file = from_json(catalogue.CatalogueFile, {"problem": made}, strict=True)
        other = replace(KNOWN, entries={e.id: e for e in file.problem}, words={}, marks={})
        monkeypatch.setattr(catalogue, "load", lambda: other)
        monkeypatch.setattr(checks, "of_versions", lambda: ())
        monkeypatch.setattr(checks, "CHECKS", ())

    return use


@pytest.mark.parametrize("row", ROWS["invented"], ids=lambda row: row["about"])
def test_answers_of_an_invented_catalogue(using: Using, row: dict[str, Any]) -> None:
    using(*row["problem"])
    for log in row["logs"]:
        hold(log)


def it(**more: Any) -> dict[str, Any]:
    return {"id": "it", "signatures": [{"anchors": ["NEEDLE"], "certainty": "certain", **more}]}


def test_what_is_to_be_near(using: Using) -> None:
    using(it(before=[{"anchors": ["FIRST"]}], near=True))
    assert ids(explain_lines(["FIRST", "x" * 1000, "NEEDLE"])) == ["it certain"]
    far = ["FIRST", *["x" * 150] * 400, "NEEDLE"]
    assert ids(explain_lines(far)) == []
    # a line that is far hides none that is near
    assert ids(explain_lines([*far, "FIRST", "NEEDLE"])) == ["it certain"]


def test_lines_may_have_their_ends_or_not() -> None:
    plain = ["torch==2.5.1", "", "Traceback (most recent call last):", '  File "a.py"', "E: x"]
    ended = [f"{line}\n" for line in plain]
    assert explain_lines(ended) == explain_lines(plain) == explain_lines([*ended[:2], *plain[2:]])
    assert explain_lines(plain).lines == 5


@pytest.mark.parametrize(
    ("cause", "effect", "left"),
    [
        ("certain", "certain", ["cause"]),
        ("likely", "possible", ["cause"]),
        ("likely", "certain", ["effect", "cause"]),
        ("possible", "possible", ["cause", "effect"]),
    ],
)
def test_what_is_less_certain_or_merely_possible_folds_nothing(
    using: Using, cause: str, effect: str, left: list[str]
) -> None:
    using({"id": "cause", "explains": ["effect"]}, {"id": "effect"})
    problems = [
        healthy.problem("cause", certainty=cause),
        healthy.problem("effect", certainty=effect),
    ]
    assert [p.id for p in fold(problems, by_certainty)] == left


def test_a_long_line_is_quoted_in_part() -> None:
    found = Match(7, "\x1b[1m" + "a" * 900 + "\x07" + "z" * 900, {}).evidence
    assert found.where == "line 7"
    assert found.text == "a" * 250 + " ... " + "z" * 250


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3)])
def test_lines_are_counted(text: str, lines: int) -> None:
    assert explain_stream(io.BytesIO(text.encode())).lines == lines


@pytest.mark.parametrize("first", ["", "x"])
def test_numbers_are_right_after_the_beginning_of_a_long_log(using: Using, first: str) -> None:
    using(it())
    lines = [first, *["y" * 99] * (HEAD // 100 + 50), "NEEDLE"]
    (problem,) = explain_lines(lines).problems
    assert [e.where for e in problem.evidence] == [f"line {len(lines)}"]


def test_numbers_are_right_across_blocks(using: Using, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tritonwin.problems.explain.decode.BLOCK", 64)
    using(it())
    lines = [f"line {n}" for n in range(1, 500)]
    lines[332] += " NEEDLE"
    (problem,) = explain_lines(lines).problems
    assert problem.evidence[0].where == "line 333"


def test_a_file_is_explained(using: Using, tmp_path: Path) -> None:
    using(it())
    file = tmp_path / "a.log"
    file.write_bytes("\r\nNEEDLE\r\n".encode("utf-16"))
    assert ids(explain_file(file)) == ["it certain"]
    with pytest.raises(FileNotFoundError):
        explain_file(tmp_path / "none.log")


def test_a_last_line_without_an_end_is_put_together_with_the_one_before_it() -> None:
    line = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
    assert explain_stream(io.BytesIO(f"{line[:45]}\n{line[45:]}".encode())).problems


def test_commands_for_a_users_site_packages_begin_with_the_launcher() -> None:
    place = r"C:\Users\u\AppData\Roaming\Python\Python312\site-packages\bitsandbytes\a.py"
    facts = explain_lines([f'  File "{place}", line 6']).facts
    found = Finding(id="bnb-without-windows-binaries", evidence=(), certainty="certain")
    problem = advise(found, facts)
    assert {command[:15] for command in problem.remedy.commands} == {"py -3.12 -m pip"}


def test_every_compiled_module_has_an_owner() -> None:
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
                assert re.fullmatch(KNOWN.expression(f"(?P>{word})"), name), name


def test_the_folder_of_a_virtual_environment_is_not_the_base() -> None:
    lines = [r"d:\src\.env\Scripts\python.exe main.py"]
    assert "python_folder" not in context(explain_lines(lines).facts)
    lines = [r"d:\src\python_embeded\python.exe main.py"]
    assert context(explain_lines(lines).facts)["python_folder"] == r"d:\src\python_embeded"
