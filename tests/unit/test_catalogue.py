from __future__ import annotations

import re
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest
from cases import CORPUS
from healthy import changed
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from tritonwin.problems import advice, catalogue
from tritonwin.problems.advice import advise
from tritonwin.problems.catalogue import (
    ABSENT,
    LAYERS,
    CatalogueFile,
    Entry,
    LinePattern,
    LogSignature,
    load,
)
from tritonwin.problems.conditions import WORDS
from tritonwin.problems.records import SEVERITIES, Evidence, Finding
from tritonwin.system.toml import read_resource

# The ids are a promise to scripts and to people who search for them: none may vanish unnoticed.
IDS = (CORPUS / "promised_ids.txt").read_text("utf-8").split()

ENTRIES = load().entries
PLACEHOLDERS = load().placeholders
FILES = [file.name for file in Path(catalogue.__file__).parent.glob("*.toml")]
each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def texts(entry: Entry) -> list[str]:
    shown = (entry.remedy, *entry.remedies)
    actions = (*entry.actions, *chain.from_iterable(each.actions for each in shown))
    asked = [q for q in (entry.question, *(each.question for each in shown)) if q]
    texts = [entry.title, entry.cause, entry.log_only or ""]
    for each in shown:
        texts += [each.cause or "", each.summary, *each.commands]
    texts += [text for action in actions for text in action.arguments.values()]
    texts += [text for each in asked for text in (each.text, each.command)]
    return [" ".join(text.split()) for text in texts]  # however they are broken in the file


# --- the catalogue's content ---


def test_all_promised_ids_are_there() -> None:
    assert not set(IDS) - set(ENTRIES)


def test_entries_stand_from_the_ground_up() -> None:
    layers = [LAYERS.index(entry.layer) for entry in ENTRIES.values()]
    assert layers == sorted(layers)


@each_entry
def test_words_are_plain_and_tidy(entry: Entry) -> None:
    for text in texts(entry):
        assert text.isascii()
        assert text.isprintable()
        assert text == text.strip()
        assert "  " not in text
    assert len(entry.title) <= 70
    assert not entry.title.endswith(".")
    assert "{" not in entry.title
    remedies = [text for each in entry.remedies for text in (each.cause or ".", each.summary)]
    for text in (entry.cause, entry.remedy.summary, entry.log_only or ".", *remedies):
        assert text.rstrip().endswith(".")


@each_entry
def test_a_cause_is_told_in_two_to_four_sentences(entry: Entry) -> None:
    cause = " ".join(entry.cause.split())
    assert 2 <= len(re.findall(r"\.(?= |$)", cause)) <= 4, cause
    assert len(cause) <= 620


COMMAND = re.compile(
    r"\{python\} -m (pip (install|uninstall -y|debug|--version)|ensurepip -U)\b"
    r'|\{python\} -c "import '
    r'|reg (add|delete) "HK'
    r"|setx "
    r'|copy "'
    r"|winget install --id "
    r"|git (config --global|submodule update) "
    r"|tritonwin (build|patch|install|verify|fix|cache clear)\b"
)


@each_entry
def test_commands_have_a_known_form(entry: Entry) -> None:
    for command in chain(*(each.commands for each in (entry.remedy, *entry.remedies))):
        assert COMMAND.match(command), f"{command}: not of the forms that COMMAND above allows"
        assert command.count('"') % 2 == 0


@each_entry
def test_commands_mean_the_same_in_cmd_and_powershell(entry: Entry) -> None:
    asked = [entry.question.command] if entry.question else []
    for command in [*entry.remedy.commands, *asked]:
        outside = "".join(command.split('"')[::2])
        assert not set(outside) & set("&|<>;^%$`(),'@#"), command


@each_entry
def test_a_graver_problem_is_never_folded_under_a_milder_one(entry: Entry) -> None:
    for other in entry.explains:
        assert SEVERITIES.index(entry.severity) <= SEVERITIES.index(ENTRIES[other].severity)
    assert len(set(entry.explains)) == len(entry.explains)


@each_entry
def test_references_are_https_and_not_many(entry: Entry) -> None:
    assert len(entry.references) <= 3
    for url in entry.references:
        assert re.fullmatch(r"https://[a-z0-9.-]+/\S*", url), f"{url}: https, with a path"


def test_every_placeholder_and_every_action_is_used() -> None:
    used = {name for entry in ENTRIES.values() for text in texts(entry) for name in names(text)}
    assert used == set(PLACEHOLDERS), "take unused ones out of general.toml"


def names(text: str) -> list[str]:
    return list(advice.names(text))


@each_entry
def test_placeholders_are_known_and_safe(entry: Entry) -> None:
    """In a command, a value that is not quoted already stands between double quotes."""
    for text in texts(entry):
        assert set(names(text)) <= PLACEHOLDERS.keys(), text
        assert not set("{}") & set(re.sub(r"\{[a-z_]+\}", "", text)), text
    asked = [entry.question.command] if entry.question else []
    for command in [*entry.remedy.commands, *asked]:
        outside = "".join(command.split('"')[::2])
        assert set(names(outside)) <= {"python"}, command


def test_an_id_a_mark_and_a_word_are_taken_once() -> None:
    found = [read_resource(catalogue.__name__, name, CatalogueFile) for name in FILES]
    assert sum(len(file.problem) for file in found) == len(ENTRIES)
    assert sum(len(file.marks) for file in found) == len(load().marks)
    assert sum(len(file.words) for file in found) == len(load().words)


def test_explanations_name_known_problems_and_go_in_no_circle() -> None:
    graph = {entry.id: entry.explains for entry in ENTRIES.values()}
    assert set(chain.from_iterable(graph.values())) <= graph.keys()
    TopologicalSorter(graph).prepare()


SIGNATURES = [
    pytest.param(signature, id=f"{entry.id}-{number}")
    for entry in ENTRIES.values()
    for number, signature in enumerate(entry.signatures, 1)
]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_signature_is_sound(signature: LogSignature) -> None:
    """Its anchors can be searched for, its marks, words and ranges are known, its options used."""
    marks = map(load().pattern, (*signature.before, *signature.after, *signature.without))
    for pattern in (signature, *marks):
        assert isinstance(pattern, LinePattern)
        assert pattern.anchors
        for anchor in pattern.anchors:
            assert len(anchor.strip()) > 1
        re.compile(load().expression(pattern.line or ""))
    when = signature.when.conditions()
    for fact, allowed in when:
        for text in allowed if fact not in WORDS else ():
            SpecifierSet("" if text == ABSENT else text)
    assert signature.before or not signature.near, "near is of no use without before"
    assert when or not signature.unknown, "unknown is of no use without when"


# --- in words ---

# nothing supplies a value but the finding
UNKNOWN = changed(target=None, torch=None, triton=None, gpus=(), drivers=())
EVIDENCE = (Evidence(text="torch is 2.9.1+cpu", where="torch/version.py"),)


def finding(problem_id: str, **values: str) -> Finding:
    return Finding(id=problem_id, evidence=EVIDENCE, certainty="likely", values=values)


def test_a_finding_becomes_a_problem() -> None:
    found = finding("triton-missing", torch_version="2.9.1", triton_spec="triton-windows<3.6")
    problem = advise(found, UNKNOWN)
    assert problem.evidence == EVIDENCE
    assert problem.certainty == "likely"
    assert problem.severity == "error"
    assert "torch 2.9.1" in problem.remedy.summary
    assert problem.remedy.commands == ('python -m pip install -U "triton-windows<3.6"',)
    assert problem.remedy.automatic
    assert problem.actions[0].arguments == {"requirement": "triton-windows<3.6"}


def test_without_values_nothing_half_done_is_proposed() -> None:
    problem = advise(finding("cuda-path-wrong", value="C:\\x"), UNKNOWN)
    assert problem.remedy.commands == ()
    assert problem.actions == ()
    assert not problem.remedy.automatic


@each_entry
def test_what_is_merely_possible_takes_nothing_away(entry: Entry) -> None:
    values = {name: f"<{name}>" for name in PLACEHOLDERS if name != "python"}
    found = Finding(id=entry.id, evidence=(), certainty="possible", values=values)
    commands = " ".join(advise(found, UNKNOWN).remedy.commands)
    assert "uninstall" not in commands
    assert "force-reinstall" not in commands


@each_entry
def test_every_entry_renders_with_all_values(entry: Entry) -> None:
    values = {name: f"<{name}>" for name in PLACEHOLDERS if name != "python"}
    found = Finding(id=entry.id, evidence=(), certainty="likely", values=values)
    problem = advise(found, UNKNOWN)
    assert len(problem.remedy.commands) == len(entry.remedy.commands)
    assert len(problem.actions) == len(entry.actions)
    expected = set().union(*(names(text) for text in texts(replace(entry, remedies=())))) - {
        "python"
    }
    shown = " ".join(
        [problem.cause, problem.remedy.summary, *problem.remedy.commands]
        + [value for action in problem.actions for value in action.arguments.values()]
        + ([problem.question.text, problem.question.command] if problem.question else [])
    )
    assert set(re.findall(r"<([a-z_]+)>", shown)) == expected


@pytest.mark.parametrize(
    "value",
    ['x" & calc "', "x' + y", "a`b", "$(calc)", "%PATH%", "x\ny", "\u201dx", "\u2019x", "C:\\"],
)
def test_a_value_that_would_leave_its_quotes_makes_no_command(value: str) -> None:
    assert advice.commands(['setx A "{value}"'], {"value": value}) == ()


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ({"gpu": "RTX 4090", "value": "8.9"}, "It is slow. RTX 4090 (8.9) has it, path: ask."),
        ({"gpu": "RTX 4090"}, "It is slow. RTX 4090 has it, path: ask."),
        ({"gpu": "RTX 4090", "path": "a. B"}, "It is slow. RTX 4090 has it, path a. B: ask."),
        ({"value": "8.9"}, "It is slow."),
    ],
)
def test_what_has_an_unknown_value_is_left_out(known: dict[str, str], shown: str) -> None:
    text = "It is slow.\n{gpu} ({value}) has it, path[ {path}]: ask."
    assert advice.sentence(text, known) == shown


def test_a_value_is_not_filled_again() -> None:
    assert advice.sentence("at {path}", {"path": "{python}"}) == "at {python}"


@settings(deadline=None)  # a busy machine is no defect
@given(st.text(), st.dictionaries(st.sampled_from(sorted(PLACEHOLDERS)), st.text()))
def test_sentences_never_fail(value: str, values: dict[str, str]) -> None:
    for entry in ENTRIES.values():
        assert advice.sentence(entry.cause, {**values, "path": value})
