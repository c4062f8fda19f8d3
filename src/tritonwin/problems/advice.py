"""The remedy that is shown: a finding in the catalogue's words, with the values that are known.

A text holds `{placeholders}`; a finding supplies their values, the facts supply the others. A
command is shown only where all its values are known and can be copied into any shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import Entry
from tritonwin.problems.records import Action, Finding, Problem, Question, Remedy
from tritonwin.support import matrix
from tritonwin.support.matrix import indexes, released, served_series, torch_tag, wanted_series
from tritonwin.support.packages import FORK
from tritonwin.system.shells import word

UPSTREAM = "triton"


class Placeholder(NamedTuple):
    meaning: str
    neutral: str  # stands in its sentences where no finding supplies a value
    command: str | None = None  # the same for a command; None: there is no command


PLACEHOLDERS: Mapping[str, Placeholder] = {
    "python": Placeholder("what starts the user's interpreter, quoted", "python", "python"),
    "python_version": Placeholder("3.12.9", "version not known"),
    "python_folder": Placeholder("the folder that holds python.exe", "the folder of python.exe"),
    "torch_version": Placeholder("2.9.1+cu128", "as installed"),
    "triton_version": Placeholder("3.5.1.post24", "as installed"),
    "wanted_triton": Placeholder("the Triton that torch asks for: 3.5", "of another version"),
    "triton_spec": Placeholder(
        "what pip is to install: triton-windows<3.6", "see the table in its README"
    ),
    "distribution": Placeholder("an installed distribution: triton", "the other Triton", "triton"),
    "package": Placeholder("the package concerned: sageattention", "the package"),
    "package_version": Placeholder("its version: 2.2.0+cu128torch2.9.0", "(not known)"),
    "gpu": Placeholder("NVIDIA GeForce RTX 4090", "This GPU"),
    "compute_capability": Placeholder("8.9", "(not known)"),
    "driver_version": Placeholder("581.57", "version not known"),
    "cuda_version": Placeholder("12.8", "as installed"),
    "torch_index": Placeholder("address of torch's own indexes", "PyTorch's index"),
    "cuda_tag": Placeholder("torch's index for this driver and GPU: cu128", "(not known)"),
    "variable": Placeholder("an environment variable: CC", "The variable"),
    "value": Placeholder("the value that it has", "(not known)"),
    "new_value": Placeholder("the value that it should have", "the corrected value"),
    "path": Placeholder("the file or folder concerned", "a file or folder of that name"),
    "cache": Placeholder("a cache folder", "the cache folder"),
    "dll": Placeholder("msvcp140.dll", "A DLL"),
    "dll_version": Placeholder("14.29.30133.0", "(not known)"),
    "toolset": Placeholder("a version of MSVC: 14.44.35207", "as installed"),
}


_NAME = re.compile(r"\{([a-z_]+)\}")

# Characters that would end the quotes around a value, or be expanded inside them, in cmd,
# PowerShell (which takes typographic quotes for quotes) or a Python literal. A log may name
# anything.
_BREAKS_QUOTES = re.compile(r"[\"'`$%\x00-\x1f\u2018-\u201f]|\\\Z")
_PIP_OF_UV = frozenset({"install", "uninstall", "list"})
_ANY_PYTHON = "python"


def advise(finding: Finding, facts: Facts) -> Problem:
    """The problem that a finding stands for, in words, with commands for the target of `facts`.

    A value that nothing supplies becomes a neutral word in a sentence; commands and automatic
    repairs that need it are left out. `explains` is empty: it takes all findings together.

    Raises:
        UnknownProblemError: the catalogue has no such id.
    """
    entry = catalogue.load().entry(finding.id)
    target = facts.target
    python = (word(target.executable) if target else None) or _ANY_PYTHON
    values = {**context(facts), **finding.values, "python": python}
    actions = _actions(entry, values)
    question = entry.question if finding.certainty != "certain" else None
    asked = _typed((question.command,), values, target) if question else ()
    return Problem(
        id=entry.id,
        severity=finding.severity or entry.severity,
        certainty=finding.certainty,
        title=entry.title,
        cause=sentence(entry.cause, values),
        evidence=finding.evidence,
        remedy=Remedy(
            summary=sentence(entry.remedy.summary, values),
            commands=_typed(entry.remedy.commands, values, target),
            automatic=bool(actions),
        ),
        references=entry.references,
        actions=actions,
        question=Question(text=sentence(question.text, values), command=asked[-1])
        if question and asked
        else None,
    )


def names(text: str) -> Iterator[str]:
    """The placeholders of a text, in order."""
    return (match[1] for match in _NAME.finditer(text))


def sentence(text: str, values: Mapping[str, str]) -> str:
    """Fill a text, however it is broken into lines; a missing value becomes its neutral word."""
    line = " ".join(text.split())
    return _NAME.sub(lambda m: values.get(m[1]) or PLACEHOLDERS[m[1]].neutral, line)


def commands(texts: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Fill commands that can be copied, all or none: half a sequence may do harm.

    None of them where a value is missing or is not safe between quotes. `python` is quoted already.
    """
    filled = {}
    for name in dict.fromkeys(name for text in texts for name in names(text)):
        value = values.get(name) or PLACEHOLDERS[name].command
        if value is None or (name != "python" and _BREAKS_QUOTES.search(value)):
            return ()
        filled[name] = value
    return tuple(sentence(text, filled) for text in texts)


def _actions(entry: Entry, values: Mapping[str, str]) -> tuple[Action, ...]:
    """All actions of an entry, or none: half a repair may leave less than there was."""
    texts = (text for action in entry.actions for text in action.arguments.values())
    if not all(values.get(name) for text in texts for name in names(text)):
        return ()
    return tuple(
        replace(a, arguments={n: sentence(text, values) for n, text in a.arguments.items()})
        for a in entry.actions
    )


def _typed(
    texts: Sequence[str], values: Mapping[str, str], target: Interpreter | None
) -> tuple[str, ...]:
    """Commands as they can be typed for the target.

    uv makes environments without pip, and installs into them from outside. Any other environment
    gets pip from its own standard library, which only python.org's embeddable archive leaves out.
    """
    filled, python = commands(texts, values), values["python"]
    if python == _ANY_PYTHON:  # tritonwin then looks for one itself
        filled = tuple(command.replace(f" --python {python}", "") for command in filled)
    start = f"{python} -m pip "
    calls_pip = any(command.startswith(start) for command in filled)
    if not calls_pip or target is None or target.has_pip is not False:
        return filled
    if target.kind == "uv" or "uv" in target.managers:
        return tuple(
            _of_uv(command.removeprefix(start), python) if command.startswith(start) else command
            for command in filled
            if not command.startswith(start) or command.removeprefix(start).split()[0] in _PIP_OF_UV
        )
    if target.kind == "embedded":
        return ()  # the rest of a sequence without its pip would be half of it
    return (f"{python} -m ensurepip", *filled)


def _of_uv(words: str, python: str) -> str:
    """The same in the words of uv, which asks nothing: `uninstall -y triton`."""
    action, _, rest = words.partition(" ")
    if action == "uninstall":
        rest = rest.removeprefix("-y ")
    return f"uv pip {action} --python {python} {rest}".rstrip()


def context(facts: Facts) -> dict[str, str]:
    """Name what the facts know: versions, the GPU, what to ask pip for."""
    target, torch, triton = facts.target, facts.torch, facts.triton
    gpu = next(iter(facts.nvidia_gpus), None)
    driver = facts.nvidia_driver
    values = {
        "python_version": target.version if target else None,
        "python_folder": (target.base_prefix or target.prefix) if target else None,
        "torch_version": torch.version if torch else None,
        "triton_version": triton.version if triton else None,
        "wanted_triton": wanted_series(torch) if torch else None,
        "triton_spec": triton_spec(facts),
        "gpu": gpu.name if gpu else None,
        "compute_capability": gpu.compute_capability if gpu else None,
        "driver_version": driver.version if driver else None,
        "cuda_version": torch.cuda if torch else None,
        "torch_index": indexes().torch,
        "cuda_tag": torch_tag(
            driver.cuda if driver else None, gpu.compute_capability if gpu else None
        ),
    }
    return {name: value for name, value in values.items() if value}


def triton_spec(facts: Facts) -> str | None:
    """The requirement for pip: `triton-windows<3.6` for the torch that is there.

    None when no triton-windows serves that torch yet. Elsewhere than on Windows upstream's
    releases are meant, which exist for every torch.
    """
    if not facts.windows:
        wanted = facts.torch.wants_triton if facts.torch else None
        return UPSTREAM + (wanted or "")
    newest = matrix.load().newest_release().series
    wanted = wanted_series(facts.torch) if facts.torch else None
    if facts.torch is None or wanted is None:
        return f"{FORK}<{_after(newest)}"
    series = served_series(facts.torch, wanted)[-1]
    return f"{FORK}<{_after(series)}" if released(series) else None


def _after(series: str) -> str:
    major, minor = series.split(".")
    return f"{major}.{int(minor) + 1}"
