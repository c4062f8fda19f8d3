"""Nothing that is made to be shown to others names whoever made it, wherever their folders lie."""

from __future__ import annotations

import html
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import build_plans
import healthy
import pytest
from hosts import fake_host
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonwin.build import wheel
from tritonwin.build.records import BuildInfo, BuildSource
from tritonwin.cli.app import run
from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output import invocation
from tritonwin.output import proof as proof_report
from tritonwin.output.markdown import issue
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.system.codec import map_text, to_json
from tritonwin.verify.records import Proof, RungResult

NAMES = ("alice", "Mustermann", "hsu.lin", "O'Brien", "Zo\u00e9 Waldner", "\u5f20\u4f1f\u660e",
         "jean-luc", "PC_Admin7")  # fmt: skip
# Where a home may lie, and what else may be called after its owner.
HOMES = {
    r"C:\Users\{}": r"D:\{}\ComfyUI",
    r"D:\Profiles\{}": r"E:\ai\{}",
    r"\\files\home$\{}": r"D:\data\{}\x\y",
    r"E:\{}": r"\\nas\models\{}\x",
    "/home/{}": "/data/people/{}/work",
    "/data/people/{}": "/mnt/big/{}",
    "/{}": "/scratch/{}/a b",
}
Written = Callable[[Facts, str, Redactor, Identity, Path], str]


def words(name: str) -> list[str]:
    return [word.casefold() for word in name.split()]


def leaks(text: str, name: str) -> list[str]:
    """The words of the name that stand in the text, whatever it was escaped by."""
    seen = text.casefold()
    plain = [seen, html.unescape(seen), re.sub(r"\\(?=\W)", "", html.unescape(seen))]
    return [word for word in words(name) if any(word in form for form in plain)]


def rungs(place: str) -> tuple[RungResult, ...]:
    plain = RungResult(id="a", title="t", state="failed", detail=place, seconds=1, proves="p")
    plain = replace(plain, problems=("triton-missing",))
    slash = "\\" if "\\" in place else "/"
    inner = json.dumps({"path": f"{place}{slash}x.py"})
    return (
        replace(plain, traceback=f'  File "{place}{slash}x.py", line 1\n{inner}'),
        replace(plain, figures={"compiler": f"{place}{slash}cl.exe", place: 1.5, "e": 0.5}),
    )


def as_snapshot(facts: Facts, _: str, __: Redactor, identity: Identity, folder: Path) -> str:
    snapshot.write(facts, folder / "s.json", identity)
    return (folder / "s.json").read_text("utf-8")


def as_issue(facts: Facts, place: str, redactor: Redactor, _: Identity, __: Path) -> str:
    safe = snapshot.redacted(facts, redactor)
    return issue(
        of_diagnosis(safe, diagnose(safe, CHECKS)), redactor.text(f'File "{place}", line 3')
    )


def as_proof(ending: str) -> Written:
    def write(facts: Facts, place: str, redactor: Redactor, _: Identity, folder: Path) -> str:
        file = folder / f"proof{ending}"
        proof = Proof(results=rungs(place))
        document = redactor.record(proof_report.verify_report(facts, proof, 89, ladder=39))
        proof_report.write_report(document, file)
        return file.read_text("utf-8") + json.dumps(to_json(document), ensure_ascii=False)

    return write


def as_benchmark(facts: Facts, place: str, redactor: Redactor, _: Identity, __: Path) -> str:
    document = proof_report.bench_report(facts, rungs(place), redactor)
    return json.dumps(to_json(document), ensure_ascii=False)


def as_build_info(_: Facts, place: str, redactor: Redactor, __: Identity, folder: Path) -> str:
    (folder / "x.whl").touch()
    plan = replace(
        build_plans.plan(folder, target=f"{place}/python", command=(place,)),
        root=place,
        source=BuildSource(kind="git", location=place, ref="v1"),
        environment={"CC": place},
    )
    record = BuildInfo(wheel="x.whl", sha256="0", size=1, plan=plan, inputs={place: "abc"})
    return wheel.write_info(record, folder, redactor).read_text("utf-8")


WRITTEN: dict[str, Written] = {
    "snapshot": as_snapshot,
    "issue": as_issue,
    **{f"proof{ending}": as_proof(ending) for ending in proof_report.ENDINGS},
    "benchmark": as_benchmark,
    "build-info": as_build_info,
}


def planted(home: str, place: str) -> Facts:
    """A healthy machine with its Python, temporary folder and variables in these two folders."""

    def moved(text: str) -> str:
        return text.replace(r"C:\ComfyUI", place).replace(r"C:\Users\ada", home)

    facts = map_text(healthy.HEALTHY, moved)
    values = {"CC": rf"{place}\cl.exe", "TRITON_CACHE_DIR": home, "CUDA_PATH": f'"{home}" '}
    variables = (healthy.variable(name, value) for name, value in values.items())
    return replace(facts, variables=(*facts.variables, *variables))


@pytest.mark.parametrize("kind", WRITTEN)
@settings(max_examples=15)
@given(name=st.sampled_from(NAMES), home=st.sampled_from(sorted(HOMES)), variable=st.booleans())
def test_no_report_names_the_user(kind: str, name: str, home: str, variable: bool) -> None:
    """`variable`: the user's name is in a variable as well, not only in that of the home."""
    own, place = home.format(name), HOMES[home].format(name)
    windows = "\\" in own
    env = {"USERPROFILE" if windows else "HOME": own}
    env |= {"USERNAME" if windows else "USER": name} if variable else {}
    with tempfile.TemporaryDirectory() as folder:
        identity = Identity.this_machine(fake_host(Path(folder), env, windows=windows))
        redactor = Redactor(identity)
        for where in (own, place):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(invocation, "_of_this_process", lambda at=where: f"{at}/python t.pyz")
                facts = planted(own, place)
                text = WRITTEN[kind](facts, where, redactor, identity, Path(folder))
            if kind in {"snapshot", "build-info"}:
                text = json.dumps(json.loads(text), ensure_ascii=False)
            assert leaks(text, name) == []
            # what stood there has its mark, and was not left out
            assert re.search("[u\u00fc]ser", text)


ROOTS = "/root"  # home


@pytest.mark.parametrize(
    "place", [f"{ROOTS}/models", r"C:\Users\Administrator\x", r"C:\Users\Public\x"]
)
def test_an_account_that_every_machine_has_stays(place: str) -> None:
    host = fake_host(Path("/"), {"HOME": ROOTS, "USER": "root"}, windows=False)
    assert Redactor.this_machine(host).text(place) == place


def test_a_variable_that_holds_the_name_alone() -> None:
    redactor = Redactor(Identity(users=("alice", "torch")))
    assert redactor.variable("CONDA_DEFAULT_ENV", "Alice") == "<user>"
    assert redactor.variable("CONDA_DEFAULT_ENV", "torch") == "torch"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no list of accounts with a number")
def test_on_linux_the_account_counts_where_no_variable_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pwd

    entry = pwd.struct_passwd(("alice", "x", 1000, 1000, "", "/data/people/alice", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: entry)
    host = fake_host(Path("/"), {}, windows=False)
    assert Identity.this_machine(host).users == ("alice",)
    assert Redactor.this_machine(host).text("/data/people/alice/x") == "/data/people/<user>/x"

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert Identity.this_machine(host).users == ()


@pytest.mark.skipif(sys.platform == "win32", reason="a home is found by other variables there")
@pytest.mark.parametrize("home", ["home", "people"])
def test_what_the_commands_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: str
) -> None:
    """A user whose home, current folder, Python and variables are all called after them."""
    import venv  # which embedded Pythons lack, and the lane runs unit tests in one

    name = "wanderfalke7"  # whom no folder for temporary files is called after
    own, here = tmp_path / home / name, tmp_path / "big" / name / "project"
    for folder in (own, here):
        folder.mkdir(parents=True)
    venv.EnvBuilder(with_pip=False, symlinks=True).create(here / "venv")
    for variable, value in {
        "HOME": own, "USER": name, "LOGNAME": name, "PWD": here, "TMPDIR": own,
        "TRITON_CACHE_DIR": own / "cache", "CC": here / "cc", "CONDA_DEFAULT_ENV": name,
        "TRITONWIN_HOME": own / "data",
    }.items():  # fmt: skip
        monkeypatch.setenv(variable, str(value))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(here)
    (here / "a.log").write_text(f"File \"{here}/a.py\", line 3\nNo module named 'triton'\n")
    target = ("--python", str(here / "venv" / "bin" / "python"))
    reports = [word for file in ("r.md", "r.html", "r.json") for word in ("--report", file)]
    printed = {}
    for command in (
        ("snapshot", "-o", "snapshot.json", *target),
        ("doctor", "--markdown", "--log", "a.log", *target),
        ("verify", "--json", "--only", "headers-and-library", "--only", "import-triton",
         *reports, *target),
        ("bench", "--json", "--only", "bench-compile", *target),
    ):  # fmt: skip
        assert run(command) in {0, 1}
        printed[command[0]] = capsys.readouterr().out
    del printed["snapshot"]  # it says to whoever made it where the file is
    for file in ("snapshot.json", "r.md", "r.html", "r.json"):
        printed[file] = (here / file).read_text("utf-8")
    assert [kind for kind, text in printed.items() if leaks(text, name)] == []
    assert [kind for kind in printed if "big" + os.sep in printed[kind]]  # it was seen
