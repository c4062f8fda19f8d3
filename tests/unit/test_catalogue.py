from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonwin.problems import placeholders
from tritonwin.problems.catalogue import CatalogueError, UnknownProblemError, load
from tritonwin.problems.catalogue.reader import ACTIONS, read
from tritonwin.problems.model import LAYERS, SEVERITIES, Entry, Evidence, Finding
from tritonwin.problems.render import render
from tritonwin.system.process import run

# The ids are a promise to scripts and to people who search for them: none may vanish unnoticed.
PROMISED = """
amd-rocm-paths app-control-blocks-dll async-cuda-error-blames-triton benign-triton-warning
bf16-needs-sm80 bnb-without-windows-binaries build-isolation-hides-torch build-path-too-long
build-resource-limits build-variable-blanks c-long-32bit cc-and-toolchain-absent cc-variable-wrong
cpu-only-torch cuda-path-wrong cuda-toolkit-for-build distribution-name-or-url driver-too-old
embedded-python-no-headers environment-drifted flash-wheel-needs-cuda-dlls
flash-wheel-torch-mismatch foreign-or-patched-triton-build fork-launcher-stale-error fp8-needs-sm89
git-long-paths gpu-generation-unsupported inductor-needs-cl inductor-rename-windows
link-command-too-long long-paths-off max-path-260 mixed-environments msvc-env-not-initialised
msvc-localised-output msvc-std-ambiguous no-c-compiler no-official-windows-wheel
no-triton-for-torch-yet nvcc-host-compiler-mismatch offload-moves-compiled-model old-setuptools
optional-triton-breaks-app path-with-spaces-unquoted ptxas-not-found ptxas-older-than-ptx
ptxas-path-variable-ignored python-headers-wrong-set python-libs-not-found-venv-uv
python-unsupported sage-kernels-not-loaded sage-nan-output sage-wheel-torch-mismatch
script-shadows-triton slow-attention-fallback source-not-msvc-clean stale-helper-module
stale-package-needs-triton-ops tinycc-limitation torch-too-old-for-triton
triton-and-fork-both-installed triton-home-not-writable triton-missing triton-patch-incomplete
triton-sources-not-for-windows triton-too-new-for-torch triton-too-old update-replaced-torch
upstream-triton-no-windows-wheel vcredist-missing vcredist-too-old-beside-python
vs-components-missing wheel-tag-unsupported wrong-interpreter x86-toolchain xformers-torch-mismatch
"""
IDS = PROMISED.split()

INFO = {"benign-triton-warning", "dlltracer-needs-admin", "long-paths-off"}

ENTRIES = load().entries
each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def texts(entry: Entry) -> list[str]:
    prose = [entry.title, entry.cause, entry.remedy.summary, entry.log_only or ""]
    arguments = [text for action in entry.actions for text in action.arguments.values()]
    asked = [entry.question.text, entry.question.command] if entry.question else []
    return [*prose, *entry.remedy.commands, *arguments, *asked]


# --- the catalogue's content ---


def test_all_promised_ids_are_there() -> None:
    assert not set(IDS) - set(ENTRIES)
    assert len(IDS) == 76


def test_entries_stand_from_the_ground_up() -> None:
    layers = [LAYERS.index(entry.layer) for entry in ENTRIES.values()]
    assert layers == sorted(layers)


def test_info_is_kept_for_what_breaks_nothing() -> None:
    found = {entry.id for entry in ENTRIES.values() if entry.severity == "info"}
    assert found == INFO, "a problem that breaks nothing is also listed in INFO above"


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
    for sentence in (entry.cause, entry.remedy.summary, entry.log_only or "."):
        assert sentence.endswith(".")


@each_entry
def test_a_cause_is_told_in_two_to_four_sentences(entry: Entry) -> None:
    assert 2 <= len(re.findall(r"\.(?= |$)", entry.cause)) <= 4, entry.cause
    assert len(entry.cause) <= 620


COMMAND = re.compile(
    r"\{python\} -m (pip (install|uninstall -y|debug|--version)|ensurepip -U)\b"
    r'|\{python\} -c "import '
    r'|reg (add|delete) "HK'
    r"|setx "
    r'|copy "'
    r"|winget install --id "
    r"|git config --global "
    r"|tritonwin (build|patch|install|verify|fix|cache clear)\b"
)


@each_entry
def test_commands_have_a_known_form(entry: Entry) -> None:
    for command in entry.remedy.commands:
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
    assert used == set(placeholders.PLACEHOLDERS), "take unused ones out of placeholders.py"
    actions = {action.name for entry in ENTRIES.values() for action in entry.actions}
    assert actions == set(ACTIONS), "ACTIONS in reader.py: what no [[problem.actions]] names goes"


def names(text: str) -> list[str]:
    return list(placeholders.names(text))


@pytest.mark.parametrize(
    ("root", "consequence"),
    [
        ("cpu-only-torch", "xformers-torch-mismatch"),
        ("x86-toolchain", "msvc-env-not-initialised"),
        ("cc-variable-wrong", "msvc-env-not-initialised"),
        ("embedded-python-no-headers", "amd-rocm-paths"),
        ("embedded-python-no-headers", "optional-triton-breaks-app"),
        ("wrong-interpreter", "triton-missing"),
        ("max-path-260", "long-paths-off"),
        ("nvcc-host-compiler-mismatch", "no-official-windows-wheel"),
        ("no-official-windows-wheel", "msvc-env-not-initialised"),
    ],
)
def test_roots_explain_their_consequences(root: str, consequence: str) -> None:
    assert consequence in ENTRIES[root].explains


# --- loading ---


def test_load_reads_once() -> None:
    assert load() is load()


def test_unknown_id() -> None:
    with pytest.raises(UnknownProblemError) as caught:
        load().entry("no-such-problem")
    assert str(caught.value) == "the catalogue has no problem 'no-such-problem'"
    assert isinstance(caught.value, KeyError)


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        ENTRIES["new"] = ENTRIES["triton-missing"]  # type: ignore[index]


def test_load_from_a_zip(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    archive = tmp_path / "tool.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in (source / "tritonwin").rglob("*"):
            if file.suffix in {".py", ".toml"}:
                made.write(file, file.relative_to(source).as_posix())
    code = (
        f"import sys; sys.path[:0] = [{str(archive)!r}]; import tritonwin.problems.catalogue as c;"
        f"print(c.__file__.startswith({str(archive)!r}), len(c.load().entries))"
    )
    ended = run(sys.executable, ["-c", code], timeout=60)
    assert ended.out.decode().split() == ["True", str(len(ENTRIES))], ended.err.decode()


GOOD = """
[[problem]]
id = "sample"
title = "a sample"
severity = "error"
layer = "packages"
cause = '''One sentence.
  Another, about {package}.'''
explains = []
[problem.remedy]
summary = "Do this."
commands = ['{python} -m pip install "{package}"']
[[problem.actions]]
name = "install-distribution"
arguments = { requirement = "{package}" }
"""


def test_a_good_entry_is_read() -> None:
    entry = read({"a.toml": GOOD}).entry("sample")
    assert entry.cause == "One sentence. Another, about {package}."
    assert entry.remedy.automatic
    assert entry.actions[0].arguments == {"requirement": "{package}"}
    assert entry.log_only is None


def test_an_entry_without_actions_is_not_automatic() -> None:
    text = GOOD.split("[[problem.actions]]")[0]
    assert not read({"a.toml": text}).entry("sample").remedy.automatic


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "titel =", "a.toml: sample: title is missing"),
        ('layer = "packages"', 'layer = "packages"\nlaier = 1', "unknown key 'laier'"),
        ('"error"', '"fatal"', "a.toml: sample: unknown severity 'fatal'"),
        ('"packages"', '"cloud"', "unknown layer 'cloud'"),
        ('"a sample"', "7", "title must be of type str, not 7"),
        ('"a sample"', '" "', "title is empty"),
        ('id = "sample"', "", "a.toml: id is missing"),
        ("about {package}", "about {pakage}", "unknown placeholder {pakage}"),
        ("about {package}", "about {package.x}", "a brace that belongs to no placeholder"),
        ("about {package}", "about {", "a brace that belongs to no placeholder"),
        ('"Do this."', '"Do {that}."', "unknown placeholder {that}"),
        ('install "{package}"', "install {package}", "{package} stands outside double quotes"),
        ("explains = []", "explains = [1]", "explains must be of type str, not 1"),
        ("explains = []", 'explains = "sample"', "explains must be of type list"),
        ("explains = []", 'explains = ["x"]', "a.toml: sample: explains an unknown id 'x'"),
        ("explains = []", 'explains = ["sample"]', "circle: sample -> sample"),
        ("summary =", "sumary =", "summary is missing"),
        ('"install-distribution"', '"install-magic"', "unknown name 'install-magic'"),
        ("requirement =", "requirment =", "arguments of install-distribution must be: requirement"),
        ('requirement = "{package}"', 'requirement = "{x}"', "unknown placeholder {x}"),
        ("[[problem]]", "[[problems]]", "a.toml: "),
        ("[[problem]]", "[[problem", "a.toml: "),
        ("[[problem]]", "[problem]", "a.toml: problem must be of type list"),
        ("[problem.remedy]", "[problem.remedies]", "a.toml: sample: remedy is missing"),
        ("summary =", "x = 1\nsummary =", "a.toml: sample: unknown key 'x'"),
        ("commands = [", "commands = [1, ", "a.toml: sample: commands must be of type str, not 1"),
        ("arguments = {", "x = 1\narguments = {", "a.toml: sample: unknown key 'x'"),
        ('"error"', '"fatal"', "there are error, warning, info"),
        ("explains = []", "explains = []\nreferences = 1", "references must be of type list"),
        ("explains = []", 'explains = []\nlog_only = " "', "a.toml: sample: log_only is empty"),
    ],
)
def test_a_broken_entry_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CatalogueError, match=re.escape(message)):
        read({"a.toml": GOOD.replace(old, new, 1)})


def test_an_id_is_taken_once() -> None:
    with pytest.raises(CatalogueError, match=re.escape("b.toml: sample: this id is taken, see a")):
        read({"a.toml": GOOD, "b.toml": GOOD})


def test_a_circle_over_two_files_is_found() -> None:
    first = GOOD.replace("explains = []", 'explains = ["other"]')
    second = GOOD.replace("explains = []", 'explains = ["sample"]').replace(
        'id = "sample"', 'id = "other"'
    )
    with pytest.raises(CatalogueError, match="circle"):
        read({"a.toml": first, "b.toml": second})


# --- rendering ---

EVIDENCE = (Evidence(text="torch is 2.9.1+cpu", where="torch/version.py"),)


def finding(problem_id: str, **values: str) -> Finding:
    return Finding(id=problem_id, evidence=EVIDENCE, certainty="likely", values=values)


def test_a_finding_becomes_a_problem() -> None:
    found = finding("triton-missing", torch_version="2.9.1", triton_spec="triton-windows<3.6")
    problem = render(found, r"C:\app\python.exe")
    assert problem.evidence == EVIDENCE
    assert problem.certainty == "likely"
    assert problem.severity == "error"
    assert "torch 2.9.1" in problem.remedy.summary
    assert problem.remedy.commands == (r'C:\app\python.exe -m pip install -U "triton-windows<3.6"',)
    assert problem.remedy.automatic
    assert problem.actions[0].arguments == {"requirement": "triton-windows<3.6"}


def test_the_finding_sets_the_severity() -> None:
    found = Finding(id="bf16-needs-sm80", evidence=EVIDENCE, severity="info")
    assert render(found, "python").severity == "info"


def test_without_values_nothing_half_done_is_proposed() -> None:
    problem = render(finding("triton-and-fork-both-installed", distribution="triton"), "python")
    assert problem.remedy.commands == ()
    assert problem.actions == ()
    assert not problem.remedy.automatic


@each_entry
def test_every_entry_renders_without_values(entry: Entry) -> None:
    problem = render(Finding(id=entry.id, evidence=()), "python")
    shown = [problem.cause, problem.remedy.summary, *problem.remedy.commands]
    assert not any("{" in text or "}" in text for text in shown)
    assert problem.remedy.automatic == bool(problem.actions)


@each_entry
def test_every_entry_renders_with_all_values(entry: Entry) -> None:
    values = {name: f"<{name}>" for name in placeholders.PLACEHOLDERS if name != "python"}
    found = Finding(id=entry.id, evidence=(), certainty="possible", values=values)
    problem = render(found, "<python>")
    assert len(problem.remedy.commands) == len(entry.remedy.commands)
    assert len(problem.actions) == len(entry.actions)
    expected = set().union(*(names(text) for text in texts(entry)))
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
    assert placeholders.commands(['setx A "{value}"'], {"value": value}) == ()


def test_a_value_is_not_filled_again() -> None:
    assert placeholders.sentence("at {path}", {"path": "{python}"}) == "at {python}"


@settings(deadline=None)  # a busy machine is no defect
@given(st.text(), st.dictionaries(st.sampled_from(sorted(placeholders.PLACEHOLDERS)), st.text()))
def test_sentences_never_fail(value: str, values: dict[str, str]) -> None:
    for entry in ENTRIES.values():
        filled = placeholders.sentence(entry.cause, {**values, "path": value})
        if "{path}" in entry.cause and value:
            assert value in filled


FRAGMENTS = st.sampled_from(["{path}", "{python}", "text ", "{", "}", "{nope}", "{}", "{path!r}"])


@settings(deadline=None)
@given(st.lists(FRAGMENTS))
def test_names_takes_nothing_but_known_placeholders(fragments: list[str]) -> None:
    known = {"{path}", "{python}"}
    if set(fragments) <= {*known, "text "}:
        assert names("".join(fragments)) == [f[1:-1] for f in fragments if f in known]
    else:
        with pytest.raises(ValueError, match=r"placeholder"):
            names("".join(fragments))
