"""Every check on facts that are healthy but for one thing, and all that it says of several."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import healthy
import pytest
from cases import CORPUS, cases
from healthy import (
    changed,
    dist,
    part,
    radeon,
    variable,
)
from hypothesis import given
from hypothesis import strategies as st
from pc import pc
from screens import LONGEST, height, of_facts, screen

from tritonwin.facts.records import (
    Facts,
    System,
)
from tritonwin.problems import catalogue
from tritonwin.problems.advice import context, names
from tritonwin.problems.check import Check
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose, findings_of
from tritonwin.system import toml
from tritonwin.system.codec import DecodeError, Json, from_json, to_json

H = healthy.HEALTHY


def installed(*dists: object, **changes: object) -> Facts:
    return changed(distributions=(*H.distributions, *dists), **changes)


def defects(*rules: str, version: str = "3.5.1", for_windows: bool = True) -> Facts:
    return part("triton", defects=rules, version=version, for_windows=for_windows)


def one(check: str) -> list[Check]:
    return [next(c for c in CHECKS if c.id == check)]


def texts(check: str, facts: Facts) -> list[str]:
    """The findings of that check, each in its own words."""
    assert diagnose(facts, one(check)).checks[0].state != "crashed"
    return [found.evidence[0].text for found in findings_of(facts, one(check))]


def system(**changes: object) -> Facts:
    return part("system", **changes)


RADEON = radeon()


TABLES = toml.loads((CORPUS / "checks.toml").read_text("utf-8"))
CASES = [(name, row) for name, rows in TABLES.items() if name != "fine" for row in rows]
KEYS = {"arguments", "as", "finds", "not_applicable", "on_amd", "says"}


def facts_of(row: dict[str, Any]) -> Facts:
    changes = {name: value for name, value in row.items() if name not in KEYS}
    return pc(changes, on_amd=row.get("on_amd", False))


def having(key: str) -> pytest.MarkDecorator:
    """The rows with this key: the check, the facts, the row."""
    rows = [(name, facts_of(row), row) for name, row in CASES if key in row]
    return pytest.mark.parametrize(("check", "facts", "row"), rows, ids=[row[0] for row in rows])


@having("finds")
def test_finds_what_is_broken(check: str, facts: Facts, row: dict[str, Any]) -> None:
    (found,) = diagnose(facts, one(check)).problems
    assert found.id == check
    assert row["finds"] in " ".join(e.text + e.where for e in found.evidence)
    usual = catalogue.load().entry(check).severity
    kinds = [found.severity] if found.severity != usual else []
    kinds += [found.certainty] if found.certainty != "certain" else []
    assert ", ".join(kinds) == row.get("as", "")
    arguments = [dict(action.arguments) for action in found.actions]
    assert arguments == row.get("arguments", arguments)
    assert found.remedy.commands or "arguments" not in row


@having("finds")
def test_one_problem_fits_a_screen(
    monkeypatch: pytest.MonkeyPatch, check: str, facts: Facts, row: dict[str, Any]
) -> None:
    """And each check that does not apply to this PC says why."""
    diagnosis = diagnose(facts, CHECKS)
    assert [c.id for c in diagnosis.checks if c.state == "not-applicable" and not c.detail] == []
    grave = [found for found in diagnosis.problems if found.severity != "info"]
    text = screen(monkeypatch, of_facts(facts), 80)
    assert len(grave) > 1 or height(text, 80) <= LONGEST, text


@having("says")
def test_everything_that_a_check_says(check: str, facts: Facts, row: dict[str, Any]) -> None:
    assert texts(check, facts) == row["says"]


@pytest.mark.parametrize(("tags", "fits"), cases("wheel_names.toml", "made_for_this_python"))
def test_which_wheels_are_made_for_this_python(tags: tuple[str, ...], fits: bool) -> None:
    facts = changed(distributions=(*H.distributions, dist("numpy", "2.0", tags=tags)))
    said = f"numpy 2.0 is made for {tags[0]}, this is Python 3.12.9 on win_amd64" if tags else ""
    assert texts("wheel-tag-unsupported", facts) == ([] if fits else [said])


@pytest.mark.parametrize(
    ("target", "tag", "fits"), cases("wheel_names.toml", "made_for_other_pythons")
)
def test_wheels_for_other_pythons(target: dict[str, object], tag: str, fits: bool) -> None:
    facts = replace(part("target", **target), distributions=(dist("numpy", "2.0", tags=(tag,)),))
    assert (texts("wheel-tag-unsupported", facts) == []) is fits


@having("not_applicable")
def test_why_a_check_has_nothing_to_look_at(check: str, facts: Facts, row: dict[str, Any]) -> None:
    (result,) = diagnose(facts, one(check)).checks
    assert (result.state, result.detail) == ("not-applicable", row["not_applicable"])


def test_findings_and_facts_supply_the_values_of_the_catalogues_words() -> None:
    supplied: dict[str, set[str]] = {}
    for problem, row in CASES:
        facts = facts_of(row)
        for found in findings_of(facts, one(problem)) if "finds" in row else ():
            supplied.setdefault(problem, {"python"}).update(found.values, context(facts))
    for problem, values in supplied.items():
        entry = catalogue.load().entry(problem)
        arguments = (text for action in entry.actions for text in action.arguments.values())
        texts = (entry.cause, entry.remedy.summary, *entry.remedy.commands, *arguments)
        # what a line of a log says fills a sentence of its own
        said = {"torch_pairs", *(name for each in entry.signatures for name in each.values)}
        assert {name for text in texts for name in names(text)} <= {*values, *said}, problem


def test_every_check_is_shown_to_find_something() -> None:
    shown = {name for name, row in CASES if "finds" in row}
    assert {c.id for c in CHECKS} == shown, "each check has a case with `finds` in checks.toml"


def test_what_has_no_check_says_why_only_a_log_shows_it() -> None:
    entries = catalogue.load().entries
    assert {c.id for c in CHECKS} == {i for i, e in entries.items() if e.log_only is None}, (
        "an entry of the catalogue has a check, or says in log_only why there is none"
    )


@pytest.mark.parametrize("row", TABLES["fine"])
def test_leaves_the_healthy_alone(row: dict[str, Any]) -> None:
    facts = facts_of(row)
    # torch below 2.6 has a defect of its own
    ignored = {"inductor-rename-windows"} if facts.torch.version.startswith("2.4") else set()
    worse = [p.id for p in diagnose(facts, CHECKS).problems if p.severity != "info"]
    assert set(worse) <= ignored


def test_a_linux_wheel_over_the_fork_is_one_problem() -> None:
    """Its tag is not told as a second one, which nobody could solve."""
    tags = ("cp312-cp312-manylinux_2_27_x86_64",)
    found = [p.id for p in diagnose(installed(dist("triton", "3.8.0", tags=tags)), CHECKS).problems]
    assert "triton-and-fork-both-installed" in found
    assert "wheel-tag-unsupported" not in found


def test_linux_runs_what_applies_there_and_says_what_does_not() -> None:
    facts = system(os="linux")
    results = {c.id: c for c in diagnose(facts, CHECKS).checks}
    assert results["long-paths-off"].state == "not-applicable"
    assert results["triton-missing"].state == "ok"


EMPTY = Facts(tool_version="0", system=System(os="windows", version="", machine=""))


@given(st.sets(st.sampled_from([f.name for f in fields(Facts)])))
def test_no_check_needs_a_fact_that_may_be_missing(names: set[str]) -> None:
    kept = {n: getattr(H, n) for n in names - {"system", "tool_version", "schema"}}
    crashed = [c for c in diagnose(replace(EMPTY, **kept), CHECKS).checks if c.state == "crashed"]
    assert crashed == []


def places(tree: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of texts in a tree."""
    if isinstance(tree, str):
        yield path
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from places(item, (*path, index))
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from places(item, (*path, key))


TREE = to_json(H)
ODD = ["", " ", "1", "3.", "12.x", ">=", "9" * 5000, "0." + "9" * 5000]
NONSENSE = st.text(max_size=12) | st.sampled_from([*ODD, "\uff10.\uff11", "v1!2", "\\", "C:"])


@given(st.sampled_from(sorted(places(TREE), key=str)), NONSENSE)
def test_nonsense_in_any_text_crashes_nothing(place: tuple[str | int, ...], value: str) -> None:
    tree: Any = deepcopy(TREE)
    inner = tree
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    try:
        facts = from_json(Facts, tree)
    except DecodeError:
        return  # a word that the model fixes
    results = diagnose(facts, CHECKS).checks
    assert [c for c in results if c.state == "crashed"] == []


@pytest.mark.parametrize("architecture", ["gfx1030", "gfx1100", "gfx1103", "gfx1151", "gfx1201"])
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="as installed"),
        pytest.param({"variables": (variable("HIP_VISIBLE_DEVICES", "0"),)}, id="visible"),
        pytest.param(
            {
                "msvc": (),
                "windows_sdks": (),
                "triton": replace(RADEON.triton or H.triton, python_driver="C:\\hook.py"),
            },
            id="driver in Python, no Visual Studio",
        ),
    ],
)
def test_a_healthy_radeon_is_left_alone(architecture: str, changes: dict[str, Any]) -> None:
    facts = radeon(architecture, **changes)
    if "triton" not in changes:
        version = f"{architecture[3:5]}.{architecture[5]}.{architecture[6]}"
        right = (
            variable("TRITON_OVERRIDE_ARCH", architecture),
            variable("HSA_OVERRIDE_GFX_VERSION", version),
        )
        facts = replace(facts, variables=(*facts.variables, *right))
    found = diagnose(facts, CHECKS)
    assert [p.id for p in found.problems if p.severity != "info"] == []
    assert not [c for c in found.checks if c.state == "crashed"]
